"""One linearised step: every block gives B dlambda + C (G dv) = k, momentum gives dx = h Z' dlambda.

Eliminating the forces leaves one matrix in the velocities, P = I + h Z' H Z with H = inv(B + C E) C. E, the least
compliance of a row as a fraction of h a, bounds P whatever the stiffness; it is centred at the present forces, so
it slows the last digits by that factor and changes no answer.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array, Ints
from pliant.solvers.assemble import assemble
from pliant.solvers.dense import dense_factor, dense_solve
from pliant.solvers.factor import factor
from pliant.solvers.rows import PROX, Rows, add_impulse, rates
from pliant.solvers.solve import solve
from pliant.solvers.symbolic import Pattern


class System(NamedTuple):
    """Storage for the linearised step of one island."""

    B: Array  # d x d per block, by rows
    C: Array  # d x d per block
    H: Array  # d x d per block
    k: Array  # (m,)
    push: Array  # (m,) inv(B + C E) k
    flow: Array  # (m,)
    values: Array  # the factors of P
    work: Array
    small: Array  # (3, 8, 8) for one block


@kernel
def make_system(rows: Rows, pattern: Pattern) -> System:
    """Set room aside."""
    m, squares = rows.law.shape[0], rows.square_ptr[-1]
    return System(
        np.zeros(squares),
        np.zeros(squares),
        np.zeros(squares),
        np.zeros(m),
        np.zeros(m),
        np.zeros(m),
        np.empty(pattern.value_ptr[-1]),
        np.empty(pattern.work),
        np.zeros((3, 8, 8)),
    )


@kernel
def solve_small(A: Array, n: int, X: Array, width: int) -> None:
    """X := inv(A) X for a small A (n, n), both overwritten; partial pivoting."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            for j in range(width):
                X[k, j], X[best, j] = X[best, j], X[k, j]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            if f != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= f * A[k, j]
                for j in range(width):
                    X[i, j] -= f * X[k, j]
    for j in range(width):
        for i in range(n - 1, -1, -1):
            s = X[i, j]
            for t in range(i + 1, n):
                s -= A[i, t] * X[t, j]
            X[i, j] = s / A[i, i]


@kernel
def _eliminate_forces(rows: Rows, system: System, least: float) -> bool:
    """H = inv(B + C E) C and push = inv(B + C E) k per block; returns whether every H is symmetric."""
    A, X = system.small[0], system.small[1]
    symmetric = True
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        if n == 1:
            pivot = system.B[q] + system.C[q] * least * rows.law[lo, PROX]
            system.H[q] = system.C[q] / pivot
            system.push[lo] = system.k[lo] / pivot
            continue
        for i in range(n):
            for j in range(n):
                c = system.C[q + i * n + j]
                A[i, j] = system.B[q + i * n + j] + c * least * rows.law[lo + j, PROX]
                X[i, j] = c
            X[i, n] = system.k[lo + i]
        solve_small(A, n, X, n + 1)
        for i in range(n):
            for j in range(n):
                system.H[q + i * n + j] = X[i, j]
                if j < i:
                    gap = abs(X[i, j] - X[j, i])
                    if gap > 1e-11 * (abs(X[i, i]) + abs(X[j, j])):
                        symmetric = False
            system.push[lo + i] = X[i, n]
    return symmetric


@kernel
def factorize(rows: Rows, pattern: Pattern, system: System, least: float) -> bool:
    """Eliminate the forces, assemble and factor P; False: no usable pivot."""
    symmetric = _eliminate_forces(rows, system, least)
    unit = np.ones(pattern.mass_entry.size)
    for _ in range(2):
        assemble(
            pattern, unit, rows.ptr, rows.val, rows.block_ptr, rows.step,
            rows.square_ptr, system.H, symmetric, system.values, system.work,
        )  # fmt: skip
        failed, _ = factor(pattern, system.values, symmetric, 0.0, system.work)
        if failed < 0:
            return True
        if not symmetric:
            return False
        symmetric = False  # rounding has eaten a positive pivot: go on without using the symmetry
    return False


@kernel
def push_forces(rows: Rows, system: System, least: float) -> None:
    """New right-hand sides on the factors at hand: push = inv(B + C E) k."""
    A, X = system.small[0], system.small[1]
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(n):
            for j in range(n):
                A[i, j] = system.B[q + i * n + j] + system.C[q + i * n + j] * least * rows.law[lo + j, PROX]
            X[i, 0] = system.k[lo + i]
        if n > 0:
            solve_small(A, n, X, 1)
        for i in range(n):
            system.push[lo + i] = X[i, 0]


@kernel
def direction(rows: Rows, pattern: Pattern, system: System, x: Array, df: Array) -> None:
    """df := push - H Z dx with P dx = x + h Z' push, on the factors at hand.

    x holds what momentum misses and becomes dx; system.flow becomes Z dx.
    """
    add_impulse(rows, system.push, x)
    solve(pattern, system.values, x, system.work)
    rates(rows, x, system.flow)
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(n):
            s = system.push[lo + i]
            for j in range(n):
                s -= system.H[q + i * n + j] * system.flow[lo + j]
            df[lo + i] = s


class Dense(NamedTuple):
    """The factors of [[I, -h Z'], [C Z, B]], without any least compliance."""

    A: Array  # (nv + m, nv + m)
    exchange: Ints
    row_scale: Array
    col_scale: Array
    rhs: Array


def make_dense(rows: Rows, nv: int) -> Dense:
    """Set room aside."""
    n = nv + len(rows.law)
    return Dense(np.zeros((n, n)), np.zeros(n, np.int64), np.zeros(n), np.zeros(n), np.zeros(n))


@kernel
def dense_direction(rows: Rows, system: System, dense: Dense, anew: bool, df: Array) -> bool:
    """df from [[I, -h Z'], [C Z, B]] (dx, df) = (0, k), on new factors if `anew`; False: there are none."""
    A, rhs, m = dense.A, dense.rhs, df.size
    nv = rhs.size - m
    if anew and not _dense_factors(rows, system, dense, nv):
        return False
    for i in range(nv):
        rhs[i] = 0.0
    for i in range(m):
        rhs[nv + i] = system.k[i]
    dense_solve(A, dense.exchange, dense.row_scale, dense.col_scale, rhs)
    for i in range(m):
        df[i] = rhs[nv + i]
    return True


@kernel
def _dense_factors(rows: Rows, system: System, dense: Dense, nv: int) -> bool:
    A = dense.A
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0.0
    for j in range(nv):
        A[j, j] = 1.0
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(n):
            for e in range(rows.ptr[lo + i], rows.ptr[lo + i + 1]):
                A[rows.idx[e], nv + lo + i] = -rows.step * rows.val[e]
            for j in range(n):
                A[nv + lo + i, nv + lo + j] = system.B[q + i * n + j]
                c = system.C[q + i * n + j]
                for e in range(rows.ptr[lo + j], rows.ptr[lo + j + 1]):
                    A[nv + lo + i, rows.idx[e]] += c * rows.val[e]
    return dense_factor(A, dense.exchange, dense.row_scale, dense.col_scale)[0] < 0
