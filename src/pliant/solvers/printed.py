"""The programs that the paper prints, its slips of the pen corrected, for comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.constraints import Clipped, Contact
from pliant.errors import InputError
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.problem import StepProblem
from pliant.solution import Status
from pliant.solvers.formulation import Formulation
from pliant.solvers.island import FACTORIZATIONS, ITERATIONS, LINEAR, PRECISE, RESIDUAL, Island, settle
from pliant.solvers.printed_optimum import Optimum, optimum
from pliant.solvers.printed_program import Bilateral, Program, Terms, make_terms, reduce
from pliant.solvers.printed_residual import kkt_residual
from pliant.solvers.rows import OFFSET, START
from pliant.solvers.stages import solve_linear


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

    lift = 0.0
    linearizes = False

    def __post_init__(self) -> None:
        # Named, not super(): a dataclass with slots is a copy of the class that super() would look for.
        Formulation.__post_init__(self)
        z = self.zeta
        if z is not None and not (isinstance(z, int | float) and not isinstance(z, bool) and 0.0 < z < math.inf):
            raise InputError(f"Printed: zeta must be a positive number, or None for 1/h, got {z!r}")
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

    def _check(self, problem: StepProblem) -> None:
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

    def _solve(self, flat: Flat, island: Island, force: Array, patient: bool) -> Status:
        terms = make_terms(flat, island, 1.0 / flat.step if self.zeta is None else self.zeta, self.compensate_drift)
        tally = island.motion.tally
        if tally[LINEAR]:
            _solve_linear(terms, island, force)
        else:
            residual = self._guarded(terms, tally, force) if _finite(terms) else math.inf
            tally[PRECISE] = 1.0
            settle(island.rows, island.inertia, island.motion, island.lift, force)
            tally[RESIDUAL] = residual
        return Status.SOLVED if tally[RESIDUAL] < self.tolerance else Status.ITERATION_LIMIT

    def _guarded(self, terms: Terms, tally: Array, force: Array) -> float:
        try:
            return self._optimum(terms, tally, force)
        except ValueError:  # of SciPy, for numbers that have overflowed on the way
            return math.inf

    def _optimum(self, terms: Terms, tally: Array, force: Array) -> float:
        """Fill in the forces; returns how far they are from the optimum."""
        bilateral = Bilateral(terms)
        program = reduce(terms, bilateral)

        def judge(found: Optimum) -> float:
            return kkt_residual(terms, *_unfold(terms, bilateral, program, found))

        best, residual = optimum(program, self.max_iterations, judge)
        force[:] = _unfold(terms, bilateral, program, best)[0]
        tally[[ITERATIONS, FACTORIZATIONS]] = best.steps, 1.0 + best.steps
        return residual


def _unfold(terms: Terms, bilateral: Bilateral, program: Program, found: Optimum) -> tuple[Array, Array, Array]:
    """lambda, psi and kappa of all rows: bilateral forces follow from the others, and so do their multipliers."""
    h, b = terms.step, bilateral.row
    force, psi = np.zeros((2, len(terms.kind)))
    force[program.row] = terms.friction[program.row] * found.force
    force[b], _ = bilateral.forces((terms.start - terms.slope * terms.rate)[b], h * (terms.Z.T @ force))
    psi[program.tangent], psi[program.spring] = found.nu / program.tau, -found.mu / program.norm
    kappa = h * terms.slope * psi
    kappa[b], _ = bilateral.forces(np.zeros(len(b)), h * (terms.Z.T @ kappa))
    return force, psi, kappa


def _finite(terms: Terms) -> bool:
    return all(np.all(np.isfinite(part)) for part in terms)


def _solve_linear(terms: Terms, island: Island, force: Array) -> None:
    """Bilateral rows only: the laws with the drift terms in them, solved as for every other solver."""
    law = island.rows.law
    law[:, OFFSET] += terms.step * terms.drift
    island.motion.per_row[0] += terms.step * terms.drift
    law[:, START] -= terms.inertial
    solve_linear(island, force)
