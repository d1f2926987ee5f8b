"""Dense LU with partial pivoting of an equilibrated matrix: slow, general and accurate, the last resort.

    R A C = (row exchanges) L U,  R and C diagonal

R and C are powers of two, so that equilibration itself rounds nothing. Without it the pivots of a matrix that
holds masses beside stiffnesses of 1e15 N/m would be chosen by the units.
"""

import math
from typing import Final

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import flattened, room, subtract_eight, subtract_two
from pliant.inputs import Array, Ints
from pliant.solvers.loops import dot, subtract

PANEL: Final = 32  # columns eliminated before the rest is updated: it passes through the cache that much less often
THRESHOLD: Final = 0.1  # of the largest below it: a pivot that will do
TILE: Final = 256  # columns of the rest updated at a time: their rows of U stay in the cache


@kernel
def dense_factor(a: Array, exchange: Ints, row_scale: Array, col_scale: Array) -> tuple[int, float]:
    """Overwrite a (n, n) by L (unit diagonal, left out) and U; fill exchange, row_scale, col_scale (n,).

    Returns (failed, least): -1, or the column without a finite nonzero pivot, where the factorization
    stopped; and the least |pivot|, to be compared with 1, the size of the scaled entries.
    """
    n = a.shape[0]
    _equilibrate(a, row_scale, col_scale)
    least = np.inf
    for k0 in range(0, n, PANEL):
        k1 = min(k0 + PANEL, n)
        for k in range(k0, k1):
            pivot, best = k, 0.0
            for i in range(k, n):
                if abs(a[i, k]) > best:
                    pivot, best = i, abs(a[i, k])
            exchange[k] = pivot
            if not 0.0 < best < np.inf:
                return k, 0.0
            least = min(least, best)
            if pivot != k:
                for j in range(n):
                    a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
            for i in range(k + 1, n):
                if a[i, k] != 0.0:
                    a[i, k] /= a[k, k]
                    subtract(a[i, k + 1 : k1], a[i, k], a[k, k + 1 : k1])
        for k in range(k0, k1):
            for t in range(k0, k):
                if a[k, t] != 0.0:
                    subtract(a[k, k1:], a[k, t], a[t, k1:])
        _update_rest(a, k0, k1)
    return -1, least


@kernel(inline=True)
def _equilibrate(a: Array, row_scale: Array, col_scale: Array) -> None:
    """Scale columns, then rows, to a largest entry in [1/2, 1).

    In this order: rows first lost two digits more on [[M, -h G'], [S G, I]] with S from 1 to 1e15.
    """
    n = a.shape[0]
    for j in range(n):
        col_scale[j] = 0.0
    for i in range(n):
        for j in range(n):
            col_scale[j] = max(col_scale[j], abs(a[i, j]))
    for j in range(n):
        col_scale[j] = _power_of_two(col_scale[j])
    for i in range(n):
        largest = 0.0
        for j in range(n):
            a[i, j] *= col_scale[j]
            largest = max(largest, abs(a[i, j]))
        row_scale[i] = _power_of_two(largest)
        for j in range(n):
            a[i, j] *= row_scale[i]


@kernel
def _power_of_two(x: float) -> float:
    """The power of two that brings x into [1/2, 1); 1 for 0 and for what is not finite."""
    if not 0.0 < x < np.inf:
        return 1.0
    return math.ldexp(1.0, min(-math.frexp(x)[1], 1000))


@kernel(inline=True)
def _update_rest(a: Array, k0: int, k1: int) -> None:
    """Rows and columns k1: minus (columns k0:k1 of L) times (rows k0:k1 of U), four rows of U at a time."""
    n = a.shape[0]
    for j0 in range(k1, n, TILE):
        j1 = min(j0 + TILE, n)
        for i in range(k1, n):
            y = a[i, j0:j1]
            for t in range(k0, k1, 4):  # a last panel that is not full has no rest
                a0, a1, a2, a3 = a[i, t], a[i, t + 1], a[i, t + 2], a[i, t + 3]
                if a0 == 0.0 and a1 == 0.0 and a2 == 0.0 and a3 == 0.0:
                    continue
                x0, x1, x2, x3 = a[t, j0:j1], a[t + 1, j0:j1], a[t + 2, j0:j1], a[t + 3, j0:j1]
                for j in range(y.size):
                    y[j] = y[j] - a0 * x0[j] - a1 * x1[j] - a2 * x2[j] - a3 * x3[j]


@kernel
def dense_solve(a: Array, exchange: Ints, row_scale: Array, col_scale: Array, x: Array) -> None:
    """x := inv(A) x with what dense_factor left in its arguments."""
    n = x.size
    for i in range(n):
        x[i] *= row_scale[i]
    for i in range(n):
        p = exchange[i]
        x[i], x[p] = x[p], x[i]
    for i in range(n):
        x[i] -= dot(a[i, :i], x)
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - dot(a[i, i + 1 :], x[i + 1 :])) / a[i, i]
    for i in range(n):
        x[i] *= col_scale[i]


