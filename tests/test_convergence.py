"""Coulomb friction on random bodies in contact: nearly every step meets the laws, every one that cannot jam."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from tests.support.random_contacts import random_contact_problem, weakly_coupled

SOLVED = 1e-8


def run(count: int) -> tuple[dict[int, float], dict[int, float]]:
    """Residuals by seed: of all steps, and of those where |mu A_nt| < A_nn at every contact."""
    every, weak = {}, {}
    for seed in range(count):
        problem = random_contact_problem(np.random.default_rng(seed))
        solution = pliant.solve(problem, throw=False)
        assert solution.momentum_residual < 1e-12
        every[seed] = solution.residual
        if weakly_coupled(problem.flat()):
            weak[seed] = solution.residual
    return every, weak


def unsolved(residuals: dict[int, float]) -> dict[int, float]:
    return {seed: residual for seed, residual in residuals.items() if not residual < SOLVED}


def test_steps_of_bodies_in_contact():
    every, weak = run(400)
    assert len(weak) > 200
    assert not unsolved(weak)
    assert len(unsolved(every)) <= 0.01 * len(every)


@pytest.mark.slow
def test_many_steps_of_bodies_in_contact():
    every, weak = run(5000)
    assert len(unsolved(weak)) <= 0.001 * len(weak)
    assert len(unsolved(every)) <= 0.01 * len(every)


def test_the_convex_program_is_always_solved():
    for seed in range(400):
        problem = random_contact_problem(np.random.default_rng(seed))
        assert pliant.solve(problem, pliant.Convex()).residual < SOLVED
