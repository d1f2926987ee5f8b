"""What users set in MjData, in flags and in callbacks acts as it does with MuJoCo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.systems.mujoco_laws import SETTLING
from tests.support.models import WEIGHT, body, build, everything, hinge, slider, start

BALL = 'size=".1" mass="2"'


@pytest.fixture
def callbacks():
    """None are left behind."""
    yield
    mujoco.set_mjcb_control(None)
    mujoco.set_mjcb_passive(None)


def test_applied_forces_act():
    model = build(body(BALL), option='gravity="0 0 0"')
    data = start(model)
    data.qfrc_applied[:3] = [1.0, 2.0, 3.0]
    data.xfrc_applied[1, :3] = [4.0, 5.0, 6.0]
    pliant.mj_step(model, data)
    np.testing.assert_allclose(data.qacc[:3], [2.5, 3.5, 4.5], rtol=1e-12)


def test_applied_forces_press_on_contacts():
    model = build(body(BALL, "0 0 .1"), floor=True)
    data = start(model)
    data.xfrc_applied[1, 2] = -100.0
    pliant.mj_step(model, data, 300)
    assert data.qfrc_constraint[2] == pytest.approx(100.0 + 2 * WEIGHT, rel=1e-9)


def test_mocap_bodies_drag_what_is_welded_to_them():
    world = f'<body name="hand" mocap="true" pos="0 0 1"/>{body(BALL, "0 0 1", name="held")}'
    model = build(world, rest='<equality><weld body1="hand" body2="held"/></equality>')
    data = start(model)
    for k in range(100):
        data.mocap_pos[0] = [0.01 * k, 0.0, 1.0]
        pliant.mj_step(model, data)
    pliant.mj_step(model, data, 100)
    np.testing.assert_allclose(data.qpos[:3], [0.99, 0.0, 1.0], atol=1e-5)


def test_mocap_bodies_push():
    """A kinematic wall moves a ball out of its way; MuJoCo does not know its speed, so that the contact lags behind."""
    world = f'<body mocap="true" pos="-.2 0 0"><geom type="box" size=".1 1 1"/></body>{body(BALL)}'
    model = build(world, option='gravity="0 0 0"')
    data = start(model)
    for k in range(300):
        data.mocap_pos[0, 0] = -0.2 + 0.001 * k
        pliant.mj_step(model, data)
        assert data.qpos[0] - data.mocap_pos[0, 0] > 0.2 - 0.5 * (SETTLING + 2.0 * model.opt.timestep)


def test_equalities_are_switched_by_eq_active():
    model = build(body(BALL, name="held"), rest='<equality><weld body1="held"/></equality>')
    data = start(model)
    pliant.mj_step(model, data, 100)
    assert abs(data.qpos[2]) < 1e-6
    data.eq_active[0] = 0
    pliant.mj_step(model, data, 100)
    steps, h = 100, model.opt.timestep
    assert data.qpos[2] == pytest.approx(-WEIGHT * h * h * steps * (steps + 1) / 2, rel=1e-4)
    assert data.nefc == 0


@pytest.mark.parametrize("gravcomp", [0.0, 0.25, 1.0])
def test_compensation_of_gravity_lifts(gravcomp):
    model = build(f'<body gravcomp="{gravcomp}"><freejoint/><geom {BALL}/></body>')
    data = start(model)
    pliant.mj_step(model, data)
    assert data.qacc[2] == pytest.approx(-WEIGHT * (1.0 - gravcomp), abs=1e-12)


def gravity() -> tuple[Any, Any]:
    model = build(body(BALL))
    return model, start(model)


def touching() -> tuple[Any, Any]:
    model = build(body(BALL, "0 0 .0999"), floor=True, option='gravity="0 0 0"')
    return model, start(model)


def held(more: str, q: float = 0.0, v: float = 0.0, rest: str = "") -> Callable[[], tuple[Any, Any]]:
    def make() -> tuple[Any, Any]:
        model = build(body(BALL, joint=slider("x", more=more)), option='gravity="0 0 0"', rest=rest)
        data = start(model, [v], [q])
        data.ctrl[:] = 1.0
        return model, data

    return make


TIED = '<equality><joint joint1="x"/></equality>'
MOTOR = '<actuator><motor joint="x"/></actuator>'
SERVO = '<actuator><position joint="x" kp="10"/></actuator>'
FLAGS = {
    "GRAVITY": gravity,
    "CONTACT": touching,
    "CONSTRAINT": touching,
    "LIMIT": held('range="-1 0"', 0.1),
    "EQUALITY": held("", 0.1, rest=TIED),
    "FRICTIONLOSS": held('frictionloss="1"', v=1.0),
    "SPRING": held('stiffness="10"', 0.1),
    "DAMPER": held('damping="10"', v=1.0),
    "ACTUATION": held("", rest=MOTOR),
    "ACTUATION of a servo": held("", 0.1, rest=SERVO),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flags_switch_off_what_they_name(name):
    model, data = FLAGS[name]()
    pliant.mj_forward(model, data)
    assert np.abs(data.qacc).max() > 0.1
    model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name.split()[0]}")
    pliant.mj_step(model, data)
    assert not data.qacc.any()


def test_groups_of_actuators_are_switched_off():
    model, data = held("", 0.1, rest='<actuator><position joint="x" kp="10" group="2"/></actuator>')()
    pliant.mj_forward(model, data)
    assert data.qacc[0] > 0.1
    model.opt.disableactuator = 1 << 2
    pliant.mj_step(model, data)
    assert not data.qacc.any()


@pytest.mark.parametrize("split", [False, True])
def test_the_control_callback_is_called_once_a_step(callbacks, split):
    model = everything()
    data = start(model)
    times: list[float] = []

    def control(model: Any, data: Any) -> None:
        times.append(data.time)
        data.ctrl[:] = 0.3

    mujoco.set_mjcb_control(control)
    for _ in range(5):
        if split:
            pliant.mj_step1(model, data)
            pliant.mj_step2(model, data)
        else:
            pliant.mj_step(model, data)
    np.testing.assert_allclose(times, np.arange(5) * model.opt.timestep, atol=1e-15)
    assert np.all(data.ctrl == 0.3) and data.qfrc_actuator.any()


def test_the_passive_callback_acts(callbacks):
    model = build(body(BALL))

    def push(model: Any, data: Any) -> None:
        data.qfrc_passive[2] += 50.0

    mujoco.set_mjcb_passive(push)
    data = start(model)
    pliant.mj_step(model, data)
    assert data.qacc[2] == pytest.approx(25.0 - WEIGHT, rel=1e-12)
    assert data.qfrc_passive[2] == 50.0


@pytest.mark.parametrize("kind", ["control", "passive"])
def test_a_callback_that_raises_comes_through(callbacks, kind):
    model = everything()
    data = start(model)

    def fail(model: Any, data: Any) -> None:
        raise ZeroDivisionError("from the callback")

    getattr(mujoco, f"set_mjcb_{kind}")(fail)
    with pytest.raises(ZeroDivisionError, match="from the callback"):
        pliant.mj_step(model, data)
    getattr(mujoco, f"set_mjcb_{kind}")(None)
    other = start(model)
    mujoco.mj_resetData(model, data)
    pliant.mj_step(model, data, 20)
    pliant.mj_step(model, other, 20)
    np.testing.assert_array_equal(data.qpos, other.qpos)


def test_adhesion_holds_what_hangs():
    """An adhesion actuator of 30 N carries 2 kg from below a ceiling, and 3 N do not."""
    ceiling = '<geom type="box" size="1 1 .1" pos="0 0 .2" gap=".001"/>'
    for force, holds in ((30.0, True), (3.0, False)):
        world = ceiling + body(BALL, "0 0 -.0001", name="gecko")
        model = build(world, rest=f'<actuator><adhesion body="gecko" gain="{force}" ctrlrange="0 1"/></actuator>')
        data = start(model)
        data.ctrl[:] = 1.0
        pliant.mj_step(model, data, 200)
        assert bool(data.qpos[2] > -0.01) is holds


def test_a_body_with_adhesion_lands_like_any_other():
    """Its contacts are not looked for ahead: within the gap, adhesion pulls. They are found when it is there."""
    world = '<geom type="plane" size="1 1 1"/>' + body('size=".1" mass="1"', "0 0 .5", name="ball")
    model = build(world, rest='<actuator><adhesion body="ball" gain="1" ctrlrange="0 1"/></actuator>')
    data = start(model, [0.0, 0.0, -3.0, 0.0, 0.0, 0.0])
    pliant.mj_step(model, data, 200)
    assert abs(data.qpos[2] - 0.1) < 1e-4 and abs(data.qvel[2]) < 1e-6


def test_a_limit_of_the_ball_and_dry_friction_hold_a_load():
    """Dry friction of 5 N m holds 4 N m, and slips at 6 N m with what is left over."""
    for load, moves in ((4.0, False), (6.0, True)):
        model = build(body('type="box" size=".1 .1 .1" mass="1"', joint=hinge(more='frictionloss="5"')),
                      option='gravity="0 0 0"')  # fmt: skip
        data = start(model)
        data.qfrc_applied[0] = load
        pliant.mj_step(model, data, 100)
        inertia = model.body_inertia[1, 1]
        expected = (load - 5.0) / inertia * data.time if moves else 0.0
        assert data.qvel[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)
