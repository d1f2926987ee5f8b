"""The programs that the paper prints, its slips of the pen corrected, for comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from pliant.constraints import Clipped, Contact
from pliant.errors import InputError
from pliant.formulation import Formulation
from pliant.inputs import number
from pliant.problem import StepProblem
from pliant.solution import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed(Formulation):
    """Minimum-norm forces: one linear solve for bilateral rows, a quadratic program for unilateral ones, a cone program
    with friction. Not the laws: `law_residual` says how far off they are.

    zeta              weight of normal and unilateral forces against friction, > 0; None: 1/h. There are digits
                      for 1e-12 to 1e12; beyond, a step may end at its iteration limit
    compensate_drift  adds h Gdot v0 to the rates and -Mhat Gdot v0 to the forces, of constraints with a curvature
    """

    zeta: float | None = None
    compensate_drift: bool = True

    convex: ClassVar[bool] = False
    linearizes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        # Named, not super(): a dataclass with slots is a copy of the class that super() would look for.
        Formulation.__post_init__(self)
        z = self.zeta
        if z is not None and not 0.0 < number(z) < math.inf:
            raise InputError(f"Printed: zeta must be a positive number, or None for 1/h, got {z!r}")
        object.__setattr__(self, "zeta", None if z is None else float(z))
        if not isinstance(self.compensate_drift, bool):
            raise InputError(f"Printed: compensate_drift must be True or False, got {self.compensate_drift!r}")

    def explain(self, status: Status) -> str:
        """What a status means here, and what to do about it."""
        if status is not Status.ITERATION_LIMIT:
            return str(status)
        zeta = "1/h" if self.zeta is None else f"{self.zeta:g}"
        return (
            "iteration limit: momentum, bounds and cones are exact, the optimum of the printed program is met only to "
            f"`residual`; choose zeta (now {zeta}) within 1e-12 and 1e12, raise max_iterations (now "
            f"{self.max_iterations}), or use Coulomb()"
        )

    def without_drift(self) -> Formulation:
        """The same without terms of its own for the curvature of constraints."""
        return replace(self, compensate_drift=False) if self.compensate_drift else self

    def check(self, problem: StepProblem) -> None:
        for i, constraint in enumerate(problem.constraints):
            label = f"Printed: constraints[{i}] ({constraint.label})"
            remedy = "use Coulomb() or Convex()"
            if isinstance(constraint, Clipped):
                raise InputError(f"{label}: the paper has no program for rows with bounds; {remedy}")
            if not constraint.law.is_linear:
                raise InputError(
                    f"{label}: the paper's programs take linear laws only, got {constraint.law!r}; "
                    f"give the stiffness at the present deformation, or {remedy}"
                )
            if isinstance(constraint, Contact) and constraint.dimension > 3:
                raise InputError(
                    f"{label}: the paper's contacts have one tangent or two, got d = {constraint.dimension}; "
                    f"leave torsion and rolling out, or {remedy}"
                )
