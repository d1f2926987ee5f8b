"""Newton's step with the forces as unknowns: (B + C (h A + E)) dlambda = k, A = G inv(M) G'."""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import add_eight, cubes, flattened, folded, long_room, room
from pliant.inputs import Array
from pliant.solvers.dense import solve_rows, wide
from pliant.solvers.linear import System
from pliant.solvers.rows import FRICTION, MOBILITY, PROX, REACH, Rows

# Least compliance of a row, relative to h a. Less than that of sparse factors, which lose more digits: what creeps
# turns by it in a step.
LEAST = 1e-9
BEYOND, FAR = 1.0 + 1e-8, 2.0  # times the normal force: where friction goes that was to stick, if it is not far off


@kernel(inline=True)
def make_pieces(rows: Rows) -> System:
    """On the caller's stack."""
    m, squares, none = rows.law.shape[0], rows.square_ptr[-1], room(9)
    return System(
        room(squares), room(squares), none, room(m), room(m), room(wide(m)), none, room(m * wide(m)), cubes(none),
        long_room(1),
    )  # fmt: skip


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
    B, C, k = pieces.B, pieces.C, pieces.k
    active, x, n = long_room(df.size), pieces.push, 0
    for b in range(rows.block_ptr.size - 1):
        lo, size, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(size):
            df[lo + i] = k[lo + i]
            for s in range(size):
                if C[q + i * size + s] != 0.0 or (s != i and B[q + i * size + s] != 0.0):
                    active[n], df[lo + i] = lo + i, 0.0
                    n += 1
                    break
    w, row = wide(n), 0
    D = folded(pieces.work, n, w)
    for b in range(rows.block_ptr.size - 1):
        lo, size = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b]
        for i in range(size):
            if row < n and active[row] == lo + i:
                if n == df.size:
                    D[row, n] = _fill_row(rows, pieces, A, b, i, missed, flattened(D), row * w)
                else:
                    known = _fill_row(rows, pieces, A, b, i, missed, pieces.flow, 0)
                    for j in range(df.size):
                        known -= pieces.flow[j] * df[j]
                    for j in range(n):
                        D[row, j] = pieces.flow[active[j]]
                    D[row, n] = known
                    for j in range(n + 1, w):
                        D[row, j] = 0.0
                row += 1
    solve_rows(D, x)
    for i in range(n):
        df[active[i]] = x[i]


@kernel(inline=True)
def _fill_row(rows: Rows, pieces: System, A: Array, b: int, i: int, missed: Array, out: Array, start: int) -> float:
    """Row i of block b of B + C (h A + E), to out[start:], as wide as A; its right-hand side."""
    lo, size, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
    a, width, there = flattened(A), np.uint64(A.shape[1]), np.uint64(start)  # without sign: see mobility.py
    none, eight, known = np.uint64(0), np.uint64(8), pieces.k[lo + i]
    for j in range(width):
        out[there + j] = 0.0
    for s in range(size):
        c = pieces.C[q + i * size + s]
        if c != 0.0:
            scale, at = c * rows.step, np.uint64(lo + s) * width
            for j in range(none, width, eight):
                add_eight(out, there + j, a, at + j, none, scale, 0.0, 0.0, 0.0)
            known -= c * missed[lo + s]
    for s in range(size):
        least = LEAST * rows.law[lo + s, PROX]
        out[start + lo + s] += pieces.B[q + i * size + s] + pieces.C[q + i * size + s] * least
    return known


@kernel
def onto_rims(rows: Rows, pieces: System, force: Array, moved: Array) -> bool:
    """Friction back onto the rim of its cone, which a step leaves along a tangent where it slips, and across where it
    sticks: then it will slip from a little beyond. moved: what that changes, (m,). Returns whether it changes any."""
    found = False
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        size, slips, sticks = 0.0, False, False
        for j in range(n):
            moved[lo + j] = 0.0
            if j > 0 and rows.law[lo + j, FRICTION] > 0.0:
                size += (force[lo + j] / rows.law[lo + j, FRICTION]) ** 2
                slips = slips or pieces.B[q + j * n] != 0.0
                sticks = pieces.C[q + j * n + j] != 0.0
        size, radius = np.sqrt(size), force[lo] if n > 0 else 0.0
        if size > 0.0 and radius > 0.0 and (slips or (sticks and BEYOND * radius < size < FAR * radius)):
            shrink, found = (radius if slips else BEYOND * radius) / size, True
            for j in range(1, n):
                moved[lo + j] = (shrink - 1.0) * force[lo + j]
                force[lo + j] += moved[lo + j]
    return found
