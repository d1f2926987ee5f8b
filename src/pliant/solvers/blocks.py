"""Newton's step with the forces as unknowns, block by block: D dlambda = k - C missed, D = B + C (h A + E).

A block of fewer rows than the largest is filled up with rows of its own: 1 on the diagonal, 0 beside it.
"""

from typing import Final, NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import few
from pliant.inputs import Array, Ints
from pliant.solvers.linear import System
from pliant.solvers.program import Program, read_program
from pliant.solvers.rows import PROX, Rows
from pliant.solvers.stages import LEAST

USUAL: Final = 3  # rows of most blocks: loops of a length that the compiler knows


class Blocks(NamedTuple):
    """A program, and the numbers that go through it. Matrices d x d, by rows."""

    program: Program
    A: Array  # h A: of the blocks on the diagonal, then of the couplings in `later`, rows of the earlier block
    pivot: Array  # inverses of what the diagonal has become
    upper: Array  # of each coupling, rows of the earlier block
    lower: Array  # rows of the later one, times the inverse of the pivot
    x: Array  # (nb d) right-hand side, answer


@kernel
def no_blocks() -> Blocks:
    """In the place of some."""
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    return Blocks(Program(0, none, none, none, none), nothing, nothing, nothing, nothing, nothing)


@kernel
def make_blocks(rows: Rows, nv: int, code: Ints) -> Blocks:
    """code: see `find_program`."""
    program = read_program(code)
    nb, entries, square = program.order.size, program.later.size, program.size**2
    A = np.zeros((nb + entries) * square)
    if program.size == USUAL:
        _fill_mobility(rows, nv, program, USUAL, A)
    else:
        _fill_mobility(rows, nv, program, program.size, A)
    work = np.empty((nb + 2 * entries) * square)
    first, second = nb * square, (nb + entries) * square
    return Blocks(program, A, work[:first], work[first:second], work[second:], np.empty(nb * program.size))


@kernel(inline=True)
def _fill_mobility(rows: Rows, nv: int, program: Program, d: int, A: Array) -> None:
    order, z, sums = program.order, np.zeros(nv * d), few()
    nb = order.size
    for k in range(nb):
        lo, hi = rows.block_ptr[order[k]], rows.block_ptr[order[k] + 1]
        for i in range(lo, hi):
            for e in range(rows.ptr[i], rows.ptr[i + 1]):
                z[rows.idx[e] * d + i - lo] = rows.step * rows.val[e]
        _products(rows, order[k], z, A, k * d * d, d, sums)
        for e in range(program.ptr[k], program.ptr[k + 1]):
            _products(rows, order[program.later[e]], z, A, (nb + e) * d * d, d, sums)
        for i in range(lo, hi):
            for e in range(rows.ptr[i], rows.ptr[i + 1]):
                z[rows.idx[e] * d + i - lo] = 0.0


@kernel(inline=True)
def _products(rows: Rows, b: int, z: Array, A: Array, at: int, d: int, sums: Array) -> None:
    """The d rows in z times those of block b. sums: to work with, in registers, where the compiler knows d."""
    lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
    for j in range(lo, hi):
        for i in range(d):
            sums[i] = 0.0
        for e in range(rows.ptr[j], rows.ptr[j + 1]):
            there, x = rows.idx[e] * d, rows.val[e]
            for i in range(d):
                sums[i] += x * z[there + i]
        for i in range(d):
            A[at + i * d + j - lo] = sums[i]


@kernel
def block_direction(rows: Rows, blocks: Blocks, system: System, missed: Array, anew: bool, df: Array) -> bool:
    """df of the pieces in `system`, on new factors or those at hand; False: no usable pivot."""
    d = blocks.program.size
    if _are_usual(rows, d):
        if anew and not _factor(rows, blocks, system, USUAL, True):
            return False
        _solve(rows, blocks, system, missed, USUAL, True, df)
        return True
    if anew and not _factor(rows, blocks, system, d, False):
        return False
    _solve(rows, blocks, system, missed, d, False, df)
    return True


