"""The usual step, in one compiled call: few rows, and Newton from a velocity near the answer gets there.

The forces are the unknowns: (B + C h A) dlambda = k - C Z x, A = Z Z', which is found once and serves every step of
Newton; x is what momentum misses at the start.
"""

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solvers.certificate import island_residuals
from pliant.solvers.formulation import CANCELLATION
from pliant.solvers.island import (
    FACTORIZATIONS,
    ITERATIONS,
    POLISHED,
    RESIDUAL,
    TOLERANCE,
    Motion,
    cancellation,
    conclude,
    copy,
    make_motion,
    settle,
)
from pliant.solvers.islands import is_one, label_rows
from pliant.solvers.dense import solve_square
from pliant.solvers.linear import System
from pliant.solvers.newton import linearise_blocks, natural_map
from pliant.solvers.predict import law_forces, momentum_missed
from pliant.solvers.rows import MOBILITY, OFFSET, PROX, REACH, SLOPE, Rows, make_rows, rates
from pliant.solvers.stages import LEAST, line_search
from pliant.solvers.whiten import Inertia

STEPS = 98  # of Newton; what needs more is left to the other ways
# Times 1 / (h a), where the laws are cut into pieces. Newton may go in circles from one set of pieces to the next; other
# cuts lead elsewhere. The first serves for a while, and again between the others, which follow each other.
FIRST, EACH = 8, 5
CUTS = 1.0, 0.03, 1.0, 0.3, 1.0, 0.01, 1.0, 0.1
SEARCHED = 3  # steps of which one is searched along: near the answer whole ones get over the bends of the cones
FAR = 1e-4  # a residual below which none is
NEARLY = 1e-10  # a residual below which steps go on only while they gain
GAINING = 0.3  # of the residual before, of which they must leave less
QUICK = 0.5  # of the tolerance, that will do
MOST = 80  # rows; with more, factors in the velocities are faster


@kernel
def quick(
    flat: Flat, inertia: Inertia, push: Array, guess: Array, lift: float, goal: float,
    force: Array, velocity: Array, tally: Array,
) -> bool:  # fmt: skip
    """Fill force, (m,), velocity, (nv,), and tally; False: this is not a usual step, and they hold nothing of use.

    push: h inv(M) f, (nv,). guess: (nv,), where Newton starts. lift: 1 for the associated cone. goal: the residual that
    will do.
    """
    nv, m = velocity.size, force.size
    for j in range(nv):
        velocity[j] = flat.velocity[j] + push[j]
    if m == 0:
        return True
    if m > MOST:
        return False
    rows = make_rows(flat, inertia)
    motion = make_motion(rows, flat.velocity, push, float(STEPS), NEARLY)
    law_forces(rows, flat.velocity, guess, motion.per_row[0], motion.per_row[1], force)
    momentum_missed(rows, inertia, motion.free, guess, force, motion.x)
    _newton_in_forces(rows, inertia, motion, _reach(rows, guess), lift, force)
    conclude(rows, inertia, motion, lift, force)
    tally[0], tally[1], tally[2] = motion.tally[RESIDUAL], motion.tally[ITERATIONS], motion.tally[FACTORIZATIONS]
    copy(motion.v, velocity)
    if not motion.tally[RESIDUAL] < goal or cancellation(rows, nv, force) >= CANCELLATION:
        return False
    if _is_one_tree(inertia.parent, flat.jac_ptr):
        return True
    if lift != 0.0:
        return is_one(flat)
    # Each island by its own forces: those of another would hide what is wrong with it.
    island = label_rows(flat)
    residuals = island_residuals(rows, force, motion.per_row[1], motion.per_row[2], island, nv + 1)
    for k in range(nv + 1):
        tally[0] = max(tally[0], residuals[k])
    return tally[0] < goal


@kernel
def _is_one_tree(parent: Ints, jac_ptr: Ints) -> bool:
    """Whether M alone couples all velocities, and every row has some."""
    roots = 0
    for up in parent:
        if up < 0:
            roots += 1
    for i in range(jac_ptr.size - 1):
        if jac_ptr[i] == jac_ptr[i + 1]:
            return False
    return roots == 1


