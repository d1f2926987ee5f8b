"""Derivatives of whatever stands in a record: refused, or finite and the transpose of their transpose."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from pliant import _engine
from pliant.flat import Flat
from tests.engine.test_hostile import is_lawful, is_tame
from tests.support.hostile import hostile_flat

DRAWS = 2000

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")


def condition(flat: Flat) -> float:
    nv = len(flat.velocity)
    return float(np.linalg.cond(csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(nv, nv)).toarray()))


def test_hostile_records():
    """Where the numbers are sound and an inertia has digits, at steps up to a second, both products are one map."""
    judged = 0
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        flat = hostile_flat(rng)
        try:
            record = _engine.from_arrays(*flat)
        except ValueError:
            continue
        convex = bool(rng.integers(2))
        velocity, force, *_, report, _ = _engine.solve(record, None, None, convex, 1e-8, 100)
        derivative = _engine.linearize(record, force, convex)
        if derivative is None:
            continue
        nv, m = len(velocity), len(force)
        data, results = rng.normal(size=2 * nv + 5 * m), rng.normal(size=nv + m)
        ahead, back = derivative.forward(data), derivative.transposed(results)
        assert ahead.shape == results.shape and back.shape == data.shape
        if report[0] != 0 or not (is_tame(flat) and is_lawful(flat)):
            continue
        assert np.isfinite(ahead).all() and np.isfinite(back).all(), seed
        if flat.step <= 1.0 and condition(flat) < 1e12:
            size = np.abs(results * ahead).sum() + np.abs(data * back).sum()
            assert abs(results @ ahead - data @ back) <= 1e-9 * size, seed
            judged += 1
    assert judged > DRAWS / 5


def test_numbers_of_the_wrong_length_are_refused():
    rng = np.random.default_rng(0)
    record = _engine.from_arrays(*hostile_flat(rng))
    velocity, force, *_ = _engine.solve(record, None, None, False, 1e-8, 100)
    derivative = _engine.linearize(record, force, False)
    assert derivative is not None
    for product in (derivative.forward, derivative.transposed):
        with pytest.raises(ValueError, match="length"):
            product(np.zeros(2 * (len(velocity) + len(force)) + 1))
    with pytest.raises(ValueError, match="one entry per row"):
        _engine.linearize(record, np.zeros(len(force) + 1), False)