@kernel
def dense_solve_transposed(a: Array, exchange: Ints, row_scale: Array, col_scale: Array, x: Array) -> None:
    """x := inv(A') x."""
    n = x.size
    for i in range(n):
        x[i] *= col_scale[i]
    for i in range(n):
        x[i] /= a[i, i]
        subtract(x[i + 1 :], x[i], a[i, i + 1 :])
    for i in range(n - 1, -1, -1):
        subtract(x[:i], x[i], a[i, :i])
    for i in range(n - 1, -1, -1):
        p = exchange[i]
        x[i], x[p] = x[p], x[i]
    for i in range(n):
        x[i] *= row_scale[i]


@kernel(inline=True)
def wide(n: int) -> int:
    """Columns of n unknowns and a right-hand side, in whole vector registers."""
    return (n + 8) // 8 * 8


@kernel
def solve_rows(A: Array, x: Array) -> None:
    """x := inv(A[:, :n]) A[:, n] for a small A, (n, wide(n)), which is overwritten; its other columns are finite.

    Two columns are eliminated at a time: rows are read and written half as often. Rows change places where a pivot is
    less than THRESHOLD of what lies below it. What is eliminated is not written, and what it has become is not read.
    """
    a, n, w, k = flattened(A), A.shape[0], A.shape[1], 0
    inverse = room(n)
    while k + 1 < n:
        top, below, begin = k * w, (k + 1) * w, k // 8 * 8
        _exchange(a, n, w, k)
        share, beside = 1.0 / a[top + k], a[top + k + 1]
        for i in range(k + 1, n):  # the column that is next, to find its pivot
            a[i * w + k + 1] -= a[i * w + k] * share * beside
        _exchange(a, n, w, k + 1)
        pivot, f = a[below + k + 1], a[below + k] * share
        for j in range(begin, w, 8):
            subtract_eight(a, below + j, top + j, f)
        a[below + k + 1] = pivot
        other, at = 1.0 / pivot, k + 2
        inverse[k], inverse[k + 1] = share, other
        while at + 1 < n:
            r0, r1 = at * w, (at + 1) * w
            f0, f1, g0, g1 = a[r0 + k] * share, a[r1 + k] * share, a[r0 + k + 1] * other, a[r1 + k + 1] * other
            for j in range(begin, w, 8):
                subtract_two(a, r0 + j, top + j, below + j, f0, g0)
                subtract_two(a, r1 + j, top + j, below + j, f1, g1)
            at += 2
        if at < n:
            row = at * w
            f, g = a[row + k] * share, a[row + k + 1] * other
            for j in range(begin, w, 8):
                subtract_two(a, row + j, top + j, below + j, f, g)
        k += 2
    if k < n:
        inverse[k] = 1.0 / a[k * w + k]
    _substitute(a, n, w, inverse, x)


@kernel(inline=True)
def _substitute(a: Array, n: int, w: int, inverse: Array, x: Array) -> None:
    """x := inv(U) A[:, n], by columns, two at a time: what waits for a result is one product and one sum. inverse: 1
    over the diagonal."""
    for i in range(n):
        x[i] = a[i * w + n]
    k = n - 1
    while k > 0:
        x[k] *= inverse[k]
        x[k - 1] = (x[k - 1] - a[(k - 1) * w + k] * x[k]) * inverse[k - 1]
        late, early = x[k], x[k - 1]
        for i in range(k - 1):
            x[i] -= a[i * w + k] * late + a[i * w + k - 1] * early
        k -= 2
    if k == 0:
        x[0] *= inverse[0]


@kernel(inline=True)
def _exchange(a: Array, n: int, w: int, k: int) -> None:
    """Bring a pivot that will do to row k."""
    m0 = m1 = m2 = m3 = 0.0
    i = k + 1
    while i + 3 < n:
        at = i * w + k
        m0, m1 = max(m0, abs(a[at])), max(m1, abs(a[at + w]))
        m2, m3 = max(m2, abs(a[at + 2 * w])), max(m3, abs(a[at + 3 * w]))
        i += 4
    while i < n:
        m0 = max(m0, abs(a[i * w + k]))
        i += 1
    most, here = max(max(m0, m1), max(m2, m3)), k * w
    if abs(a[here + k]) < THRESHOLD * most:
        i = k + 1
        while i + 1 < n and abs(a[i * w + k]) != most:
            i += 1
        there = i * w
        for j in range(w):
            a[here + j], a[there + j] = a[there + j], a[here + j]
