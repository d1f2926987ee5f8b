"""What a solve gives back: the answer, what it cost, and how far it is from the laws."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from pliant.inputs import Array, Ints

if TYPE_CHECKING:
    from pliant.problem import StepProblem


class Status(enum.Enum):
    """How a solve ended; `str()` is the message."""

    SOLVED = "solved: every law holds to the tolerance"
    SOLVED_BY_FALLBACK = (
        "solved, but only by the convex program in place of Coulomb's law, from which the answer is as far as "
        "`law_residual` says: the step was hard; look at its scaling, or take a smaller step"
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
        """Whether there is an answer: within the tolerance, or the convex program's in place of Coulomb's."""
        return self in (Status.SOLVED, Status.SOLVED_BY_FALLBACK)


STATUSES: Final = tuple(Status)  # as the engine numbers them


class ContactState(enum.IntEnum):
    """What a contact does at the end of the step."""

    OPEN = 0  # no force
    STICK = 1  # inside its cone
    SLIP = 2  # on the rim of its cone, sliding


@dataclass(frozen=True, slots=True)
class Islands:
    """k groups of rows that share no velocity, directly or through others; each is solved for itself. Bodies without
    rows are in none."""

    row_island: Ints  # (m,) island of each row, 0 to k - 1, in the order of StepProblem.flat
    residual: Array  # (k,) as Solution.residual, which is the largest
    iterations: Ints  # (k,) of both tiers; Solution.iterations is their sum
    factorizations: Ints  # (k,) of P; likewise
    status: tuple[Status, ...]  # k; Solution.status is the worst


@dataclass(frozen=True, slots=True)
class WarmStart:
    """What the next solve takes from a Solution."""

    keys: tuple[tuple[object, Ints], ...]  # identity of each constraint and of its rows
    forces: tuple[Array, ...]


# of the islands: row_island (m,), then residual, law residual, iterations, factorizations and status, (k,)
Reports = tuple[Ints, Array, Array, Ints, Ints, Ints]


class Answer(NamedTuple):
    """What the engine says, from which the rest of a solution follows."""

    problem: StepProblem
    force: Array  # (m,) of all rows
    state: Ints  # (m,) of ContactState on normals
    islands: Reports


@dataclass(frozen=True, repr=False)
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
    islands: Islands  # row_island (m,), residual, iterations, factorizations (k,) and status of each of k islands
    keys: tuple[tuple[object, Ints], ...]  # identity of each constraint and of its rows, for warm starts

    @classmethod
    def of(cls, answer: Answer, **known: Any) -> Self:
        """The solution of an answer; `known` are the fields that every caller wants, the others follow when they are
        asked for."""
        solution = object.__new__(cls)
        solution.__dict__.update(known, answer=answer)
        return solution

    def __getattr__(self, name: str) -> Any:
        answer: Answer | None = self.__dict__.get("answer")
        if answer is None or name not in _FOLLOWS:
            raise AttributeError(f"'Solution' has no attribute {name!r}")
        found = self.__dict__[name] = _FOLLOWS[name](answer)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

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


def identity(problem: StepProblem) -> tuple[tuple[object, Ints], ...]:
    """Of each constraint, by name or else by position, and of its rows."""
    return tuple(
        ((type(c).__name__, c.dimension, c.name or position), c.ids) for position, c in enumerate(problem.constraints)
    )


def _states(answer: Answer) -> tuple[Ints | None, ...]:
    return tuple(part[:, 0].copy() if part.ndim == 2 else None for part in answer.problem.split(answer.state))


def _stretch(answer: Answer) -> tuple[Array | None, ...]:
    """phi_t1 from K_t phi_t1 + B_t (phi_t1 - phi_t0) / h = -lambda_t."""
    problem = answer.problem
    out: list[Array | None] = []
    for constraint, force in zip(problem.constraints, problem.split(answer.force), strict=True):
        law = constraint.tangent_law if force.ndim == 2 else None  # type: ignore[attr-defined]
        if law is None or not np.any(law.stiffness):
            out.append(None)
            continue
        K, B = (np.asarray(part)[:, None] if np.ndim(part) == 1 else part for part in (law.stiffness, law.damping))
        rate = B / problem.step
        total = np.broadcast_to(K + rate, force[:, 1:].shape)
        reached = rate * constraint.stretch - force[:, 1:]  # type: ignore[attr-defined]
        out.append(np.divide(reached, total, out=np.zeros(total.shape), where=total > 0.0))
    return tuple(out)


def _islands(answer: Answer) -> Islands:
    row_island, residual, _, iterations, factorizations, status = answer.islands
    return Islands(row_island, residual, iterations, factorizations, tuple(STATUSES[int(s)] for s in status))


_FOLLOWS: Final[dict[str, Callable[[Answer], Any]]] = {
    "forces": lambda answer: answer.problem.split(answer.force),
    "states": _states,
    "stretch": _stretch,
    "islands": _islands,
    "keys": lambda answer: identity(answer.problem),
}
