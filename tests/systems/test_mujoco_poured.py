"""Poured piles: hundreds of rows on many bodies, contacts that are followed on their way."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.bench.scenes import pile


@pytest.fixture(scope="module")
def poured():
    """30 bodies, half of them down."""
    model = mujoco.MjModel.from_xml_string(pile(30, 0.01))
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 45)
    return model, data


def state(data: Any) -> np.ndarray:
    return np.concatenate([data.qpos, data.qvel, data.qacc])


def test_nearly_every_step_meets_the_laws(poured):
    model, _ = poured
    other = mujoco.MjData(model)
    pliant.mj_step(model, other, 100)
    counted = pliant.stats(other)
    assert counted.statuses[pliant.Status.SOLVED] >= 99 and counted.worst_residual < 1e-8


def test_steps_are_the_same_bits_from_the_same_state(poured):
    """In one call or many."""
    model, data = poured
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    kept = np.zeros(mujoco.mj_stateSize(model, spec))
    mujoco.mj_getState(model, data, kept, spec)
    ends = []
    for count in (1, 10):
        fresh = mujoco.MjData(model)
        mujoco.mj_setState(model, fresh, kept, spec)
        for _ in range(10 // count):
            pliant.mj_step(model, fresh, count)
        ends.append(state(fresh))
    assert np.array_equal(ends[0], ends[1])


def test_forces_of_a_round_lead_to_the_answer_at_once(poured):
    model, data = poured
    problem = pliant.MujocoSystem(model).problem(data.time, data.qpos.copy(), data.qvel.copy(), 0.01)
    assert len(problem.flat().kind) > 80
    first = pliant.solve(problem, guess=data.qvel, throw=False)
    again = pliant.solve(problem, guess=data.qvel, warm_start=first, throw=False)
    assert first.status is again.status is pliant.Status.SOLVED
    assert again.iterations <= first.iterations
    assert np.allclose(again.velocity, first.velocity, atol=1e-7)
