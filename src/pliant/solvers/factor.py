"""P = L U on the fronts, L with unit diagonal: L D L' in the symmetric case, where U = D L' is kept as well.

Multifrontal: a front has received everything when its turn comes; its pivots are eliminated as in a dense
matrix, and what they leave in the border is added to the parent. The order is that of the pattern: without
pivoting zeros stay zeros, and a pivot that has vanished against the diagonal of P is reported.
"""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array, Ints
from pliant.solvers.loops import subtract
from pliant.solvers.symbolic import Pattern


@kernel
def factor(pattern: Pattern, values: Array, symmetric: bool, tiny: float, work: Array) -> tuple[int, float]:
    """Factor the assembled `values` in place.

    Returns (failed, ratio). failed: -1, or the velocity whose pivot (its size, in the nonsymmetric case) is
    not finite or not above tiny times the diagonal of P, where the factorization stopped. ratio: the least
    pivot relative to that diagonal; 1/ratio roundings of the diagonal may be lost in it. `work` has
    pattern.work entries.
    """
    _diagonal_sizes(pattern, values, work)
    worst = np.inf
    for s in range(pattern.parent.size):
        row = pattern.row[pattern.row_ptr[s] : pattern.row_ptr[s + 1]]
        n, w = row.size, pattern.width[s]
        front = values[pattern.value_ptr[s] : pattern.value_ptr[s + 1]]
        failed, ratio = _eliminate(front, row, w, symmetric, tiny, work)
        worst = min(worst, ratio)
        if failed >= 0:
            return failed, worst
        p = pattern.parent[s]
        if p >= 0:
            relative = pattern.relative[pattern.row_ptr[s] + w : pattern.row_ptr[s + 1]]
            parent = values[pattern.value_ptr[p] : pattern.value_ptr[p + 1]]
            _add_update(front, n, relative, parent, pattern.row_ptr[p + 1] - pattern.row_ptr[p], symmetric)
    return -1, worst


@kernel(inline=True)
def _diagonal_sizes(pattern: Pattern, values: Array, size: Array) -> None:
    """size_j = sum of the absolute contributions to P_jj, which lie in several fronts."""
    for k in range(pattern.row.size):
        size[pattern.row[k]] = 0.0
    for s in range(pattern.parent.size):
        n = pattern.row_ptr[s + 1] - pattern.row_ptr[s]
        for i in range(n):
            size[pattern.row[pattern.row_ptr[s] + i]] += abs(values[pattern.value_ptr[s] + i * (n + 1)])


@kernel(inline=True)
def _eliminate(front: Array, row: Ints, width: int, symmetric: bool, tiny: float, size: Array) -> tuple[int, float]:
    """Eliminate the first `width` rows, four at a time: rows k0:k1 are finished, then the rest is updated.

    Symmetric: only the lower triangle is read; the finished rows of U are written above it.
    """
    n = row.size
    worst = np.inf
    for k0 in range(0, width, 4):
        k1 = min(k0 + 4, width)
        for k in range(k0, k1):
            u = front[k * n + k : k * n + n]
            if symmetric:
                for i in range(k + 1, n):
                    u[i - k] = front[i * n + k]
            for t in range(k0, k):
                subtract(u, front[k * n + t], front[t * n + k : t * n + n])
            pivot = u[0] if symmetric else abs(u[0])
            if not (tiny * size[row[k]] < pivot < np.inf):
                return row[k], 0.0
            worst = min(worst, pivot / size[row[k]])
            for i in range(k + 1, n):
                x = u[i - k]
                if not symmetric:
                    x = front[i * n + k]
                    for t in range(k0, k):
                        x -= front[i * n + t] * front[t * n + k]
                front[i * n + k] = x / u[0]
        _update_rest(front, n, k0, k1, symmetric)
    return -1, worst


@kernel
def _update_rest(front: Array, n: int, k0: int, k1: int, symmetric: bool) -> None:
    """Rows k1: minus (columns k0:k1 of L) times (rows k0:k1 of U), one pass over them instead of four.

    A panel of fewer than four rows is filled up with zero times its last row.
    """
    x0 = front[k0 * n + k1 : (k0 + 1) * n]
    x1 = front[min(k0 + 1, k1 - 1) * n + k1 : (min(k0 + 1, k1 - 1) + 1) * n]
    x2 = front[min(k0 + 2, k1 - 1) * n + k1 : (min(k0 + 2, k1 - 1) + 1) * n]
    x3 = front[(k1 - 1) * n + k1 : k1 * n]
    for i in range(k1, n):
        base = i * n
        a0 = front[base + k0]
        a1 = front[base + k0 + 1] if k0 + 1 < k1 else 0.0
        a2 = front[base + k0 + 2] if k0 + 2 < k1 else 0.0
        a3 = front[base + k0 + 3] if k0 + 3 < k1 else 0.0
        y = front[base + k1 : base + (i + 1 if symmetric else n)]
        for j in range(y.size):
            y[j] = y[j] - a0 * x0[j] - a1 * x1[j] - a2 * x2[j] - a3 * x3[j]


@kernel(inline=True)
def _add_update(front: Array, n: int, relative: Ints, parent: Array, parent_n: int, symmetric: bool) -> None:
    """Add what a front leaves in its border to the parent's front."""
    w = n - relative.size
    for i in range(relative.size):
        base = relative[i] * parent_n
        x = front[(w + i) * n + w : (w + i) * n + n]
        for j in range(i + 1 if symmetric else relative.size):
            parent[base + relative[j]] += x[j]
