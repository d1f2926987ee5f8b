"""The same step gives the same bits: again, after any other steps, on any thread, in any process."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

from pliant import _engine
from tests.support.hostile import hostile_flat
from tests.support.problems import PROBLEMS
from tests.support.random_contacts import random_contact_problem
from tests.support.random_problems import random_problem
from tests.support.tiny_rows import tiny_row_problem

THREADS = 4


@cache
def records() -> list[_engine.Record]:
    """Easy and hard, small and large, such as no solve answers."""
    made = [PROBLEMS[name]().flat() for name in PROBLEMS]
    made += [random_problem(np.random.default_rng(seed)).flat() for seed in range(24)]
    made += [random_problem(np.random.default_rng(seed), size="large").flat() for seed in range(3)]
    made += [random_contact_problem(np.random.default_rng(seed), 40).flat() for seed in range(6)]
    made += [tiny_row_problem(seed, "normal", 1e-12, 40, "moving").flat() for seed in range(3)]
    made += [flat for flat in map(hostile_flat, map(np.random.default_rng, range(40))) if np.isfinite(flat.step)]
    return [_engine.from_arrays(*flat) for flat in made]


def digest(k: int) -> str:
    return digest_of(records()[k])


def digest_of(record: _engine.Record, start: np.ndarray | None = None, *, convex: bool = False) -> str:
    """Of all numbers that the engine gives for one step."""
    *arrays, report, islands = _engine.solve(record, None, start, convex, 1e-8, 100)
    parts = [*arrays, np.array(report[1:4]), np.array([*report[:1], *report[4:]]), *islands]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def digests() -> list[str]:
    return [digest(k) for k in range(len(records()))]


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return digests()


def orders(count: int) -> list[list[int]]:
    return [np.random.default_rng(seed).permutation(len(records())).tolist() for seed in range(count)]


def test_what_was_solved_before_changes_nothing(expected):
    for order in orders(5):
        assert [digest(k) for k in order] == [expected[k] for k in order]


def test_each_step_at_once_again(expected):
    for k in range(len(expected)):
        assert digest(k) == digest(k) == expected[k]


def test_rows_at_hand_give_the_same():
    """Rows and factors of the step before stand for one with other offsets and forces."""
    rng = np.random.default_rng(0)
    for record in records():
        velocity, force, *_ = _engine.solve(record, None, None, False, 1e-8, 100)
        for convex, start in [(False, force), (False, None), (True, None), (False, force)]:
            offset = record.offset() * (1.0 + 0.01 * rng.normal(size=force.size)) + 1e-6 * rng.normal(size=force.size)
            push = 1e-3 * rng.normal(size=velocity.size)
            shifted = record.shifted(offset, push)
            at_hand = digest_of(shifted, start, convex=convex)
            digest(0)
            assert digest_of(_engine.from_arrays(*shifted.arrays()), start, convex=convex) == at_hand
            _engine.solve(record, None, None, False, 1e-8, 100)


def test_a_new_thread_finds_the_same(expected):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(digests).result() == expected


def test_threads_at_once_find_the_same(expected):
    """While all of them solve: each must have begun before any goes on."""
    together = threading.Barrier(THREADS, timeout=60.0)
    wrong: list[int] = []

    def work(order: list[int]) -> None:
        together.wait()
        wrong.extend(k for k in order if digest(k) != expected[k])

    threads = [threading.Thread(target=work, args=(order,)) for order in orders(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not together.broken and not wrong


@pytest.mark.parametrize("count", ["1", "2"])
def test_a_fresh_process_finds_the_same_however_many_threads_libraries_have(expected, count):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    code = "from tests.engine.test_bits import digests; print(*digests())"
    found = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | dict.fromkeys(names, count), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert found.stdout.split() == expected


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_a_pool_find_the_same(expected, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # forking beside the threads of other tests
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(digest, range(len(expected))) == expected
