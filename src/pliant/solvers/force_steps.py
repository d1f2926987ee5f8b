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
TORN = 4.0  # times the normal force; what slips would hardly take more to stick
OVER = 1.01  # of the way to the rim: far enough that compliance does not take it back
BEYOND, FAR = 1.0 + 1e-8, 2.0  # times the normal force: where friction goes that was to stick, if it is not far off


@kernel(inline=True)
def make_pieces(rows: Rows) -> System:
    """On the caller's stack."""
    m, squares, none = rows.law.shape[0], rows.square_ptr[rows.block_ptr.size - 1], room(9)
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
def direction(rows: Rows, pieces: System, A: Array, missed: Array, least: float, df: Array) -> None:
    """(B + C (h A + E)) df = k - C missed; E is the least compliance of rows that have none of their own, in h a.

    A row on its own, without C, is at a bound: df is its k, which goes to the right-hand side of the others.
    """
    B, C, k = pieces.B, pieces.C, pieces.k
    active, given, x, n, bounds = long_room(df.size), long_room(df.size), pieces.push, 0, 0
    for b in range(rows.block_ptr.size - 1):
        lo, size, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(size):
            df[lo + i] = k[lo + i]
            for s in range(size):
                if C[q + i * size + s] != 0.0 or (s != i and B[q + i * size + s] != 0.0):
                    active[n], df[lo + i] = lo + i, 0.0
                    n += 1
                    break
            if df[lo + i] != 0.0:
                given[bounds] = lo + i
                bounds += 1
    w, row = wide(n), 0
    D = folded(pieces.work, n, w)
    for b in range(rows.block_ptr.size - 1):
        lo, size = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b]
        for i in range(size):
            if row < n and active[row] == lo + i:
                if n == df.size:
                    D[row, n] = _fill_row(rows, pieces, A, b, i, missed, least, flattened(D), row * w)
                else:
                    known = _fill_row(rows, pieces, A, b, i, missed, least, pieces.flow, 0)
                    for j in given[:bounds]:
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
def _fill_row(
    rows: Rows, pieces: System, A: Array, b: int, i: int, missed: Array, least: float, out: Array, start: int
) -> float:
    """Row i of block b of B + C (h A + E), to out[start:], as wide as A; its right-hand side."""
    lo, size, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
    a, width, known = flattened(A), A.shape[1], pieces.k[lo + i]
    for j in range(width):
        out[start + j] = 0.0
    for s in range(size):
        c = pieces.C[q + i * size + s]
        if c != 0.0:
            scale, at = c * rows.step, (lo + s) * width
            for j in range(0, width, 8):
                add_eight(out, start + j, a, at + j, 0, scale, 0.0, 0.0, 0.0)
            known -= c * missed[lo + s]
    for s in range(size):
        give = least * rows.law[lo + s, PROX]
        out[start + lo + s] += pieces.B[q + i * size + s] + pieces.C[q + i * size + s] * give
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


@kernel
def is_torn(rows: Rows, pieces: System, force: Array, df: Array) -> bool:
    """Whether several contacts are to stick and friction after the step would be TORN times what the largest normal
    force, before or after it, allows."""
    normal, friction, sticking = 0.0, 0.0, 0
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        if n < 2:
            continue
        normal, sticks = max(normal, max(force[lo], force[lo] + df[lo])), False
        for j in range(1, n):
            mu = rows.law[lo + j, FRICTION]
            if mu > 0.0:
                friction = max(friction, abs(force[lo + j] + df[lo + j]) / mu)
                sticks = pieces.C[q + j * n + j] != 0.0 and pieces.B[q + j * n] == 0.0
        sticking += sticks
    return sticking > 1 and friction > TORN * normal


@kernel
def share_out(rows: Rows, force: Array, shared: Array, df: Array) -> None:
    """df := shared + t (df - shared), with the first t in (0, 1] at which a contact that `shared` leaves within its
    cone comes to its rim, or a bit beyond: what it would take of the load after that, others must. 0 if none does.

    Rows that hardly tell who of them sticks, as those of one foot, would pull at each other with forces far beyond all
    cones. shared: the step with some compliance, in which they share the load.
    """
    first = np.inf
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        if hi - lo < 2:
            continue
        normal, more = force[lo] + shared[lo], df[lo] - shared[lo]
        here, along, square = normal * normal, normal * more, more * more  # of r^2 - |l|^2, r and l in steps of t
        for i in range(lo + 1, hi):
            mu = rows.law[i, FRICTION]
            if mu > 0.0:
                l, d = (force[i] + shared[i]) / mu, (df[i] - shared[i]) / mu
                here, along, square = here - l * l, along - l * d, square - d * d
        if normal > 0.0 and here > 0.0:
            first = min(first, _first_root(here, along, square))
    part = OVER * first if first <= 1.0 else 0.0
    for i in range(df.size):
        df[i] = shared[i] + part * (df[i] - shared[i])


@kernel
def _first_root(c: float, b: float, a: float) -> float:
    """The least t > 0 with c + 2 b t + a t^2 = 0, c > 0; inf: there is none."""
    inside = b * b - a * c
    if inside < 0.0:
        return np.inf
    bottom = np.sqrt(inside) - b
    return c / bottom if bottom > 0.0 else np.inf
