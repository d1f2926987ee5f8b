"""MuJoCo's rows as compiled code has them, and the record that solvers see of some of them.

Extra rows, of actuators, tendons and drag, follow after MuJoCo's.
"""

from typing import Final, NamedTuple

import numpy as np

from pliant.flat import BILATERAL, CLIPPED, NORMAL, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array, Ints
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import floats, folded, longs
from pliant.systems.mujoco_kinds import (
    DAMPING,
    DISSIPATION,
    ELLIPTIC,
    EQUALITY,
    EXPONENT,
    FRICTION_DOF,
    FRICTION_TENDON,
    FRICTIONLESS,
    STIFFNESS,
)

# Columns of extra rows.
EXTRA_KIND, EXTRA_STIFFNESS, EXTRA_DAMPING, EXTRA_VALUE, EXTRA_OFFSET, EXTRA_LOWER, EXTRA_UPPER = range(7)
EXTRA_COLUMNS: Final = 7
WORD: Final = 8  # bytes of a number
TOUCH_WORDS, SPOT_WORDS = 7, 14  # of memory that `Touch` takes for a contact, and `Spots` with the first row of each
LEAST_FRICTION: Final = 1e-5  # mjMINMU, which MuJoCo makes of a coefficient of 0
NOISE: Final = 1e-14  # of the largest entry of a contact


class Efc(NamedTuple):
    """MuJoCo's rows; J is dense if it has no pointers."""

    type: np.ndarray  # (m,)
    id: np.ndarray  # (m,)
    J: Array
    rownnz: np.ndarray
    rowadr: np.ndarray
    colind: np.ndarray
    pos: Array  # (m,)
    margin: Array  # (m,)
    friction: Array  # (m,) dry friction
    offset: Array  # (m,) what e is but for the turning of free bodies
    law: Array  # (m, 4) as above, of the row's source


class Touch(NamedTuple):
    """What contacts add."""

    dim: np.ndarray  # (ncon,)
    friction: Array  # (ncon, 5)
    adhesion: Array  # (ncon,)


class Extra(NamedTuple):
    """Rows that MuJoCo does not have."""

    ptr: np.ndarray  # (k+1,)
    idx: np.ndarray
    val: Array
    table: Array  # (k, EXTRA_COLUMNS)


class Mass(NamedTuple):
    """M as MuJoCo keeps it, where its entries lie in the whole matrix, and what is added to its diagonal."""

    M: Array
    ptr: Ints  # (nv+1,) the whole matrix, in CSR
    idx: Ints
    place: Ints  # of its entries in M
    diagonal: Ints  # (nv,) places of the diagonal
    more: Array  # (nv,)


@kernel
def make_flat(h: float, mass: Mass, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra) -> Flat:
    """shift: (nv,), what the velocity over the step differs by from that at its end, on bodies that turn freely."""
    n = efc.type.size + extra.table.shape[0]
    ptr, entries, mass_val = np.zeros(n + 1, np.int64), jacobian_room(v0.size, efc, extra), np.empty(mass.idx.size)
    idx, val = np.empty(entries, np.int64), np.empty(entries)
    fill_mass(mass, mass_val)
    nnz = fill_jacobian(v0.size, efc, touch, extra, ptr, idx, val)
    numbers, kinds, block_ptr = np.empty((10, n)), np.empty((2, n), np.int64), np.empty(n + 1, np.int64)
    blocks = fill_rows(shift, efc, touch, extra, ptr, idx, val, numbers, kinds, block_ptr)
    return whole_flat(h, mass, mass_val, v0, f, ptr, idx[:nnz], val[:nnz], block_ptr[: blocks + 1], numbers, kinds)


@kernel(inline=True)
def flat_room(mass: int, rows: int, entries: int) -> int:
    """Words of memory that `flat_at` takes, for so many entries of M, and of the Jacobian."""
    return mass + 14 * rows + 2 + 2 * entries


