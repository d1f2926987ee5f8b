"""MuJoCo's rows as compiled code has them, and the record that solvers see of some of them.

Extra rows, of actuators, tendons and drag, follow after MuJoCo's.
"""

from typing import Final, NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import floats, folded, longs
from pliant.flat import BILATERAL, CLIPPED, NORMAL, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array, Ints
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
    factor_ptr: Ints  # the pattern of its factor, as `Inertia` has it
    factor_idx: Ints
    parent: Ints
    source: Ints  # of the factor's entries in the whole matrix, see `factor_again`
    more: Array  # (nv,)


@kernel
def make_flat(h: float, mass: Mass, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra) -> Flat:
    """shift: (nv,), what the velocity over the step differs by from that at its end, on bodies that turn freely."""
    n = efc.type.size + extra.table.shape[0]
    every, ptr, entries = np.ones(n, np.int64), np.zeros(n + 1, np.int64), jacobian_room(v0.size, efc, extra, n)
    idx, val, mass_val = np.empty(entries, np.int64), np.empty(entries), np.empty(mass.idx.size)
    fill_mass(mass, mass_val)
    nnz = fill_jacobian(v0.size, efc, touch, extra, every, ptr, idx, val)
    numbers, kinds, block_ptr = np.empty((10, n)), np.empty((2, n), np.int64), np.empty(n + 1, np.int64)
    blocks = fill_part(shift, efc, touch, extra, every, ptr, idx, val, numbers, kinds, block_ptr)
    return whole_flat(h, mass, mass_val, v0, f, ptr, idx[:nnz], val[:nnz], block_ptr[: blocks + 1], numbers, kinds)


@kernel(inline=True)
def part_at(
    h: float, mass: Mass, mass_val: Array, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra,
    chosen: Ints, n: int, desk: int,
) -> Flat:  # fmt: skip
    """The step with its n chosen rows alone, in the memory at desk: 14 n + 2 words, and two for each of
    `jacobian_room`."""
    ptr, block_ptr = longs(desk, n + 1), desk + WORD * (n + 1)
    numbers = folded(floats(desk + WORD * (2 * n + 2), 10 * n), 10, n)
    kinds = folded(longs(desk + WORD * (12 * n + 2), 2 * n), 2, n)
    entries, first = jacobian_room(v0.size, efc, extra, n), desk + WORD * (14 * n + 2)
    second = first + WORD * entries
    nnz = fill_jacobian(v0.size, efc, touch, extra, chosen, ptr, longs(first, entries), floats(second, entries))
    idx, val = longs(first, nnz), floats(second, nnz)
    blocks = fill_part(shift, efc, touch, extra, chosen, ptr, idx, val, numbers, kinds, longs(block_ptr, n + 1))
    return whole_flat(h, mass, mass_val, v0, f, ptr, idx, val, longs(block_ptr, blocks + 1), numbers, kinds)


@kernel(inline=True)
def whole_flat(
    h: float, mass: Mass, mass_val: Array, v0: Array, f: Array, ptr: Ints, idx: Ints, val: Array, block_ptr: Ints,
    numbers: Array, kinds: Ints,
) -> Flat:  # fmt: skip
    """Of what `fill_mass`, `fill_jacobian` and `fill_part` have filled."""
    return Flat(
        h, mass.ptr, mass.idx, mass_val, v0, f, ptr, idx, val, block_ptr, kinds[0], numbers[0], numbers[1], numbers[2],
        numbers[3], numbers[4], numbers[5], numbers[6], numbers[7], numbers[8], numbers[9], kinds[1], kinds[1],
    )  # fmt: skip


