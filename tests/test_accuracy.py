"""Answers to random steps beside exact ones of 50 digits: all kinds of rows, K to 1e15 N/m, h from 1e-8 to 1 s."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pliant
from tests.support.random_problems import random_problem
from tests.support.verdict import Verdict, judge

SEEDS = [("small", seed) for seed in range(300)] + [("large", seed) for seed in range(20)]
Answers = dict[tuple[str, int], Verdict]


def answers(solver: pliant.Coulomb | pliant.Convex, **options: bool) -> Answers:
    """The verdict on every step."""
    verdicts = {}
    for size, seed in SEEDS:
        problem = random_problem(np.random.default_rng(seed), size=size)
        solution = pliant.solve(problem, solver, throw=False)
        verdicts[size, seed] = judge(problem, solution, **options)
    return verdicts


@pytest.fixture(scope="module")
def coulomb() -> Answers:
    return answers(pliant.Coulomb())


@pytest.fixture(scope="module")
def convex() -> Answers:
    return answers(pliant.Convex(), convex=True, compare=False)


def where(verdicts: Answers, holds: Callable[[Verdict], bool]) -> str:
    """The seeds and what is said of them, for a failing test to show; empty: none."""
    return "\n".join(f"{size} {seed}: {v}" for (size, seed), v in verdicts.items() if holds(v))


def is_right(v: Verdict) -> bool:
    """Velocity and impulse of the exact answer; where that is another one, the laws are met all the same."""
    return v.agrees or v.certified


def test_answers_are_exact(coulomb):
    assert where(coulomb, lambda v: not is_right(v)) == ""


def test_other_answers_are_rare(coulomb):
    assert sum(not v.agrees for v in coulomb.values()) < 0.01 * len(coulomb)


def test_residuals_are_honest(coulomb):
    assert where(coulomb, lambda v: not v.honest) == ""


def test_coulomb_converges(coulomb):
    assert where(coulomb, lambda v: not v.status.solved or v.law > 1e-8) == ""


def test_every_step_has_an_answer(coulomb):
    assert where(coulomb, lambda v: not v.status.solved) == ""


def test_convex_converges(convex):
    assert where(convex, lambda v: not v.status.solved or v.law > 1e-8) == ""


def test_convex_keeps_momentum(convex):
    assert where(convex, lambda v: v.momentum > 1e-9) == ""


def test_convex_residuals_are_honest(convex):
    assert where(convex, lambda v: not v.honest) == ""


# Power laws that open, and carry a force that is less than the last digit of their depth makes of their stiffness.
OPENING = [("small", seed) for seed in (18013, 29003, 37811, 40552, 49541, 73651)] + [("large", 906)]


@pytest.mark.parametrize("convex", [False, True])
@pytest.mark.parametrize(("size", "seed"), OPENING)
def test_residuals_of_contacts_that_open_are_honest(size, seed, convex):
    problem = random_problem(np.random.default_rng(seed), size=size)
    solution = pliant.solve(problem, pliant.Convex() if convex else pliant.Coulomb(), throw=False)
    verdict = judge(problem, solution, convex=convex, compare=False)
    assert verdict.honest, str(verdict)
