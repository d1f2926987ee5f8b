"""Run every kernel once, so that all are compiled."""

from __future__ import annotations

import numpy as np

from pliant.constraints import Bilateral, Contact
from pliant.laws import Law
from pliant.problem import StepProblem
from pliant.solvers.convex import Convex
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.driver import prepare, solve
from pliant.solvers.linearize import linearize
from pliant.solvers.oracle import fall_back
from pliant.solvers.stages import exact_newton, interior
from pliant.solvers.whiten import factor_inertia

BODIES = 40  # enough that the sparse ordering has something to order


def warm_up() -> None:
    """Beads on springs that slide on the floor: both solvers, derivatives, and what only hard steps reach."""
    problem = _beads()
    for solver in (Coulomb(), Convex()):
        linearize(problem, solve(problem, solver)).matrix()
    flat = problem.flat()
    island = prepare(flat, factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val), Coulomb())
    force = np.zeros(len(flat.kind))
    interior(island, force, 0.0, 1.0, 1.0)
    exact_newton(island, force, 1, True)
    fall_back(island, force, 1.0)


def _beads() -> StepProblem:
    axes = np.eye(3 * BODIES).reshape(BODIES, 3, -1)
    contact = Contact(axes[:, [2, 0, 1]], np.zeros(BODIES), Law(1e8), np.full(BODIES, 0.5))
    spring = Bilateral(axes[1:, 0] - axes[:-1, 0], np.zeros(BODIES - 1), Law(1e3))
    weight = np.tile([0.0, 0.0, -10.0], BODIES)
    return StepProblem(np.ones(3 * BODIES), np.full(3 * BODIES, 0.1), weight, 0.01, [contact, spring])
