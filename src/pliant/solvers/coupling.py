"""Newton's step with the forces as unknowns, sparse: D dlambda = k - C missed, D = B + C (h A + E), A = G inv(M) G'.

A is a sum over the trees of M: on the rows that touch a tree all are coupled, and rows that share none are not. So
trees take the part that blocks of rows have for the velocities, and the same fronts serve. Where bodies have few
contacts each, as in a column of spheres, rows are fewer than velocities, and their fronts smaller.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import subtract_eight
from pliant.inputs import Array, Ints
from pliant.solvers.factor import factor
from pliant.solvers.known import known_pattern
from pliant.solvers.linear import System
from pliant.solvers.rows import PROX, Rows
from pliant.solvers.solve import solve
from pliant.solvers.stages import LEAST
from pliant.solvers.symbolic import Pattern
from pliant.solvers.whiten import Inertia

FEWER = 0.5  # pairs of rows on trees, against those of velocities in blocks, up to which forces are the unknowns


class Coupling(NamedTuple):
    """nt trees, with the rows of all blocks that touch them."""

    ptr: Ints  # (nt+1,)
    row: Ints  # ascending within a tree
    square_ptr: Ints  # (nt+1,) start of the entries of a tree
    A: Array  # h times what a force on a row does to the rate of another by way of the tree, by rows; 16 to work with
    home: Ints  # (m,) the first tree of each row


@kernel
def find_trees(rows: Rows, inertia: Inertia) -> tuple[Ints, Ints, Ints]:
    """(tree, ptr, row): the tree of each whitened velocity, and the rows of the blocks that touch it. -1: no rows.

    Neighbours that the same blocks touch count as one tree: a sphere whose inertia is diagonal is one body anyhow.
    """
    root, count = _label_trees(inertia)
    ptr, row = _rows_of(rows, root, count)
    number, end, groups = np.full(count, -1, np.int64), 0, 0
    for t in range(count):  # in place: what is written has been read
        n = ptr[t + 1] - ptr[t]
        if n == 0:
            continue
        start = ptr[groups - 1] if groups else 0
        same = groups > 0 and end - start == n
        for k in range(n):
            same = same and row[start + k] == row[ptr[t] + k]
        if not same:
            for k in range(n):
                row[end + k] = row[ptr[t] + k]
            end += n
            ptr[groups] = end - n
            groups += 1
        number[t] = groups - 1
    ptr[groups] = end
    for j in range(root.size):
        root[j] = number[root[j]]
    return root, ptr[: groups + 1].copy(), row[:end].copy()


@kernel
def _label_trees(inertia: Inertia) -> tuple[Ints, int]:
    """The tree of each whitened velocity, and how many there are; parents come after their children."""
    root, count = np.empty(inertia.parent.size, np.int64), 0
    for j in range(root.size - 1, -1, -1):
        if inertia.parent[j] >= 0:
            root[j] = root[inertia.parent[j]]
        else:
            root[j] = count
            count += 1
    return root, count


@kernel
def _rows_of(rows: Rows, root: Ints, count: int) -> tuple[Ints, Ints]:
    """The rows of the blocks that touch each tree."""
    nb, size, seen = rows.block_ptr.size - 1, np.zeros(count + 1, np.int64), np.full(count, -1, np.int64)
    for b in range(nb):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        for e in range(rows.ptr[lo], rows.ptr[hi]):
            t = root[rows.idx[e]]
            if seen[t] != b:
                seen[t] = b
                size[t + 1] += hi - lo
    for t in range(count):
        size[t + 1] += size[t]
        seen[t] = -1
    row, end = np.empty(size[count], np.int64), size.copy()
    for b in range(nb):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        for e in range(rows.ptr[lo], rows.ptr[hi]):
            t = root[rows.idx[e]]
            if seen[t] != b:
                seen[t] = b
                for i in range(lo, hi):
                    row[end[t]] = i
                    end[t] += 1
    return size, row


@kernel
def is_better(tree: Ints, ptr: Ints, rows: Rows) -> bool:
    """Whether the rows that trees couple are few, against the velocities that blocks do, and each touches a tree."""
    size, coupled, seen = 0, 0, np.full(tree.size, -1, np.int64)
    for t in range(ptr.size - 1):
        size += (ptr[t + 1] - ptr[t]) ** 2
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
def make_coupling(rows: Rows, tree: Ints, ptr: Ints, row: Ints) -> Coupling:
    """Of what `find_trees` gives."""
    nv, nt = tree.size, ptr.size - 1
    square_ptr, home = np.zeros(nt + 1, np.int64), np.full(rows.law.shape[0], -1, np.int64)
    for t in range(nt):
        square_ptr[t + 1] = square_ptr[t] + (ptr[t + 1] - ptr[t]) ** 2
        for k in range(ptr[t], ptr[t + 1]):
            if home[row[k]] < 0:
                home[row[k]] = t
    A, z = np.zeros(square_ptr[nt] + 16), np.zeros(nv)  # what reads eight of the last row at a time reads on
    for t in range(nt):
        n = ptr[t + 1] - ptr[t]
        for a in range(n):
            i = row[ptr[t] + a]
            for e in range(rows.ptr[i], rows.ptr[i + 1]):
                if tree[rows.idx[e]] == t:
                    z[rows.idx[e]] = rows.step * rows.val[e]
            for b in range(a, n):
                j, s = row[ptr[t] + b], 0.0
                for e in range(rows.ptr[j], rows.ptr[j + 1]):
                    s += rows.val[e] * z[rows.idx[e]]
                A[square_ptr[t] + a * n + b] = s
                A[square_ptr[t] + b * n + a] = s
            for e in range(rows.ptr[i], rows.ptr[i + 1]):
                z[rows.idx[e]] = 0.0
    return Coupling(ptr, row, square_ptr, A, home)


@kernel
def no_coupling() -> Coupling:
    """In the place of one."""
    none = np.zeros(0, np.int64)
    return Coupling(none, none, none, np.zeros(0), none)


@kernel
def find_force_pattern(coupling: Coupling, known: Ints) -> Pattern:
    """Where the entries of D go: trees in the place of blocks."""
    return known_pattern(known, coupling.home.size, coupling.ptr, coupling.row, np.arange(coupling.ptr.size))


@kernel
def force_direction(
    rows: Rows, coupling: Coupling, pattern: Pattern, system: System, missed: Array, anew: bool, df: Array
) -> bool:
    """df of the pieces in `system`, on new factors or those at hand; False: no usable pivot."""
    if anew:
        _assemble(rows, coupling, pattern, system)
        failed, _ = factor(pattern, system.values, False, 0.0, system.work)
        if failed >= 0:
            return False
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(n):
            df[lo + i] = system.k[lo + i]
            for s in range(n):
                df[lo + i] -= system.C[q + i * n + s] * missed[lo + s]
    solve(pattern, system.values, df, system.work)
    return True


@kernel
def _assemble(rows: Rows, coupling: Coupling, pattern: Pattern, system: System) -> None:
    """D into the fronts."""
    values, place, block = system.values, np.empty(coupling.home.size, np.int64), _blocks(rows)
    for e in range(values.size):
        values[e] = 0.0
    for t in range(coupling.ptr.size - 1):
        first, n = coupling.ptr[t], coupling.ptr[t + 1] - coupling.ptr[t]
        c = pattern.block_clique[t]
        s = pattern.clique_front[c]
        base, width = pattern.value_ptr[s], pattern.row_ptr[s + 1] - pattern.row_ptr[s]
        square = coupling.square_ptr[t]
        for a in range(n):
            place[a] = pattern.clique_place[pattern.clique_ptr[c] + pattern.entry_local[first + a]]
        a = 0
        while a < n:
            lo = coupling.row[first + a]
            b = block[lo]
            d, q = rows.block_ptr[b + 1] - lo, rows.square_ptr[b]
            for i in range(d):
                here = base + place[a + i] * width
                _add_row(system.C[q + i * d : q + i * d + d], coupling.A, square + a * n, n, values[here:], place)
                if coupling.home[lo] == t:
                    for k in range(d):
                        values[here + place[a + k]] += (
                            system.B[q + i * d + k] + system.C[q + i * d + k] * LEAST * rows.law[lo + k, PROX]
                        )
            a += d


@kernel(inline=True)
def _add_row(factors: Array, A: Array, start: int, n: int, values: Array, place: Ints) -> None:
    """To values, at their places, factors times rows of n numbers that begin at start; at the end of A is room for
    eight."""
    d, sum = factors.size, A.size - 8
    first, last = 0, d
    while first < d and factors[first] == 0.0:
        first += 1
    while last > first and factors[last - 1] == 0.0:
        last -= 1
    for j in range(0, n if last > first else 0, 8):
        for k in range(8):
            A[sum + k] = 0.0
        for k in range(first, last):
            subtract_eight(A, sum, start + k * n + j, -factors[k])
        for k in range(min(8, n - j)):
            values[place[j + k]] += A[sum + k]


@kernel
def _blocks(rows: Rows) -> Ints:
    """The block of each row."""
    block = np.empty(rows.law.shape[0], np.int64)
    for b in range(rows.block_ptr.size - 1):
        for i in range(rows.block_ptr[b], rows.block_ptr[b + 1]):
            block[i] = b
    return block
