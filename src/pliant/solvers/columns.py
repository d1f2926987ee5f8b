"""Rows that carry one force each, on few velocities: G and Z = G inv(L') as dense columns, laws as vectors over rows.

    lambda_i = clip(c_i - S_i p_i, low_i, high_i),     p = G v1 + e

Loops run along the rows, of which there may be many (a foundation), so that vector registers are full; columns without
entries are left out. Indices run from 0 over whole vectors: see loops.py.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.flat import BILATERAL, CLIPPED, UNILATERAL, Flat
from pliant.inputs import Array, Ints
from pliant.solvers.compensated import two_product, two_sum
from pliant.solvers.loops import subtract
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
    apart = 0
    for i in range(m):
        apart += 1 - (one >> flat.jac_idx[flat.jac_ptr[i]] & 1)
    return apart == 0


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
        z, scale = Z[j], inertia.val[inertia.ptr[j]]
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
