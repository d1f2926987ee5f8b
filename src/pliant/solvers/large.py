"""The usual step of many rows, in one compiled call: Newton on sparse factors in the velocities, or in the forces.

Where many bodies rest on each other, Newton settles slowly or not at all on who sticks and who slips. That shows after
a few steps; `search` goes other ways then.
"""

import numpy as np

from pliant._compile import kernel
from pliant._linkage import separate
from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solvers.blocks import make_blocks, no_blocks
from pliant.solvers.by_forces import newton_by_forces, predict_forces
from pliant.solvers.formulation import CANCELLATION
from pliant.solvers.island import (
    FACTORIZATIONS,
    INSIDE,
    ITERATIONS,
    LINEAR,
    PLAIN,
    POLISHED,
    RESIDUAL,
    TOLERANCE,
    TWOFOLD,
    Island,
    cancellation,
    clear,
    conclude,
    copy,
    make_island,
    settle,
)
from pliant.solvers.known import known_pattern, known_program, no_pattern
from pliant.solvers.linear import direction, factorize, make_system
from pliant.solvers.newton import linearise_blocks, linearise_impacts, natural_map
from pliant.solvers.predict import predict
from pliant.solvers.quick import GAINING, MOST, NEARLY, SHARP, enough_of, is_start
from pliant.solvers.rows import make_rows, rates, whitened_impulse
from pliant.solvers.search import EACH, search
from pliant.solvers.stages import LEAST, line_search
from pliant.solvers.whiten import Inertia

FIRST, SMALL = 16, 48  # steps of Newton with the laws as they are; in the forces, where they are small
FAR = 1e-6  # a residual below which steps are whole
STANDING = 0.9  # of the residual before, which is no gain where it will do, but is not yet small
HOPELESS = (4, 0.1), (8, 0.01)  # steps, and residuals above which they end then, where bodies have many contacts


@separate
@kernel
def large(
    flat: Flat, inertia: Inertia, push: Array, guess: Array, lift: float, goal: float, rough: float,
    force: Array, velocity: Array, tally: Array, known: Ints,
) -> bool:  # fmt: skip
    """As `quick`. rough: a residual up to which what Newton finds will do, where bodies have many contacts each; force
    is the start there, if it is not 0. known: see `known`."""
    tally[0] = tally[1] = tally[2] = 0.0
    rows = make_rows(flat, inertia)
    code = known_program(known, velocity.size, rows)
    by_forces = code.size > 0
    if by_forces:
        blocks, pattern = make_blocks(rows, velocity.size, code), no_pattern()
    else:
        blocks = no_blocks()
        pattern = known_pattern(known, velocity.size, rows.ptr, rows.idx, rows.block_ptr)
    island = make_island(inertia, rows, pattern, flat.velocity, push, lift, np.inf, NEARLY)
    if island.motion.tally[LINEAR] != 0.0:
        return False
    if by_forces:
        predict_forces(island, blocks, flat.velocity, guess, force)
    start, done = force.copy(), island.motion.tally
    if by_forces:
        newton_by_forces(island, blocks, guess, SMALL, force)
    elif force.size > MOST:  # else `quick` has tried
        if is_start(force):
            _newton(island, FIRST, goal, force)
        if not done[RESIDUAL] <= max(rough, goal):
            predict(island, flat.velocity, guess, force)
            _newton(island, FIRST, goal, force)
        copy(island.motion.best, start)  # who sticks is told better there than at the prediction
    if not done[RESIDUAL] < NEARLY and (by_forces or done[RESIDUAL] > max(rough, goal)):
        if by_forces:
            pattern = known_pattern(known, velocity.size, rows.ptr, rows.idx, rows.block_ptr)
            island = Island(inertia, rows, pattern, make_system(rows, pattern), island.motion, lift)
        search(island, start, force)
        if done[RESIDUAL] < NEARLY:
            _newton(island, EACH, goal, force)
    plain = by_forces and enough_of(rows, island.motion.per_row[0], island.motion.best) > POLISHED
    conclude(rows, inertia, island.motion, lift, PLAIN if plain else TWOFOLD, force)
    copy(island.motion.v, velocity)
    tally[0], tally[1], tally[2] = done[RESIDUAL], done[ITERATIONS] + done[INSIDE], done[FACTORIZATIONS]
    return bool(done[RESIDUAL] < goal) and cancellation(rows, force, island.motion.x, island.motion.v) < CANCELLATION


@kernel
def _newton(island: Island, most: int, goal: float, force: Array) -> None:
    """At most so many steps from `force`, in place; the best forces are left in island.motion.best. Below the goal as
    long as they gain."""
    rows, system, motion, lift = island.rows, island.system, island.motion, island.lift
    tally, x = motion.tally, motion.x
    p, r, df, dp = motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    last, residual = np.inf, settle(rows, island.inertia, motion, lift, force)
    for k in range(most):
        stalls = last < goal and not residual < (GAINING if last < tally[TOLERANCE] else STANDING) * last
        sharp = residual <= SHARP and residual <= enough_of(rows, motion.per_row[0], force)
        if residual <= POLISHED or sharp or stalls or _is_hopeless(k, tally[RESIDUAL]):
            return
        linearise_blocks(rows, force, p, lift, system)
        if lift == 0.0:
            linearise_impacts(rows, force, p, system)
        tally[ITERATIONS] += 1
        tally[FACTORIZATIONS] += 1
        if not factorize(rows, island.pattern, system, LEAST):
            return
        clear(x)
        direction(rows, island.pattern, system, x, df)
        step = 1.0
        if residual > FAR:
            whitened_impulse(rows, df, x)
            rates(rows, x, dp)
            step = line_search(rows, lift, motion.per_row, force, natural_map(rows, force, p, lift, r))
        for i in range(force.size):
            force[i] += step * df[i]
        last, residual = residual, settle(rows, island.inertia, motion, lift, force)


@kernel
def _is_hopeless(k: int, best: float) -> bool:
    """Whether so many steps should have led further than to this residual."""
    late = False
    for soon, least in HOPELESS:
        late = late or (k == soon and best > least)
    return late
