"""Impacts at any speed: nothing tunnels, nothing is thrown back, and what passes by is not touched."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from tests.support.models import WEIGHT, body, build, hinge, start

SHAPES = {
    "sphere": 'type="sphere" size=".05"',
    "box": 'type="box" size=".05 .05 .05"',
    "capsule": 'type="capsule" size=".05 .1" euler="0 1.5708 0"',
    "cylinder": 'type="cylinder" size=".05 .05"',
    "ellipsoid": 'type="ellipsoid" size=".1 .07 .05"',
}
LOW = 0.05  # [m] half the height of all of them
GROUNDS = {
    "plane": '<geom type="plane" size="0 0 1"/>',
    "plate": '<geom type="box" size="5 5 .0025" pos="0 0 -.0025"/>',
    "moving plate": '<body pos="0 0 -.0025"><freejoint/><geom type="box" size="5 5 .0025" mass="1e6"/></body>',
}


def thrown(shape: str, ground: str, speed: float, height: float, seed: int | None = None) -> tuple[Any, Any]:
    world = GROUNDS[ground] + body(f'{SHAPES[shape]} mass="1"', f"0 0 {LOW + height}")
    model = build(world, option='timestep=".01" gravity="0 0 0"')
    data = start(model)
    data.qvel[-4] = -speed
    if seed is not None:
        turn = np.random.default_rng(seed).normal(size=4)
        data.qpos[-4:] = turn / np.linalg.norm(turn)
    return model, data


@pytest.mark.parametrize("height", [0.003, 0.9])
@pytest.mark.parametrize("speed", [1.0, 100.0])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_flat_impacts_stop_on_the_ground(shape, ground, speed, height):
    """Nothing goes through, and the rebound is below a thousandth of the speed."""
    model, data = thrown(shape, ground, speed, height)
    for _ in range(int(height / speed / 0.01) + 20):
        pliant.mj_step(model, data)
        assert data.qpos[-5] > LOW - 1e-3
        assert data.qvel[-4] < 1e-3 * speed
    assert abs(data.qvel[-4]) < 1e-3 * speed and data.qpos[-5] < LOW + 1e-3 * max(speed, 1.0)


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5, 21])
@pytest.mark.parametrize("speed", [1.0, 10.0, 30.0, 100.0])
@pytest.mark.parametrize("ground", ["plane", "plate"])
@pytest.mark.parametrize("shape", SHAPES)
def test_tilted_impacts_do_not_tunnel(shape, ground, speed, seed):
    """They topple after touching: their centre stays above the ground, and nothing gains energy. At 100 m/s an impact
    off centre would send them spinning at 1000 rad/s, ten radians in the step, and through a plate."""
    model, data = thrown(shape, ground, speed, 0.5, seed)
    before = 0.5 * speed**2
    for _ in range(int(0.5 / speed / 0.01) + 30):
        pliant.mj_step(model, data)
        assert data.qpos[2] > 0.0
        turning = 0.5 * float(model.body_inertia[1] @ data.qvel[3:] ** 2)
        assert 0.5 * float(data.qvel[:3] @ data.qvel[:3]) + turning <= (1.0 + 1e-6) * before


@pytest.mark.parametrize("spin", [10.0, 30.0, 100.0])
@pytest.mark.parametrize("height", [0.1, 0.3, 0.45])
@pytest.mark.parametrize("held", [True, False])
def test_the_tip_of_a_spinning_rod_stays_above_a_plate(held, height, spin):
    """1 m long, its tip at up to 50 m/s: half a metre in a step, 5 mm of plate. On a hinge it stops."""
    rod = body('type="capsule" size=".01" fromto="-.49 0 0 .49 0 0" mass="1"', f"0 0 {height}",
               joint=hinge() if held else "<freejoint/>")  # fmt: skip
    model = build(GROUNDS["plate"] + rod, option='timestep=".01" gravity="0 0 0"')
    data = start(model, [spin] if held else [0.0, 0.0, 0.0, 0.0, spin, 0.0])
    for _ in range(60):
        pliant.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        slope = abs(data.xmat[1].reshape(3, 3)[2, 0])
        assert data.xpos[1, 2] - 0.49 * slope - 0.01 > -1e-4
        assert data.qvel[0 if held else 4] > -1e-3 * spin
    assert not held or abs(data.qvel[0]) < 1e-3 * spin


@pytest.mark.parametrize("distance", [0.15, 0.4, 0.97, 1.6, 5.03])
@pytest.mark.parametrize("apart", [0.05, 1e-3])
def test_spheres_that_pass_each_other_are_not_touched(distance, apart):
    """100 m/s each way, 5 cm and 1 mm clear of each other: velocities stay as they are, to the bit."""
    side = 0.1 + 0.5 * apart
    ball = 'size=".1" mass="1"'
    world = body(ball, f"{-distance} {side} 0") + body(ball, f"{distance} {-side} 0")
    model = build(world, option='timestep=".01" gravity="0 0 0"')
    data = start(model, [100.0, 0, 0, 0, 0, 0, -100.0, 0, 0, 0, 0, 0])
    before = data.qvel.copy()
    for _ in range(12):
        pliant.mj_step(model, data)
        assert not data.qfrc_constraint.any()
        np.testing.assert_array_equal(data.qvel, before)


@pytest.mark.parametrize("distance", [0.1001, 0.4, 0.97, 1.6, 5.03])
@pytest.mark.parametrize("side", [0.0, 0.05])
def test_spheres_that_meet_do_collide(distance, side):
    """Head-on they stop; off centre they part along their normal; momentum stays."""
    ball = 'size=".1" mass="1" friction="0"'
    world = body(ball, f"{-distance} {side} 0") + body(ball, f"{distance} {-side} 0")
    model = build(world, option='timestep=".01" gravity="0 0 0"')
    data = start(model, [100.0, 0, 0, 0, 0, 0, -100.0, 0, 0, 0, 0, 0])
    for _ in range(int(distance) + 4):
        pliant.mj_step(model, data)
        np.testing.assert_allclose(data.qvel[:3] + data.qvel[6:9], 0.0, atol=1e-9)
        assert np.linalg.norm(data.qpos[:3] - data.qpos[7:10]) > 0.2 - 1e-2
    assert data.qvel[0] < 90.0
    if side == 0.0:
        assert np.abs(data.qvel).max() < 0.1 and data.qpos[0] < data.qpos[7]


def test_a_ball_thrown_along_the_floor_glides_over_it():
    """Grazing at 100 m/s: the floor carries the weight, and no more."""
    model = build(body('size=".1" mass="1" condim="1"', "0 0 .1"), floor=True, option='timestep=".01"')
    data = start(model, [100.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    pliant.mj_step(model, data, 100)
    np.testing.assert_allclose(data.qvel, [100.0, 0, 0, 0, 0, 0], atol=1e-6)
    assert data.qfrc_constraint[2] == pytest.approx(WEIGHT, rel=1e-6)


@pytest.mark.parametrize("speed", [10.0, 20.0, 40.0, 60.0])
def test_what_is_struck_stops_at_the_wall_behind_it(speed):
    """At rest when the step begins, 1 cm from a wall of 2 cm: only the step itself brings it there."""
    slide = '<joint type="slide" axis="1 0 0"/>'
    world = f"""<geom type="box" size=".01 1 1" pos=".12 0 0"/>
      <body pos="-.3 0 0">{slide}<geom size=".1" mass="10"/></body><body>{slide}<geom size=".1" mass="1"/></body>"""
    model = build(world, option='timestep=".01" gravity="0 0 0"')
    data = start(model, [speed, 0.0])
    for _ in range(12):
        pliant.mj_step(model, data)
        assert data.qpos[1] < 0.01 + 1e-3
    np.testing.assert_allclose(data.qpos[1], 0.01, atol=1e-3)


@pytest.mark.parametrize("speed", [1.0, 100.0])
def test_joints_stop_at_their_limits(speed):
    """A hinge, a slider and a ball thrown at their limits: as far as their stiffness lets them, and no way back."""
    world = """<body><joint range="-1 .5" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body>
      <body pos="0 2 0"><joint type="slide" range="-1 .5" axis="1 0 0"/><geom size=".1"/></body>
      <body pos="0 4 0"><joint type="ball" range="0 .5"/>
      <geom type="capsule" size=".05" fromto="0 0 0 0 0 .3"/></body>"""
    model = build(world, option='timestep=".01" gravity="0 0 0"')
    data = start(model, [speed, speed, speed, 0.0, 0.0])
    for _ in range(int(50 / speed) + 20):
        pliant.mj_step(model, data)
        angle = 2.0 * np.arccos(min(abs(data.qpos[2]), 1.0))
        assert max(data.qpos[0], data.qpos[1], angle) < 0.5 + 1e-3
        assert data.qvel[:2].min() > -1e-3 * speed
    np.testing.assert_allclose([data.qpos[0], data.qpos[1], angle], 0.5, atol=1e-2)


# At the cone of a ball's limit, whose normal turns with the ball.
NARROW = [
    (1.0, 10.0, 0.01), (1.0, 5.0, 0.01), (0.3, 1.0, 0.01), (0.3, 10.0, 0.01), (0.1, 1.0, 0.01), (0.1, 1.0, 0.002),
    (0.01, 1.0, 0.002), (0.01, 10.0, 0.002), (0.001, 0.1, 0.002),
]  # fmt: skip


@pytest.mark.parametrize(("reach", "speed", "step"), NARROW)
def test_narrow_limits_of_balls_do_not_gain_energy(reach, speed, step):
    rod = '<joint type="ball" range="0 {}"/><geom type="capsule" size=".03" fromto="0 0 0 0 .3 0" mass="1"/>'
    model = build(f"<body>{rod.format(reach)}</body>", option=f'timestep="{step}"', flags='energy="enable"')
    data = start(model, [speed, 0.5 * speed, 0.3 * speed])
    mujoco.mj_forward(model, data)
    before = data.energy[1]
    for _ in range(400):
        pliant.mj_step(model, data)
        assert data.energy[1] < 2.0 * before + WEIGHT * 0.3
