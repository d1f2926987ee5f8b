"""The same inputs give the same bits: in any number of threads, by fork and by spawn; and in any order to rounding."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pliant
from tests.support.random_contacts import random_contact_problem

SEEDS = range(6)


def problem(seed: int) -> pliant.StepProblem:
    return random_contact_problem(np.random.default_rng(seed), contacts=40)


def digest(seed: int) -> str:
    """Of all that a solve gives."""
    solution = pliant.solve(problem(seed), throw=False)
    parts = (solution.velocity, *solution.forces, np.array([solution.residual]))
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def digests() -> list[str]:
    return [digest(seed) for seed in SEEDS]


@pytest.mark.parametrize("count", ["1", "2"])
def test_threads_of_libraries_change_no_bit(count):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    code = "from tests.test_determinism import digests; print(*digests())"
    found = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | dict.fromkeys(names, count), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert found.stdout.split() == digests()


def test_solves_in_four_threads_at_once_are_those_of_one():
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(digest, [*SEEDS] * 4)) == digests() * 4


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_find_the_same(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # forking beside the threads of other tests
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(digest, SEEDS) == digests()


@pytest.mark.parametrize(("solver", "friction"), [(pliant.Convex(), 1.0), (pliant.Coulomb(), 0.1)])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_contacts_does_not_matter(seed, solver, friction):
    """v and the impulse of all constraints are those of the other order to the tolerance, where they are unique: always
    for `Convex`, for `Coulomb` with little friction. How redundant contacts share their force may differ."""
    given = random_contact_problem(np.random.default_rng(seed), contacts=40, mu=friction)
    (contact,) = given.constraints
    assert isinstance(contact, pliant.Contact)
    order = np.random.default_rng(99).permutation(contact.count)
    other = pliant.StepProblem(given.mass, given.velocity, given.force, given.step, [_reordered(contact, order)])
    one, two = (pliant.solve(each, solver) for each in (given, other))
    size = max(1.0, float(np.abs(one.velocity).max()))
    np.testing.assert_allclose(two.velocity, one.velocity, atol=1e-7 * size)
    np.testing.assert_allclose(two.impulse, one.impulse, atol=1e-7 * max(1.0, float(np.abs(one.impulse).max())))


def _reordered(contact: pliant.Contact, order: np.ndarray) -> pliant.Contact:
    jacobian = np.asarray(contact.jacobian.todense() if hasattr(contact.jacobian, "todense") else contact.jacobian)
    return pliant.Contact(
        jacobian.reshape(contact.count, contact.dimension, -1)[order], contact.gap[order], contact.law,
        contact.friction[order],
    )  # fmt: skip
