"""What a solve gives back: the answer, what it cost, and how far it is from the laws."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pliant.inputs import Array, Ints


class Status(enum.Enum):
    """How a solve ended; `str()` is the message."""

    SOLVED = "solved: every law holds to the tolerance"
    SOLVED_BY_FALLBACK = (
        "solved, but only by a last resort, the cone solver or, in steps of models, the convex program in place of "
        "Coulomb's law: the step was hard; look at its scaling, or take a smaller step"
    )
    ITERATION_LIMIT = (
        "iteration limit: momentum, bounds and cones are exact, the laws hold only to `residual`; "
        "raise max_iterations, warm-start, or take a smaller step"
    )
    NON_FINITE = (
        "non-finite numbers in the answer: data too large for double precision; look for extreme stiffness, "
        "forces or masses in the problem"
    )

    def __str__(self) -> str:
        return self.value

    @property
    def solved(self) -> bool:
        """Whether the tolerance was met."""
        return self in (Status.SOLVED, Status.SOLVED_BY_FALLBACK)


class ContactState(enum.IntEnum):
    """What a contact does at the end of the step."""

    OPEN = 0  # no force
    STICK = 1  # inside its cone
    SLIP = 2  # on the rim of its cone, sliding


@dataclass(frozen=True, slots=True)
class Islands:
    """Groups of rows that share no velocity; each is solved for itself."""

    row_island: Ints  # (m,) island of each row of the flat record
    residual: Array  # (k,)
    iterations: Ints  # (k,)
    factorizations: Ints  # (k,)
    status: tuple[Status, ...]


@dataclass(frozen=True, slots=True)
class WarmStart:
    """What the next solve takes from a Solution."""

    keys: tuple[tuple[object, Ints], ...]  # identity of each constraint and of its rows
    forces: tuple[Array, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Solution:
    """The answer of `pliant.solve`; arrays are indexed as the constraints of the problem were given."""

    velocity: Array  # (nv,) v1
    forces: tuple[Array, ...]  # per constraint: (n,), or (n, d) for a Contact [N]
    impulse: Array  # (nv,) h G' lambda
    states: tuple[Ints | None, ...]  # per constraint: (n,) of ContactState for a Contact, else None
    stretch: tuple[Array | None, ...]  # per constraint: (n, d-1) for a Contact with tangential stiffness [m]
    status: Status
    residual: float  # of the conditions that the chosen solver solves
    law_residual: float  # of the laws, the same for every solver
    momentum_residual: float
    iterations: int
    factorizations: int
    solve_time: float  # [s]
    islands: Islands
    keys: tuple[tuple[object, Ints], ...] = field(default=())  # identity of the rows, for warm starts

    def with_more_force(self, forces: Sequence[Array], impulse: Array) -> Solution:
        """The same with forces added that acted as if they were applied from outside."""
        total = tuple(mine + more for mine, more in zip(self.forces, forces, strict=True))
        return replace(self, forces=total, impulse=self.impulse + impulse)

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name}: residual {self.residual:.1e}, laws {self.law_residual:.1e}, "
            f"momentum {self.momentum_residual:.1e}; {self.iterations} iterations, "
            f"{self.factorizations} factorizations, {1e3 * self.solve_time:.2f} ms; "
            f"|v| <= {np.abs(self.velocity).max():.3g})"
        )
