"""Sweeps over the blocks: each takes a Newton step on its own law, the others held (Gauss-Seidel).

Cheap, and slow where blocks lean on each other; but who is open, sticks or slips settles on the way, which is what
Newton on all of them needs to be told. (Jean, The non-smooth contact dynamics method, 1999, sweeps to the end.)
"""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.island import Island
from pliant.solvers.linear import System, solve_small
from pliant.solvers.newton import linearise_block
from pliant.solvers.rows import Rows, whitened_impulse


@kernel
def sweep(island: Island, count: int, force: Array) -> None:
    """So many sweeps from `force`, in place."""
    rows, system, motion = island.rows, island.system, island.motion
    own, x, free, p = _own_mobility(rows, motion.x.size), motion.x, motion.per_row[0], motion.per_row[1]
    z, t = np.empty(8), np.empty(8)
    whitened_impulse(rows, force, x)
    for _ in range(count):
        for b in range(rows.block_ptr.size - 1):
            lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
            for i in range(lo, hi):
                p[i] = free[i]
                for e in range(rows.ptr[i], rows.ptr[i + 1]):
                    p[i] += rows.val[e] * x[rows.idx[e]]
            linearise_block(rows, b, force, p, island.lift, system, z, t)
            _step(rows, b, own, system)
            for i in range(lo, hi):
                df = system.small[1, i - lo, 0]
                force[i] += df
                for e in range(rows.ptr[i], rows.ptr[i + 1]):
                    x[rows.idx[e]] += rows.step * rows.val[e] * df


@kernel
def _step(rows: Rows, b: int, own: Array, system: System) -> None:
    """(B + C h A) df = k of one block, into system.small[1]."""
    lo, q, D, X = rows.block_ptr[b], rows.square_ptr[b], system.small[0], system.small[1]
    n = rows.block_ptr[b + 1] - lo
    for i in range(n):
        for j in range(n):
            D[i, j] = system.B[q + i * n + j]
            for s in range(n):
                D[i, j] += system.C[q + i * n + s] * own[q + s * n + j]
        X[i, 0] = system.k[lo + i]
    solve_small(D, n, X, 1)


@kernel
def _own_mobility(rows: Rows, nv: int) -> Array:
    """h A of every block with itself."""
    own, z = np.zeros(rows.square_ptr[-1]), np.zeros(nv)
    for b in range(rows.block_ptr.size - 1):
        lo, q = rows.block_ptr[b], rows.square_ptr[b]
        n = rows.block_ptr[b + 1] - lo
        for i in range(n):
            for e in range(rows.ptr[lo + i], rows.ptr[lo + i + 1]):
                z[rows.idx[e]] = rows.step * rows.val[e]
            for j in range(n):
                for e in range(rows.ptr[lo + j], rows.ptr[lo + j + 1]):
                    own[q + i * n + j] += z[rows.idx[e]] * rows.val[e]
            for e in range(rows.ptr[lo + i], rows.ptr[lo + i + 1]):
                z[rows.idx[e]] = 0.0
    return own
