"""Trees that swing fast: the forces of inertia are told from weight, and add no energy whatever the step is."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.systems.mujoco_aside import Aside
from pliant.systems.mujoco_swing import Swing, own_force
from tests.support.random_models import random_model, random_state
from tests.systems.test_mujoco_direct import through_arrays

ARM = """
<mujoco>
  <option timestep="{step}" gravity="0 0 0"/>
  <worldbody>
    <body>
      <freejoint/><geom type="box" size=".1 .2 .3"/>
      <body pos="0 .2 .3">
        <joint type="{joint}" axis="1 .3 0"/><geom type="capsule" fromto="0 0 0 0 0 .5" size=".05"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def thrown(joint: str, step: float, speed: float) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(ARM.format(joint=joint, step=step))
    data = mujoco.MjData(model)
    data.qvel[3:7] = speed * np.array([0.5, 0.6, 0.7, 0.3])
    return model, data


def kinetic(model: Any, data: Any) -> float:
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    mujoco.mj_energyVel(model, data)
    return float(data.energy[1])


@pytest.mark.parametrize("seed", range(12))
def test_forces_of_inertia_are_the_bias_without_weight(seed):
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(random_model(rng))
    data, still = mujoco.MjData(model), mujoco.MjData(model)
    random_state(rng, model, data)
    still.qpos[:], still.mocap_pos[:], still.mocap_quat[:] = data.qpos, data.mocap_pos, data.mocap_quat
    for d in (data, still):
        mujoco.mj_fwdPosition(model, d)
        mujoco.mj_fwdVelocity(model, d)
    swing = Swing(model, Aside(model))
    c, there = np.full(model.nv, np.nan), swing.arrays[0]
    own_force(*swing.arrays, data.cdof, data.subtree_com, data.qfrc_bias, c)
    expected = (data.qfrc_bias - still.qfrc_bias)[there]
    size = np.abs(data.qfrc_bias).max(initial=1.0)
    assert c[there] == pytest.approx(expected, abs=1e-10 * size)
    assert not np.delete(c, there).any()


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize(("step", "speed"), [(0.002, 300.0), (0.01, 100.0), (0.05, 20.0)])
def test_what_swings_fast_keeps_its_energy(joint, step, speed):
    """MuJoCo's own steps end in nan within a second."""
    model, data = thrown(joint, step, speed)
    before = kinetic(model, data)
    pliant.mj_step(model, data, 100)
    assert kinetic(model, data) == pytest.approx(before, rel=0.1)


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize("speed", [100.0, 300.0, 500.0])
def test_a_step_that_is_followed_keeps_its_energy_to_rounding(joint, speed):
    """Short steps alone lose 1e-6 of it, and as much as there is where they are too long."""
    model, data = thrown(joint, 0.01, speed)
    before = kinetic(model, data)
    pliant.mj_step(model, data)
    assert kinetic(model, data) == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize("speed", [1e3, 1e5, 1e9])
def test_what_is_too_fast_to_follow_stays_finite(joint, speed):
    model, data = thrown(joint, 0.05, speed)
    before = kinetic(model, data)
    pliant.mj_step(model, data, 100)
    assert 0.01 * before < kinetic(model, data) < 10.0 * before


def test_a_slow_swing_is_mujocos():
    model, data = thrown("hinge", 0.002, 5.0)
    other = mujoco.MjData(model)
    mujoco.mj_copyData(other, model, data)
    pliant.mj_step(model, data, 10)
    mujoco.mj_step(model, other, 10)
    assert data.qpos == pytest.approx(other.qpos, abs=1e-12)
    assert pliant.stats(data).compiled == 10


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize(("step", "speed"), [(0.01, 100.0), (0.05, 20.0), (0.05, 1e4)])
def test_a_fast_swing_is_compiled_and_the_same_through_arrays(joint, step, speed, monkeypatch):
    model, data = thrown(joint, step, speed)
    other = mujoco.MjData(model)
    mujoco.mj_copyData(other, model, data)
    gravity = model.opt.gravity.copy()
    pliant.mj_step(model, data, 20)
    assert pliant.stats(data).compiled == 20
    through_arrays(monkeypatch)
    pliant.mj_step(model, other, 20)
    assert pliant.stats(other).compiled == 0
    assert np.array_equal(data.qpos, other.qpos) and np.array_equal(data.qvel, other.qvel)
    assert np.array_equal(model.opt.gravity, gravity)


def test_positions_follow_the_path_of_the_swing():
    """One step of 20 ms beside 20,000 of MuJoCo's."""
    model, data = thrown("ball", 0.02, 30.0)
    pliant.mj_step(model, data)
    fine, other = thrown("ball", 1e-6, 30.0)
    mujoco.mj_step(fine, other, 20_000)
    assert data.qpos == pytest.approx(other.qpos, abs=2e-4)
    assert data.qvel == pytest.approx(other.qvel, rel=1e-3, abs=1e-2)
