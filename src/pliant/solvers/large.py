"""The usual step of many rows, in one compiled call: Newton on sparse factors in the velocities, or in the forces.

Where many bodies rest on each other, Newton settles slowly or not at all on who sticks and who slips. Laws cut at
another scale decide otherwise on the way, and have the same answers: the scales take turns until one of them is there.
Sweeps over the blocks bring it near.
"""

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solvers.coupling import (
    Coupling,
    find_force_pattern,
    find_trees,
    force_direction,
    is_better,
    make_coupling,
    no_coupling,
)
from pliant.solvers.force_steps import cut
from pliant.solvers.formulation import CANCELLATION
from pliant.solvers.island import (
    FACTORIZATIONS,
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
from pliant.solvers.linear import direction, factorize
from pliant.solvers.newton import linearise_blocks, natural_map
from pliant.solvers.predict import law_forces, predict
from pliant.solvers.quick import GAINING, NEARLY
from pliant.solvers.rows import make_rows, rates, whitened_impulse
from pliant.solvers.stages import LEAST, line_search
from pliant.solvers.sweeps import sweep
from pliant.solvers.symbolic import find_pattern
from pliant.solvers.whiten import Inertia

STEPS = 98  # of Newton; what needs more is left to the other ways
FIRST, EACH = 10, 8  # with the laws as they are, and then with each cut
CUTS = 1.0, 0.1, 0.01  # times 1 / (h a), where the laws are cut into pieces
FAR = 1e-6  # a residual below which steps are whole
FEW, SWEEPS = 20, 300  # sweeps before the cuts, and before Newton starts again


@kernel
def large(
    flat: Flat, inertia: Inertia, push: Array, guess: Array, lift: float, goal: float,
    force: Array, velocity: Array, tally: Array,
) -> bool:  # fmt: skip
    """As `quick`."""
    rows, diagonal = make_rows(flat, inertia), np.arange(velocity.size + 1)
    tree, ptr, row = find_trees(rows, inertia)
    by_forces = is_better(tree, ptr, rows)
    if by_forces:
        coupling = make_coupling(rows, tree, ptr, row)
        pattern = find_force_pattern(coupling)
    else:
        coupling = no_coupling()
        pattern = find_pattern(diagonal, diagonal[:-1], rows.ptr, rows.idx, rows.block_ptr)
    island = make_island(inertia, rows, pattern, flat.velocity, push, lift, 1.0 * STEPS, NEARLY)
    if island.motion.tally[LINEAR] != 0.0:
        return False
    if by_forces:
        _predict(island, coupling, flat.velocity, guess, force)
    else:
        predict(island, flat.velocity, guess, force)
    _newton(island, coupling, force)
    if not island.motion.tally[RESIDUAL] < NEARLY:
        copy(island.motion.best, force)
        sweep(island, SWEEPS, force)
        _newton(island, coupling, force)
    finish(island, force)
    copy(island.motion.v, velocity)
    done = island.motion.tally
    tally[0], tally[1], tally[2] = done[RESIDUAL], done[ITERATIONS], done[FACTORIZATIONS]
    return bool(done[RESIDUAL] < goal) and cancellation(rows, velocity.size, force) < CANCELLATION


@kernel
def _predict(island: Island, coupling: Coupling, v0: Array, guess: Array, force: Array) -> None:
    """`predict`, with the forces as unknowns."""
    rows, motion = island.rows, island.motion
    free, p, missed, df = motion.per_row[0], motion.per_row[1], motion.per_row[3], motion.per_row[4]
    law_forces(rows, v0, guess, free, p, force)
    linearise_blocks(rows, force, p, island.lift, island.system)
    whitened_impulse(rows, force, motion.x)
    rates(rows, motion.x, missed)
    for i in range(force.size):
        missed[i] += free[i] - p[i]
    motion.tally[FACTORIZATIONS] += 1
    motion.tally[ITERATIONS] += 1
    if not force_direction(rows, coupling, island.pattern, island.system, missed, df):
        clear(force)
        return
    for i in range(force.size):
        force[i] += df[i]


@kernel
def _newton(island: Island, coupling: Coupling, force: Array) -> None:
    """From `force`, in place; the best forces are left in island.motion.best."""
    rows, system, motion, lift = island.rows, island.system, island.motion, island.lift
    tally, x, nothing = motion.tally, motion.x, np.zeros(force.size)
    p, r, df, dp = motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    there, last, residual = rows, np.inf, settle(rows, island.inertia, motion, lift, force)
    for k in range(STEPS):
        if residual <= POLISHED or (last < tally[TOLERANCE] and not residual < GAINING * last):
            return
        if k == FIRST:
            copy(motion.best, force)
            sweep(island, FEW, force)
            residual = settle(rows, island.inertia, motion, lift, force)
        if k >= FIRST and (k - FIRST) % EACH == 0:
            there = cut(rows, CUTS[((k - FIRST) // EACH + 1) % len(CUTS)])
        linearise_blocks(there, force, p, lift, system)
        tally[FACTORIZATIONS] += 1
        tally[ITERATIONS] += 1
        if coupling.home.size:
            found = force_direction(rows, coupling, island.pattern, system, nothing, df)
        else:
            found = factorize(rows, island.pattern, system, LEAST)
            if found:
                clear(x)
                direction(rows, island.pattern, system, x, df)
        if not found:
            return
        step = 1.0
        if residual > FAR:
            whitened_impulse(rows, df, x)
            rates(rows, x, dp)
            step = line_search(there, lift, motion.per_row, force, natural_map(there, force, p, lift, r))
        for i in range(force.size):
            force[i] += step * df[i]
        last, residual = residual, settle(rows, island.inertia, motion, lift, force)
