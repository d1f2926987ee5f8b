"""Coordinates in which the inertia is the identity: M = L L', x = L' v, Z = G inv(L').

There a row is its own scale, a_i = (G inv(M) G')_ii = |z_i|^2, and mass ratios cost no digits. The factor runs
from the last velocity to the first: the mass matrix of a tree, parents before children, has no fill in that order
(Featherstone, Rigid Body Dynamics Algorithms, section 6.5), and blocks of free bodies have none in any.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array, Ints
from pliant.solvers.compensated import add_product, two_product

GAINED = 4  # vectors of velocities to work with, of `find_gain`


class Inertia(NamedTuple):
    """L in compressed columns, indices counted from the last velocity: j stands for velocity nv - 1 - j.

    Rows of a column ascend, first the inverse of its diagonal, since a product takes a fifth of the time of a quotient;
    parent is the elimination tree (-1: a root).
    """

    ptr: Ints  # (nv+1,)
    idx: Ints
    val: Array
    parent: Ints  # (nv,)
    mass_ptr: Ints  # M itself, in CSR
    mass_idx: Ints
    mass_val: Array


@kernel
def factor_inertia(mass_ptr: Ints, mass_idx: Ints, mass_val: Array) -> Inertia:
    """L L' = M, M symmetric positive definite in CSR."""
    if mass_idx.size == mass_ptr.size - 1:
        return _factor_diagonal(mass_ptr, mass_idx, mass_val)
    if _is_tree(mass_ptr, mass_idx):
        return _factor_tree(mass_ptr, mass_idx, mass_val)
    return _factor_any(mass_ptr, mass_idx, mass_val)


@kernel
def _factor_diagonal(mass_ptr: Ints, mass_idx: Ints, mass_val: Array) -> Inertia:
    """Of spheres."""
    nv = mass_idx.size
    val = np.empty(nv)
    for j in range(nv):
        val[j] = 1.0 / np.sqrt(mass_val[nv - 1 - j])
    return Inertia(np.arange(nv + 1), np.arange(nv), val, np.full(nv, -1, np.int64), mass_ptr, mass_idx, mass_val)


@kernel(inline=True)
def is_diagonal(inertia: Inertia) -> bool:
    return inertia.idx.size == inertia.parent.size


@kernel
def _is_tree(mass_ptr: Ints, mass_idx: Ints) -> bool:
    """Whether what row i has before its diagonal is its parent j and what row j has up to its own, for every i."""
    for i in range(mass_ptr.size - 1):
        lo, n = mass_ptr[i], 0
        while lo + n < mass_ptr[i + 1] and mass_idx[lo + n] < i:
            n += 1
        if lo + n == mass_ptr[i + 1] or mass_idx[lo + n] != i:
            return False
        if n > 0:
            j = mass_idx[lo + n - 1]
            up = mass_ptr[j]
            for e in range(n):
                if up + e >= mass_ptr[j + 1] or mass_idx[up + e] != mass_idx[lo + e]:
                    return False
    return True


@kernel
def _factor_tree(mass_ptr: Ints, mass_idx: Ints, mass_val: Array) -> Inertia:
    """In place, without looking for the pattern: column j of L is row nv - 1 - j of M up to its diagonal, backwards."""
    nv = mass_ptr.size - 1
    ptr, parent = np.zeros(nv + 1, np.int64), np.full(nv, -1, np.int64)
    for j in range(nv):
        v, n = nv - 1 - j, 0
        while mass_idx[mass_ptr[v] + n] < v:
            n += 1
        if n > 0:
            parent[j] = nv - 1 - mass_idx[mass_ptr[v] + n - 1]
        ptr[j + 1] = ptr[j] + n + 1
    idx, val = np.empty(ptr[nv], np.int64), np.empty(ptr[nv])
    for j in range(nv):
        last = mass_ptr[nv - 1 - j] + ptr[j + 1] - ptr[j] - 1
        for e in range(ptr[j + 1] - ptr[j]):
            idx[ptr[j] + e], val[ptr[j] + e] = nv - 1 - mass_idx[last - e], mass_val[last - e]
    _eliminate(ptr, idx, val)
    return Inertia(ptr, idx, val, parent, mass_ptr, mass_idx, mass_val)


@kernel
def factor_again(inertia: Inertia, source: Ints) -> None:
    """L L' = M on a pattern that is known; val is overwritten. source: where its entries are in mass_val, or -1."""
    val = inertia.val
    for e in range(val.size):
        val[e] = inertia.mass_val[source[e]] if source[e] >= 0 else 0.0
    _eliminate(inertia.ptr, inertia.idx, val)


