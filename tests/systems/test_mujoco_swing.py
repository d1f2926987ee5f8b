"""Trees that swing fast: the forces of inertia are told from weight, and add no energy whatever the step is."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant

ARM = """
<mujoco>
  <option timestep="{step}" gravity="{gravity}"/>
  <worldbody>
    <body>
      <freejoint/><geom type="box" size=".1 .2 .3"/>
      <body pos="0 .2 .3">
        <joint type="{joint}" axis="1 .3 0" damping="{damping}"/><geom type="capsule" fromto="0 0 0 0 0 .5" size=".05"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def thrown(joint: str, step: float, speed: float, gravity: str = "0 0 0", *, damping: float = 0.0) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(ARM.format(joint=joint, step=step, gravity=gravity, damping=damping))
    data = mujoco.MjData(model)
    data.qvel[3:7] = speed * np.array([0.5, 0.6, 0.7, 0.3])
    return model, data


def kinetic(model: Any, data: Any) -> float:
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    mujoco.mj_energyVel(model, data)
    return float(data.energy[1])


@pytest.mark.parametrize("flag", ["", "gravity"])
@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize("speed", [1e3, 1e5])
def test_what_is_too_fast_to_follow_falls_by_its_weight_alone(joint, speed, flag):
    """Forces of inertia are left out, and weight is told from them: the bias of the same pose at rest."""
    model, data = thrown(joint, 0.05, speed, "1 -2 -9.81")
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_GRAVITY if flag else 0
    still, push = mujoco.MjData(model), np.zeros(model.nv)
    mujoco.mj_forward(model, still)
    mujoco.mj_mulM(model, still, push, still.qvel)
    pliant.mj_step(model, data)
    mujoco.mj_mulM(model, still, push, data.qacc)
    size = model.opt.timestep**-1 * speed  # of what is rounded
    assert push == pytest.approx(-still.qfrc_bias, abs=1e-13 * size * still.M.max())
    assert still.qfrc_bias.any() != bool(flag)


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


@pytest.mark.parametrize("gravity", ["0 0 0", "0 0 -9.81", "0 0 -1000"])
def test_a_slow_swing_is_mujocos(gravity):
    """However heavy: what weight changes in a step is no reason to follow it, and what loses its energy anyway is not
    followed for the sake of a minute."""
    model, data = thrown("hinge", 0.002, 2.0, gravity, damping=0.01)
    other = mujoco.MjData(model)
    mujoco.mj_copyData(other, model, data)
    pliant.mj_step(model, data, 10)
    mujoco.mj_step(model, other, 10)
    assert data.qpos == pytest.approx(other.qpos, abs=1e-12)


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize(("step", "speed"), [(0.01, 100.0), (0.05, 20.0), (0.05, 1e4)])
def test_a_fast_swing_is_the_same_in_one_call_or_many(joint, step, speed):
    model, data = thrown(joint, step, speed, "1 2 3")
    other = mujoco.MjData(model)
    mujoco.mj_copyData(other, model, data)
    pliant.mj_step(model, data, 20)
    for _ in range(20):
        pliant.mj_step(model, other)
    assert np.array_equal(data.qpos, other.qpos) and np.array_equal(data.qvel, other.qvel)
    assert np.array_equal(model.opt.gravity, [1.0, 2.0, 3.0])


def test_positions_follow_the_path_of_the_swing():
    """One step of 20 ms beside 20,000 of MuJoCo's."""
    model, data = thrown("ball", 0.02, 30.0)
    pliant.mj_step(model, data)
    fine, other = thrown("ball", 1e-6, 30.0)
    mujoco.mj_step(fine, other, 20_000)
    assert data.qpos == pytest.approx(other.qpos, abs=2e-4)
    assert data.qvel == pytest.approx(other.qvel, rel=1e-3, abs=1e-2)
