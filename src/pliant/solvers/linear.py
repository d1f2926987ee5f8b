"""One linearised step: every block gives B dlambda + C (G dv) = k, momentum gives dx = h Z' dlambda.

Eliminating the forces leaves one matrix in the velocities, P = I + h Z' H Z with H = inv(B + C E) C. E, the least
compliance of a row as a fraction of h a, bounds P whatever the stiffness; it is centred at the present forces, so
it slows the last digits by that factor and changes no answer.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import flattened
from pliant.inputs import Array, Ints
from pliant.solvers.assemble import assemble
from pliant.solvers.dense import dense_factor, dense_solve
from pliant.solvers.factor import factor
from pliant.solvers.rows import PROX, Rows, add_impulse, rates
from pliant.solvers.small import LEFT, RIGHT, apply_small, solve_small
from pliant.solvers.solve import solve
from pliant.solvers.symbolic import Pattern

SKEW = 1e-11  # of the diagonal, up to which H counts as symmetric


class System(NamedTuple):
    """Storage for the linearised step of one island."""

    B: Array  # d x d per block, by rows; then the factors of B + C E
    C: Array  # d x d per block
    H: Array  # d x d per block
    k: Array  # (m,)
    push: Array  # (m,) inv(B + C E) k
    flow: Array  # (m,)
    values: Array  # the factors of P
    work: Array
    small: Array  # (3, 8, 8) for one block
    exchange: Ints  # (m,) of those factors


@kernel
def make_system(rows: Rows, pattern: Pattern) -> System:
    """Set room aside."""
    m, squares = rows.law.shape[0], rows.square_ptr[rows.block_ptr.size - 1]
    return System(
        np.zeros(squares),
        np.zeros(squares),
        np.zeros(squares),
        np.zeros(m),
        np.zeros(m),
        np.zeros(m),
        np.empty(pattern.value_ptr[pattern.value_ptr.size - 1]),
        np.empty(pattern.work),
        np.zeros((3, 8, 8)),
        np.empty(m, np.int64),
    )


@kernel
def eliminate_forces(rows: Rows, system: System, least: float) -> bool:
    """H = inv(B + C E) C and push = inv(B + C E) k per block, and the factors of B + C E in the place of B; returns
    whether every H is symmetric."""
    B, C, H, work, symmetric = system.B, system.C, system.H, flattened(system.small), True
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        if _is_given(B, C, q, n):
            for i in range(n):
                system.exchange[lo + i] = i
                system.push[lo + i] = system.k[lo + i] / B[q + i * n + i]
                for j in range(n):
                    H[q + i * n + j] = 0.0
            continue
        if n == 1:
            B[q] += C[q] * least * rows.law[lo, PROX]
            H[q], system.push[lo] = C[q] / B[q], system.k[lo] / B[q]
            continue
        for i in range(n):
            for j in range(n):
                c = C[q + i * n + j]
                work[8 * i + j] = B[q + i * n + j] + c * least * rows.law[lo + j, PROX]
                work[RIGHT + 8 * i + j] = c
            work[RIGHT + 8 * i + n] = system.k[lo + i]
        solve_small(work, n, system.exchange[lo : lo + n])
        for i in range(n):
            for j in range(n):
                x = work[RIGHT + 8 * i + j]
                B[q + i * n + j], H[q + i * n + j] = work[(8 * i if i <= j else LEFT + 8 * i) + j], x
                if j < i:
                    sizes = abs(work[RIGHT + 9 * i]) + abs(work[RIGHT + 9 * j])
                    symmetric = symmetric and not abs(x - work[RIGHT + 8 * j + i]) > SKEW * sizes
            system.push[lo + i] = work[RIGHT + 8 * i + n]
    return symmetric


@kernel(inline=True)
def _is_given(B: Array, C: Array, q: int, n: int) -> bool:
    """Whether the forces of a block depend neither on the motion nor on each other: most contacts are open."""
    for i in range(n):
        for j in range(n):
            e = q + i * n + j
            if C[e] != 0.0 or (i != j and B[e] != 0.0):
                return False
    return True


@kernel
def factorize(rows: Rows, pattern: Pattern, system: System, least: float) -> bool:
    """Eliminate the forces, assemble and factor P; False: no usable pivot."""
    symmetric = eliminate_forces(rows, system, least)
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
def push_forces(rows: Rows, system: System) -> None:
    """New right-hand sides on the factors at hand: push = inv(B + C E) k."""
    x = system.push
    for b in range(rows.block_ptr.size - 1):
        lo, n = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b]
        for i in range(lo, lo + n):
            x[i] = system.k[i]
        apply_small(system.B[rows.square_ptr[b] : rows.square_ptr[b + 1]], system.exchange[lo : lo + n], x[lo : lo + n])


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