@kernel(inline=True)
def flat_at(
    h: float, mass: Mass, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra, desk: int
) -> Flat:
    """The same in the memory at desk, `flat_room` words of it."""
    n, nv, mass_val = efc.type.size + extra.table.shape[0], v0.size, floats(desk, mass.idx.size)
    at = desk + WORD * mass.idx.size
    ptr, block_ptr = longs(at, n + 1), at + WORD * (n + 1)
    numbers = folded(floats(at + WORD * (2 * n + 2), 10 * n), 10, n)
    kinds = folded(longs(at + WORD * (12 * n + 2), 2 * n), 2, n)
    entries, first = jacobian_room(nv, efc, extra), at + WORD * (14 * n + 2)
    second = first + WORD * entries
    fill_mass(mass, mass_val)
    nnz = fill_jacobian(nv, efc, touch, extra, ptr, longs(first, entries), floats(second, entries))
    idx, val = longs(first, nnz), floats(second, nnz)
    blocks = fill_rows(shift, efc, touch, extra, ptr, idx, val, numbers, kinds, longs(block_ptr, n + 1))
    return whole_flat(h, mass, mass_val, v0, f, ptr, idx, val, longs(block_ptr, blocks + 1), numbers, kinds)


@kernel(inline=True)
def whole_flat(
    h: float, mass: Mass, mass_val: Array, v0: Array, f: Array, ptr: Ints, idx: Ints, val: Array, block_ptr: Ints,
    numbers: Array, kinds: Ints,
) -> Flat:  # fmt: skip
    """Of what `fill_mass`, `fill_jacobian` and `fill_rows` have filled."""
    return Flat(
        h, mass.ptr, mass.idx, mass_val, v0, f, ptr, idx, val, block_ptr, kinds[0], numbers[0], numbers[1], numbers[2],
        numbers[3], numbers[4], numbers[5], numbers[6], numbers[7], numbers[8], numbers[9], kinds[1], kinds[1],
    )  # fmt: skip


@kernel
def fill_rows(
    shift: Array, efc: Efc, touch: Touch, extra: Extra, ptr: Ints, idx: Ints, val: Array, numbers: Array, kinds: Ints,
    block_ptr: Ints,
) -> int:  # fmt: skip
    """Fill numbers, (10, n), kinds, (2, n), and block_ptr with what `Flat` has of all rows. ptr, idx, val: their
    Jacobian. Returns how many blocks there are."""
    m, k, n = efc.type.size, extra.table.shape[0], kinds.shape[1]
    kind, constraint = kinds[0], kinds[1]  # a block is a constraint of its own
    value, offset, K, B, exponent = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    dissipation, lower, upper, mu, curvature = numbers[5], numbers[6], numbers[7], numbers[8], numbers[9]
    for i in range(n):
        kind[i] = constraint[i] = 0
        value[i] = offset[i] = K[i] = B[i] = dissipation[i] = mu[i] = curvature[i] = 0.0
        exponent[i], lower[i], upper[i] = 1.0, -np.inf, np.inf
    block_ptr[0] = blocks = i = 0
    while i < m:
        t = efc.type[i]
        size = touch.dim[efc.id[i]] if t == ELLIPTIC else 1
        offset[i] = efc.offset[i]
        K[i], B[i] = efc.law[i, STIFFNESS], efc.law[i, DAMPING]
        if t == EQUALITY:
            kind[i], value[i] = BILATERAL, efc.pos[i]
        elif t in (FRICTION_DOF, FRICTION_TENDON):
            kind[i], lower[i], upper[i] = CLIPPED, -efc.friction[i], efc.friction[i]
        else:
            kind[i], value[i], lower[i] = UNILATERAL, row_gap(efc, touch, i), 0.0
        if t in (FRICTIONLESS, ELLIPTIC):
            exponent[i], dissipation[i] = efc.law[i, EXPONENT], efc.law[i, DISSIPATION]
        if t == ELLIPTIC:
            kind[i] = NORMAL
            for j in range(1, size):
                kind[i + j], K[i + j] = TANGENT, np.inf
                if touch.friction[efc.id[i], j - 1] > LEAST_FRICTION:
                    mu[i + j] = touch.friction[efc.id[i], j - 1]
                offset[i + j] = efc.offset[i + j]
        for j in range(size):
            constraint[i + j] = blocks
        i += size
        blocks += 1
        block_ptr[blocks] = i
    for e in range(k):
        r = m + e
        kind[r], constraint[r] = int(extra.table[e, EXTRA_KIND]), blocks
        K[r], B[r] = extra.table[e, EXTRA_STIFFNESS], extra.table[e, EXTRA_DAMPING]
        value[r], offset[r] = extra.table[e, EXTRA_VALUE], extra.table[e, EXTRA_OFFSET]
        lower[r], upper[r] = extra.table[e, EXTRA_LOWER], extra.table[e, EXTRA_UPPER]
        blocks += 1
        block_ptr[blocks] = r + 1
    for i in range(n):
        if ptr[i] == ptr[i + 1]:
            mu[i] = 0.0  # nothing that friction could hold
        for e in range(ptr[i], ptr[i + 1]):
            offset[i] += val[e] * shift[idx[e]]
    return blocks


