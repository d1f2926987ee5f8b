"""Patterns that are remembered are those that would be found."""

from typing import Any

import numpy as np
import pytest

from pliant.solvers.known import NONE_KNOWN, known_pattern
from pliant.solvers.symbolic import Pattern
from tests.support.block_systems import chain, pile, robot, tray

SHAPES = [chain, pile, robot, tray]


def asked(shape: Any, known: np.ndarray, seed: int = 0) -> Pattern:
    system = shape(np.random.default_rng(seed), True)
    return known_pattern(known, system.size, system.jac_ptr, system.jac_idx, system.block_ptr)


def same(one: Pattern, other: Pattern) -> bool:
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(one, other, strict=True))


def test_patterns_come_back_as_they_were():
    known = np.zeros(100_000, np.int64)
    for _ in range(3):
        for shape in SHAPES:
            assert same(asked(shape, known), asked(shape, NONE_KNOWN))
        used = known[0]
        assert used > 1
    for shape in SHAPES:
        asked(shape, known)
    assert known[0] == used  # nothing was found anew
    assert np.shares_memory(asked(pile, known).row, known)


def test_one_other_entry_is_another_pattern():
    known = np.zeros(100_000, np.int64)
    system = pile(np.random.default_rng(0), True)
    idx = system.jac_idx.copy()
    first = known_pattern(known, system.size, system.jac_ptr, idx, system.block_ptr)
    before = known[0]
    idx[-1] = (idx[-1] + 6) % system.size
    assert not np.any(np.diff(idx[system.jac_ptr[-2] :]) == 0)
    second = known_pattern(known, system.size, system.jac_ptr, idx, system.block_ptr)
    assert known[0] > before and not same(first, second)


@pytest.mark.parametrize("size", [0, 1, 10, 1000, 9000, 12_000])
def test_little_memory_only_forgets(size):
    """What does not fit is not kept, what does drives the others out, and beyond the end nothing is written."""
    room = np.full(size + 100, -7, np.int64)
    known = room[:size]
    known[:] = 0
    for _ in range(2):
        for shape in SHAPES:
            assert same(asked(shape, known), asked(shape, NONE_KNOWN))
    assert (room[size:] == -7).all()
    assert size == 0 or known[0] <= size