@kernel
def block_rates(rows: Rows, blocks: Blocks, force: Array, p: Array) -> None:
    """p := h A force."""
    if _are_usual(rows, blocks.program.size):
        _rates(rows, blocks, force, USUAL, True, p)
    else:
        _rates(rows, blocks, force, blocks.program.size, False, p)


@kernel(inline=True)
def _are_usual(rows: Rows, d: int) -> bool:
    """Whether all blocks have the usual size."""
    return d == USUAL and rows.law.shape[0] == USUAL * (rows.block_ptr.size - 1)


@kernel(inline=True)
def _rates(rows: Rows, blocks: Blocks, force: Array, d: int, full: bool, p: Array) -> None:
    program, A, square = blocks.program, blocks.A, d * d
    nb = program.order.size
    for b in range(nb):
        lo = rows.block_ptr[program.order[b]]
        n = d if full else rows.block_ptr[program.order[b] + 1] - lo
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += A[b * square + i * d + j] * force[lo + j]
            p[lo + i] = s
    for k in range(nb):
        lo = rows.block_ptr[program.order[k]]
        n = d if full else rows.block_ptr[program.order[k] + 1] - lo
        for e in range(program.ptr[k], program.ptr[k + 1]):
            other, at = program.order[program.later[e]], (nb + e) * square
            there = rows.block_ptr[other]
            m = d if full else rows.block_ptr[other + 1] - there
            for i in range(n):
                s = 0.0
                for j in range(m):
                    s += A[at + i * d + j] * force[there + j]
                p[lo + i] += s
            for j in range(m):
                s = 0.0
                for i in range(n):
                    s += A[at + i * d + j] * force[lo + i]
                p[there + j] += s


@kernel(inline=True)
def _factor(rows: Rows, blocks: Blocks, system: System, d: int, full: bool) -> bool:
    """Fill D, and eliminate one block after the other. full: all blocks have d rows."""
    program, square, pair, work = blocks.program, d * d, 0, few()
    pivot, upper, lower = blocks.pivot, blocks.upper, blocks.lower
    for k in range(program.order.size):
        _fill(rows, blocks, system, k, d, full)
    for k in range(program.order.size):
        if not _invert(pivot, k * square, d):
            return False
        first, end = program.ptr[k], program.ptr[k + 1]
        for a in range(first, end):
            _scale(lower, a * square, pivot, k * square, d, work)
        for a in range(first, end):
            _subtract(lower, a * square, upper, a * square, pivot, program.later[a] * square, d)
            for b in range(a + 1, end):
                there = program.pair[pair] * square
                _subtract(lower, a * square, upper, b * square, upper, there, d)
                _subtract(lower, b * square, upper, a * square, lower, there, d)
                pair += 1
    return True


@kernel(inline=True)
def _fill(rows: Rows, blocks: Blocks, system: System, k: int, d: int, full: bool) -> None:
    """The k-th row and column of blocks of D, but for what comes from blocks before it."""
    program, square, nb = blocks.program, d * d, blocks.program.order.size
    b = program.order[k]
    lo, q = rows.block_ptr[b], rows.square_ptr[b]
    n = d if full else rows.block_ptr[b + 1] - lo
    for i in range(d):
        for j in range(d):
            s = 0.0
            if i < n and j < n:
                s = system.B[q + i * n + j] + system.C[q + i * n + j] * LEAST * rows.law[lo + j, PROX]
                for t in range(n):
                    s += system.C[q + i * n + t] * blocks.A[k * square + t * d + j]
            elif i == j:
                s = 1.0
            blocks.pivot[k * square + i * d + j] = s
    for e in range(program.ptr[k], program.ptr[k + 1]):
        other = program.order[program.later[e]]
        r = rows.square_ptr[other]
        m = d if full else rows.block_ptr[other + 1] - rows.block_ptr[other]
        here, a = e * square, (nb + e) * square
        for i in range(d):
            for j in range(d):
                s = 0.0
                for t in range(n if i < n else 0):
                    s += system.C[q + i * n + t] * blocks.A[a + t * d + j]
                blocks.upper[here + i * d + j] = s
                s = 0.0
                for t in range(m if i < m else 0):
                    s += system.C[r + i * m + t] * blocks.A[a + j * d + t]
                blocks.lower[here + i * d + j] = s


