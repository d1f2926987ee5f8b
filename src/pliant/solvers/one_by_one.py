"""Newton in the forces that lets one block at a time change its piece of the law.

Newton goes in circles where several rows open, close, stick or slip at once, each for the others' sake. Changed one at
a time, by the rule of the first or of the worst one, pieces settle (Murty's and Bard's rules for complementarity).
Blocks that stay on their piece are linearised again in every step: friction that slips, and laws of a power, are bent.
"""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.force_steps import LEAST, direction
from pliant.solvers.island import FACTORIZATIONS, ITERATIONS, RESIDUAL, TOLERANCE, Motion, copy
from pliant.solvers.linear import System
from pliant.solvers.mobility import multiply
from pliant.solvers.newton import linearise_blocks
from pliant.solvers.rows import FRICTION, LOWER, MOBILITY, POWER, SLOPE, UPPER, VALUE, Rows, rate_at


@kernel
def settle_pieces(
    rows: Rows, motion: Motion, A: Array, pieces: System, other: System, reach: float, lift: float, first: bool,
    most: int, force: Array,
) -> None:  # fmt: skip
    """From `force` and the rates in motion, which choose the pieces; the best forces are left in motion.best.

    first: the first block that wants another piece gets it, else the one that is furthest off. other: room.
    """
    h, m, tally = rows.step, force.size, motion.tally
    free, p, df = motion.per_row[0], motion.per_row[1], motion.per_row[4]
    line, nothing = np.empty(m), np.zeros(m)  # a piece is B lambda + C p = line
    linearise_blocks(rows, force, p, lift, pieces)
    for b in range(rows.block_ptr.size - 1):
        _keep_line(rows, b, pieces, force, p, line)
    multiply(A, h, force, p)
    for i in range(m):
        p[i] += free[i]
    for _ in range(most):
        for b in range(rows.block_ptr.size - 1):
            _aim(rows, b, pieces, force, p, line)
        direction(rows, pieces, A, nothing, LEAST, df)
        tally[FACTORIZATIONS] += 1
        tally[ITERATIONS] += 1
        for i in range(m):
            force[i] += df[i]
        multiply(A, h, force, p)
        largest = worst = 0.0
        for i in range(m):
            p[i] += free[i]
            largest = max(largest, abs(force[i]))
        linearise_blocks(rows, force, p, lift, other)
        for i in range(m):
            worst = max(worst, abs(other.k[i]))
        residual = worst / max(reach, largest)
        if not residual < np.inf:
            return
        if residual < tally[RESIDUAL]:
            tally[RESIDUAL] = residual
            copy(force, motion.best)
        if residual <= tally[TOLERANCE] or not _change(rows, pieces, other, first, force, p, line):
            return


@kernel
def _change(rows: Rows, pieces: System, other: System, first: bool, force: Array, p: Array, line: Array) -> bool:
    """Take over the pieces of `other` that are the same, and one that is not; False: all are the same already."""
    chosen, worst, bent = -1, 0.0, False
    for b in range(rows.block_ptr.size - 1):
        if _is_same(rows, b, pieces, other):
            bent = _take(rows, b, pieces, other, force, p, line) or bent
            continue
        miss = 0.0
        for i in range(rows.block_ptr[b], rows.block_ptr[b + 1]):
            miss = max(miss, abs(other.k[i]))
        if (first and chosen < 0) or (not first and miss > worst):
            chosen, worst = b, miss
    if chosen >= 0:
        _take(rows, chosen, pieces, other, force, p, line)
    return chosen >= 0 or bent


@kernel
def _is_same(rows: Rows, b: int, pieces: System, other: System) -> bool:
    """Whether two pieces of a block have their zeros at the same places."""
    for e in range(rows.square_ptr[b], rows.square_ptr[b + 1]):
        if (pieces.B[e] == 0.0) != (other.B[e] == 0.0) or (pieces.C[e] == 0.0) != (other.C[e] == 0.0):
            return False
    return True


@kernel
def _take(rows: Rows, b: int, pieces: System, other: System, force: Array, p: Array, line: Array) -> bool:
    """A block's piece from `other`; whether it is another line."""
    lo, hi, changed = rows.block_ptr[b], rows.block_ptr[b + 1], False
    for e in range(rows.square_ptr[b], rows.square_ptr[b + 1]):
        changed = changed or pieces.B[e] != other.B[e] or pieces.C[e] != other.C[e]
        pieces.B[e], pieces.C[e] = other.B[e], other.C[e]
    for i in range(lo, hi):
        changed = changed or other.k[i] != 0.0
        pieces.k[i] = other.k[i]
    _keep_line(rows, b, pieces, force, p, line)
    return changed


@kernel
def _keep_line(rows: Rows, b: int, pieces: System, force: Array, p: Array, line: Array) -> None:
    """line := k + B lambda + C p."""
    lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
    for i in range(n):
        line[lo + i] = pieces.k[lo + i]
        for j in range(n):
            e = q + i * n + j
            line[lo + i] += pieces.B[e] * force[lo + j] + pieces.C[e] * p[lo + j]


@kernel
def _aim(rows: Rows, b: int, pieces: System, force: Array, p: Array, line: Array) -> None:
    """k := line - B lambda - C p."""
    lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
    for i in range(n):
        pieces.k[lo + i] = line[lo + i]
        for j in range(n):
            e = q + i * n + j
            pieces.k[lo + i] -= pieces.B[e] * force[lo + j] + pieces.C[e] * p[lo + j]


