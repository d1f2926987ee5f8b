"""What a solver is to users: the laws that it keeps, and how exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pliant.errors import InputError

if TYPE_CHECKING:
    from pliant.problem import StepProblem
    from pliant.solution import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Formulation:
    """tolerance: the residual at which a step counts as solved. max_iterations: the steps that each tier may take:
    Newton, the interior path, the convex program."""

    tolerance: float = 1e-8
    max_iterations: int = 100

    convex: ClassVar[bool]  # whether the cone of friction and its normal are associated
    linearizes: ClassVar[bool] = True  # whether `linearize` takes its answers

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not (isinstance(self.tolerance, int | float) and 0.0 < self.tolerance < math.inf):
            raise InputError(f"{name}: tolerance must be a positive number such as 1e-8, got {self.tolerance!r}")
        whole = isinstance(self.max_iterations, int) and not isinstance(self.max_iterations, bool)
        if not (whole and 1 <= self.max_iterations < 2**31):
            raise InputError(f"{name}: max_iterations must be a whole number >= 1, got {self.max_iterations!r}")

    def explain(self, status: Status) -> str:
        """What a status means here, and what to do about it."""
        return str(status)

    def without_drift(self) -> Formulation:
        """The same without terms of its own for the curvature of constraints."""
        return self

    def check(self, problem: StepProblem) -> None:
        """Raise InputError for constraints that this formulation cannot take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coulomb(Formulation):
    """The laws as they are: stick, slip, no lift while sliding. Not convex; a solution near the start is found.

    Newton first, then an interior path. Where both fail, the convex program answers, and the status says so.
    """

    convex: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Convex(Formulation):
    """One convex program: the cone of friction and its normal associated. Always solvable, v unique; a body that
    slides at speed v is lifted by about h mu v."""

    convex: ClassVar[bool] = True
