"""The symbolic phase: from a sparsity pattern to the places where numbers will go, once per pattern.

    P = M + h sum_b G_b' H_b G_b

All velocities of a block are pairwise coupled, so they lie together in the front where the first of them is
eliminated: a block needs one list of places there, not one for each pair.
"""

from typing import Final, NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Ints
from pliant.solvers.cliques import block_cliques, mass_cliques
from pliant.solvers.fronts import Fronts, single_front, sparse_fronts

# Up to here one dense front is faster than finding out whether several would be.
DENSE_VELOCITIES: Final = 24
DENSE_FILL: Final = 0.4

ROWS: Final = 8  # rows that assembling takes at a time: a multiple of 4, no less than the rows of any block


class Pattern(NamedTuple):
    """Structure of P and of its factors for nv velocities, ns fronts, nc cliques.

    Front s, of n = row_ptr[s+1] - row_ptr[s] rows, is the n x n matrix values[value_ptr[s]:value_ptr[s+1]],
    by rows. Children come before parents.
    """

    dense: bool  # one front, velocities in the given order
    size: int  # length of `values`
    work: int  # length of the workspace that assembling, factoring and solving need
    row_ptr: Ints  # (ns+1,)
    row: Ints  # velocity of each row: pivots first, then the border; sorted by elimination
    width: Ints  # (ns,) number of pivots
    parent: Ints  # (ns,) or -1
    relative: Ints  # of each border row, its place in the parent's front
    value_ptr: Ints  # (ns+1,)
    mass_entry: Ints  # entries of M, one of each symmetric pair
    mass_lower: Ints  # where they go in values
    mass_upper: Ints  # where their mirror image goes
    clique_ptr: Ints  # (nc+1,)
    clique_place: Ints  # places of the velocities of a clique in its front, ascending
    clique_front: Ints  # (nc,)
    block_clique: Ints  # (nb,) or -1: no entries
    entry_local: Ints  # (nnz of G,) index of the entry's velocity in the clique of its block


def analyze(mass_ptr: Ints, mass_idx: Ints, jac_ptr: Ints, jac_idx: Ints, block_ptr: Ints) -> Pattern:
    """Find an order of elimination and every place in it. The arguments are fields of `Flat`."""
    tallest = np.diff(block_ptr).max(initial=0)
    if tallest > ROWS:
        raise ValueError(f"block_ptr: a block has at most {ROWS} rows, got {tallest}; split it")
    return find_pattern(mass_ptr, mass_idx, jac_ptr, jac_idx, block_ptr)


@kernel
def find_pattern(mass_ptr: Ints, mass_idx: Ints, jac_ptr: Ints, jac_idx: Ints, block_ptr: Ints) -> Pattern:
    """`analyze`, of blocks that are known to be small."""
    nv = mass_ptr.size - 1
    clique_ptr, clique_var, block_clique = block_cliques(nv, jac_ptr, jac_idx, block_ptr)
    if nv <= DENSE_VELOCITIES or mass_ptr[nv] >= DENSE_FILL * nv * nv:
        fronts = single_front(nv)
    else:
        more_ptr, more_var = mass_cliques(mass_ptr, mass_idx)
        fronts = sparse_fronts(nv, *_joined(clique_ptr, clique_var, more_ptr, more_var))
    value_ptr = np.zeros(fronts.row_ptr.size, np.int64)
    for s in range(fronts.parent.size):
        value_ptr[s + 1] = value_ptr[s] + (fronts.row_ptr[s + 1] - fronts.row_ptr[s]) ** 2
    clique_front = _sort_cliques(nv, fronts, clique_ptr, clique_var)
    relative, clique_place, mass_entry, mass_lower, mass_upper = _places(
        fronts, value_ptr, clique_ptr, clique_var, clique_front, mass_ptr, mass_idx
    )
    entry_local = _locate_entries(nv, jac_ptr, jac_idx, block_ptr, block_clique, clique_ptr, clique_var)
    widest = 0
    for c in range(clique_front.size):
        widest = max(widest, clique_ptr[c + 1] - clique_ptr[c])
    return Pattern(
        fronts.parent.size == 1,
        value_ptr[value_ptr.size - 1],
        max(nv, eights(widest) * (widest + 2 * ROWS + 4)),
        fronts.row_ptr,
        fronts.row,
        fronts.width,
        fronts.parent,
        relative,
        value_ptr,
        mass_entry,
        mass_lower,
        mass_upper,
        clique_ptr,
        clique_place,
        clique_front,
        block_clique,
        entry_local,
    )


@kernel(inline=True)
def eights(n: int) -> int:
    """n, or the next multiple of eight."""
    return (n + 7) // 8 * 8


