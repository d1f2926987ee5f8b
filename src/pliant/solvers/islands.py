"""Groups of rows and velocities that do not touch: each is a problem of its own."""

from collections.abc import Iterator

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array, Ints


@kernel
def _label_velocities(mass_ptr: Ints, mass_idx: Ints, jac_ptr: Ints, jac_idx: Ints, block_ptr: Ints) -> Ints:
    """The least velocity that each velocity is coupled to, through M or a block of rows (union-find)."""
    nv = mass_ptr.size - 1
    root = np.arange(nv)
    for v in range(nv):
        for e in range(mass_ptr[v], mass_ptr[v + 1]):
            if mass_idx[e] != v:
                _join(root, _find(root, v), mass_idx[e])
    for b in range(block_ptr.size - 1):
        lo, hi = jac_ptr[block_ptr[b]], jac_ptr[block_ptr[b + 1]]
        own = _find(root, jac_idx[lo]) if lo < hi else 0
        for e in range(lo + 1, hi):
            if root[jac_idx[e]] != own:
                own = _join(root, own, jac_idx[e])
    for v in range(nv):
        root[v] = root[root[v]]  # which is not larger, and knows its own by now
    return root


@kernel
def _find(root: Ints, v: int) -> int:
    while root[v] != v:
        root[v] = root[root[v]]
        v = root[v]
    return v


@kernel
def _join(root: Ints, a: int, b: int) -> int:
    """The root of both; a is one already."""
    b = _find(root, b)
    if a < b:
        root[b] = a
        return a
    root[a] = b
    return b


@kernel
def find_islands(flat: Flat) -> tuple[Ints, Ints, int]:
    """Island of each velocity (-1: carries no rows) and of each row, and how many there are.

    Islands are numbered in the order of their first block; blocks without any velocity share one of their own.
    """
    nv, count = flat.velocity.size, 0
    root = _label_velocities(flat.mass_ptr, flat.mass_idx, flat.jac_ptr, flat.jac_idx, flat.block_ptr)
    number, row_island = np.full(nv + 1, -1, np.int64), np.empty(flat.kind.size, np.int64)
    for b in range(flat.block_ptr.size - 1):
        lo, hi = flat.block_ptr[b], flat.block_ptr[b + 1]
        if lo == hi:
            continue
        own = root[flat.jac_idx[flat.jac_ptr[lo]]] if flat.jac_ptr[hi] > flat.jac_ptr[lo] else nv
        if number[own] < 0:
            number[own] = count
            count += 1
        for i in range(lo, hi):
            row_island[i] = number[own]
    for v in range(nv):
        root[v] = number[root[v]]
    return root, row_island, count


@kernel
def members(island: Ints, count: int) -> tuple[Ints, Ints]:
    """The places where `island` is k: list[ptr[k]:ptr[k+1]], for k = 0 ... count-1."""
    ptr = np.zeros(count + 2, np.int64)
    for k in island:
        if k >= 0:
            ptr[k + 2] += 1
    for k in range(count):
        ptr[k + 2] += ptr[k + 1]
    found = np.empty(ptr[count + 1], np.int64)
    for i in range(island.size):
        k = island[i]
        if k >= 0:
            found[ptr[k + 1]] = i
            ptr[k + 1] += 1
    return ptr[: count + 1].copy(), found


def split(flat: Flat, velocity_island: Ints, row_island: Ints, count: int) -> Iterator[tuple[Flat, Ints, Ints]]:
    """(step, its velocities, its rows) for each island. Rows of an island without velocities get an idle one."""
    (v_ptr, velocities), (r_ptr, rows) = members(velocity_island, count), members(row_island, count)
    local = np.full(len(flat.velocity), -1)
    for k in range(count):
        v, r = velocities[v_ptr[k] : v_ptr[k + 1]], rows[r_ptr[k] : r_ptr[k + 1]]
        yield extract(flat, v, r, local), v, r


@kernel
def extract(flat: Flat, v: Ints, r: Ints, local: Ints) -> Flat:
    """The step of some velocities and rows that belong together. local: (nv,) to work with."""
    for k in range(v.size):
        local[v[k]] = k
    mass_ptr, mass_idx, mass_val = _take_rows(flat.mass_ptr, flat.mass_idx, flat.mass_val, v, local)
    jac_ptr, jac_idx, jac_val = _take_rows(flat.jac_ptr, flat.jac_idx, flat.jac_val, r, local)
    velocity, force = flat.velocity[v], flat.force[v]
    if v.size == 0:
        mass_ptr, mass_idx, mass_val = np.array([0, 1]), np.zeros(1, np.int64), np.ones(1)
        velocity, force = np.zeros(1), np.zeros(1)
    return Flat(
        flat.step, mass_ptr, mass_idx, mass_val, velocity, force, jac_ptr, jac_idx, jac_val,
        _take_blocks(flat.block_ptr, r), flat.kind[r], flat.value[r], flat.offset[r], flat.stiffness[r],
        flat.damping[r], flat.exponent[r], flat.dissipation[r], flat.lower[r], flat.upper[r], flat.friction[r],
        flat.curvature[r], flat.constraint[r], flat.ids[r],
    )  # fmt: skip


@kernel
def _take_rows(ptr: Ints, idx: Ints, val: Array, rows: Ints, local: Ints) -> tuple[Ints, Ints, Array]:
    """Rows of a CSR matrix, their columns numbered anew."""
    some = np.zeros(rows.size + 1, np.int64)
    for k in range(rows.size):
        some[k + 1] = some[k] + ptr[rows[k] + 1] - ptr[rows[k]]
    some_idx, some_val = np.empty(some[rows.size], np.int64), np.empty(some[rows.size])
    for k in range(rows.size):
        for t in range(some[k + 1] - some[k]):
            some_idx[some[k] + t], some_val[some[k] + t] = local[idx[ptr[rows[k]] + t]], val[ptr[rows[k]] + t]
    return some, some_idx, some_val


@kernel
def _take_blocks(block_ptr: Ints, r: Ints) -> Ints:
    """Blocks of the rows r, all rows of a block or none of it; empty blocks are left out."""
    some, count = np.empty(r.size + 1, np.int64), 0
    for k in range(r.size):
        if block_ptr[np.searchsorted(block_ptr, r[k])] == r[k]:
            some[count] = k
            count += 1
    some[count] = r.size
    return some[: count + 1].copy()
