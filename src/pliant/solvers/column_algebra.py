"""Sums over rows that are dense columns (see columns.py): rates, impulses, and the factors in the velocities."""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.columns import FIRST, SECOND, Columns
from pliant.solvers.compensated import add_product, two_product, two_sum
from pliant.solvers.loops import dot


@kernel
def rates_of(columns: Columns, v0: Array, gain: Array, p: Array) -> None:
    """p := G v0 + e + G gain, summed in twofold precision."""
    G, lo = columns.G, columns.per_row[SECOND]
    for i in range(p.size):
        p[i], lo[i] = columns.offset[i], 0.0
    for j in columns.used:
        g, some, more = G[j], v0[j], gain[j]
        for i in range(p.size):
            hi, tail = add_product(p[i], lo[i], g[i], some)
            p[i], lo[i] = add_product(hi, tail, g[i], more)
    for i in range(p.size):
        p[i] += lo[i]


@kernel
def sizes_of(columns: Columns, v: Array, size: Array) -> None:
    """|G||v| + |e|."""
    for i in range(size.size):
        size[i] = abs(columns.offset[i])
    for j in columns.used:
        g, speed = columns.G[j], abs(v[j])
        for i in range(size.size):
            size[i] += abs(g[i]) * speed


@kernel
def impulse_of(columns: Columns, force: Array, hi: Array, lo: Array) -> None:
    """hi + lo := h G' lambda, summed in twofold precision: opposing forces of redundant rows cancel."""
    for j in range(hi.size):
        hi[j] = lo[j] = 0.0
    for j in columns.used:
        total, tail = _dot2(columns.G[j], force)
        hi[j], more = two_product(columns.step, total)
        lo[j] = more + columns.step * tail


@kernel
def _dot2(x: Array, y: Array) -> tuple[float, float]:
    """x'y as a pair, over eight accumulators."""
    hi, lo = np.zeros(8), np.zeros(8)
    eights = x.size // 8
    for q in range(eights):
        a, b = x[8 * q : 8 * q + 8], y[8 * q : 8 * q + 8]
        for k in range(8):
            hi[k], lo[k] = add_product(hi[k], lo[k], a[k], b[k])
    for i in range(8 * eights, x.size):
        hi[0], lo[0] = add_product(hi[0], lo[0], x[i], y[i])
    total, tail = 0.0, 0.0
    for k in range(8):
        total, more = two_sum(total, hi[k])
        tail += more + lo[k]
    return total, tail


@kernel
def along(columns: Columns, x: Array, p: Array) -> None:
    """p := Z x, x whitened."""
    for i in range(p.size):
        p[i] = 0.0
    for j in columns.whitened:
        z, c = columns.Z[j], x[j]
        for i in range(p.size):
            p[i] += c * z[i]


@kernel
def whitened_impulse(columns: Columns, force: Array, x: Array) -> None:
    """x := h Z' lambda."""
    for j in range(x.size):
        x[j] = 0.0
    for j in columns.whitened:
        x[j] = columns.step * dot(columns.Z[j], force)


@kernel
def factor(columns: Columns, weight: Array, P: Array) -> bool:
    """P := the lower factor of I + h Z' diag(weight) Z, (nv, nv); False: rounding has eaten a pivot."""
    nv, Z, scaled = P.shape[0], columns.Z, columns.per_row[FIRST]
    for j in range(nv):
        for k in range(nv):
            P[j, k] = 1.0 if j == k else 0.0
    for a in range(columns.whitened.size):
        j = columns.whitened[a]
        z = Z[j]
        for i in range(scaled.size):
            scaled[i] = columns.step * weight[i] * z[i]
        for b in range(a + 1):
            P[j, columns.whitened[b]] += dot(scaled, Z[columns.whitened[b]])
    for j in range(nv):
        for k in range(j + 1):
            s = P[j, k]
            for t in range(k):
                s -= P[j, t] * P[k, t]
            if j > k:
                P[j, k] = s / P[k, k]
            elif not 0.0 < s < np.inf:
                return False
            else:
                P[j, j] = np.sqrt(s)
    return True


@kernel
def solve_factored(P: Array, x: Array) -> None:
    """x := inv(L L') x."""
    nv = x.size
    for j in range(nv):
        for k in range(j):
            x[j] -= P[j, k] * x[k]
        x[j] /= P[j, j]
    for j in range(nv - 1, -1, -1):
        for k in range(j + 1, nv):
            x[j] -= P[k, j] * x[k]
        x[j] /= P[j, j]
