"""Newton's step with the forces as unknowns: (B + C (h A + E)) dlambda = k, A = G inv(M) G'."""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import cubes, flattened, folded, long_room, room
from pliant.inputs import Array
from pliant.solvers.dense import solve_square
from pliant.solvers.linear import System
from pliant.solvers.rows import MOBILITY, PROX, REACH, Rows
from pliant.solvers.stages import LEAST


@kernel(inline=True)
def make_pieces(rows: Rows) -> System:
    """On the caller's stack."""
    m, squares, none = rows.law.shape[0], rows.square_ptr[-1], room(9)
    return System(room(squares), room(squares), none, room(m), room(m), room(m), none, room(m * m), cubes(none))


@kernel
def cut(rows: Rows, scale: float) -> Rows:
    """The rows with so much of their mobility in the laws."""
    law = rows.law.copy()
    for i in range(law.shape[0]):
        law[i, MOBILITY] *= scale
        law[i, REACH] *= scale
    return Rows(
        rows.step, rows.block_ptr, rows.square_ptr, rows.ptr, rows.idx, rows.val, rows.jac_ptr, rows.jac_idx,
        rows.jac_val, law,
    )  # fmt: skip


@kernel
def direction(rows: Rows, pieces: System, A: Array, missed: Array, df: Array) -> None:
    """(B + C (h A + E)) df = k - C missed; E is the least compliance of rows that have none of their own.

    A row on its own, without C, is at a bound: df is its k, which goes to the right-hand side of the others.
    """
    h, m, B, C, k = rows.step, df.size, pieces.B, pieces.C, pieces.k
    active, x, whole, n = long_room(m), pieces.push, pieces.flow, 0
    for b in range(rows.block_ptr.size - 1):
        lo, size, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(size):
            df[lo + i] = k[lo + i]
            for s in range(size):
                if C[q + i * size + s] != 0.0 or (s != i and B[q + i * size + s] != 0.0):
                    active[n], df[lo + i] = lo + i, 0.0
                    n += 1
                    break
    D, row, a, width = folded(pieces.work, n, n), 0, flattened(A), np.uint64(m)  # without sign: see mobility.py
    for b in range(rows.block_ptr.size - 1):
        lo, size, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(size):
            if row == n or active[row] != lo + i:
                continue
            x[row] = k[lo + i]
            for j in range(width):
                whole[j] = 0.0
            for s in range(size):
                c = C[q + i * size + s]
                if c != 0.0:
                    there, scale = np.uint64(lo + s) * width, c * h
                    for j in range(width):
                        whole[j] += scale * a[there + j]
                    whole[lo + s] += c * LEAST * rows.law[lo + s, PROX]
                    x[row] -= c * missed[lo + s]
            for s in range(size):
                whole[lo + s] += B[q + i * size + s]
            known = 0.0
            for j in range(width):
                known += whole[j] * df[j]
            x[row] -= known
            for j in range(n):
                D[row, j] = whole[active[j]]
            row += 1
    solve_square(D, x[:n])
    for i in range(n):
        df[active[i]] = x[i]
