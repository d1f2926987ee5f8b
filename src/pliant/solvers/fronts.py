"""Fronts: the small dense matrices that a multifrontal factorization works on, and the tree they form."""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Ints
from pliant.solvers.cliques import group_velocities
from pliant.solvers.ordering import Elimination, minimum_degree


class Fronts(NamedTuple):
    """Front s of ns has the velocities row[row_ptr[s]:row_ptr[s+1]]: first its pivots, then its border.

    Children come before parents; the border of a front lies within the rows of its parent.
    """

    row_ptr: Ints  # (ns+1,)
    row: Ints  # sorted by elimination
    width: Ints  # (ns,) number of pivots
    parent: Ints  # (ns,) or -1


@kernel
def single_front(nv: int) -> Fronts:
    """Everything in one front, in the given order: plain dense algebra."""
    row_ptr, row, width, parent = (
        np.zeros(2, np.int64),
        np.empty(nv, np.int64),
        np.empty(1, np.int64),
        np.empty(1, np.int64),
    )
    row_ptr[1], width[0], parent[0] = nv, nv, -1
    for j in range(nv):
        row[j] = j
    return Fronts(row_ptr, row, width, parent)


@kernel
def sparse_fronts(nv: int, clique_ptr: Ints, clique_var: Ints) -> Fronts:
    """The fronts of an order with little fill; a single one where that is no slower."""
    group_ptr, ptr, var = group_velocities(nv, clique_ptr, clique_var)
    weight = np.empty(group_ptr.size - 1, np.int64)
    for g in range(weight.size):
        weight[g] = group_ptr[g + 1] - group_ptr[g]
    elim = minimum_degree(weight, ptr, var)
    into, rows, cost = _amalgamate(elim, group_ptr)
    if front_cost(nv, nv) <= cost:
        return single_front(nv)
    return _merged(elim, into, rows, group_ptr)


@kernel(inline=True)
def front_cost(width: int, rows: int) -> float:
    """Time to factor a front and add its update to the parent [ns], fitted to measurements."""
    border = rows - width
    columns = width * (rows + border + 1) / 2  # sum of the heights of the pivot columns
    squares = (rows * (rows + 1) * (2 * rows + 1) - border * (border + 1) * (2 * border + 1)) / 6
    return 150.0 + 4.6 * columns + 0.022 * squares + 0.66 * border * border


@kernel
def _amalgamate(elim: Elimination, group_ptr: Ints) -> tuple[Ints, Ints, float]:
    """Merge fronts into their parents where working on a few zeros is faster than adding updates.

    Returns `into` (n,), the pivot at the head of the front of each pivot, the number of rows of the front of
    each such pivot, and the cost of all fronts.
    """
    n = elim.order.size
    into = np.empty(n, np.int64)
    width = np.empty(n, np.int64)
    rows = np.empty(n, np.int64)
    for k in range(n):
        width[k] = group_ptr[elim.order[k] + 1] - group_ptr[elim.order[k]]
        rows[k] = width[k] + elim.size[k]
    total = 0.0
    for k in range(n):
        p = elim.parent[k]
        into[k] = k
        cost = front_cost(width[k], rows[k])
        if p >= 0:
            merged = front_cost(width[k] + width[p], width[k] + rows[p])
            if merged <= cost + front_cost(width[p], rows[p]):
                into[k] = p
                width[p] += width[k]
                rows[p] += width[k]
                cost = 0.0
        total += cost
    for k in range(n - 1, -1, -1):
        into[k] = into[into[k]]
    return into, rows, total


@kernel
def _merged(elim: Elimination, into: Ints, rows: Ints, group_ptr: Ints) -> Fronts:
    """The fronts of the pivots that are at the head of one, each with the pivots merged into it."""
    n = into.size
    number = np.empty(n, np.int64)  # of the front with this pivot at its head
    row_ptr = np.zeros(n + 1, np.int64)
    ns = 0
    for k in range(n):
        if into[k] == k:
            number[k] = ns
            ns += 1
            row_ptr[ns] = row_ptr[ns - 1] + rows[k]
    row = np.empty(row_ptr[ns], np.int64)
    width = np.zeros(ns, np.int64)
    parent = np.full(ns, -1, np.int64)
    rank = np.empty(n, np.int64)  # of a group: merged pivots are eliminated along with their head
    for k in range(n):
        s = number[into[k]]
        rank[elim.order[k]] = s * n + k
        for v in range(group_ptr[elim.order[k]], group_ptr[elim.order[k] + 1]):
            row[row_ptr[s] + width[s]] = v
            width[s] += 1
        if into[k] == k and elim.parent[k] >= 0:
            parent[s] = number[into[elim.parent[k]]]
    for k in range(n):
        if into[k] != k:
            continue
        first, last = elim.first[k], elim.first[k] + elim.length[k]
        for t in range(first, last):  # insertion sort by rank: borders are short
            g, place = elim.border[t], t
            while place > first and rank[elim.border[place - 1]] > rank[g]:
                elim.border[place] = elim.border[place - 1]
                place -= 1
            elim.border[place] = g
        end = row_ptr[number[k]] + width[number[k]]
        for t in range(first, last):
            for v in range(group_ptr[elim.border[t]], group_ptr[elim.border[t] + 1]):
                row[end] = v
                end += 1
    return Fronts(row_ptr[: ns + 1].copy(), row, width, parent)
