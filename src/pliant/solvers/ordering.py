"""Approximate minimum degree: an order of elimination that leaves few entries in the factors.

P. Amestoy, T. Davis, I. Duff, "An approximate minimum degree ordering algorithm", SIAM J. Matrix Anal. Appl.
17 (1996), on a graph given by cliques: no pair is ever written out. A variable i knows the cliques (elements)
E_i it belongs to, an element e its variables L_e. A pivot p becomes an element: L_p, all variables that share
an element with p, absorbs those elements, and any other that lies within it.

L_p is also the structure of the column of p in the factors, so the symbolic factorization comes with the
order. Merging alike variables on the way, the rest of their algorithm, is left out: they have been grouped
before, and fronts are merged after.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Ints
from pliant.solvers.cliques import transpose


class Elimination(NamedTuple):
    """The k-th pivot of n updates the variables border[first[k]:first[k]+length[k]]."""

    order: Ints  # (n,) variables, first eliminated first
    first: Ints  # (n,)
    length: Ints  # (n,)
    border: Ints  # variables, in no order
    size: Ints  # (n,) weight of the border
    parent: Ints  # (n,) the later pivot whose border and self hold the border of k, or -1


@kernel
def minimum_degree(weight: Ints, ptr: Ints, var: Ints) -> Elimination:
    """Order n variables of the given weights, the graph made of the cliques var[ptr[c]:ptr[c+1]]."""
    n, nc = weight.size, ptr.size - 1
    elem_ptr, elem = transpose(n, ptr, var)  # E_i = elem[elem_ptr[i]:elem_end[i]]
    elem_end = elem_ptr[1:].copy()
    # elements: cliques 0..nc-1, then pivots nc..nc+n-1 in their order; L_e = pool[first[e]:][:length[e]]
    first = np.zeros(nc + n, np.int64)
    length = np.zeros(nc + n, np.int64)
    size = np.zeros(nc + n, np.int64)
    absorber = np.full(nc + n, -1, np.int64)
    outside = np.zeros(nc + n, np.int64)  # weight of L_e without L_p ...
    stamp = np.full(nc + n, -1, np.int64)  # ... for this pivot
    used = ptr[nc]
    pool = np.empty(2 * used + n, np.int64)
    for c in range(nc):
        first[c] = ptr[c]
        length[c] = ptr[c + 1] - ptr[c]
        for t in range(ptr[c], ptr[c + 1]):
            pool[t] = var[t]
            size[c] += weight[var[t]]
    left = 0
    for i in range(n):
        left += weight[i]
    # variables by degree, doubly linked
    head = np.full(left + 1, -1, np.int64)
    after = np.full(n, -1, np.int64)
    before = np.full(n, -1, np.int64)
    degree = np.zeros(n, np.int64)
    for i in range(n - 1, -1, -1):
        d = 0
        for t in range(elem_ptr[i], elem_end[i]):
            d += size[elem[t]] - weight[i]
        d = min(d, left - weight[i])
        degree[i] = d
        after[i] = head[d]
        if head[d] >= 0:
            before[head[d]] = i
        head[d] = i
    least = 0
    order = np.empty(n, np.int64)
    mark = np.full(n, -1, np.int64)
    for k in range(n):
        while head[least] < 0:
            least += 1
        p = head[least]
        head[least] = after[p]
        if after[p] >= 0:
            before[after[p]] = -1
        order[k] = p
        mark[p] = k
        left -= weight[p]
        if pool.size < used + n:
            longer = np.empty(2 * used + n, np.int64)
            for t in range(used):
                longer[t] = pool[t]
            pool = longer
        # L_p
        new = nc + k
        first[new] = used
        for t in range(elem_ptr[p], elem_end[p]):
            e = elem[t]
            absorber[e] = new
            for s in range(first[e], first[e] + length[e]):
                i = pool[s]
                if mark[i] != k:
                    mark[i] = k
                    pool[used] = i
                    used += 1
                    size[new] += weight[i]
        length[new] = used - first[new]
        # |L_e without L_p| for all e that meet L_p
        for s in range(first[new], used):
            i = pool[s]
            for t in range(elem_ptr[i], elem_end[i]):
                e = elem[t]
                if stamp[e] != k:
                    stamp[e] = k
                    outside[e] = size[e]
                outside[e] -= weight[i]
        for s in range(first[new], used):
            i = pool[s]
            far = 0
            end = elem_ptr[i]
            for t in range(elem_ptr[i], elem_end[i]):
                e = elem[t]
                if outside[e] == 0:
                    absorber[e] = new
                elif absorber[e] < 0:
                    elem[end] = e
                    end += 1
                    far += outside[e]
            elem[end] = new  # there is room: the element that led from p to i has gone
            elem_end[i] = end + 1
            # the degree, at most, and the list it belongs to
            d = min(min(degree[i], far) + size[new], left) - weight[i]
            if before[i] >= 0:
                after[before[i]] = after[i]
            else:
                head[degree[i]] = after[i]
            if after[i] >= 0:
                before[after[i]] = before[i]
            degree[i] = d
            before[i] = -1
            after[i] = head[d]
            if head[d] >= 0:
                before[head[d]] = i
            head[d] = i
            least = min(least, d)
    parent = np.empty(n, np.int64)
    for k in range(n):
        parent[k] = max(absorber[nc + k] - nc, -1)
    return Elimination(order, first[nc:].copy(), length[nc:].copy(), pool, size[nc:].copy(), parent)
