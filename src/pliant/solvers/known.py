"""Patterns and programs found before: while the contact graph stands, so does the order of elimination.

`known` is memory for them, of any size; none at all is empty. known[0] is the end of what is in use. An entry is: where
the next one begins; the rows it was found for, compared whole; what was found. When it is full all is forgotten.
"""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Ints
from pliant.solvers.program import find_program
from pliant.solvers.rows import Rows
from pliant.solvers.symbolic import Pattern, find_pattern

NONE_KNOWN = np.zeros(0, np.int64)
HEADER, NUMBERS, ARRAYS = 5, 3, 14  # of an entry: sizes; of a pattern: numbers, and arrays after them


@kernel
def known_pattern(known: Ints, n: int, ptr: Ints, idx: Ints, block_ptr: Ints) -> Pattern:
    """`find_pattern` of n unknowns, each with an entry of its own, and these rows. The pattern may lie in `known`: it
    holds until the next one is asked for."""
    at = _place(known, n, ptr, idx, block_ptr)
    if at > 0:
        return _recalled(known, at)
    pattern = _find(n, ptr, idx, block_ptr)
    size = NUMBERS + ARRAYS
    for array in _arrays(pattern):
        size += array.size
    at = _remember(known, n, ptr, idx, block_ptr, size)
    if at > 0:
        known[at], known[at + 1], known[at + 2] = pattern.dense, pattern.size, pattern.work
        at += NUMBERS
        for array in _arrays(pattern):
            known[at] = array.size
            at = _write(known, at + 1, array)
    return pattern


@kernel
def known_program(known: Ints, nv: int, rows: Rows) -> Ints:
    """`find_program`, likewise."""
    n = -1 - nv  # which no pattern has
    at = _place(known, n, rows.ptr, rows.idx, rows.block_ptr)
    if at > 0:
        return known[at + 1 : at + 1 + known[at]]
    code = find_program(rows, nv)
    at = _remember(known, n, rows.ptr, rows.idx, rows.block_ptr, 1 + code.size)
    if at > 0:
        known[at] = code.size
        _write(known, at + 1, code)
    return code


@kernel
def _place(known: Ints, n: int, ptr: Ints, idx: Ints, block_ptr: Ints) -> int:
    """Where what was found for these rows begins; -1: nowhere."""
    if known.size == 0:
        return -1
    at, end = 1, max(known[0], 1)
    while at < end:
        if _is_for(known, at, n, ptr, idx, block_ptr):
            return at + HEADER + ptr.size + idx.size + block_ptr.size
        at = known[at]
    return -1


@kernel
def _find(n: int, ptr: Ints, idx: Ints, block_ptr: Ints) -> Pattern:
    diagonal = np.arange(n + 1)
    return find_pattern(diagonal, diagonal[:-1], ptr, idx, block_ptr)


@kernel
def _is_for(known: Ints, at: int, n: int, ptr: Ints, idx: Ints, block_ptr: Ints) -> bool:
    if known[at + 1] != n or known[at + 2] != ptr.size or known[at + 3] != idx.size or known[at + 4] != block_ptr.size:
        return False
    at += HEADER
    return (
        _equal(known[at : at + ptr.size], ptr)
        and _equal(known[at + ptr.size : at + ptr.size + idx.size], idx)
        and _equal(known[at + ptr.size + idx.size :], block_ptr)
    )


@kernel
def _equal(some: Ints, others: Ints) -> bool:
    k = 0
    while k < others.size and some[k] == others[k]:
        k += 1
    return k == others.size


@kernel
def _remember(known: Ints, n: int, ptr: Ints, idx: Ints, block_ptr: Ints, more: int) -> int:
    """Begin an entry with so much in it; where that begins, -1: there is no room."""
    size = HEADER + ptr.size + idx.size + block_ptr.size + more
    if 1 + size > known.size:
        return -1
    at = max(known[0], 1)
    if at + size > known.size:
        at = 1
    known[0] = known[at] = at + size
    known[at + 1], known[at + 2], known[at + 3], known[at + 4] = n, ptr.size, idx.size, block_ptr.size
    at += HEADER
    for array in (ptr, idx, block_ptr):
        at = _write(known, at, array)
    return at


@kernel(inline=True)
def _arrays(pattern: Pattern) -> tuple[Ints, ...]:
    return pattern[NUMBERS:]  # type: ignore[return-value]


@kernel
def _write(known: Ints, at: int, array: Ints) -> int:
    for k in range(array.size):
        known[at + k] = array[k]
    return at + array.size


@kernel
def no_pattern() -> Pattern:
    """In the place of one."""
    none = np.zeros(1, np.int64)
    return Pattern(
        False, 0, 0, none, none, none, none, none, none, none, none, none, none, none, none, none, none
    )  # fmt: skip


@kernel
def _recalled(known: Ints, at: int) -> Pattern:
    """The pattern that begins there."""
    place = np.empty(ARRAYS + 1, np.int64)
    place[0] = at + NUMBERS
    for k in range(ARRAYS):
        place[k + 1] = place[k] + 1 + known[place[k]]
    return Pattern(
        known[at] != 0, known[at + 1], known[at + 2],
        _part(known, place, 0), _part(known, place, 1), _part(known, place, 2), _part(known, place, 3),
        _part(known, place, 4), _part(known, place, 5), _part(known, place, 6), _part(known, place, 7),
        _part(known, place, 8), _part(known, place, 9), _part(known, place, 10), _part(known, place, 11),
        _part(known, place, 12), _part(known, place, 13),
    )  # fmt: skip


@kernel(inline=True)
def _part(known: Ints, place: Ints, k: int) -> Ints:
    return known[place[k] + 1 : place[k + 1]]