@kernel
def _eliminate(ptr: Ints, idx: Ints, val: Array) -> None:
    """val := L, from what is M on its pattern. What column j gives to another is at the end of that one's pattern,
    without gaps where M is that of a tree."""
    for j in range(ptr.size - 1):
        lo, hi = ptr[j], ptr[j + 1]
        val[lo] = 1.0 / np.sqrt(val[lo])
        for e in range(lo + 1, hi):
            val[e] *= val[lo]
        for e in range(lo + 1, hi):
            other, l = ptr[idx[e]], val[e]
            if idx[other + (hi - e) - 1] == idx[hi - 1]:
                for t in range(hi - e):
                    val[other + t] -= l * val[e + t]
            else:
                for t in range(e, hi):
                    while idx[other] != idx[t]:
                        other += 1
                    val[other] -= l * val[t]


@kernel
def _factor_any(mass_ptr: Ints, mass_idx: Ints, mass_val: Array) -> Inertia:
    """By rows (up-looking)."""
    nv = mass_ptr.size - 1
    parent = _tree(mass_ptr, mass_idx)
    mark = np.full(nv, -1, np.int64)
    stack = np.empty(nv, np.int64)
    ptr = np.ones(nv + 1, np.int64)
    ptr[0] = 0
    for k in range(nv):  # the columns that row k touches
        for t in range(_reach(mass_ptr, mass_idx, k, parent, mark, stack), nv):
            ptr[stack[t] + 1] += 1
    for k in range(nv):
        ptr[k + 1] += ptr[k]
    idx = np.empty(ptr[nv], np.int64)
    val = np.empty(ptr[nv])
    end = ptr[:-1].copy()
    x = np.zeros(nv)
    mark = np.full(nv, -1, np.int64)
    for k in range(nv):
        v = nv - 1 - k
        top = _reach(mass_ptr, mass_idx, k, parent, mark, stack)
        for e in range(mass_ptr[v], mass_ptr[v + 1]):
            j = nv - 1 - mass_idx[e]
            if j <= k:
                x[j] = mass_val[e]
        d = x[k]
        x[k] = 0.0
        for t in range(top, nv):
            j = stack[t]
            l = x[j] * val[ptr[j]]
            x[j] = 0.0
            for e in range(ptr[j] + 1, end[j]):
                x[idx[e]] -= val[e] * l
            d -= l * l
            idx[end[j]] = k
            val[end[j]] = l
            end[j] += 1
        idx[end[k]] = k
        val[end[k]] = 1.0 / np.sqrt(d)
        end[k] += 1
    return Inertia(ptr, idx, val, parent, mass_ptr, mass_idx, mass_val)


@kernel
def _tree(mass_ptr: Ints, mass_idx: Ints) -> Ints:
    """Elimination tree (Liu), with path compression."""
    nv = mass_ptr.size - 1
    parent = np.full(nv, -1, np.int64)
    ancestor = np.full(nv, -1, np.int64)
    for k in range(nv):
        v = nv - 1 - k
        for e in range(mass_ptr[v], mass_ptr[v + 1]):
            j = nv - 1 - mass_idx[e]
            while j != -1 and j < k:
                up = ancestor[j]
                ancestor[j] = k
                if up == -1:
                    parent[j] = k
                j = up
    return parent


@kernel
def _reach(mass_ptr: Ints, mass_idx: Ints, k: int, parent: Ints, mark: Ints, stack: Ints) -> int:
    """Columns of row k of L in topological order: stack[top:]; returns top."""
    nv = mass_ptr.size - 1
    top = nv
    mark[k] = k
    v = nv - 1 - k
    for e in range(mass_ptr[v], mass_ptr[v + 1]):
        j = nv - 1 - mass_idx[e]
        if j > k:
            continue
        n = 0
        while mark[j] != k:
            stack[n] = j
            n += 1
            mark[j] = k
            j = parent[j]
        while n > 0:
            n -= 1
            top -= 1
            stack[top] = stack[n]
    return top


@kernel
def whiten_rows(inertia: Inertia, jac_ptr: Ints, jac_idx: Ints, jac_val: Array) -> tuple[Ints, Ints, Array]:
    """Z = G inv(L') in CSR, columns ascending in the order of L; only the paths up the tree are visited."""
    nv, m = inertia.parent.size, jac_ptr.size - 1
    if is_diagonal(inertia):
        return _scale_rows(inertia, jac_ptr, jac_idx, jac_val)
    mark = np.full(nv, -1, np.int64)
    ptr = np.zeros(m + 1, np.int64)
    for i in range(m):
        n = 0
        for e in range(jac_ptr[i], jac_ptr[i + 1]):
            j = nv - 1 - jac_idx[e]
            while j != -1 and mark[j] != i:
                mark[j] = i
                n += 1
                j = inertia.parent[j]
        ptr[i + 1] = ptr[i] + n
    idx = np.empty(ptr[m], np.int64)
    val = np.empty(ptr[m])
    x = np.zeros(nv)
    mark = np.full(nv, -1, np.int64)
    for i in range(m):
        n = ptr[i]
        for e in range(jac_ptr[i + 1] - 1, jac_ptr[i] - 1, -1):  # from the leaves: the list grows in order
            j = nv - 1 - jac_idx[e]
            x[j] = jac_val[e]
            while j != -1 and mark[j] != i:
                mark[j] = i
                idx[n] = j
                n += 1
                j = inertia.parent[j]
        _sort(idx, ptr[i], n)
        for t in range(n - ptr[i]):
            j = idx[ptr[i] + t]
            z = x[j] * inertia.val[inertia.ptr[j]]
            x[j] = 0.0
            for e in range(inertia.ptr[j] + 1, inertia.ptr[j + 1]):
                x[inertia.idx[e]] -= inertia.val[e] * z
            val[ptr[i] + t] = z
    return ptr, idx, val