@kernel
def closing_stick(rows: Rows, motion: Motion, force: Array) -> None:
    """Forces and rates that choose pieces: what closes without constraint forces pushes and sticks, else it is open."""
    free, p, law, h = motion.per_row[0], motion.per_row[1], rows.law, rows.step
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        for i in range(lo, hi):
            force[i], p[i] = 0.0, free[i]
        if lo < hi and law[lo, LOWER] == 0.0 and law[lo, UPPER] == np.inf and free[lo] + law[lo, VALUE] / h < 0.0:
            a = h * law[lo, MOBILITY]
            force[lo] = max(1.0, -free[lo] / a) if a > 0.0 else 1.0
            for i in range(lo + 1, hi):
                p[i] = 0.0


@kernel
def try_pieces(
    rows: Rows, motion: Motion, A: Array, pieces: System, reach: float, lift: float, most: int, force: Array
) -> None:
    """All pieces that the blocks can have, one after the other, if they are not more than `most`.

    One-sided rows are open or closed; contacts open, sticking, or slipping, one way or the other along the friction in
    `force`. Where friction has one direction, as in the plane, that is all there is.
    """
    m, blocks, total = force.size, rows.block_ptr.size - 1, 1
    way, state = np.zeros(m), np.zeros(blocks, np.int64)
    for b in range(blocks):
        total *= _states(rows, b)
        if total > most:
            return
        _slip_ways(rows, b, force, way)
    h, tally, nothing = rows.step, motion.tally, np.zeros(m)
    free, p, df = motion.per_row[0], motion.per_row[1], motion.per_row[4]
    for number in range(total):
        rest = number
        for b in range(blocks):
            count = _states(rows, b)
            state[b], rest = rest % count, rest // count
            _choose(rows, b, state[b], way, free, force, p)
        linearise_blocks(rows, force, p, lift, pieces)
        # the rates that chose the pieces need not go with the forces: C (p - free - h A lambda) is missed
        multiply(A, h, force, df)
        for i in range(m):
            nothing[i] = df[i] + free[i] - p[i]
        direction(rows, pieces, A, nothing, LEAST, df)
        tally[FACTORIZATIONS] += 1
        tally[ITERATIONS] += 1
        largest = worst = 0.0
        for i in range(m):
            force[i] += df[i]
            largest = max(largest, abs(force[i]))
        multiply(A, h, force, p)
        for i in range(m):
            p[i] += free[i]
        linearise_blocks(rows, force, p, lift, pieces)
        for i in range(m):
            worst = max(worst, abs(pieces.k[i]))
        residual = worst / max(reach, largest)
        if residual < tally[RESIDUAL]:
            tally[RESIDUAL] = residual
            copy(force, motion.best)
            if residual <= tally[TOLERANCE]:
                return


@kernel
def _states(rows: Rows, b: int) -> int:
    lo, n = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b]
    if n == 0 or not (rows.law[lo, LOWER] == 0.0 and rows.law[lo, UPPER] == np.inf):
        return 1  # whatever its law says there
    rubs = False
    for i in range(lo + 1, lo + n):
        rubs = rubs or rows.law[i, FRICTION] > 0.0
    return 4 if rubs else 2


@kernel
def _slip_ways(rows: Rows, b: int, force: Array, way: Array) -> None:
    """A direction of friction on the rim of the cone, for a normal force of 1."""
    size = 0.0
    for i in range(rows.block_ptr[b] + 1, rows.block_ptr[b + 1]):
        if rows.law[i, FRICTION] > 0.0:
            size += (force[i] / rows.law[i, FRICTION]) ** 2
    for i in range(rows.block_ptr[b] + 1, rows.block_ptr[b + 1]):
        mu = rows.law[i, FRICTION]
        if mu > 0.0 and size > 0.0:
            way[i] = force[i] / np.sqrt(size)
        elif mu > 0.0:
            way[i], size = mu, -1.0  # the first that can rub


@kernel
def _choose(rows: Rows, b: int, state: int, way: Array, free: Array, force: Array, p: Array) -> None:
    """Forces and rates at which the block is on a piece: 0 closed and sticking, 1 open, 2 and 3 slipping."""
    law, h, lo, hi = rows.law, rows.step, rows.block_ptr[b], rows.block_ptr[b + 1]
    for i in range(lo, hi):
        force[i], p[i] = 0.0, free[i]
    if lo == hi or not (law[lo, LOWER] == 0.0 and law[lo, UPPER] == np.inf):
        return
    if state == 1:
        p[lo] = 1.0 + abs(free[lo]) + abs(law[lo, VALUE]) / h
        return
    a = h * law[lo, MOBILITY]
    force[lo] = max(1.0, abs(free[lo]) / a) if a > 0.0 else 1.0
    p[lo] = rate_at(law, h, lo, force[lo])[0] if law[lo, SLOPE] > 0.0 or law[lo, POWER] != 0.0 else free[lo]
    for i in range(lo + 1, hi):
        p[i] = 0.0
        if state >= 2:
            force[i] = (2.0 if state == 2 else -2.0) * way[i] * force[lo]  # beyond the rim
