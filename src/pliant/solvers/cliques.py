"""Cliques: sets of velocities that are coupled to each other, by a constraint block or the mass matrix."""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Ints


@kernel
def block_cliques(nv: int, jac_ptr: Ints, jac_idx: Ints, block_ptr: Ints) -> tuple[Ints, Ints, Ints]:
    """The sets of velocities that blocks of rows touch, each set once.

    Ten thousand rows on one body are one set, so that later symbolic work is on few sets.
    Returns ptr (nc+1,), var (velocities, in no order), block_clique (nb,): -1 for a block without entries.
    """
    nb = block_ptr.size - 1
    block_clique = np.empty(nb, np.int64)
    ptr = np.zeros(nb + 1, np.int64)
    var = np.empty(jac_ptr[block_ptr[nb]], np.int64)
    mark = np.full(nv, -1, np.int64)
    slots = 2 * nb + 17
    table = np.full(slots, -1, np.int64)
    count = 0
    for b in range(nb):
        first = ptr[count]
        end = first
        key = 0
        for e in range(jac_ptr[block_ptr[b]], jac_ptr[block_ptr[b + 1]]):
            v = jac_idx[e]
            if mark[v] != b:
                mark[v] = b
                var[end] = v
                end += 1
                key += (v + 1) * (v + 40503)  # a sum, because a set has no order
        spot = key % slots
        found = -1
        while end > first and found < 0:
            c = table[spot]
            if c < 0:
                c = count
                table[spot] = c
                count += 1
                ptr[count] = end
            if ptr[c + 1] - ptr[c] == end - first:
                found = c
                for t in range(ptr[c], ptr[c + 1]):
                    if mark[var[t]] != b:
                        found = -1
            spot = (spot + 1) % slots
        block_clique[b] = found
    return ptr[: count + 1].copy(), var[: ptr[count]].copy(), block_clique


@kernel
def mass_cliques(mass_ptr: Ints, mass_idx: Ints) -> tuple[Ints, Ints]:
    """Sets of velocities, one for each row, that cover the entries of M: ptr (nv+1,), var.

    In the mass matrix of a tree of bodies, numbered from the root, the entries of a row up to the diagonal
    are its ancestors, a clique; in a block-diagonal matrix both sides of the diagonal are. In others the sets
    claim some entries that are zero; the side that claims less is taken.
    """
    nv = mass_ptr.size - 1
    below, above = 0, 0
    for i in range(nv):
        before, length = 0, mass_ptr[i + 1] - mass_ptr[i]
        while before < length and mass_idx[mass_ptr[i] + before] < i:
            before += 1
        after = length - before - 1
        below += before * before
        above += after * after
    side = 1 if below <= above else -1
    ptr = np.zeros(nv + 1, np.int64)
    var = np.empty(mass_ptr[nv], np.int64)
    end = 0
    for i in range(nv):
        for e in range(mass_ptr[i], mass_ptr[i + 1]):
            if side * mass_idx[e] <= side * i:
                var[end] = mass_idx[e]
                end += 1
        ptr[i + 1] = end
    return ptr, var[:end].copy()


@kernel
def group_velocities(nv: int, ptr: Ints, var: Ints) -> tuple[Ints, Ints, Ints]:
    """Put neighbouring velocities that are coupled to the same ones (those of a body) into one group.

    Returns group_ptr (ng+1,): group k is the velocities group_ptr[k]:group_ptr[k+1]; and the cliques as sets
    of at least two groups, ptr and var. Whatever the groups, the cliques of groups cover those of velocities,
    so that comparing neighbourhoods by a hash alone is safe.
    """
    home_ptr, home = transpose(nv, ptr, var)
    group = np.empty(nv, np.int64)
    group_ptr = np.zeros(nv + 1, np.int64)
    mark = np.full(nv, -1, np.int64)
    ng, last_key, last_count = 0, 0, 0
    for v in range(nv):
        mark[v] = v
        key, count = (v + 1) * (v + 40503), 1
        for t in range(home_ptr[v], home_ptr[v + 1]):
            for s in range(ptr[home[t]], ptr[home[t] + 1]):
                u = var[s]
                if mark[u] != v:
                    mark[u] = v
                    key += (u + 1) * (u + 40503)
                    count += 1
        if key != last_key or count != last_count:
            ng += 1
        last_key, last_count = key, count
        group[v] = ng - 1
        group_ptr[ng] = v + 1
    group_clique_ptr = np.zeros(ptr.size, np.int64)
    group_clique = np.empty(var.size, np.int64)
    for k in range(ng):
        mark[k] = -1
    kept = 0
    for c in range(ptr.size - 1):
        end = group_clique_ptr[kept]
        for t in range(ptr[c], ptr[c + 1]):
            k = group[var[t]]
            if mark[k] != c:
                mark[k] = c
                group_clique[end] = k
                end += 1
        if end > group_clique_ptr[kept] + 1:
            kept += 1
            group_clique_ptr[kept] = end
    return group_ptr[: ng + 1].copy(), group_clique_ptr[: kept + 1].copy(), group_clique


@kernel
def transpose(n: int, ptr: Ints, var: Ints) -> tuple[Ints, Ints]:
    """For each of n variables, the lists var[ptr[k]:ptr[k+1]] that hold it: home_ptr (n+1,), home."""
    home_ptr = np.zeros(n + 1, np.int64)
    for t in range(ptr[ptr.size - 1]):
        home_ptr[var[t] + 1] += 1
    for v in range(n):
        home_ptr[v + 1] += home_ptr[v]
    fill = home_ptr.copy()
    home = np.empty(ptr[ptr.size - 1], np.int64)
    for k in range(ptr.size - 1):
        for t in range(ptr[k], ptr[k + 1]):
            home[fill[var[t]]] = k
            fill[var[t]] += 1
    return home_ptr, home