@kernel
def _joined(ptr: Ints, var: Ints, more_ptr: Ints, more_var: Ints) -> tuple[Ints, Ints]:
    """Two lists of cliques in one."""
    n, m = ptr.size, more_ptr.size - 1
    all_ptr, all_var = np.empty(n + m, np.int64), np.empty(var.size + more_var.size, np.int64)
    for c in range(n):
        all_ptr[c] = ptr[c]
    for c in range(m):
        all_ptr[n + c] = ptr[n - 1] + more_ptr[c + 1]
    for e in range(var.size):
        all_var[e] = var[e]
    for e in range(more_var.size):
        all_var[var.size + e] = more_var[e]
    return all_ptr, all_var


@kernel
def _sort_cliques(nv: int, fronts: Fronts, clique_ptr: Ints, clique_var: Ints) -> Ints:
    """Sort the velocities of each clique by elimination, in place; return the front of the first of each."""
    rank = np.empty(nv, np.int64)
    home = np.empty(nv, np.int64)  # front in which a velocity is a pivot
    eliminated = 0
    for s in range(fronts.parent.size):
        for t in range(fronts.row_ptr[s], fronts.row_ptr[s] + fronts.width[s]):
            home[fronts.row[t]] = s
            rank[fronts.row[t]] = eliminated
            eliminated += 1
    clique_front = np.empty(clique_ptr.size - 1, np.int64)
    for c in range(clique_front.size):
        for t in range(clique_ptr[c] + 1, clique_ptr[c + 1]):
            v, place = clique_var[t], t  # insertion sort: cliques are short and nearly sorted
            while place > clique_ptr[c] and rank[clique_var[place - 1]] > rank[v]:
                clique_var[place] = clique_var[place - 1]
                place -= 1
            clique_var[place] = v
        clique_front[c] = home[clique_var[clique_ptr[c]]]
    return clique_front


@kernel
def _places(
    fronts: Fronts,
    value_ptr: Ints,
    clique_ptr: Ints,
    clique_var: Ints,
    clique_front: Ints,
    mass_ptr: Ints,
    mass_idx: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """What each front receives, and where: the borders of its children, cliques, entries of M."""
    ns, nc = fronts.parent.size, clique_front.size
    head = np.full(ns, -1, np.int64)  # linked lists by receiving front: children 0..ns-1, then cliques ns..
    after = np.full(ns + nc, -1, np.int64)
    for k in range(ns + nc):
        s = fronts.parent[k] if k < ns else clique_front[k - ns]
        if s >= 0:
            after[k] = head[s]
            head[s] = k
    relative = np.full(fronts.row.size, -1, np.int64)
    clique_place = np.empty(clique_var.size, np.int64)
    entry = np.empty(mass_idx.size, np.int64)
    lower = np.empty(mass_idx.size, np.int64)
    upper = np.empty(mass_idx.size, np.int64)
    count = 0
    index = np.full(mass_ptr.size - 1, -1, np.int64)  # place in the present front; -1 once eliminated
    for s in range(ns):
        base = fronts.row_ptr[s]
        n = fronts.row_ptr[s + 1] - base
        for i in range(n):
            index[fronts.row[base + i]] = i
        k = head[s]
        while k >= 0:
            if k < ns:
                for t in range(fronts.row_ptr[k] + fronts.width[k], fronts.row_ptr[k + 1]):
                    relative[t] = index[fronts.row[t]]
            else:
                for t in range(clique_ptr[k - ns], clique_ptr[k - ns + 1]):
                    clique_place[t] = index[clique_var[t]]
            k = after[k]
        for i in range(fronts.width[s]):
            v = fronts.row[base + i]
            for e in range(mass_ptr[v], mass_ptr[v + 1]):
                j = index[mass_idx[e]]
                if j >= i:
                    entry[count] = e
                    lower[count] = value_ptr[s] + j * n + i
                    upper[count] = value_ptr[s] + i * n + j
                    count += 1
            index[v] = -1
    return relative, clique_place, entry[:count].copy(), lower[:count].copy(), upper[:count].copy()


@kernel
def _locate_entries(
    nv: int,
    jac_ptr: Ints,
    jac_idx: Ints,
    block_ptr: Ints,
    block_clique: Ints,
    clique_ptr: Ints,
    clique_var: Ints,
) -> Ints:
    """Index of each entry's velocity in the clique of its block."""
    local = np.zeros(jac_idx.size, np.int64)
    index = np.empty(nv, np.int64)
    known = -1
    for b in range(block_clique.size):
        c = block_clique[b]
        if c >= 0 and c != known:
            for t in range(clique_ptr[c], clique_ptr[c + 1]):
                index[clique_var[t]] = t - clique_ptr[c]
            known = c
        for e in range(jac_ptr[block_ptr[b]], jac_ptr[block_ptr[b + 1]]):
            local[e] = index[jac_idx[e]]
    return local
