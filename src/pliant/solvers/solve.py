"""Triangular solves with the factors P = L U of `factor`, in place."""

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.loops import dot, subtract
from pliant.solvers.symbolic import Pattern


@kernel
def solve(pattern: Pattern, values: Array, x: Array, work: Array) -> None:
    """x := inv(P) x; zeros of x that P does not couple to others stay exact zeros."""
    ns = pattern.parent.size
    row_ptr, row, width, value_ptr = pattern.row_ptr, pattern.row, pattern.width, pattern.value_ptr
    for s in range(ns):
        lo, n, w = row_ptr[s], row_ptr[s + 1] - row_ptr[s], width[s]
        base = value_ptr[s]
        for i in range(n):
            work[i] = x[row[lo + i]]
        for i in range(1, n):
            known = min(i, w)
            work[i] -= dot(values[base + i * n : base + i * n + known], work)
        for i in range(n):
            x[row[lo + i]] = work[i]
    for s in range(ns - 1, -1, -1):
        lo, n, w = row_ptr[s], row_ptr[s + 1] - row_ptr[s], width[s]
        base = value_ptr[s]
        for i in range(n):
            work[i] = x[row[lo + i]]
        for k in range(w - 1, -1, -1):
            u = values[base + k * n + k : base + k * n + n]
            work[k] = (work[k] - dot(u[1:], work[k + 1 :])) / u[0]
            x[row[lo + k]] = work[k]


@kernel
def solve_transposed(pattern: Pattern, values: Array, x: Array, work: Array) -> None:
    """x := inv(P') x."""
    ns = pattern.parent.size
    row_ptr, row, width, value_ptr = pattern.row_ptr, pattern.row, pattern.width, pattern.value_ptr
    for s in range(ns):
        lo, n, w = row_ptr[s], row_ptr[s + 1] - row_ptr[s], width[s]
        base = value_ptr[s]
        for i in range(n):
            work[i] = x[row[lo + i]]
        for k in range(w):
            u = values[base + k * n + k : base + k * n + n]
            work[k] /= u[0]
            subtract(work[k + 1 : n], work[k], u[1:])
        for i in range(n):
            x[row[lo + i]] = work[i]
    for s in range(ns - 1, -1, -1):
        lo, n, w = row_ptr[s], row_ptr[s + 1] - row_ptr[s], width[s]
        base = value_ptr[s]
        for i in range(n):
            work[i] = x[row[lo + i]]
        for i in range(n - 1, 0, -1):
            known = min(i, w)
            subtract(work[:known], work[i], values[base + i * n : base + i * n + known])
        for k in range(w):
            x[row[lo + k]] = work[k]
