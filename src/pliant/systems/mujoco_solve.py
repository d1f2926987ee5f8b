"""A step that is a flat record already, solved without the objects around it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solution import Islands, Status
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.driver import solve_islands
from pliant.solvers.formulation import Formulation
from pliant.solvers.whiten import factor_inertia, free_gain


class Answer(NamedTuple):
    """velocity (nv,), force per row (m,), and how it went."""

    velocity: Array
    force: Array
    islands: Islands
    shift: Array | None = None

    @property
    def status(self) -> Status:
        order = (Status.NON_FINITE, Status.ITERATION_LIMIT, Status.SOLVED_BY_FALLBACK)
        return next((s for s in order if s in self.islands.status), Status.SOLVED)


@np.errstate(all="ignore")
def solve_flat(flat: Flat, solver: Formulation | None) -> Answer:
    solver = Coulomb() if solver is None else solver
    force = np.zeros(len(flat.kind))
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    velocity = flat.velocity + free_gain(inertia, flat.step, flat.force)
    islands = solve_islands(flat, inertia, solver, force, velocity)
    return Answer(velocity, force + 0.0, islands)
