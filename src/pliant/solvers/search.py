"""Where Newton from a velocity does not settle on who sticks and who slips, as in piles: ways to the answer.

The interior path does not ask who does, and leads near the answer. From there laws cut at a small scale tell sets
apart: forces come from stiffness there, and are far larger than 1 / (h a) times what rates there are. Where the path is
not near enough it goes on. Where it ends before that, or turns, forces are held where they are by some compliance: each
step is the answer to a softer problem then, and what these lead to is one to the step. If it is not, one more path
begins nearer to it; whether paths come through hangs on where they begin, more than on how long they are followed.
"""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.force_steps import cut
from pliant.solvers.island import FACTORIZATIONS, ITERATIONS, RESIDUAL, TOLERANCE, Island, clear, copy, settle
from pliant.solvers.linear import direction, factorize
from pliant.solvers.newton import linearise_blocks, linearise_impacts, natural_map
from pliant.solvers.path import go_on, set_out
from pliant.solvers.rows import rates, whitened_impulse
from pliant.solvers.stages import LEAST, line_search

PATHS = (0.3, 40.0, 1), (0.01, 60.0, 3)  # how far inside a path begins, its steps, tries to get over its turns
ENOUGH = 1e-6, 1e-8  # residuals at which an answer may be near, before the path is at its end
CUTS, EACH = (1e-5, 1e-4, 1e-3, 1e-2, 0.1), 8  # times 1 / (h a), where laws are cut into pieces, and steps of each
SOME = 2  # cuts that are tried before its end
HOLD, CREEP = (0.1, 1e-4), 15  # a cut, and compliance relative to h a; steps of it
FAR = 1e-6  # a residual below which steps are whole
LOST = 1e-3  # one above which what has been tried has led nowhere, and more of it does not either


@kernel
def search(island: Island, start: Array, force: Array) -> None:
    """From `start`, and from the best forces of all, which are left in `force`."""
    tally = island.motion.tally
    copy(start, force)
    for spread, most, tries in PATHS:
        way, cone, near = set_out(island, force, spread), 1.0 - island.lift, True
        for enough in ENOUGH:
            near = near and go_on(island, way, force, cone, enough, most, tries)
            if near and _finds(island, SOME, force):
                return
        if near:
            go_on(island, way, force, cone, tally[TOLERANCE], most, tries)
        if _finds(island, len(CUTS), force):
            return
        if tally[RESIDUAL] > LOST:
            return
        scale, hold = HOLD
        _newton(island, scale, hold, CREEP, force)
        if _finds(island, SOME, force):
            return


@kernel
def _finds(island: Island, cuts: int, force: Array) -> bool:
    """Whether the best forces are an answer, or Newton from there finds one."""
    tally = island.motion.tally
    copy(island.motion.best, force)
    for k in range(cuts):
        if tally[RESIDUAL] < tally[TOLERANCE]:
            return True
        _newton(island, CUTS[k], LEAST, EACH, force)
        copy(island.motion.best, force)
    return bool(tally[RESIDUAL] < tally[TOLERANCE])


@kernel
def _newton(island: Island, scale: float, hold: float, most: int, force: Array) -> None:
    """Steps of laws that are cut at `scale`, whose forces are held by a compliance of so much; above the least one no
    line search asks for more."""
    rows, system, motion, lift = island.rows, island.system, island.motion, island.lift
    tally, x, there = motion.tally, motion.x, cut(rows, scale)
    p, r, df, dp = motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    residual, searches = settle(rows, island.inertia, motion, lift, force), hold <= LEAST
    for _ in range(most):
        if residual < tally[TOLERANCE]:
            return
        linearise_blocks(there, force, p, lift, system)
        if lift == 0.0:
            linearise_impacts(there, force, p, system)
        tally[ITERATIONS] += 1
        tally[FACTORIZATIONS] += 1
        if not factorize(rows, island.pattern, system, hold):
            return
        clear(x)
        direction(rows, island.pattern, system, x, df)
        step = 1.0
        if searches and residual > FAR:
            whitened_impulse(rows, df, x)
            rates(rows, x, dp)
            step = line_search(there, lift, motion.per_row, force, natural_map(there, force, p, lift, r))
        for i in range(force.size):
            force[i] += step * df[i]
        residual = settle(rows, island.inertia, motion, lift, force)
        if not np.isfinite(residual):
            return
