"""Newton with the forces as unknowns, many rows in small blocks: rates by h A, steps by its elimination."""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.blocks import Blocks, block_direction, block_rates
from pliant.solvers.island import FACTORIZATIONS, ITERATIONS, POLISHED, RESIDUAL, TOLERANCE, Island, clear, copy
from pliant.solvers.linear import System
from pliant.solvers.newton import linearise_blocks, linearise_impacts, natural_map
from pliant.solvers.pass_on import pass_on
from pliant.solvers.predict import law_forces
from pliant.solvers.quick import GAINING, largest, reach_of
from pliant.solvers.rows import PROX, Rows
from pliant.solvers.stages import LEAST, line_search

FAR = 1e-6  # a residual below which steps are whole
SURE = 1e-15  # one that needs no look, if the step gains what the one before has
NEAR = 1e-5  # one below which factors at hand may do: of a column at rest each step on them gains four digits
DRAWN = 1e4  # times the largest free rate, up to which the force of a law is one to be drawn to
SOON, CREEPING, JUMPS = 2, 0.5, 8  # steps, and what one leaves, after which contacts may close one by one; looks for it


@kernel
def predict_forces(island: Island, blocks: Blocks, v0: Array, guess: Array, force: Array) -> None:
    """Fill force: `predict`, with the forces as unknowns."""
    rows, motion = island.rows, island.motion
    free, p = motion.per_row[0], motion.per_row[1]
    law_forces(rows, v0, guess, free, p, force)
    linearise_blocks(rows, force, p, island.lift, island.system)
    _lean_on_laws(rows, island.system, DRAWN * largest(free))
    if not _step_from(island, blocks, force):
        clear(force)


@kernel
def _lean_on_laws(rows: Rows, system: System, most: float) -> None:
    """The least compliance of a row draws it to what its law gives at p, k / B more than the force that it starts with:
    in a column at rest that is the answer, and the start far from it. most: what that may change rates by."""
    for b in range(rows.block_ptr.size - 1):
        i, q = rows.block_ptr[b], rows.square_ptr[b]
        if i < rows.block_ptr[b + 1] and system.C[q] > 0.0 and system.B[q] > 0.0:
            change = rows.law[i, PROX] * system.k[i] / system.B[q]
            if 0.0 < change < most:
                system.k[i] += system.C[q] * LEAST * change


@kernel
def _step_from(island: Island, blocks: Blocks, force: Array) -> bool:
    """A step on the pieces in the system, where p in motion is not what follows from the forces; False: no pivot."""
    rows, motion = island.rows, island.motion
    free, p, missed, df = motion.per_row[0], motion.per_row[1], motion.per_row[3], motion.per_row[4]
    block_rates(rows, blocks, force, missed)
    for i in range(force.size):
        missed[i] += free[i] - p[i]
    motion.tally[FACTORIZATIONS] += 1
    motion.tally[ITERATIONS] += 1
    if not block_direction(rows, blocks, island.system, missed, True, df):
        return False
    for i in range(force.size):
        force[i] += df[i]
    return True


@kernel
def newton_by_forces(island: Island, blocks: Blocks, guess: Array, most: int, force: Array) -> None:
    """At most so many steps from `force`, in place; the best forces are left in island.motion.best. Below the tolerance
    as long as they gain. Near the answer on the factors at hand, as long as these do: they may be of other pieces.

    Errors are those of the natural map, against the largest force or, if none is large, what rates of the size of
    those at `guess` call for; the certificate is for the answer.
    """
    rows, system, motion, lift = island.rows, island.system, island.motion, island.lift
    tally, nothing, reach = motion.tally, motion.per_row[7], reach_of(rows, guess)
    free, p, r, df, dp = motion.per_row[0], motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    last, anew, factored, jumps = np.inf, True, True, JUMPS
    clear(nothing)
    _rates_of(island, blocks, free, force, p)
    for k in range(most + 1):
        linearise_blocks(rows, force, p, lift, system)
        residual = largest(system.k) / max(reach, largest(force), 1e-300)
        if residual < tally[RESIDUAL]:
            tally[RESIDUAL] = residual
            copy(force, motion.best)
        gains = residual < GAINING * last
        if k == most or not residual > POLISHED or (anew and last < tally[TOLERANCE] and not gains):
            return
        if jumps > 0 and k >= SOON and residual > CREEPING * last:
            jumps -= 1
            if pass_on(island, force, p) > 0:
                linearise_blocks(rows, force, p, lift, system)
                if not _step_from(island, blocks, force):
                    return
                _rates_of(island, blocks, free, force, p)
                last = np.inf
                continue
        tally[ITERATIONS] += 1
        anew = not (factored and gains and residual < NEAR)
        if anew:
            tally[FACTORIZATIONS] += 1
            if lift == 0.0:
                linearise_impacts(rows, force, p, system)
        if not block_direction(rows, blocks, system, nothing, anew, df):
            return
        if not anew and last < np.inf and residual * residual < SURE * last:
            for i in range(force.size):
                motion.best[i] = force[i] + df[i]
            tally[RESIDUAL] = residual * (residual / last)
            return
        step = 1.0
        if residual > FAR:
            block_rates(rows, blocks, df, dp)
            step = line_search(rows, lift, motion.per_row, force, natural_map(rows, force, p, lift, r))
        factored = step == 1.0
        for i in range(force.size):
            force[i] += step * df[i]
        _rates_of(island, blocks, free, force, p)
        last = residual


@kernel(inline=True)
def _rates_of(island: Island, blocks: Blocks, free: Array, force: Array, p: Array) -> None:
    block_rates(island.rows, blocks, force, p)
    for i in range(force.size):
        p[i] += free[i]
