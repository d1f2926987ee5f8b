"""What the formulations share: the options, and their checks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.solvers.island import (
    Island,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Formulation:
    """tolerance: the residual at which a step counts as solved. max_iterations: the steps that each stage may take:
    Newton, and where it stalls the interior path and the dense Newton."""

    tolerance: float = 1e-8
    max_iterations: int = 100

    lift: ClassVar[float]

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not (isinstance(self.tolerance, int | float) and 0.0 < self.tolerance < math.inf):
            raise InputError(f"{name}: tolerance must be a positive number such as 1e-8, got {self.tolerance!r}")
        whole = isinstance(self.max_iterations, int) and not isinstance(self.max_iterations, bool)
        if not (whole and self.max_iterations >= 1):
            raise InputError(f"{name}: max_iterations must be a whole number >= 1, got {self.max_iterations!r}")

    def _run(self, island: Island, force: Array) -> None:
        """Solve one island from `force`, in place."""
        raise TypeError(f"{type(self).__name__} is not a solver; use Coulomb() or Convex()")
