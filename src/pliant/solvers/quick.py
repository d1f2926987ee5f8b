"""The usual step, in one compiled call: few rows, and Newton from a velocity near the answer gets there.

The forces are the unknowns: (B + C h A) dlambda = k, A = G inv(M) G', which is found once and serves every step of
Newton. Rows at a bound take no part in the factors.
"""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import folded, room
from pliant._linkage import separate
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solvers.dense import wide
from pliant.solvers.force_steps import LEAST, cut, direction, is_torn, make_pieces, onto_rims, share_out
from pliant.solvers.formulation import CANCELLATION
from pliant.solvers.island import (
    FACTORIZATIONS,
    ITERATIONS,
    PLAIN,
    POLISHED,
    RESIDUAL,
    TOLERANCE,
    TWOFOLD,
    Motion,
    brief_motion,
    cancellation,
    clear,
    conclude,
    copy,
)
from pliant.solvers.linear import System
from pliant.solvers.mobility import find_mobility, multiply
from pliant.solvers.newton import linearise_blocks, natural_map
from pliant.solvers.one_by_one import closing_stick, settle_pieces, try_pieces
from pliant.solvers.predict import law_forces
from pliant.solvers.rows import MOBILITY, OFFSET, SLOPE, Rows, bare_rows
from pliant.solvers.stages import line_search
from pliant.solvers.whiten import Inertia

STEPS = 98  # of Newton; what needs more is left to the other ways
# Times 1 / (h a), where the laws are cut into pieces. Newton may go in circles from one set of pieces to the next;
# other cuts lead elsewhere. The first serves for a while, and again between the others, which follow each other.
FIRST, EACH = 10, 5
CUTS = 1.0, 0.03, 1.0, 0.3, 1.0, 0.01, 1.0, 0.1
SEARCHED = 3  # steps of which one is searched along: near the answer whole ones get over the bends of the cones
FAR = 1e-4  # a residual below which none is
NEARLY = 1e-10  # a residual below which steps go on only while they gain
GAINING = 0.3  # of the residual before, of which they must leave less
SHARP, CONTRAST = 1e-10, 1e3  # a residual that is small enough where no force is so much larger than what it changes
SHARED = 1e-3  # compliance relative to h a, with which contacts of one foot share a load
POLISHES = 3  # of those steps, with precise rates
QUICK = 0.5  # of the tolerance, that will do
FEW, ALL = 6, 64  # blocks, and pieces that all are tried
MANY = 26  # steps in which one block at a time changes its piece
FEW_ROWS, MOST = 40, 80  # rows; with more an interior path is faster than to try; factors in the velocities are


@separate
@kernel
def quick(
    flat: Flat, inertia: Inertia, push: Array, guess: Array, lift: float, goal: float,
    force: Array, velocity: Array, tally: Array,
) -> bool:  # fmt: skip
    """Fill force, (m,), velocity, (nv,), and tally for one island; False: this is not a usual step, and they hold the
    best that was found, or nothing of use, if tally counts no iterations.

    push: h inv(M) f, (nv,). guess: (nv,), where Newton starts. lift: 1 for the associated cone. goal: the residual that
    will do.
    """
    m = force.size
    for j in range(velocity.size):
        velocity[j] = flat.velocity[j] + push[j]
    tally[0] = tally[1] = tally[2] = 0.0
    if m == 0:
        return True
    if m > MOST:
        return False
    A = folded(room(m * wide(m)), m, wide(m))
    find_mobility(inertia, flat.jac_ptr, flat.jac_idx, flat.jac_val, A)
    rows = bare_rows(flat, A)
    motion = brief_motion(rows, flat.velocity, push, float(STEPS), NEARLY)
    pieces, reach = make_pieces(rows), reach_of(rows, guess)
    if is_start(force):
        _find_rates(rows, motion, A, force)
        _newton(rows, rows, motion, A, pieces, reach, lift, 1, FIRST, force)
    if not motion.tally[RESIDUAL] <= NEARLY:
        law_forces(rows, flat.velocity, guess, motion.per_row[0], motion.per_row[1], force)
        _newton(rows, rows, motion, A, pieces, reach, lift, 0, FIRST, force)
    if not motion.tally[RESIDUAL] <= NEARLY and m <= FEW_ROWS:
        _settle(rows, motion, A, pieces, reach, lift, force)
        _from_best(rows, motion, A, force)
        if motion.tally[RESIDUAL] <= NEARLY:
            _newton(rows, rows, motion, A, pieces, reach, lift, 1, FIRST, force)
        else:
            _other_cuts(rows, motion, A, pieces, reach, lift, force)
    _polish(rows, inertia, motion, A, pieces, lift, force)
    tally[0], tally[1], tally[2] = motion.tally[RESIDUAL], motion.tally[ITERATIONS], motion.tally[FACTORIZATIONS]
    copy(motion.v, velocity)
    return bool(motion.tally[RESIDUAL] < goal) and cancellation(rows, force, motion.x, motion.v) < CANCELLATION


