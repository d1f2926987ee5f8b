"""The engine by its C entry: the same bits as by `pliant.solve`, and no answer that gains energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant.flat import Flat
from pliant.systems.mujoco_engine import gains
from pliant.systems.mujoco_solve import free_gain, solve_flat
from tests.support.models import ZOO, shaken


def problem_of(name: str) -> pliant.StepProblem:
    model, data = shaken(name)
    system = pliant.MujocoSystem(model)
    return system.problem(0.0, data.qpos.copy(), data.qvel.copy(), model.opt.timestep)


@pytest.mark.parametrize("solver", [pliant.Coulomb(), pliant.Convex(), pliant.Coulomb(max_iterations=2)])
@pytest.mark.parametrize("name", ZOO)
def test_the_answer_is_that_of_solve(name: str, solver: Any) -> None:
    problem = problem_of(name)
    expected = pliant.solve(problem, solver, guess=problem.velocity, throw=False)
    found = solve_flat(problem.flat(), solver, problem.velocity)
    assert found.status is expected.status
    assert (found.residual, found.iterations) == (expected.residual, expected.iterations)
    assert np.array_equal(found.velocity, expected.velocity)
    assert np.array_equal(found.force, np.concatenate([[], *(part.ravel() for part in expected.forces)]))


def test_a_guess_that_is_no_number_is_none() -> None:
    problem = problem_of("dropped")
    wrong = np.full(problem.nv, np.nan)
    expected = solve_flat(problem.flat(), pliant.Coulomb(), problem.velocity)
    assert np.array_equal(solve_flat(problem.flat(), pliant.Coulomb(), wrong).velocity, expected.velocity)


def test_what_forces_gain_without_constraints() -> None:
    problem = problem_of("dropped")
    mass: Any = problem.mass
    dense = mass.toarray() if hasattr(mass, "toarray") else mass
    expected = problem.step * np.linalg.solve(dense, problem.force)
    np.testing.assert_allclose(free_gain(problem.flat(), problem.force), expected, rtol=1e-12)


def test_energy_out_of_nothing_is_seen() -> None:
    """A block that rests on a hard floor has no energy to leave it with; a spring that is pressed in has."""
    faster = np.array([1.0])

    def resting(stiffness: float, depth: float) -> Flat:
        floor = pliant.Unilateral([[1.0]], [-depth], pliant.Law(stiffness))
        return pliant.StepProblem([2.0], [0.0], [-20.0], 0.01, [floor]).flat()

    assert gains(resting(1e10, 1e-8), faster, np.array([120.0]))
    assert not gains(resting(1e4, 0.02), faster, np.array([200.0]))
    assert not gains(resting(1e10, 1e-8), np.zeros(1), np.array([20.0]))