@kernel
def row_gap(efc: Efc, touch: Touch, i: int) -> float:
    """How far a limit or a contact is from pushing."""
    gap = efc.pos[i] - efc.margin[i]
    if efc.type[i] in (FRICTIONLESS, ELLIPTIC):
        pull, K = touch.adhesion[efc.id[i]], efc.law[i, STIFFNESS]
        if pull > 0.0 and K > 0.0:
            gap -= (pull / K) ** (1.0 / efc.law[i, EXPONENT])  # what it pulls does not press in
    return gap


@kernel
def fill_mass(mass: Mass, val: Array) -> None:
    """The entries of the whole of M."""
    for e in range(val.size):
        val[e] = mass.M[mass.place[e]]
    for j in range(mass.diagonal.size):
        val[mass.diagonal[j]] += mass.more[j]


@kernel
def jacobian_room(nv: int, efc: Efc, extra: Extra) -> int:
    """Entries that `fill_jacobian` may write."""
    return (efc.J.size if efc.rownnz.size > 0 else efc.type.size * nv) + extra.val.size + 1


@kernel
def fill_jacobian(nv: int, efc: Efc, touch: Touch, extra: Extra, ptr: Ints, idx: Ints, val: Array) -> int:
    """G in CSR without zeros, and without entries that are the rounding of what should be zero: a row that consisted of
    them would take enormous forces for what moves nothing. Returns how many entries there are."""
    m, k = efc.type.size, extra.table.shape[0]
    sparse = efc.rownnz.size > 0
    ptr[0] = at = i = 0
    while i < m:
        size = touch.dim[efc.id[i]] if efc.type[i] == ELLIPTIC else 1
        largest = more = 0.0  # two of them: each waits for the one before it
        for j in range(i, i + size):
            start, count = (efc.rowadr[j], efc.rownnz[j]) if sparse else (j * nv, nv)
            for e in range(start, start + count - 1, 2):
                largest, more = max(largest, abs(efc.J[e])), max(more, abs(efc.J[e + 1]))
            if count % 2:
                largest = max(largest, abs(efc.J[start + count - 1]))
        largest = max(largest, more)
        for j in range(i, i + size):
            start, count = (efc.rowadr[j], efc.rownnz[j]) if sparse else (j * nv, nv)
            for e in range(count):  # written in any case: there is no guessing which entries count
                x = efc.J[start + e]
                idx[at], val[at] = efc.colind[start + e] if sparse else e, x
                at += 1 if abs(x) > NOISE * largest else 0
            ptr[j + 1] = at
        i += size
    for i in range(k):
        for e in range(extra.ptr[i], extra.ptr[i + 1]):
            if extra.val[e] != 0.0:
                idx[at], val[at] = extra.idx[e], extra.val[e]
                at += 1
        ptr[m + i + 1] = at
    return at


@kernel
def row_rates(efc: Efc, i: int, a: Array, b: Array, c: Array) -> tuple[float, float, float]:
    """G a, G b and G c of one of MuJoCo's rows."""
    x = y = z = 0.0
    sparse, nv = efc.rownnz.size > 0, a.size
    start, count = (efc.rowadr[i], efc.rownnz[i]) if sparse else (i * nv, nv)
    for e in range(count):
        g, j = efc.J[start + e], efc.colind[start + e] if sparse else e
        x += g * a[j]
        y += g * b[j]
        z += g * c[j]
    return x, y, z