@kernel(inline=True)
def _invert(a: Array, at: int, d: int) -> bool:
    """In place, by Gauss and Jordan with exchanges of rows; False: there is no pivot."""
    swapped = 0  # which row came k-th, three bits each
    for k in range(d):
        best = k
        for i in range(k + 1, d):
            if abs(a[at + i * d + k]) > abs(a[at + best * d + k]):
                best = i
        swapped |= best << (3 * k)
        if best != k:
            for j in range(d):
                a[at + k * d + j], a[at + best * d + j] = a[at + best * d + j], a[at + k * d + j]
        pivot = a[at + k * d + k]
        if not 0.0 < abs(pivot) < np.inf:
            return False
        a[at + k * d + k] = 1.0
        for j in range(d):
            a[at + k * d + j] /= pivot
        for i in range(d):
            if i != k:
                f = a[at + i * d + k]
                a[at + i * d + k] = 0.0
                for j in range(d):
                    a[at + i * d + j] -= f * a[at + k * d + j]
    for up in range(d):
        k = d - 1 - up
        best = (swapped >> (3 * k)) & 7
        if best != k:
            for i in range(d):
                a[at + i * d + k], a[at + i * d + best] = a[at + i * d + best], a[at + i * d + k]
    return True


@kernel(inline=True)
def _scale(x: Array, at: int, y: Array, by: int, d: int, work: Array) -> None:
    """x := x y"""
    for i in range(d):
        for t in range(d):
            work[t] = x[at + i * d + t]
        for j in range(d):
            s = 0.0
            for t in range(d):
                s += work[t] * y[by + t * d + j]
            x[at + i * d + j] = s


@kernel(inline=True)
def _subtract(x: Array, at: int, y: Array, by: int, z: Array, to: int, d: int) -> None:
    """z -= x y"""
    for i in range(d):
        for j in range(d):
            s = 0.0
            for t in range(d):
                s += x[at + i * d + t] * y[by + t * d + j]
            z[to + i * d + j] -= s


@kernel(inline=True)
def _solve(rows: Rows, blocks: Blocks, system: System, missed: Array, d: int, full: bool, df: Array) -> None:
    program, x, square, work = blocks.program, blocks.x, d * d, few()
    nb = program.order.size
    for k in range(nb):
        b = program.order[k]
        lo, q = rows.block_ptr[b], rows.square_ptr[b]
        n = d if full else rows.block_ptr[b + 1] - lo
        for i in range(d):
            s = 0.0
            if i < n:
                s = system.k[lo + i]
                for t in range(n):
                    s -= system.C[q + i * n + t] * missed[lo + t]
            x[k * d + i] = s
    for k in range(nb):
        for e in range(program.ptr[k], program.ptr[k + 1]):
            to = program.later[e] * d
            for i in range(d):
                s = 0.0
                for t in range(d):
                    s += blocks.lower[e * square + i * d + t] * x[k * d + t]
                x[to + i] -= s
    for up in range(nb):
        k = nb - 1 - up
        for e in range(program.ptr[k], program.ptr[k + 1]):
            of = program.later[e] * d
            for i in range(d):
                s = 0.0
                for t in range(d):
                    s += blocks.upper[e * square + i * d + t] * x[of + t]
                x[k * d + i] -= s
        _apply(blocks.pivot, k * square, x, k * d, d, work)
        lo = rows.block_ptr[program.order[k]]
        for i in range(d if full else rows.block_ptr[program.order[k] + 1] - lo):
            df[lo + i] = x[k * d + i]


@kernel(inline=True)
def _apply(a: Array, at: int, x: Array, to: int, d: int, work: Array) -> None:
    """x[to:] := a x[to:]"""
    for t in range(d):
        work[t] = x[to + t]
    for i in range(d):
        s = 0.0
        for t in range(d):
            s += a[at + i * d + t] * work[t]
        x[to + i] = s
