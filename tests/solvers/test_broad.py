"""Many scalar rows on few velocities: answers and certificates of the general way, to which others are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant.flat import Flat
from pliant.solvers.answer import judge
from pliant.solvers.broad import FACTORIZATIONS, ITERATIONS, LAW, MOMENTUM, REPORT, RESIDUAL, broad
from pliant.solvers.columns import FEW, suits
from pliant.solvers.formulation import SEARCH
from pliant.solvers.whiten import factor_inertia

GENERAL = pliant.Coulomb(max_iterations=SEARCH - 1)  # takes the general way at once


def foundation(rows: int, stiffness: Any, *, seed: int = 0, open_: float = 0.3) -> pliant.StepProblem:
    """A body pressed, off its middle, onto springs that push."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-0.5, 0.5, (2, rows))
    G = np.zeros((rows, 6))
    G[:, 2], G[:, 3], G[:, 4] = 1.0, y, -x
    gap = rng.normal(open_, 1.0, rows) * 100.0 / np.max(stiffness) / rows
    law = pliant.Law(stiffness, 1.0)
    force = np.array([1.0, -2.0, -100.0, 12.0, -17.0, 0.5])
    mass = np.array([8.0, 8.0, 8.0, 1.3, 1.4, 1.5])
    return pliant.StepProblem(mass, 1e-3 * rng.normal(size=6), force, 0.01, [pliant.Unilateral(G, gap, law)])


def machine(seed: int) -> pliant.StepProblem:
    """Joints, stops and motors on a dense inertia."""
    rng = np.random.default_rng(seed)
    nv, n = int(rng.integers(2, FEW + 1)), int(rng.integers(1, 30))
    L = np.tril(0.3 * rng.normal(size=(nv, nv)), -1) + np.diag(rng.uniform(0.5, 3.0, nv))
    law = pliant.Law(10.0 ** rng.uniform(0, 9, n), 10.0 ** rng.uniform(-2, 2, n))
    rows = [rng.normal(size=(n, nv)) * (rng.random((n, nv)) < 0.6) + 1e-3 for _ in range(3)]
    constraints = [
        pliant.Bilateral(rows[0][:1], [1e-4], pliant.Law(1e5, 1.0)),
        pliant.Unilateral(rows[1], 1e-3 * rng.normal(size=n), law, rate_offset=0.01 * rng.normal(size=n)),
        pliant.Clipped(rows[2], 1e-3 * rng.normal(size=n), law, -rng.uniform(0, 5, n), rng.uniform(0, 5, n)),
    ]
    return pliant.StepProblem(L @ L.T, rng.normal(size=nv), 10.0 * rng.normal(size=nv), 0.01, constraints)


def solved_broadly(flat: Flat) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(whether, force, velocity, impulse, report), from nothing."""
    m, nv = len(flat.kind), len(flat.velocity)
    force, velocity, impulse, report = np.empty(m), np.empty(nv), np.empty(nv), np.empty(REPORT)
    good = broad(flat, np.zeros(m), 1e-12, force, velocity, impulse, report)
    return good, force, velocity, impulse, report


PROBLEMS = [
    *(foundation(rows, K, seed=rows) for rows in (1, 3, 7, 100, 333) for K in (1e3, 1e7, 1e11)),
    foundation(150, np.geomspace(1.0, 1e12, 150)),
    *(machine(seed) for seed in range(8)),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_the_answer_is_that_of_the_general_way(problem):
    good, force, velocity, impulse, report = solved_broadly(problem.flat())
    general = pliant.solve(problem, GENERAL)
    assert good and report[RESIDUAL] < 1e-12 and report[ITERATIONS] >= report[FACTORIZATIONS] >= 1.0
    size = max(np.abs(part).max() for part in general.forces)
    np.testing.assert_allclose(force, np.concatenate(general.forces), rtol=0.0, atol=1e-7 * size)
    reach = np.abs(problem.velocity).max() + np.abs(general.impulse).max()
    np.testing.assert_allclose(velocity, general.velocity, rtol=0.0, atol=1e-9 * reach)
    np.testing.assert_allclose(impulse, general.impulse, rtol=0.0, atol=1e-9 * reach)


@pytest.mark.parametrize("problem", PROBLEMS[::4], ids=repr)
def test_the_certificate_is_the_one_of_all_answers(problem):
    """Also of forces that are not an answer."""
    flat = problem.flat()
    _, force, velocity, _, report = solved_broadly(flat)
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    momentum, law, _, _ = judge(flat, inertia, force, velocity, np.zeros(len(force), np.int64))
    assert report[LAW] == pytest.approx(law, abs=1e-12)
    assert report[MOMENTUM] == pytest.approx(momentum, abs=1e-14)


def test_it_is_the_way_that_solve_takes():
    problem = foundation(200, 1e7)
    ours, general = pliant.solve(problem), pliant.solve(problem, GENERAL)
    good, force, *_, report = solved_broadly(problem.flat())
    assert good and np.array_equal(ours.forces[0], force) and ours.iterations == report[ITERATIONS]
    assert ours.status is pliant.Status.SOLVED and ours.residual <= 1e-12 and ours.law_residual < 1e-11
    assert ours.states == general.states == (None,) and ours.stretch == general.stretch
    assert ours.islands.status == general.islands.status
    np.testing.assert_array_equal(ours.islands.row_island, general.islands.row_island)


def test_a_start_changes_the_work_only():
    problem = foundation(200, 1e9)
    cold = pliant.solve(problem)
    warm = pliant.solve(problem, warm_start=cold)
    assert warm.iterations < cold.iterations
    np.testing.assert_allclose(warm.forces[0], cold.forces[0], rtol=0.0, atol=1e-9 * cold.forces[0].max())


def bodies(count: int, law: pliant.Law) -> pliant.StepProblem:
    """Each on a spring of its own."""
    rows = pliant.Unilateral(np.eye(count), np.zeros(count), law)
    return pliant.StepProblem(np.ones(count), np.zeros(count), -10.0 * np.ones(count), 0.01, [rows])


@pytest.mark.parametrize(
    "problem",
    [
        bodies(2, pliant.Law(1e5)),  # two islands
        bodies(1, pliant.Law(1e5, exponent=1.5)),
        bodies(FEW + 1, pliant.Law(1e5)),
        pliant.StepProblem([1.0], [1.0], [0.0], 0.01, [pliant.Bilateral([[1.0]], [0.1], pliant.Law(1e3))]),
        pliant.StepProblem([1.0], [1.0], [0.0], 0.01, [pliant.Unilateral([[0.0]], [-0.1], pliant.Law(1e3))]),
    ],
    ids=["islands", "power", "velocities", "linear", "moves nothing"],
)
def test_others_are_left_to_the_general_way(problem):
    assert not suits(problem.flat())
    assert pliant.solve(problem).law_residual < 1e-11


def test_what_overflows_is_said_as_before():
    problem = foundation(5, 1e300)
    with pytest.raises(pliant.SolveError, match=r"non-finite|iteration limit"):
        pliant.solve(problem.shifted(np.full(5, -1e200)))
