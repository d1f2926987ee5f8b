"""Prints how often C++ asked for memory during first and later solves; run by test_memory with its counter loaded."""

from __future__ import annotations

import ctypes

import numpy as np

import pliant
from pliant import _engine
from tests.support.problems import PROBLEMS
from tests.support.random_contacts import random_contact_problem
from tests.support.random_problems import random_problem
from tests.support.tiny_rows import tiny_row_problem

count = ctypes.CDLL(None).count_of_new
count.restype = ctypes.c_long


def records() -> list[_engine.Record]:
    """Of every kind and many sizes; some take one tier, some both, some the convex program."""
    made = [PROBLEMS[name]() for name in PROBLEMS]
    made += [random_problem(np.random.default_rng(seed)) for seed in range(20)]
    made += [random_contact_problem(np.random.default_rng(seed), 40) for seed in range(10)]
    made += [tiny_row_problem(seed, "normal", 1e-12, 40) for seed in range(5)]
    return [problem.record for problem in made]


def solve(record: _engine.Record) -> int:
    """How often memory was asked for in one solve."""
    before = count()
    _engine.solve(record, None, None, False, 1e-8, 100)
    return int(count() - before)


def main() -> None:
    pliant.solve(PROBLEMS["beam"]())
    steps = records()
    first = [solve(record) for record in steps]
    largest = max(range(len(steps)), key=lambda k: len(steps[k].arrays()[4]))
    solve(steps[largest])
    same = [solve(record) for record in steps for _ in range(3)]
    alternating = [solve(steps[k]) for _ in range(3) for pair in ((0, largest), (largest, 1)) for k in pair]
    other = [solve(record) for record in reversed(steps)]
    print(sum(first), sum(same), sum(alternating), sum(other))


if __name__ == "__main__":
    main()
