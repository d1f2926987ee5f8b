"""Rows that carry one force each, on few velocities: G and Z = G inv(L') as dense columns, laws as vectors over all rows.

    lambda_i = clip(c_i - S_i p_i, low_i, high_i),     p = G v1 + e

Loops run along the rows, of which there may be many (a foundation), so that vector registers are full; columns without
entries are left out. Indices run from 0 over whole vectors: see loops.py.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.flat import BILATERAL, CLIPPED, UNILATERAL, Flat
from pliant.inputs import Array, Ints
from pliant.solvers.compensated import add_product, two_product, two_sum
from pliant.solvers.loops import dot, subtract
from pliant.solvers.whiten import Inertia

FEW = 12  # velocities; the work grows with their square
LEAST = 1e-12  # the least compliance of a row in a factorization, relative to h a: see linear.py

# Vectors over the rows, in Columns.per_row.
(
    SLOPE,  # S = h K + B
    SLOPE_TAIL,  # what rounding took from it
    START,  # c
    START_TAIL,
    FIT,  # 1 / (1 + h a S)
    SHARE,  # 1 / (1 + S E), E the least compliance
    FREE,  # rate without constraint forces
    RATE,  # p
    SIZE,  # |G||v| + |e|
    FORCE,
    WEIGHT,  # S SHARE where a row is between its bounds, else 0
    PUSH,
    MISS,
    DP,  # along a direction
    FIRST,  # to work with
    SECOND,
) = range(16)
PER_ROW = 16


class Columns(NamedTuple):
    """m rows on nv velocities."""

    step: float  # h
    G: Array  # (nv, m)
    Z: Array  # (nv, m), in the order of L
    used: Ints  # columns of G that have entries
    whitened: Ints  # and of Z
    per_row: Array  # (PER_ROW, m)
    offset: Array  # (m,) e
    lower: Array  # (m,)
    upper: Array  # (m,)


@kernel
def suits(flat: Flat) -> bool:
    """Whether all rows are scalar and linear, some have bounds, and M and they couple all velocities that they move."""
    nv, m = flat.velocity.size, flat.kind.size
    if nv > FEW or m == 0 or flat.block_ptr.size != m + 1:
        return False
    bounded = False
    for i in range(m):
        kind = flat.kind[i]
        if kind != UNILATERAL and kind != BILATERAL and kind != CLIPPED:
            return False
        power = flat.exponent[i] != 1.0 or flat.dissipation[i] != 0.0
        if (power and flat.stiffness[i] > 0.0) or flat.jac_ptr[i] == flat.jac_ptr[i + 1]:
            return False
        bounded = bounded or kind != BILATERAL
    return bounded and _is_one(flat)


@kernel
def _is_one(flat: Flat) -> bool:
    """Whether no row is apart from the others. Sets of velocities are bits of a number."""
    nv, m, one, met = flat.velocity.size, flat.kind.size, 0, -1
    for e in range(flat.jac_ptr[0], flat.jac_ptr[1]):
        one |= 1 << flat.jac_idx[e]
    while one != met:
        met = one
        for j in range(nv):
            if one >> j & 1:
                for e in range(flat.mass_ptr[j], flat.mass_ptr[j + 1]):
                    one |= 1 << flat.mass_idx[e]
        for i in range(m):
            some = 0
            for e in range(flat.jac_ptr[i], flat.jac_ptr[i + 1]):
                some |= 1 << flat.jac_idx[e]
            if some & one:
                one |= some
    for i in range(m):
        if not one >> flat.jac_idx[flat.jac_ptr[i]] & 1:
            return False
    return True


@kernel
def make_columns(flat: Flat, inertia: Inertia) -> Columns:
    """The rows of a step that `suits`."""
    nv, m = flat.velocity.size, flat.kind.size
    G, Z = np.zeros((nv, m)), np.zeros((nv, m))
    used, count = np.empty(nv, np.int64), 0
    for i in range(m):
        for e in range(flat.jac_ptr[i], flat.jac_ptr[i + 1]):
            G[flat.jac_idx[e], i] = flat.jac_val[e]
    moved = 0
    for e in range(flat.jac_ptr[m]):
        moved |= 1 << flat.jac_idx[e]
    for j in range(nv):
        if moved >> j & 1:
            used[count] = j
            count += 1
    whitened = _whiten(inertia, G, used[:count], Z)
    columns = Columns(
        flat.step, G, Z, used[:count], whitened, np.empty((PER_ROW, m)), flat.offset, flat.lower, flat.upper
    )
    _fill_laws(flat, columns)
    return columns


@kernel
def _whiten(inertia: Inertia, G: Array, used: Ints, Z: Array) -> Ints:
    """Z := inv(L) G', zeros on entry; returns which of its columns have entries."""
    nv, m = G.shape
    found, count, filled = np.empty(nv, np.int64), 0, 0
    for j in used:
        z, g = Z[nv - 1 - j], G[j]
        filled |= 1 << nv - 1 - j
        for i in range(m):
            z[i] = g[i]
    for j in range(nv):
        if not filled >> j & 1:
            continue
        found[count] = j
        count += 1
        z, scale = Z[j], 1.0 / inertia.val[inertia.ptr[j]]
        for i in range(m):
            z[i] *= scale
        for e in range(inertia.ptr[j] + 1, inertia.ptr[j + 1]):
            filled |= 1 << inertia.idx[e]
            subtract(Z[inertia.idx[e]], inertia.val[e], z)
    return found[:count]


@kernel
def _fill_laws(flat: Flat, columns: Columns) -> None:
    """S and c in twofold precision, as in rows.py, and what follows from the mobilities a."""
    h, Z, per_row = flat.step, columns.Z, columns.per_row
    S, S_tail, c, c_tail = per_row[SLOPE], per_row[SLOPE_TAIL], per_row[START], per_row[START_TAIL]
    fit, share, a = per_row[FIT], per_row[SHARE], per_row[FIRST]
    for i in range(a.size):
        a[i] = 0.0
    for j in columns.whitened:
        z = Z[j]
        for i in range(a.size):
            a[i] += z[i] * z[i]
    for i in range(a.size):
        product, tail = two_product(h, flat.stiffness[i])
        S[i], more = two_sum(product, flat.damping[i])
        S_tail[i] = tail + more
        c[i], c_tail[i] = two_product(-flat.stiffness[i], flat.value[i])
        fit[i] = 1.0 / (1.0 + h * a[i] * S[i])
        share[i] = 1.0 / (1.0 + LEAST * h * a[i] * S[i])
    for i in range(a.size):
        B, phi = flat.damping[i], flat.value[i]
        if flat.kind[i] == UNILATERAL and phi > 0.0 and B > 0.0:  # the damper does not act before touch
            product, tail = two_product(B, phi)
            ratio = product / h
            back, under = two_product(ratio, h)
            c[i], more = two_sum(c[i], -ratio)
            c_tail[i] += more - ((product - back) - under + tail) / h


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
