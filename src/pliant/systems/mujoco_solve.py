"""A step that is a flat record already, solved without the objects around it, and never to more energy than there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solution import Islands, Status
from pliant.solvers.convex import Convex
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.driver import solve_islands
from pliant.solvers.formulation import Formulation
from pliant.solvers.whiten import factor_inertia, free_gain

GAIN: Final = 1.01  # of all the energy that a step begins with, which no answer should exceed


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


def solve_flat(flat: Flat, solver: Formulation | None, guess: Array) -> Answer:
    """guess: (nv,), a velocity near that of the end of the step.

    Coulomb's law can have several answers where bodies jam, and some of them throw the bodies with forces out of
    nothing (Painleve). An answer with more energy than motion and springs hold is not taken: the convex program's is,
    which cannot gain any, and the step counts as solved by the fallback.
    """
    answer = _solve(flat, Coulomb() if solver is None else solver, guess)
    if isinstance(solver, Convex) or not gains(flat, answer.velocity, answer.force):
        return answer
    other = _solve(flat, Convex(), guess)
    if gains(flat, other.velocity, other.force):
        return answer
    status = tuple(Status.SOLVED_BY_FALLBACK if s is Status.SOLVED else s for s in other.islands.status)
    return other._replace(islands=replace(other.islands, status=status))


@np.errstate(all="ignore")
def _solve(flat: Flat, solver: Formulation, guess: Array) -> Answer:
    force = np.zeros(len(flat.kind))
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    velocity = flat.velocity + free_gain(inertia, flat.step, flat.force)
    islands = solve_islands(flat, inertia, solver, force, velocity, guess)
    return Answer(velocity, force + 0.0, islands)


@kernel
def gains(flat: Flat, v: Array, force: Array) -> bool:
    """Whether v has more kinetic energy than the step begins with, in motion and springs, and what servos add."""
    h = flat.step
    before = after = 0.0
    for i in range(v.size):
        p0 = p1 = 0.0
        for e in range(flat.mass_ptr[i], flat.mass_ptr[i + 1]):
            j = flat.mass_idx[e]
            p0 += flat.mass_val[e] * flat.velocity[j]
            p1 += flat.mass_val[e] * v[j]
        before += 0.5 * flat.velocity[i] * p0 + h * abs(flat.force[i]) * (abs(v[i]) + h * abs(flat.velocity[i]))
        after += 0.5 * v[i] * p1
    for i in range(force.size):
        if flat.stiffness[i] < np.inf:
            before += 0.5 * flat.stiffness[i] * abs(min(flat.value[i], 0.0)) ** (flat.exponent[i] + 1.0)
            if flat.value[i] > 0.0 and flat.lower[i] < 0.0:
                before += 0.5 * flat.stiffness[i] * flat.value[i] ** 2
        before += h * abs(force[i] * flat.offset[i])
    return after > GAIN * before