@kernel
def fill_part(
    shift: Array, efc: Efc, touch: Touch, extra: Extra, chosen: Ints, ptr: Ints, idx: Ints, val: Array,
    numbers: Array, kinds: Ints, block_ptr: Ints,
) -> int:  # fmt: skip
    """Fill numbers, (10, n), kinds, (2, n), and block_ptr with what `Flat` has of the chosen rows, whole blocks of
    them: 1 in chosen, (m,). ptr, idx, val: their Jacobian. Returns how many blocks there are."""
    m, k, n = efc.type.size, extra.table.shape[0], kinds.shape[1]
    kind, none = kinds[0], kinds[1]
    value, offset, K, B, exponent = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    dissipation, lower, upper, mu, curvature = numbers[5], numbers[6], numbers[7], numbers[8], numbers[9]
    for i in range(n):
        kind[i] = none[i] = 0
        value[i] = offset[i] = K[i] = B[i] = dissipation[i] = mu[i] = curvature[i] = 0.0
        exponent[i], lower[i], upper[i] = 1.0, -np.inf, np.inf
    blocks, r, i = 0, 0, 0  # row r of the part is row i of MuJoCo's
    block_ptr[0] = 0
    while i < m:
        t = efc.type[i]
        size = touch.dim[efc.id[i]] if t == ELLIPTIC else 1
        if not chosen[i]:
            i += size
            continue
        offset[r] = efc.offset[i]
        K[r], B[r] = efc.law[i, STIFFNESS], efc.law[i, DAMPING]
        if t == EQUALITY:
            kind[r], value[r] = BILATERAL, efc.pos[i]
        elif t in (FRICTION_DOF, FRICTION_TENDON):
            kind[r], lower[r], upper[r] = CLIPPED, -efc.friction[i], efc.friction[i]
        else:
            kind[r], value[r], lower[r] = UNILATERAL, row_gap(efc, touch, i), 0.0
        if t in (FRICTIONLESS, ELLIPTIC):
            exponent[r], dissipation[r] = efc.law[i, EXPONENT], efc.law[i, DISSIPATION]
        if t == ELLIPTIC:
            kind[r] = NORMAL
            for j in range(1, size):
                kind[r + j], K[r + j] = TANGENT, np.inf
                if touch.friction[efc.id[i], j - 1] > LEAST_FRICTION:
                    mu[r + j] = touch.friction[efc.id[i], j - 1]
                offset[r + j] = efc.offset[i + j]
        i += size
        r += size
        blocks += 1
        block_ptr[blocks] = r
    for e in range(k):
        if chosen[m + e]:
            kind[r] = int(extra.table[e, EXTRA_KIND])
            K[r], B[r] = extra.table[e, EXTRA_STIFFNESS], extra.table[e, EXTRA_DAMPING]
            value[r], offset[r] = extra.table[e, EXTRA_VALUE], extra.table[e, EXTRA_OFFSET]
            lower[r], upper[r] = extra.table[e, EXTRA_LOWER], extra.table[e, EXTRA_UPPER]
            r += 1
            blocks += 1
            block_ptr[blocks] = r
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
def jacobian_room(nv: int, efc: Efc, extra: Extra, n: int) -> int:
    """Entries that `fill_jacobian` of n rows may write."""
    return (efc.J.size if efc.rownnz.size > 0 else n * nv) + extra.val.size + 1


@kernel
def fill_jacobian(nv: int, efc: Efc, touch: Touch, extra: Extra, chosen: Ints, ptr: Ints, idx: Ints, val: Array) -> int:
    """G of the chosen rows in CSR without zeros, and without entries that are the rounding of what should be zero: a
    row that consisted of them would take enormous forces for what moves nothing. Returns how many entries there are."""
    m, k = efc.type.size, extra.table.shape[0]
    sparse = efc.rownnz.size > 0
    ptr[0] = at = r = i = 0
    while i < m:
        size = touch.dim[efc.id[i]] if efc.type[i] == ELLIPTIC else 1
        if chosen[i]:
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
                r += 1
                ptr[r] = at
        i += size
    for i in range(k):
        if chosen[m + i]:
            for e in range(extra.ptr[i], extra.ptr[i + 1]):
                if extra.val[e] != 0.0:
                    idx[at], val[at] = extra.idx[e], extra.val[e]
                    at += 1
            r += 1
            ptr[r] = at
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