@kernel
def _settle(rows: Rows, motion: Motion, A: Array, pieces: System, reach: float, lift: float, force: Array) -> None:
    """Pieces one by one, where Newton does not find them together."""
    other, blocks, tally = make_pieces(rows), rows.block_ptr.size - 1, motion.tally
    if blocks <= FEW:
        for first in (True, False):
            closing_stick(rows, motion, force)
            settle_pieces(rows, motion, A, pieces, other, reach, lift, first, 4 + blocks, force)
            if tally[RESIDUAL] <= NEARLY:
                return
        _from_best(rows, motion, A, force)
        try_pieces(rows, motion, A, pieces, reach, lift, ALL, force)
        if tally[RESIDUAL] <= NEARLY:
            return
    for first in (False, True):
        _from_best(rows, motion, A, force)
        settle_pieces(rows, motion, A, pieces, other, reach, lift, first, MANY, force)
        if tally[RESIDUAL] <= NEARLY:
            return


@kernel
def _from_best(rows: Rows, motion: Motion, A: Array, force: Array) -> None:
    copy(motion.best, force)
    _find_rates(rows, motion, A, force)


@kernel
def _find_rates(rows: Rows, motion: Motion, A: Array, force: Array) -> None:
    free, p = motion.per_row[0], motion.per_row[1]
    multiply(A, rows.step, force, p)
    for i in range(force.size):
        p[i] += free[i]


@kernel
def is_start(force: Array) -> bool:
    """Whether there are any forces."""
    some = 0
    for f in force:
        some += f != 0.0
    return some > 0


