"""Groups of rows and velocities that do not touch: each is a problem of its own."""

from collections.abc import Iterator

import numpy as np

from pliant._compile import kernel
from pliant.flat import ROW_FIELDS, Flat
from pliant.inputs import Ints


@kernel
def _label_velocities(mass_ptr: Ints, mass_idx: Ints, jac_ptr: Ints, jac_idx: Ints, block_ptr: Ints) -> Ints:
    """The least velocity that each velocity is coupled to, through M or a block of rows (union-find)."""
    nv = mass_ptr.size - 1
    root = np.arange(nv)
    for v in range(nv):
        for e in range(mass_ptr[v], mass_ptr[v + 1]):
            _join(root, v, mass_idx[e])
    for b in range(block_ptr.size - 1):
        lo, hi = jac_ptr[block_ptr[b]], jac_ptr[block_ptr[b + 1]]
        for e in range(lo + 1, hi):
            _join(root, jac_idx[lo], jac_idx[e])
    for v in range(nv):
        root[v] = _find(root, v)
    return root


@kernel
def _find(root: Ints, v: int) -> int:
    while root[v] != v:
        root[v] = root[root[v]]
        v = root[v]
    return v


@kernel
def _join(root: Ints, a: int, b: int) -> None:
    a, b = _find(root, a), _find(root, b)
    if a < b:
        root[b] = a
    elif b < a:
        root[a] = b


@kernel
def label_rows(flat: Flat) -> Ints:
    """The least velocity of the island of each row, (m,); nv for rows without any."""
    root = _label_velocities(flat.mass_ptr, flat.mass_idx, flat.jac_ptr, flat.jac_idx, flat.block_ptr)
    label = np.empty(flat.kind.size, np.int64)
    for b in range(flat.block_ptr.size - 1):
        lo, hi = flat.block_ptr[b], flat.block_ptr[b + 1]
        first = flat.jac_ptr[lo]
        own = root[flat.jac_idx[first]] if flat.jac_ptr[hi] > first else root.size
        for i in range(lo, hi):
            label[i] = own
    return label


@kernel
def is_one(flat: Flat) -> bool:
    """Whether all rows that have velocities belong to one island."""
    least, most = flat.velocity.size, -1
    for own in label_rows(flat):
        if own < flat.velocity.size:
            least, most = min(least, own), max(most, own)
    return least >= most


def find_islands(flat: Flat) -> tuple[Ints, Ints]:
    """Island of each velocity (-1: carries no rows) and of each row.

    Islands are numbered in the order of their first block; blocks without any velocity share one of their own.
    """
    root = _label_velocities(flat.mass_ptr, flat.mass_idx, flat.jac_ptr, flat.jac_idx, flat.block_ptr)
    size = np.diff(flat.block_ptr)
    first = flat.jac_ptr[flat.block_ptr[:-1]]
    filled = flat.jac_ptr[flat.block_ptr[1:]] > first
    block_root = np.full(len(size), -1)
    block_root[filled] = root[flat.jac_idx[first[filled]]]
    block_root = block_root[size > 0]
    if not np.any(block_root != block_root[:1]):  # the usual case, without sorting
        same = root == block_root[0] if len(block_root) else np.zeros(len(root), bool)
        return np.where(same, 0, -1), np.zeros(len(flat.kind), np.int64)
    names, index, block_island = np.unique(block_root, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(index))
    number = np.full(len(root) + 1, -1)
    number[names] = rank  # names[0] may be -1: the last entry, which no root reads
    velocity_island = number[:-1][root]
    return velocity_island, np.repeat(rank[block_island], size[size > 0])


def split(flat: Flat, velocity_island: Ints, row_island: Ints) -> Iterator[tuple[Flat, Ints, Ints]]:
    """(step, its velocities, its rows) for each island. Rows of an island without velocities get an idle one."""
    count = int(row_island.max()) + 1
    velocities = np.argsort(velocity_island, kind="stable")
    velocities = velocities[velocity_island[velocities] >= 0]
    rows = np.argsort(row_island, kind="stable")
    v_end = np.searchsorted(velocity_island[velocities], np.arange(count), side="right")
    r_end = np.searchsorted(row_island[rows], np.arange(count), side="right")
    local = np.full(len(flat.velocity), -1)
    v0 = r0 = 0
    for island in range(count):
        v, r = velocities[v0 : v_end[island]], rows[r0 : r_end[island]]
        local[v] = np.arange(len(v))
        yield _extract(flat, v, r, local), v, r
        v0, r0 = v_end[island], r_end[island]


def _extract(flat: Flat, v: Ints, r: Ints, local: Ints) -> Flat:
    jac_ptr, entries = _gather(flat.jac_ptr, r)
    size = np.diff(flat.block_ptr)
    block_of_row = np.repeat(np.arange(len(size)), size)[r]
    ends = np.flatnonzero(np.diff(block_of_row, append=-1))
    fields = {name: getattr(flat, name)[r] for name in ROW_FIELDS}
    if len(v):
        mass_ptr, mass_entries = _gather(flat.mass_ptr, v)
        mass_idx, mass_val = local[flat.mass_idx[mass_entries]], flat.mass_val[mass_entries]
        velocity, force = flat.velocity[v], flat.force[v]
    else:
        mass_ptr, mass_idx, mass_val = np.array([0, 1]), np.array([0]), np.ones(1)
        velocity, force = np.zeros(1), np.zeros(1)
    return flat._replace(
        mass_ptr=mass_ptr,
        mass_idx=mass_idx,
        mass_val=mass_val,
        velocity=velocity,
        force=force,
        jac_ptr=jac_ptr,
        jac_idx=local[flat.jac_idx[entries]],
        jac_val=flat.jac_val[entries],
        block_ptr=np.concatenate([[0], ends + 1]),
        **fields,
    )


def _gather(ptr: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Pointers of the chosen rows of a CSR matrix, and where their entries lie."""
    length = ptr[rows + 1] - ptr[rows]
    new = np.concatenate([[0], np.cumsum(length)])
    return new, np.repeat(ptr[rows] - new[:-1], length) + np.arange(new[-1])
