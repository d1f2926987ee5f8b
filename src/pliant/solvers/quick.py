"""The usual step, in one compiled call: few rows, and Newton from a velocity near the answer gets there.

The forces are the unknowns: (B + C h A) dlambda = k - C Z x, A = Z Z', which is found once and serves every step of
Newton; x is what momentum misses at the start.
"""

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array
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
from pliant.solvers.linear import System, solve_small
from pliant.solvers.newton import linearise_blocks, natural_map
from pliant.solvers.predict import law_forces, momentum_missed
from pliant.solvers.rows import PROX, Rows, make_rows, rates
from pliant.solvers.stages import LEAST, line_search
from pliant.solvers.whiten import Inertia, factor_inertia, free_gain

STEPS = 30.0  # of Newton; what needs more is left to the other ways
BOLD = 3  # steps of which one is searched along: near the answer whole ones get over the bends of the cones
NEARLY = 1e-10  # a residual below which steps go on only while they gain
GAINING = 0.3
QUICK = 0.5  # of the tolerance, that will do
MOST = 80  # rows; with more, factors in the velocities are faster


@kernel
def quick(flat: Flat, guess: Array, lift: float, goal: float, force: Array, velocity: Array, tally: Array) -> bool:
    """Fill force, (m,), velocity, (nv,), and tally; False: this is not a usual step, and they hold nothing of use.

    guess: (nv,), where Newton starts. lift: 1 for the associated cone. goal: the residual that will do.
    """
    nv, m = velocity.size, force.size
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    push = free_gain(inertia, flat.step, flat.force)
    for j in range(nv):
        velocity[j] = flat.velocity[j] + push[j]
    if m == 0:
        return True
    if m > MOST:
        return False
    rows = make_rows(flat, inertia)
    motion = make_motion(rows, flat.velocity, push, STEPS, NEARLY)
    _newton_in_forces(rows, inertia, motion, lift, guess, force)
    conclude(rows, inertia, motion, lift, force)
    tally[0], tally[1], tally[2] = motion.tally[RESIDUAL], motion.tally[ITERATIONS], motion.tally[FACTORIZATIONS]
    copy(motion.v, velocity)
    if not motion.tally[RESIDUAL] < goal or cancellation(rows, nv, force) >= CANCELLATION:
        return False
    if lift != 0.0:
        return is_one(flat)
    # Each island by its own forces: those of another would hide what is wrong with it.
    island = label_rows(flat)
    residuals = island_residuals(rows, force, motion.per_row[1], motion.per_row[2], island, nv + 1)
    for k in range(nv + 1):
        tally[0] = max(tally[0], residuals[k])
    return tally[0] < goal


@kernel
def _newton_in_forces(rows: Rows, inertia: Inertia, motion: Motion, lift: float, guess: Array, force: Array) -> None:
    """Newton from the pieces of the laws at `guess`, now and then with line search, on while it gains digits."""
    m, h, tally = force.size, rows.step, motion.tally
    p, r, df, dp = motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    squares = rows.square_ptr[-1]
    system = System(
        np.zeros(squares), np.zeros(squares), np.zeros(squares), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(0),
        np.zeros(0), np.zeros((3, 8, 8)),
    )  # fmt: skip
    A, D, X = _mobility(rows, motion.x.size), np.empty((m, m)), np.empty((m, 1))
    law_forces(rows, guess, motion.per_row[0], p, force)
    momentum_missed(rows, inertia, motion.free, guess, force, motion.x)
    rates(rows, motion.x, dp)  # Z x
    step, merit, done, last = 1.0, 0.0, False, np.inf
    for k in range(int(STEPS) + 2):
        linearise_blocks(rows, force, p, lift, system)
        merit = natural_map(rows, force, p, lift, r)
        _assemble(rows, system, A, D, X, dp if k == 0 else r, k == 0)
        tally[FACTORIZATIONS] += 1
        tally[ITERATIONS] += 1
        solve_small(D, m, X, 1)
        for i in range(m):
            df[i] = X[i, 0]
        step = 1.0
        if k > 0 and k % BOLD == 0 and not done:
            for i in range(m):
                s = 0.0
                for j in range(m):
                    s += A[i, j] * df[j]
                dp[i] = h * s
            step = line_search(rows, lift, motion.per_row, force, merit)
        for i in range(m):
            force[i] += step * df[i]
        residual = settle(rows, inertia, motion, lift, force)
        if not np.isfinite(residual) or residual <= POLISHED or k >= STEPS or (done and residual > GAINING * last):
            return
        done, last = residual < tally[TOLERANCE], residual


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
def _assemble(rows: Rows, system: System, A: Array, D: Array, X: Array, missed: Array, first: bool) -> None:
    """D = B + C (h A + E), X = k - C Z x; E is the least compliance of rows that have none of their own."""
    m, h = D.shape[0], rows.step
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(n):
            row = D[lo + i]
            X[lo + i, 0] = system.k[lo + i]
            for j in range(m):
                row[j] = 0.0
            for s in range(n):
                c = system.C[q + i * n + s]
                if c != 0.0:
                    for j in range(m):
                        row[j] += c * h * A[lo + s, j]
                    row[lo + s] += c * LEAST * rows.law[lo + s, PROX]
                    if first:
                        X[lo + i, 0] -= c * missed[lo + s]
            for s in range(n):
                row[lo + s] += system.B[q + i * n + s]