@kernel
def _other_cuts(rows: Rows, motion: Motion, A: Array, pieces: System, reach: float, lift: float, force: Array) -> None:
    """Newton on laws that are cut at one scale after the other."""
    for k in range(FIRST, STEPS, EACH):
        there = cut(rows, CUTS[((k - FIRST) // EACH + 1) % len(CUTS)])
        if _newton(rows, there, motion, A, pieces, reach, lift, k, k + EACH, force):
            return


@kernel
def _newton(
    rows: Rows, there: Rows, motion: Motion, A: Array, pieces: System, reach: float, lift: float, begin: int, end: int,
    force: Array,
) -> bool:  # fmt: skip
    """Newton from `force` and the rates in motion, which need not go with each other: steps begin to end of the
    schedule; whether it came to its end. The best forces are left in motion.best, by the rates free + h A lambda.
    there: the rows, cut as they are or otherwise. reach: the force that errors are compared with, if none is larger."""
    h, tally, m = rows.step, motion.tally, force.size
    free, p, r, df, dp = motion.per_row[0], motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    missed, moved, residual, last = motion.per_row[7], motion.per_row[8], np.inf, np.inf
    multiply(A, h, force, missed)
    for i in range(m):
        missed[i] += free[i] - p[i]
    for k in range(begin, end):
        linearise_blocks(there, force, p, lift, pieces)
        if k > 0:  # k of the pieces is what the natural map gives, but for the sign
            worst = largest(pieces.k)
            if k >= FIRST:
                natural_map(rows, force, p, lift, r)
                worst = largest(r)
            scale, gap = max(reach, largest(force)), _stopping(rows, missed)
            last, residual = residual, (gap if gap > worst else worst) / scale  # nan stays
            if residual < tally[RESIDUAL]:
                tally[RESIDUAL] = residual
                copy(force, motion.best)
            stalls = last < tally[TOLERANCE] and residual > GAINING * last
            if stalls or (not residual > SHARP and not residual > enough_of(rows, free, force)):
                return True
            if gap > worst and worst <= SHARP * scale:  # else slow slips turn on and on, for nothing
                clear(pieces.k)
        direction(rows, pieces, A, missed, LEAST, df)
        tally[FACTORIZATIONS] += 1
        torn = k < FIRST and is_torn(rows, pieces, force, df)
        if torn:
            direction(rows, pieces, A, missed, SHARED, dp)
            share_out(rows, force, dp, df)
            tally[FACTORIZATIONS] += 1
        tally[ITERATIONS] += 1
        step = 1.0
        if k > 0 and k % SEARCHED == 0 and residual > FAR:
            for i in range(m):
                p[i] += missed[i]
            multiply(A, h, df, dp)
            step = line_search(there, lift, motion.per_row, force, natural_map(there, force, p, lift, r))
        for i in range(m):
            force[i] += step * df[i]
        multiply(A, h, force, p)
        for i in range(m):
            p[i] += free[i]
        clear(missed)
        if step == 1.0 and k < FIRST and not torn and onto_rims(rows, pieces, force, moved):
            multiply(A, h, moved, missed)
    return False


@kernel
def _polish(rows: Rows, inertia: Inertia, motion: Motion, A: Array, pieces: System, lift: float, force: Array) -> None:
    """The best forces with precise rates, and steps from there: where a light body carries a heavy one, forces cancel,
    and h A lambda has lost the digits that move it."""
    p, df, before, nothing = motion.per_row[1], motion.per_row[4], motion.per_row[6], motion.per_row[7]
    tally = motion.tally
    enough = enough_of(rows, motion.per_row[0], motion.best)
    conclude(rows, inertia, motion, lift, PLAIN if enough > POLISHED else TWOFOLD, force)
    clear(nothing)
    for _ in range(POLISHES):
        last = tally[RESIDUAL]
        if last <= enough or last > NEARLY:
            return
        copy(force, before)
        linearise_blocks(rows, force, p, lift, pieces)
        direction(rows, pieces, A, nothing, LEAST, df)
        tally[FACTORIZATIONS] += 1
        tally[ITERATIONS] += 1
        for i in range(force.size):
            motion.best[i] = force[i] + df[i]
        conclude(rows, inertia, motion, lift, TWOFOLD, force)
        if not tally[RESIDUAL] < last:
            copy(before, motion.best)
            conclude(rows, inertia, motion, lift, TWOFOLD, force)
            return


@kernel
def enough_of(rows: Rows, free: Array, force: Array) -> float:
    """The residual that needs no further digits: where forces could throw a light body, the last ones count."""
    light = 0.0
    for i in range(force.size):
        light = max(light, rows.step * rows.law[i, MOBILITY])
    return SHARP if light * largest(force) < CONTRAST * largest(free) else POLISHED


@kernel
def largest(x: Array) -> float:
    most = 0.0
    for i in range(x.size):
        most = max(most, abs(x[i]))
        if np.isnan(x[i]):
            return np.nan
    return most


@kernel
def _stopping(rows: Rows, rate: Array) -> float:
    """The largest force that would stop one of these rates alone."""
    most = 0.0
    for i in range(rate.size):
        if rate[i] != 0.0:
            most = max(most, abs(rate[i]) / (rows.step * rows.law[i, MOBILITY]))
    return most


@kernel
def reach_of(rows: Rows, v: Array) -> float:
    """The largest force that rates of the size of those at v call for, as the certificate reckons."""
    most = 0.0
    for i in range(rows.law.shape[0]):
        size = abs(rows.law[i, OFFSET])
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            size += abs(rows.jac_val[e] * v[rows.jac_idx[e]])
        a, S = rows.step * rows.law[i, MOBILITY], rows.law[i, SLOPE]
        reach = size / a if S == np.inf else S * size / (1.0 + a * S)
        if reach < np.inf:
            most = max(most, reach)
    return most
