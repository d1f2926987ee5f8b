"""The order in which blocks of rows are eliminated, where forces are the unknowns, and where each product then goes.

Blocks are coupled by the whitened velocities that they share: A = Z Z'. Where bodies have few contacts each, as in a
column of spheres, blocks have few neighbours, and their elimination is a short list of small products, written down
once: numbers go through it without asking for their place.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Ints
from pliant.solvers.ordering import Elimination, minimum_degree
from pliant.solvers.rows import Rows

FEWER = 0.5  # pairs of rows on velocities, against those of velocities in blocks, up to which forces are the unknowns
CROWDED = 30  # products per block, beyond which larger matrices are faster
HEADER = 4


class Program(NamedTuple):
    """nb blocks, one after the other."""

    size: int  # d, rows of the largest block
    order: Ints  # (nb,) the block that is eliminated k-th
    ptr: Ints  # (nb+1,)
    later: Ints  # by their place in the order, ascending, the blocks that the k-th is coupled to when its turn comes
    pair: Ints  # for every two of these, one after the other, the place in `later` of their own coupling


@kernel
def read_program(code: Ints) -> Program:
    """What `find_program` has written."""
    nb, entries = code[1], code[2]
    start = HEADER + nb
    return Program(
        code[0],
        code[HEADER:start],
        code[start : start + nb + 1],
        code[start + nb + 1 : start + nb + 1 + entries],
        code[start + nb + 1 + entries :],
    )


@kernel
def find_program(rows: Rows, nv: int) -> Ints:
    """A program in one array; an empty one: velocities are the better unknowns."""
    nb = rows.block_ptr.size - 1
    ptr, block = _sharers(rows, nv)
    if not _are_fewer(rows, nv, ptr, block):
        return np.zeros(0, np.int64)
    elim = minimum_degree(np.ones(nb, np.int64), ptr, block)
    entries = pairs = 0
    for k in range(nb):
        entries += elim.length[k]
        pairs += elim.length[k] * (elim.length[k] - 1) // 2
    if pairs > CROWDED * nb:
        return np.zeros(0, np.int64)
    return _written(rows, elim, entries, pairs)


@kernel
def _sharers(rows: Rows, nv: int) -> tuple[Ints, Ints]:
    """(ptr, block): the blocks that touch a velocity, ascending; the same of neighbours only once."""
    nb, size, seen = rows.block_ptr.size - 1, np.zeros(nv + 1, np.int64), np.full(nv, -1, np.int64)
    for b in range(nb):
        for e in range(rows.ptr[rows.block_ptr[b]], rows.ptr[rows.block_ptr[b + 1]]):
            j = rows.idx[e]
            if seen[j] != b:
                seen[j] = b
                size[j + 1] += 1
    for j in range(nv):
        size[j + 1] += size[j]
        seen[j] = -1
    block, end = np.empty(size[nv], np.int64), size.copy()
    for b in range(nb):
        for e in range(rows.ptr[rows.block_ptr[b]], rows.ptr[rows.block_ptr[b + 1]]):
            j = rows.idx[e]
            if seen[j] != b:
                seen[j] = b
                block[end[j]] = b
                end[j] += 1
    return _without_repeats(size, block)


@kernel
def _without_repeats(ptr: Ints, block: Ints) -> tuple[Ints, Ints]:
    """Lists that are not like the one before them, in place: what is written has been read."""
    last = kept = end = 0
    for j in range(ptr.size - 1):
        lo, n = ptr[j], ptr[j + 1] - ptr[j]
        same = kept > 0 and end - last == n
        for k in range(n):
            same = same and block[last + k] == block[lo + k]
        if n > 0 and not same:
            for k in range(n):
                block[end + k] = block[lo + k]
            last, end = end, end + n
            ptr[kept] = last
            kept += 1
    ptr[kept] = end
    return ptr[: kept + 1].copy(), block[:end].copy()


@kernel
def _are_fewer(rows: Rows, nv: int, ptr: Ints, block: Ints) -> bool:
    """Whether the rows that velocities couple are few, against the velocities that blocks do, and each has some."""
    size, coupled, seen = 0, 0, np.full(nv, -1, np.int64)
    for c in range(ptr.size - 1):
        n = 0
        for t in range(ptr[c], ptr[c + 1]):
            n += rows.block_ptr[block[t] + 1] - rows.block_ptr[block[t]]
        size += n * n
    for b in range(rows.block_ptr.size - 1):
        n = 0
        for i in range(rows.block_ptr[b], rows.block_ptr[b + 1]):
            if rows.ptr[i] == rows.ptr[i + 1]:
                return False
            for e in range(rows.ptr[i], rows.ptr[i + 1]):
                if seen[rows.idx[e]] != b:
                    seen[rows.idx[e]] = b
                    n += 1
        coupled += n * n
    return size <= FEWER * coupled


@kernel
def _written(rows: Rows, elim: Elimination, entries: int, pairs: int) -> Ints:
    nb = elim.order.size
    code, rank = np.empty(HEADER + 2 * nb + 1 + entries + pairs, np.int64), np.empty(nb, np.int64)
    code[0], code[1], code[2], code[3] = 1, nb, entries, pairs
    _, order, ptr, later, pair = read_program(code)
    for k in range(nb):
        order[k] = elim.order[k]
        rank[order[k]] = k
        code[0] = max(code[0], rows.block_ptr[order[k] + 1] - rows.block_ptr[order[k]])
    ptr[0] = 0
    for k in range(nb):
        end = ptr[k]
        for t in range(elim.first[k], elim.first[k] + elim.length[k]):
            place, j = end, rank[elim.border[t]]
            while place > ptr[k] and later[place - 1] > j:
                later[place] = later[place - 1]
                place -= 1
            later[place] = j
            end += 1
        ptr[k + 1] = end
    at = 0
    for k in range(nb):
        for a in range(ptr[k], ptr[k + 1]):
            place = ptr[later[a]]
            for b in range(a + 1, ptr[k + 1]):
                while later[place] < later[b]:
                    place += 1
                pair[at] = place
                at += 1
    return code
