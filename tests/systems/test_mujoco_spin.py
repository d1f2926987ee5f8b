"""Bodies that tumble freely keep their energy and their angular momentum, at steps in which they turn by a radian."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from tests.support.models import build, start


def top(offset: str, step: float) -> Any:
    """Inertias 1, 2, 3 kg m^2, in no gravity."""
    inertial = f'<inertial pos="{offset}" mass="6" diaginertia="1 2 3"/>'
    return build(f"<body><freejoint/>{inertial}<geom size='.01' mass='0'/></body>", flags='energy="enable"',
                 option=f'timestep="{step}" gravity="0 0 0"')  # fmt: skip


def state(model: Any, data: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """(kinetic energy, angular momentum about the centre of mass, momentum), in the world."""
    seen = mujoco.MjData(model)
    seen.qpos[:], seen.qvel[:] = data.qpos, data.qvel
    mujoco.mj_fwdPosition(model, seen)
    mujoco.mj_fwdVelocity(model, seen)
    mujoco.mj_subtreeVel(model, seen)
    mujoco.mj_energyVel(model, seen)
    return float(seen.energy[1]), seen.subtree_angmom[1].copy(), 6.0 * seen.subtree_linvel[1]


@pytest.mark.parametrize("offset", ["0 0 0", ".1 -.2 .3"])
def test_a_body_about_its_middle_axis_keeps_energy_and_momentum(offset):
    """100 rad/s, 10 ms, 60 s: it turns over and over."""
    model = top(offset, 0.01)
    data = start(model, [0.0, 0.0, 0.0, 1e-3, 100.0, 1e-3])
    before, spin, push = state(model, data)
    least = data.qvel[4]
    for _ in range(60):
        pliant.mj_step(model, data, 100)
        least = min(least, data.qvel[4])
        after, turned, pushed = state(model, data)
        assert after == pytest.approx(before, rel=0.05)
        assert np.linalg.norm(turned - spin) < 0.01 * np.linalg.norm(spin)
        assert np.linalg.norm(pushed - push) < 0.01 * 6.0 * 100.0 * 0.4
    assert least < 0.0  # it has turned over


@pytest.mark.parametrize("offset", ["0 0 0", ".1 -.2 .3"])
def test_many_short_steps_are_what_a_long_one_is(offset):
    """Inertia alone is integrated within the step, whatever its length."""
    ends = []
    for step in (0.02, 0.001):
        model = top(offset, step)
        data = start(model, [0.1, 0.2, 0.3, 5.0, -10.0, 7.0])
        pliant.mj_step(model, data, round(0.4 / step))
        ends.append(np.concatenate([data.qpos, data.qvel]))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-3)


def test_a_body_that_does_not_turn_is_left_alone():
    model = top(".1 0 0", 0.01)
    ours, theirs = start(model, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]), start(model, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0])
    pliant.mj_step(model, ours, 50)
    mujoco.mj_step(model, theirs, 50)
    np.testing.assert_array_equal(ours.qpos, theirs.qpos)


def test_applied_torques_still_act():
    """A torque about a main axis turns the body as it must: I w = T t."""
    model = top("0 0 0", 0.01)
    data = start(model, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    data.qfrc_applied[5] = 6.0
    pliant.mj_step(model, data, 100)
    np.testing.assert_allclose(data.qvel[5], 3.0, rtol=1e-12)