@kernel
def _newton_in_forces(
    rows: Rows, inertia: Inertia, motion: Motion, reach: float, lift: float, force: Array
) -> None:
    """Newton from `force` and the rates in motion, which need not go with it: motion.x is what momentum misses.

    The best forces are left in motion.best. reach: the force that errors are compared with, if none is larger.
    """
    m, h, tally = force.size, rows.step, motion.tally
    p, r, df, dp = motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    squares = rows.square_ptr[-1]
    system = System(
        np.zeros(squares), np.zeros(squares), np.zeros(squares), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(0),
        np.zeros(0), np.zeros((3, 8, 8)),
    )  # fmt: skip
    A, D = _mobility(rows, motion.x.size), np.empty((m, m))
    rates(rows, motion.x, dp)  # Z x
    cut = _cut(rows, 1.0)
    residual = np.inf
    for k in range(STEPS):
        if k >= FIRST and (k - FIRST) % EACH == 0:
            cut = _cut(rows, CUTS[((k - FIRST) // EACH + 1) % len(CUTS)])
        linearise_blocks(cut, force, p, lift, system)
        _assemble(rows, system, A, D, df, dp, k == 0)
        tally[FACTORIZATIONS] += 1
        tally[ITERATIONS] += 1
        solve_square(D, df)
        step = 1.0
        if k > 0 and k % SEARCHED == 0 and residual > FAR:
            _multiply(A, h, df, dp)
            step = line_search(cut, lift, motion.per_row, force, natural_map(cut, force, p, lift, r))
        for i in range(m):
            force[i] += step * df[i]
        last = residual
        if last < FAR:  # rates that follow from one velocity: forces that cancel leave no errors of their own in each
            residual = settle(rows, inertia, motion, lift, force)
        else:
            residual = _estimate(rows, motion, A, reach, lift, force)
        if not np.isfinite(residual):
            return
        if residual <= POLISHED:
            settle(rows, inertia, motion, lift, force)
            return
        if last < tally[TOLERANCE] and residual > GAINING * last:  # the last digits: a light body may carry a heavy one
            return


@kernel
def _estimate(rows: Rows, motion: Motion, A: Array, reach: float, lift: float, force: Array) -> float:
    """`settle`, in less time: rates and the residual at them, as long as the forces are far from the answer."""
    free, p, r = motion.per_row[0], motion.per_row[1], motion.per_row[3]
    _multiply(A, rows.step, force, p)
    for i in range(force.size):
        p[i] += free[i]
    natural_map(rows, force, p, lift, r)
    return _largest(r) / max(reach, _largest(force))


@kernel
def _cut(rows: Rows, scale: float) -> Rows:
    """The rows with so much of their mobility in the laws."""
    law = rows.law
    if scale != 1.0:
        law = law.copy()
        for i in range(law.shape[0]):
            law[i, MOBILITY] *= scale
            law[i, REACH] *= scale
    return Rows(
        rows.step, rows.block_ptr, rows.square_ptr, rows.ptr, rows.idx, rows.val, rows.jac_ptr, rows.jac_idx,
        rows.jac_val, law,
    )  # fmt: skip


@kernel
def _largest(x: Array) -> float:
    most = 0.0
    for i in range(x.size):
        most = max(most, abs(x[i]))
        if np.isnan(x[i]):
            return np.nan
    return most


@kernel
def _multiply(A: Array, h: float, x: Array, y: Array) -> None:
    """y := h A x."""
    for i in range(x.size):
        s = 0.0
        for j in range(x.size):
            s += A[i, j] * x[j]
        y[i] = h * s


@kernel
def _reach(rows: Rows, v: Array) -> float:
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


@kernel
def _mobility(rows: Rows, nv: int) -> Array:
    """A = Z Z', (m, m)."""
    m = rows.law.shape[0]
    A, z = np.zeros((m, m)), np.zeros(nv)
    for i in range(m):
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            z[rows.idx[e]] = rows.val[e]
        for j in range(i + 1):
            s = 0.0
            for e in range(rows.ptr[j], rows.ptr[j + 1]):
                s += rows.val[e] * z[rows.idx[e]]
            A[i, j] = s
            A[j, i] = s
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            z[rows.idx[e]] = 0.0
    return A


@kernel
def _assemble(rows: Rows, system: System, A: Array, D: Array, x: Array, missed: Array, first: bool) -> None:
    """D = B + C (h A + E), x = k - C Z x; E is the least compliance of rows that have none of their own."""
    m, h = D.shape[0], rows.step
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(n):
            row = D[lo + i]
            x[lo + i] = system.k[lo + i]
            for j in range(m):
                row[j] = 0.0
            for s in range(n):
                c = system.C[q + i * n + s]
                if c != 0.0:
                    other = A[lo + s]
                    for j in range(m):
                        row[j] += c * h * other[j]
                    row[lo + s] += c * LEAST * rows.law[lo + s, PROX]
                    if first:
                        x[lo + i] -= c * missed[lo + s]
            for s in range(n):
                row[lo + s] += system.B[q + i * n + s]
