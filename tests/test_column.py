"""A column of spheres on top of each other: an unstable equilibrium that only exact zeros keep."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from benchmarks.scenes.chain import Chain
from benchmarks.scenes.stepping import steps

LAWS = {"linear": pliant.Law(1e10, 1.0), "hertz": pliant.Law(2e10, 1.0, exponent=1.5)}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_aligned_column_stays_aligned(law):
    """Dropped with a gap under every sphere, and settling: sideways nothing happens, to the last bit."""
    chain = Chain(100, spacing=1e-3, law=law)
    for _, solution in steps(chain, 200):
        assert solution.momentum_residual < 1e-12
        motion = solution.velocity.reshape(-1, 6)
        assert np.all(motion[:, [0, 1, 3, 4, 5]] == 0.0)
    assert np.all(chain.centre[:, :2] == 0.0)
    assert np.all(chain.turn == 0.0)


def test_column_stands_at_the_indentation_of_its_weight():
    chain = Chain(100, spacing=1e-3)
    *_, (_, solution) = steps(chain, 300)
    assert np.abs(solution.velocity).max() < 1e-10
    np.testing.assert_allclose(solution.forces[0][:, 0], chain.loads(), rtol=1e-9)
    gap, _ = chain.gaps_and_axes()
    np.testing.assert_allclose(gap, -chain.loads() / chain.law.stiffness, atol=1e-13)


def test_jittered_column_falls():
    """The same column with 1e-6 m of jitter: the scene does not hold it up."""
    chain = Chain(10, spacing=0.0, jitter=1e-6)
    for _ in steps(chain, 150):
        pass
    assert np.abs(chain.centre[:, :2]).max() > 1e-2
