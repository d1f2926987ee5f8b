"""The answer of a step of a model: the same bits as by `pliant.solve`, whatever it starts from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant.solution import STATUSES
from tests.support.assembled import answered, assembled
from tests.support.models import WEIGHT, ZOO, build, shaken, slider, start


@pytest.mark.parametrize("solver", [pliant.Coulomb(), pliant.Convex()])
@pytest.mark.parametrize("name", ZOO)
def test_the_answer_is_that_of_solve(name: str, solver: Any) -> None:
    """Though the step leaves out what is open and far from closing."""
    model, data = shaken(name)
    flat, stepper = answered(model, data, solver)
    expected = pliant.solve(pliant.StepProblem.from_flat(flat), solver, guess=data.qvel, throw=False)
    status, residual, *_ = stepper.last()
    assert STATUSES[status] is expected.status and residual < 1e-8
    np.testing.assert_allclose(stepper.velocity(), expected.velocity, rtol=0.0, atol=1e-9)
    force = np.concatenate([[], *(part.ravel() for part in expected.forces)])
    np.testing.assert_allclose(stepper.force(), force, rtol=1e-6, atol=1e-6 * np.abs(force).max(initial=0.0))


@pytest.mark.parametrize("name", ["dropped", "limited", "rubbing", "everything"])
def test_the_answer_is_what_a_step_leaves(name: str) -> None:
    """Where there are no loops to close."""
    model, data = shaken(name)
    _, other = shaken(name)
    if model.neq:
        data.eq_active[:] = other.eq_active[:] = 0
    _, stepper = answered(model, data, pliant.Coulomb())
    pliant.mj_step(model, other)  # some servos go into the inertia there
    np.testing.assert_allclose(stepper.velocity(), other.qvel, rtol=0.0, atol=1e-9)


def test_what_forces_gain_without_constraints() -> None:
    """Velocities in free flight are those of the inertia and the forces of the record, and of MuJoCo."""
    model, data = shaken("dropped")
    data.qpos[2::7] += 10.0 * np.arange(1, 8)
    step, v0, h = assembled(model, data), data.qvel.copy(), model.opt.timestep
    assert not len(step.types)
    pliant.mj_step(model, data)
    expected = h * np.linalg.solve(step.inertia, step.flat.force)
    np.testing.assert_allclose(data.qvel - v0, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("faster", [0.0, 1.0, -1.0, 1e3, 1e8])
@pytest.mark.parametrize(("stiffness", "depth"), [(1e10, 1e-8), (1e4, 0.02)])
def test_a_start_lends_no_energy(stiffness: float, depth: float, faster: float) -> None:
    """A block that is pressed into the floor leaves it as its spring alone says, whatever velocity is guessed."""
    world = f'<body pos="0 0 {0.1 - depth}">{slider("z", "0 0 1")}<geom name="it" size=".1" mass="2"/></body>'
    model, h = build(world, floor=True, option='timestep=".01"'), 0.01
    data = start(model)
    data.qacc_warmstart[:] = faster / h
    pliant.mj_step(model, data, materials={"it": pliant.Law(stiffness)})
    expected = (stiffness * depth - 2.0 * WEIGHT) * h / (2.0 + h**2 * stiffness)
    assert data.qvel[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
