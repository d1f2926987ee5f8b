"""The random problems are what they claim to be."""

from __future__ import annotations

import numpy as np

from pliant.flat import BILATERAL, CLIPPED, NORMAL, UNILATERAL, same
from tests.support.random_contacts import random_contact_problem, weakly_coupled
from tests.support.random_problems import random_problem


def test_small_problems_cover_the_recipe():
    flats = [random_problem(np.random.default_rng(seed)).flat() for seed in range(200)]
    sizes = np.array([(len(flat.velocity), len(flat.kind)) for flat in flats])
    assert list(sizes.min(axis=0)) == [1, 0]
    assert list(sizes.max(axis=0)) == [10, 20]
    kinds = np.concatenate([flat.kind for flat in flats])
    assert all(np.mean(kinds == kind) > 0.05 for kind in (BILATERAL, UNILATERAL, CLIPPED, NORMAL))
    dimensions = np.concatenate([np.diff(flat.block_ptr) for flat in flats])
    assert set(dimensions) == {1, 2, 3, 4, 6}
    steps = np.array([flat.step for flat in flats])
    assert steps.min() < 1e-7
    assert steps.max() > 0.1
    stiffness = np.concatenate([flat.stiffness[np.isfinite(flat.stiffness)] for flat in flats])
    assert stiffness.max() > 1e14
    assert 0.02 < np.mean(stiffness == 0.0) < 0.2
    assert any(np.any(flat.exponent > 1.0) for flat in flats)
    assert any(np.any(flat.dissipation > 0.0) for flat in flats)


def test_the_seed_decides():
    first, again = (random_problem(np.random.default_rng(7), size="large").flat() for _ in range(2))
    assert same(first, again)
    assert 20 <= len(first.velocity) <= 60
    assert 60 <= len(first.kind) <= 200


def test_redundant_rows_are_redundant():
    def repeated(redundant: bool) -> int:
        """Rows of twenty large problems that are copies of others."""
        count = 0
        for seed in range(20):
            flat = random_problem(np.random.default_rng(seed), size="large", redundant=redundant).flat()
            G = np.zeros((len(flat.kind), len(flat.velocity)))
            G[np.repeat(np.arange(len(G)), np.diff(flat.jac_ptr)), flat.jac_idx] = flat.jac_val
            count += len(G) - len(np.unique(G, axis=0))
        return count

    assert repeated(True) > 10 * max(1, repeated(False))


def test_contacts_of_bodies():
    flats = [random_contact_problem(np.random.default_rng(seed)).flat() for seed in range(100)]
    counts = np.array([np.count_nonzero(flat.kind == NORMAL) for flat in flats])
    assert counts.min() >= 1
    assert counts.max() <= 20
    assert max(flat.friction.max() for flat in flats) <= 1.0
    assert 0.3 < np.mean([weakly_coupled(flat) for flat in flats]) < 1.0
