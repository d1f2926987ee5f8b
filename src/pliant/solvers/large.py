"""The usual step of many rows, in one compiled call: Newton on sparse factors in the velocities, or in the forces.

Where many bodies rest on each other, Newton settles slowly or not at all on who sticks and who slips. The interior path
does not ask who does, and leads to the answer or near it. From there laws cut at another scale, which decide otherwise
on the way and have the same answers, take turns until one of them is there.
"""

import numpy as np

from pliant._compile import kernel
from pliant._linkage import separate
from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solvers.blocks import make_blocks, no_blocks
from pliant.solvers.by_forces import newton_by_forces, predict_forces
from pliant.solvers.force_steps import cut
from pliant.solvers.formulation import CANCELLATION
from pliant.solvers.island import (
    FACTORIZATIONS,
    INSIDE,
    ITERATIONS,
    LINEAR,
    POLISHED,
    RESIDUAL,
    TOLERANCE,
    Island,
    cancellation,
    clear,
    copy,
    finish,
    make_island,
    settle,
)
from pliant.solvers.known import known_pattern, known_program, no_pattern
from pliant.solvers.linear import direction, factorize, make_system
from pliant.solvers.newton import linearise_blocks, linearise_impacts, natural_map
from pliant.solvers.predict import predict
from pliant.solvers.quick import GAINING, MOST, NEARLY
from pliant.solvers.rows import make_rows, rates, whitened_impulse
from pliant.solvers.stages import LEAST, interior, line_search
from pliant.solvers.whiten import Inertia

FIRST, SMALL = 16, 48  # steps of Newton with the laws as they are; in the forces, where they are small
CUTS = 0.1, 0.01, 1e-3, 1e-5  # times 1 / (h a), where the laws are cut into pieces
EACH, TURNS = 8, 2  # steps of each cut, and how often all of them have their turn after a path
ROBOT = 64  # velocities, up to which a search takes no longer than to come back for it
FAR = 1e-6  # a residual below which steps are whole
SPREADS, PATH = (0.1, 0.01), 40.0  # how far inside a path begins, and its steps


@separate
@kernel
def large(
    flat: Flat, inertia: Inertia, push: Array, guess: Array, lift: float, goal: float, rough: float,
    force: Array, velocity: Array, tally: Array, known: Ints,
) -> bool:  # fmt: skip
    """As `quick`. rough: a residual up to which what Newton finds will do, where bodies have many contacts each.
    known: see `known`."""
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
    else:
        predict(island, flat.velocity, guess, force)
    start, done, most = force.copy(), island.motion.tally, goal if velocity.size <= ROBOT else np.inf
    if by_forces:
        newton_by_forces(island, blocks, guess, SMALL, force)
    elif force.size > MOST:  # else `quick` has tried
        _newton(island, 1.0, FIRST, force)
    if not done[RESIDUAL] < NEARLY and (by_forces or done[RESIDUAL] > min(rough, most)):
        if by_forces:
            pattern = known_pattern(known, velocity.size, rows.ptr, rows.idx, rows.block_ptr)
            island = Island(inertia, rows, pattern, make_system(rows, pattern), island.motion, lift)
        _search(island, start, force)
    finish(island, force)
    copy(island.motion.v, velocity)
    tally[0], tally[1], tally[2] = done[RESIDUAL], done[ITERATIONS] + done[INSIDE], done[FACTORIZATIONS]
    return bool(done[RESIDUAL] < goal) and cancellation(rows, force, island.motion.x, island.motion.v) < CANCELLATION


@kernel
def _search(island: Island, start: Array, force: Array) -> None:
    """Interior paths, from `start` and from the best forces of all, and Newton from where they end."""
    tally, tried = island.motion.tally, np.inf
    copy(start, force)
    for spread in SPREADS:
        interior(island, force, 1.0 - island.lift, spread, PATH)
        for _ in range(TURNS):
            if not tally[RESIDUAL] < tried:
                break  # the same forces lead to the same end
            tried = tally[RESIDUAL]
            copy(island.motion.best, force)
            for scale in CUTS:
                if not tally[RESIDUAL] < NEARLY:
                    _newton(island, scale, EACH, force)
        copy(island.motion.best, force)
        if tally[RESIDUAL] < NEARLY:
            _newton(island, 1.0, EACH, force)
            return


@kernel
def _newton(island: Island, scale: float, most: int, force: Array) -> None:
    """At most so many steps from `force`, in place, of laws that are cut at `scale`; the best forces are left in
    island.motion.best. Below the tolerance as long as they gain."""
    rows, system, motion, lift = island.rows, island.system, island.motion, island.lift
    tally, x = motion.tally, motion.x
    p, r, df, dp = motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    there, last, residual = rows, np.inf, settle(rows, island.inertia, motion, lift, force)
    if scale != 1.0:
        there = cut(rows, scale)
    for _ in range(most):
        if residual <= POLISHED or (last < tally[TOLERANCE] and not residual < GAINING * last):
            return
        linearise_blocks(there, force, p, lift, system)
        if lift == 0.0:
            linearise_impacts(there, force, p, system)
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
            step = line_search(there, lift, motion.per_row, force, natural_map(there, force, p, lift, r))
        for i in range(force.size):
            force[i] += step * df[i]
        last, residual = residual, settle(rows, island.inertia, motion, lift, force)
