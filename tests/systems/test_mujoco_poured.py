"""Poured piles: hundreds of rows on many bodies, contacts that are followed on their way."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.bench.scenes import pile
from pliant.flat import Flat
from pliant.solvers.island import RESIDUAL, make_island
from pliant.solvers.known import NONE_KNOWN, known_pattern
from pliant.solvers.path import go_on, set_out
from pliant.solvers.rows import make_rows
from pliant.solvers.whiten import factor_inertia, free_gain
from pliant.systems.mujoco_solve import solve_flat


@pytest.fixture(scope="module")
def poured():
    """30 bodies, half of them down."""
    model = mujoco.MjModel.from_xml_string(pile(30, 0.01))
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 45)
    return model, data


def state(data: Any) -> np.ndarray:
    return np.concatenate([data.qpos, data.qvel, data.qacc])


def flat_of(model: Any, data: Any) -> Flat:
    return pliant.MujocoSystem(model).problem(data.time, data.qpos.copy(), data.qvel.copy(), 0.01).flat()


def test_nearly_every_step_meets_the_laws(poured):
    model, _ = poured
    other = mujoco.MjData(model)
    pliant.mj_step(model, other, 100)
    counted = pliant.stats(other)
    assert counted.statuses[pliant.Status.SOLVED] >= 99 and counted.worst_residual < 1e-8


def test_steps_are_the_same_bits_from_the_same_state(poured):
    """No forces are kept from step to step, and a round of a step that the compiled call has solved is the round that
    is solved in its place."""
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
    flat, guess = flat_of(model, data), data.qvel.copy()
    assert len(flat.kind) > 80
    first = solve_flat(flat, pliant.Coulomb(), guess)
    again = solve_flat(flat, pliant.Coulomb(), guess, first.force)
    assert first.status is again.status is pliant.Status.SOLVED
    assert again.iterations <= first.iterations
    assert np.allclose(again.velocity, first.velocity, atol=1e-7)


def test_a_path_goes_on_where_it_was_left(poured):
    model, data = poured
    flat = flat_of(model, data)
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    rows, push = make_rows(flat, inertia), free_gain(inertia, flat.step, flat.force)
    pattern = known_pattern(NONE_KNOWN, len(flat.velocity), rows.ptr, rows.idx, rows.block_ptr)
    ends = []
    for legs in ((1e-6,), (1e-2, 1e-4, 1e-6)):
        island = make_island(inertia, rows, pattern, flat.velocity, push, 0.0, np.inf, 1e-10)
        force = np.zeros(len(flat.kind))
        way = set_out(island, force, 0.1)
        assert [go_on(island, way, force, 1.0, enough, 60.0, 1) for enough in legs] == [True] * len(legs)
        assert island.motion.tally[RESIDUAL] < 1e-6
        ends.append(force)
    assert np.array_equal(ends[0], ends[1])