@kernel
def _scale_rows(inertia: Inertia, jac_ptr: Ints, jac_idx: Ints, jac_val: Array) -> tuple[Ints, Ints, Array]:
    """The same where M is diagonal, as that of spheres is."""
    nv, nnz = inertia.parent.size, jac_idx.size
    idx, val, last = np.empty(nnz, np.int64), np.empty(nnz), np.int64(nv - 1)
    for i in range(jac_ptr.size - 1):
        lo, hi = jac_ptr[i], jac_ptr[i + 1]
        for e in range(lo, hi):
            j, place = last - jac_idx[hi - 1 - (e - lo)], e
            x = jac_val[hi - 1 - (e - lo)] * inertia.val[j]
            while place > lo and idx[place - 1] > j:
                idx[place], val[place] = idx[place - 1], val[place - 1]
                place -= 1
            idx[place], val[place] = j, x
    return jac_ptr.copy(), idx, val


@kernel
def _sort(x: Ints, lo: int, hi: int) -> None:
    """Insertion sort of x[lo:hi]: short lists, nearly in order; NumPy's sort would cost a second to compile."""
    for i in range(lo + 1, hi):
        key, j = x[i], i
        while j > lo and x[j - 1] > key:
            x[j] = x[j - 1]
            j -= 1
        x[j] = key


@kernel
def to_velocity(inertia: Inertia, x: Array, v: Array) -> None:
    """v := inv(L') x."""
    nv = x.size
    for j in range(nv - 1, -1, -1):
        s = x[j]
        for e in range(inertia.ptr[j] + 1, inertia.ptr[j + 1]):
            s -= inertia.val[e] * v[nv - 1 - inertia.idx[e]]
        v[nv - 1 - j] = s * inertia.val[inertia.ptr[j]]


@kernel
def from_force(inertia: Inertia, f: Array, x: Array) -> None:
    """x := inv(L) f."""
    nv = x.size
    for j in range(nv):
        x[j] = f[nv - 1 - j]
    for j in range(nv):
        x[j] *= inertia.val[inertia.ptr[j]]
        for e in range(inertia.ptr[j] + 1, inertia.ptr[j + 1]):
            x[inertia.idx[e]] -= inertia.val[e] * x[j]


@kernel
def free_gain(inertia: Inertia, step: float, force: Array) -> Array:
    """h inv(M) f, accurate also where M is ill-conditioned: h f, rounded, would be too coarse."""
    gain = np.empty(force.size)
    find_gain(inertia, step, force, np.empty((GAINED, force.size)), gain)
    return gain


@kernel
def find_gain(inertia: Inertia, step: float, force: Array, work: Array, gain: Array) -> None:
    """The same, filled in. work: (GAINED, nv)."""
    impulse, tail = work[0], work[1]
    for j in range(force.size):
        impulse[j], tail[j] = two_product(step, force[j])
    _refine_gain(inertia, impulse, tail, work[2], work[3], gain)


@kernel
def velocity_gain(inertia: Inertia, impulse: Array, tail: Array) -> Array:
    """inv(M) (impulse + tail), refined once, the residual in twofold precision."""
    v, work = np.empty(impulse.size), np.empty((2, impulse.size))
    _refine_gain(inertia, impulse, tail, work[0], work[1], v)
    return v


@kernel
def _refine_gain(inertia: Inertia, impulse: Array, tail: Array, x: Array, miss: Array, v: Array) -> None:
    """The same, filled into v. x, miss: to work with."""
    if is_diagonal(inertia):
        for j in range(v.size):
            m, v[j] = inertia.mass_val[j], impulse[j] / inertia.mass_val[j]
            hi, lo = add_product(impulse[j], tail[j], -m, v[j])
            v[j] += (hi + lo) / m
        return
    from_force(inertia, impulse, x)
    to_velocity(inertia, x, v)
    for j in range(v.size):
        hi, lo = impulse[j], tail[j]
        for e in range(inertia.mass_ptr[j], inertia.mass_ptr[j + 1]):
            hi, lo = add_product(hi, lo, -inertia.mass_val[e], v[inertia.mass_idx[e]])
        miss[j] = hi + lo
    from_force(inertia, miss, x)
    to_velocity(inertia, x, miss)
    for j in range(v.size):
        v[j] += miss[j]
