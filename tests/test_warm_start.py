"""Warm starts: rows found again by name, position and id; they change the work, never the answer."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pliant
from pliant import Law, Status, StepProblem
from tests.support.problems import GRAVITY, PROBLEMS, ramp_stick
from tests.support.random_contacts import random_contact_problem
from tests.support.solvers import every_solver


def plate(ids: Any, names: tuple[str, str] = ("feet", "hinge")) -> StepProblem:
    """A plate on feet, of which `ids` tells number and places, held by a hinge; it is pushed and slides."""
    ids = np.asarray(ids)
    x, y = np.cos(2.4 * ids) * (1.0 + 0.1 * ids), np.sin(2.4 * ids) * (1.0 + 0.1 * ids)
    rows = np.zeros((len(ids), 3, 6))
    rows[:, 0, 2], rows[:, 0, 3], rows[:, 0, 4] = 1.0, y, -x
    rows[:, 1, 0], rows[:, 1, 5] = 1.0, -y
    rows[:, 2, 1], rows[:, 2, 5] = 1.0, x
    gaps = -1e-6 * (1.0 + np.sin(3.0 * ids))
    # bristles: without compliance the split of the friction among the feet would be anybody's
    feet = pliant.Contact(rows, gaps, Law(1e6, 10.0), 0.4, tangent_law=Law(1e5, 10.0), ids=ids, name=names[0])
    hinge = pliant.Bilateral([[1.0, 0.5, 0.0, 0.0, 0.0, 0.3]], [1e-4], Law(1e4), name=names[1])
    velocity = [0.002, 0.01, -0.001, 0.0, 0.02, 0.03]
    push = [3.0, 1.0, -GRAVITY, 0.5, 0.0, 0.0]
    return StepProblem([1.0, 1.0, 1.0, 0.2, 0.2, 0.4], velocity, push, 0.01, [feet, hinge])


IDS = np.arange(7)


@every_solver
@pytest.mark.parametrize(
    "ids",
    [IDS, IDS[::-1], [3, 0, 6, 1, 5, 2, 4], IDS[2:], [*IDS, 7, 8], [20, 4, 2, 0], [30, 31, 32]],
    ids=["same", "reversed", "permuted", "removed", "added", "some", "none"],
)
def test_warm_starts_change_the_work_not_the_answer(ids, solver):
    before = pliant.solve(plate(IDS), solver)
    problem = plate(ids)
    cold, warm = pliant.solve(problem, solver), pliant.solve(problem, solver, warm_start=before)
    assert warm.status is Status.SOLVED
    np.testing.assert_allclose(warm.velocity, cold.velocity, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(warm.forces[0], cold.forces[0], rtol=1e-6, atol=1e-6)
    if set(ids) == set(IDS):  # it starts from the answer, in whatever order
        assert warm.iterations <= 1 < cold.iterations


@every_solver
def test_constraints_are_found_by_name(solver):
    problem = plate(IDS)
    before = pliant.solve(problem, solver)
    rows = problem.constraints[::-1]
    swapped = StepProblem(problem.mass, problem.velocity, problem.force, problem.step, rows)
    warm = pliant.solve(swapped, solver, warm_start=before)
    assert warm.iterations <= 1 < before.iterations
    np.testing.assert_allclose(warm.forces[1], before.forces[0], rtol=1e-9, atol=1e-9)
    # without names the position counts: another kind there is another constraint
    plain = plate(IDS, names=("", ""))
    rows = plain.constraints[::-1]
    swapped = StepProblem(plain.mass, plain.velocity, plain.force, plain.step, rows)
    warm = pliant.solve(swapped, solver, warm_start=pliant.solve(plain, solver))
    np.testing.assert_allclose(warm.velocity, before.velocity, rtol=1e-9, atol=1e-12)


@every_solver
@pytest.mark.parametrize("other", ["hertz", "many_islands", "no_rows", "contradictory_welds"])
def test_an_unrelated_solution_does_no_harm(other, solver):
    problem = plate(IDS, names=("", ""))
    cold = pliant.solve(problem, solver)
    for start in (pliant.solve(PROBLEMS[other](), solver), pliant.solve(PROBLEMS[other]())):
        warm = pliant.solve(problem, solver, warm_start=start)
        np.testing.assert_allclose(warm.velocity, cold.velocity, rtol=1e-7, atol=1e-9)


def test_a_failed_step_may_be_the_start_of_the_next():
    problem = random_contact_problem(np.random.default_rng(0))
    poor = pliant.solve(problem, pliant.Coulomb(max_iterations=1), throw=False)
    assert pliant.solve(problem, warm_start=poor).status is Status.SOLVED


@every_solver
def test_settled_steps_cost_one_factorization(solver):
    """A block at rest, stepped: each warm start is the answer of the same problem."""
    last = pliant.solve(ramp_stick(), solver)
    for _ in range(3):
        last = pliant.solve(ramp_stick(), solver, warm_start=last)
        assert last.factorizations <= 1


@every_solver
def test_a_guess_changes_the_work_not_the_answer(solver):
    problem = plate(IDS)
    cold = pliant.solve(problem, solver)
    for guess in (cold.velocity, cold.velocity + 1e-3, np.zeros(problem.nv), np.full(problem.nv, 1e3)):
        found = pliant.solve(problem, solver, guess=guess)
        np.testing.assert_allclose(found.velocity, cold.velocity, rtol=1e-7, atol=1e-9)
    assert pliant.solve(problem, solver, guess=cold.velocity.tolist()).iterations <= cold.iterations


@pytest.mark.parametrize(
    ("guess", "says"),
    [
        (np.zeros(3), r"guess must be one per velocity \(6,\), got shape \(3,\)"),
        (np.full(6, np.nan), "guess must be finite, got nan at index 0"),
        ("fast", "guess must be real numbers"),
    ],
)
def test_a_guess_is_checked(guess, says):
    with pytest.raises(pliant.InputError, match=says):
        pliant.solve(plate(IDS), guess=guess)


def test_forces_that_are_not_finite_are_no_start():
    problem = plate(IDS)
    before = pliant.solve(problem)
    broken = replace(before, forces=tuple(np.full_like(part, np.nan) for part in before.forces))
    found = pliant.solve(problem, warm_start=broken)
    np.testing.assert_allclose(found.velocity, before.velocity, rtol=1e-7, atol=1e-9)


def test_a_solution_is_the_same_after_pickling():
    """As it comes back from a worker process: with what nobody had asked for yet."""
    solution = pliant.solve(plate(IDS))
    again = pickle.loads(pickle.dumps(solution))
    for part, other in zip(solution.forces, again.forces, strict=True):
        np.testing.assert_array_equal(part, other)
    assert repr(again) == repr(solution) and again.islands.status == solution.islands.status
    warm = pliant.solve(plate(IDS), warm_start=again)
    np.testing.assert_array_equal(warm.velocity, pliant.solve(plate(IDS), warm_start=solution).velocity)
