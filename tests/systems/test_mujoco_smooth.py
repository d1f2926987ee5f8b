"""Servos, springs, dampers and drag, implicit: no stiffness and no step diverges, and what is at rest is in balance."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import pytest
import scipy.optimize

import pliant
from tests.support.assembled import assembled
from tests.support.models import WEIGHT, body, build, hinge, slider, start

GAINS = [1e1, 1e3, 1e5, 1e7]  # [N m/rad]
DAMPINGS = [0.0, 1e0, 1e3, 1e6]  # [N m s/rad]
TENDONS = [1e2, 1e4, 1e6, 1e8]  # [N/m]
STEPS = [1e-3, 1e-2, 5e-2]  # [s]


def arm(kp: float, damping: float, step: float, servo: str = "position", more: str = "") -> Any:
    """Three links of 1 kg, level at 0, each on a hinge with its servo."""
    links, ends = "", ""
    for i in range(3):
        links += f"""<body pos="{0.3 if i else 0} 0 0">{hinge(f"j{i}", more=f'damping="{damping}"')}
          <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="1"/>"""
        ends += "</body>"
    gain = f'kv="{kp}"' if servo == "velocity" else f'kp="{kp}"'
    servos = "".join(f'<{servo} joint="j{i}" {gain} {more}/>' for i in range(3))
    return build(links + ends, option=f'timestep="{step}"', rest=f"<actuator>{servos}</actuator>",
                 flags='contact="disable" energy="enable"')  # fmt: skip


def pull(model: Any, q: Any) -> np.ndarray:
    """What gravity and servos leave over at q, at rest, by MuJoCo alone."""
    data = start(model, qpos=q)
    mujoco.mj_forward(model, data)
    return np.asarray(data.qfrc_actuator - data.qfrc_bias)


def energy(model: Any, data: Any, kp: float) -> float:
    """Of motion, gravity and servos at control 0."""
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    return float(data.energy.sum() + 0.5 * kp * (data.qpos @ data.qpos))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("damping", DAMPINGS)
@pytest.mark.parametrize("kp", GAINS)
def test_servos_of_any_gain_do_not_diverge(kp, damping, step):
    """Thrown about, with the servos out of place; from then on all the energy there is only falls.

    Coriolis forces, which are taken at the start of the step, may give back a little: within one part in 20.
    """
    model = arm(kp, damping, step)
    data = start(model, [1.0, -2.0, 3.0], [0.1, -0.1, 0.2])
    mujoco.mj_forward(model, data)
    least = -3 * 3 * 0.9 * WEIGHT  # of gravity, below any configuration
    before = energy(model, data, kp) - least
    for _ in range(200):
        pliant.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_fwdVelocity(model, data)
        assert energy(model, data, kp) - least <= 1.05 * before
    assert pliant.stats(data).statuses[pliant.Status.SOLVED] == 200


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("damping", DAMPINGS)
@pytest.mark.parametrize("kp", GAINS)
def test_servos_stay_in_balance(kp, damping, step):
    """Started in balance: it is one of the step too, of any gain, and rounding does not grow."""
    model = arm(kp, damping, step)
    sag = scipy.optimize.root(lambda q: pull(model, q) / kp, np.zeros(3), tol=1e-13).x
    data = start(model, qpos=sag)
    pliant.mj_step(model, data, 200)
    np.testing.assert_allclose(data.qpos, sag, rtol=1e-6)
    np.testing.assert_allclose(data.actuator_force, data.qfrc_bias, rtol=1e-6)
    np.testing.assert_array_equal(data.qfrc_actuator, data.actuator_force)


LONG = [(kp, step) for kp in GAINS for step in STEPS if 2.0 / math.sqrt(kp) < 150 * step]


@pytest.mark.parametrize(("kp", "step"), LONG)
def test_servos_come_to_rest_in_balance(kp, step):
    """Run from level long enough: a damping that suits the gain, for 40 of its times."""
    relax = max(2.0 / math.sqrt(kp), 2.0 * step)  # [s]
    model = arm(kp, kp * relax, step)
    data = start(model)
    pliant.mj_step(model, data, int(40 * relax / step))
    assert np.abs(data.qvel).max() < 1e-9 * np.abs(data.qpos).max() / step
    expected = scipy.optimize.root(lambda q: pull(model, q) / kp, data.qpos, tol=1e-13).x
    np.testing.assert_allclose(data.qpos, expected, rtol=1e-6)


@pytest.mark.parametrize("servo", ["velocity", "damper"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kv", [1e0, 1e3, 1e6])
def test_velocity_servos_of_any_gain_hold(kv, step, servo):
    """Under a load they creep at load / kv, whatever the step."""
    axis = slider("z", "0 0 1")
    control = 'ctrlrange="0 1"' if servo == "damper" else ""
    model = build(body('size=".1" mass=".01"', joint=axis), option=f'timestep="{step}"',
                  rest=f'<actuator><{servo} joint="z" kv="{kv}" {control}/></actuator>')  # fmt: skip
    data = start(model)
    if servo == "damper":
        data.ctrl[:] = 1.0
    pliant.mj_step(model, data, 200)
    load = 0.01 * WEIGHT
    assert data.qvel[0] == pytest.approx(-load / kv, rel=1e-6)
    assert data.actuator_force[0] == pytest.approx(load, rel=1e-6)


def string(k: float, b: float, step: float, play: str = "") -> Any:
    """1 kg under a rope of 0.5 m that is a spring, with a hinge to swing about."""
    world = f"""<site name="top" pos="0 0 1"/><body pos="0 0 .5">{slider("x")}{slider("z", "0 0 1")}
      <geom size=".05" mass="1"/><site name="low"/></body>"""
    rope = f'<spatial stiffness="{k}" damping="{b}" {play}><site site="top"/><site site="low"/></spatial>'
    return build(world, option=f'timestep="{step}"', rest=f"<tendon>{rope}</tendon>")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("b", [0.0, 1e2, 1e6])
@pytest.mark.parametrize("k", TENDONS)
def test_tendons_of_any_stiffness_do_not_diverge(k, b, step):
    """It swings and bounces by no more than it was pulled."""
    model = string(k, b, step)
    data = start(model, [1.0, 0.0])
    least = 0.5 * WEIGHT**2 / k
    most = 0.5 + least  # [J]
    for _ in range(200):
        pliant.mj_step(model, data)
        assert 0.5 * float(data.qvel @ data.qvel) <= 1.05 * (most + WEIGHT * (0.5 + WEIGHT / k))
        assert np.isfinite(data.qpos).all()
    assert np.hypot(*data.qpos) < 5.0


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("b", [0.0, 1e2, 1e6])
@pytest.mark.parametrize("k", TENDONS)
def test_tendons_stay_in_balance(k, b, step):
    """Started in balance, m g / k below its rest."""
    model = string(k, b, step)
    sag = -WEIGHT / k
    data = start(model, qpos=[0.0, sag])
    pliant.mj_step(model, data, 200)
    assert data.qpos[1] == pytest.approx(sag, rel=1e-6) and abs(data.qpos[0]) < 1e-12
    assert data.qfrc_passive[1] == pytest.approx(WEIGHT, rel=1e-6)
    assert data.qfrc_spring[1] + data.qfrc_damper[1] == pytest.approx(WEIGHT, rel=1e-6)


@pytest.mark.parametrize("k", [1e4, 1e6])
def test_a_slack_tendon_catches_at_the_end_of_its_play(k):
    """Run long enough from within the play: 3 cm of it, and m g / k."""
    model = string(k, 0.0, 0.01, 'springlength=".4 .53"')
    data = start(model)
    pliant.mj_step(model, data, 600)
    assert data.qpos[1] == pytest.approx(-0.03 - WEIGHT / k, rel=1e-6)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("k", [1e2, 1e5, 1e8])
@pytest.mark.parametrize("curve", [(0.0, 0.0), (2.0, 0.0), (0.0, 50.0), (5.0, 100.0)])
def test_polynomial_springs_come_to_rest_in_balance(curve, k, step):
    """Run long enough: x (k + k p0 x + k p1 x^2) = m g, damped enough."""
    p0, p1 = curve
    springs = f'stiffness="{k} {k * p0} {k * p1}" damping="{math.sqrt(k)}"'
    # Upside down, so that the spring is stretched to the side where the quadratic term stiffens.
    model = build(body('size=".1" mass="1"', joint=slider("z", "0 0 -1", springs)), option=f'timestep="{step}"')
    assert np.allclose(model.jnt_stiffnesspoly[0], [k * p0, k * p1])
    data = start(model)
    pliant.mj_step(model, data, max(100, int(60.0 / math.sqrt(k) / step)))
    x = data.qpos[0]
    assert x * (k + k * p0 * x + k * p1 * x * x) == pytest.approx(WEIGHT, rel=1e-6)
    assert data.qfrc_spring[0] == pytest.approx(-WEIGHT, rel=1e-6)


@pytest.mark.parametrize("k", [1e1, 1e4, 1e7])
def test_springs_of_balls_and_free_joints_do_not_diverge(k):
    world = f"""<body><joint type="ball" stiffness="{k}"/><geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"
      mass="1"/></body><body pos="0 2 0"><joint type="free" stiffness="{k}"/>
      <geom type="box" size=".1 .2 .3" mass="1"/></body>"""
    model = build(world, option='timestep=".02"')
    data = start(model, np.linspace(-1.0, 1.0, model.nv))
    pliant.mj_step(model, data, 500)
    assert np.abs(data.qvel).max() < 20.0 and np.abs(data.qpos[4:7] - [0, 2, 0]).max() < 2.1 * WEIGHT / k + 1.0


RANGES = {
    "of the servo": ('forcerange="-3 2"', "", 1.0, (-3.0, 2.0)),
    "of the joint": ("", 'actuatorfrcrange="-3 2"', 1.0, (-3.0, 2.0)),
    "of both": ('forcerange="-1 5"', 'actuatorfrcrange="-3 2"', 1.0, (-1.0, 2.0)),
    "with a gear": ('forcerange="-1 1" gear="4"', 'actuatorfrcrange="-3 5"', 4.0, (-3.0, 4.0)),
    "with a gear the other way": ('gear="-4"', 'actuatorfrcrange="-3 5"', -4.0, (-3.0, 5.0)),
}


@pytest.mark.parametrize("kp", [1e1, 1e3, 1e6])
@pytest.mark.parametrize("case", RANGES)
def test_ranges_of_forces_hold(case, kp):
    """On the joint, to rounding; and they are reached: a stiff servo far from its target pushes as hard as it may."""
    servo, joint, gear, (low, high) = RANGES[case]
    model = build(body('size=".1" mass="1"', joint=slider("x", more=joint)), option='timestep=".01" gravity="0 0 0"',
                  rest=f'<actuator><position joint="x" kp="{kp}" kv="{kp / 10}" {servo}/></actuator>')  # fmt: skip
    data = start(model)
    for target, end in ((100.0, high), (-100.0, low)):
        data.ctrl[:] = target * np.sign(gear)
        for _ in range(20):
            pliant.mj_step(model, data)
            assert low * (1 + 1e-12) <= data.qfrc_actuator[0] <= high * (1 + 1e-12)
            np.testing.assert_allclose(data.qfrc_actuator[0], gear * data.actuator_force[0], rtol=1e-12)
            np.testing.assert_allclose(data.qacc[0], data.qfrc_actuator[0], rtol=1e-9)
        assert data.qfrc_actuator[0] == pytest.approx(end, rel=1e-12)


def test_two_servos_of_a_joint_share_its_range():
    model = build(body('size=".1" mass="1"', joint=slider("x", more='actuatorfrcrange="-3 2"')),
                  option='timestep=".01" gravity="0 0 0"',
                  rest='<actuator><position joint="x" kp="50"/><position joint="x" kp="50"/></actuator>')  # fmt: skip
    data = start(model)
    data.ctrl[:] = 100.0
    for _ in range(50):
        pliant.mj_step(model, data)
        assert data.qfrc_actuator[0] == pytest.approx(2.0, rel=1e-12)
        assert data.qacc[0] == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("gear", [1.0, 5.0])
@pytest.mark.parametrize("count", [1, 2])
def test_ranges_of_tendons_hold_for_all_their_servos(count, gear):
    tendon = '<fixed name="t" actuatorfrcrange="-3 2"><joint joint="x" coef="2"/></fixed>'
    servos = f'<position tendon="t" kp="50" gear="{gear}"/>' * count
    model = build(body('size=".1" mass="1"', joint=slider("x")), option='timestep=".01" gravity="0 0 0"',
                  rest=f"<tendon>{tendon}</tendon><actuator>{servos}</actuator>")  # fmt: skip
    ours, theirs = start(model), start(model)
    ours.ctrl[:] = theirs.ctrl[:] = 1000.0
    for _ in range(5):
        pliant.mj_step(model, ours)
        mujoco.mj_step(model, theirs)
        np.testing.assert_allclose(ours.actuator_force.sum(), 2.0, rtol=1e-12)
        np.testing.assert_allclose(ours.qfrc_actuator, theirs.qfrc_actuator, rtol=1e-12)
        np.testing.assert_allclose(ours.qacc, theirs.qacc, rtol=1e-9)


@pytest.mark.parametrize("most", [5.0, 8.0, 20.0])
def test_compensation_of_gravity_counts_within_the_range_of_a_joint(most):
    """An actuator that is out of breath has to carry 9.81 N of the body's weight, too."""
    joint = slider("z", "0 0 1", f'actuatorfrcrange="{-most} {most}" actuatorgravcomp="true"')
    world = f'<body gravcomp="1">{joint}<geom size=".1" mass="1"/></body>'
    model = build(world, rest='<actuator><position joint="z" kp="100" kv="10"/></actuator>')
    ours, theirs = start(model), start(model)
    ours.ctrl[:] = theirs.ctrl[:] = 3.0
    for _ in range(5):
        pliant.mj_step(model, ours)
        mujoco.mj_step(model, theirs)
        np.testing.assert_allclose(ours.qfrc_actuator, theirs.qfrc_actuator, rtol=1e-12)
        np.testing.assert_allclose(ours.qacc, theirs.qacc, rtol=1e-9)


ACTIVATIONS = [
    'general dyntype="integrator" gainprm="20"',
    'general dyntype="filter" dynprm=".03" gainprm="20"',
    'general dyntype="filterexact" dynprm=".03" gainprm="20"',
    'general dyntype="integrator" gainprm="20" actrange="-.1 .1" biastype="affine" biasprm="0 -30 -2"',
    'muscle force="20" lengthrange="-1 1"',
    'intvelocity kp="20" kv="1" actrange="-1 1"',
]


@pytest.mark.parametrize("dynamics", ACTIVATIONS)
def test_activations_are_those_of_mujoco(dynamics):
    """They depend on the control alone; the forces that come of them act on the joint."""
    model = build(body('size=".1" mass="1"', joint=slider("x", more='range="-1 1"')), option='gravity="0 0 0"',
                  rest=f'<actuator><{dynamics} joint="x"/></actuator>')  # fmt: skip
    ours, theirs = start(model), start(model)
    for k in range(100):
        ours.ctrl[:] = theirs.ctrl[:] = 0.5 + 0.5 * math.sin(k)
        pliant.mj_step(model, ours)
        mujoco.mj_step(model, theirs)
        np.testing.assert_array_equal(ours.act, theirs.act)
        np.testing.assert_array_equal(ours.act_dot, theirs.act_dot)
    assert ours.act[0] != 0.0 and ours.qpos[0] != 0.0
    np.testing.assert_allclose(ours.qpos, theirs.qpos, atol=0.01)


FLUIDS = {
    "viscous box": 'viscosity="{}"',
    "dense box": 'density="{}"',
    "viscous ellipsoid": 'viscosity="{}"',
    "dense ellipsoid": 'density="{}"',
}


@pytest.mark.parametrize("amount", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("case", FLUIDS)
def test_drag_ends_in_the_terminal_velocity(case, amount):
    """At 50 ms, thrown at 10 m/s: drag never turns a motion round, and in the end it carries the weight."""
    shape = 'fluidshape="ellipsoid"' if "ellipsoid" in case else ""
    model = build(body(f'type="ellipsoid" size=".1 .15 .2" mass="1" {shape}', joint=slider("z", "0 0 1")),
                  option=f'timestep=".05" {FLUIDS[case].format(amount)}')  # fmt: skip
    data = start(model, [-10.0])
    for _ in range(2000):
        pliant.mj_step(model, data)
        assert -200.0 < data.qvel[0] < 0.0
    still = start(model, data.qvel)
    mujoco.mj_forward(model, still)
    assert still.qfrc_fluid[0] == pytest.approx(WEIGHT, rel=1e-6)
    assert data.qfrc_fluid[0] == pytest.approx(WEIGHT, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fluid", ['density="1000"', 'viscosity="10"', 'density="1000" viscosity="1e4"'])
def test_drag_of_a_tree_only_takes_power(fluid, seed):
    """A light two-link thing that tumbles, 50 ms: at the velocity at the end of the step its drag does no work."""
    world = """<body><freejoint/><geom type="box" size=".2 .02 .01" mass=".1"/><body pos=".2 0 0"><joint axis="0 1 0"/>
      <geom type="capsule" size=".01" fromto="0 0 0 .3 0 0" mass=".1"/></body></body>"""
    model = build(world, option=f'timestep=".05" {fluid}')
    data = start(model, np.random.default_rng(seed).uniform(-5.0, 5.0, 7))
    pliant.mj_step(model, data)
    assert data.qfrc_fluid.any() and data.qfrc_fluid @ data.qvel <= 0.0


STEADY = """<position joint="a" kp="30" kv="2" forcerange="-4 4"/><velocity joint="b" kv="3"/><motor joint="a"/>
  <general joint="b" biastype="affine" biasprm="1 -20 -.5" gainprm="7"/><intvelocity joint="a" kp="9" actrange="-1 1"/>
  <general joint="b" biastype="affine" biasprm="0 5 2"/>"""
BENT = '<general joint="b" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="0 -5 -2"/>'


@pytest.mark.parametrize("more", ["", BENT], ids=["steady", "bent"])
def test_slopes_of_servos_are_those_of_their_forces(more):
    """Known from the model, or where a force is bent, by differences; a servo that feels nothing has no row, nor one
    whose force grows with the motion."""
    links = f"<body>{hinge('a')}<geom size='.1'/><body pos='.3 0 0'>{hinge('b')}<geom size='.1'/></body></body>"
    model = build(links, rest=f"<actuator>{STEADY}{more}</actuator>")

    def at(**shift: float) -> Any:
        data = start(model, qpos=[0.01, -0.02], qvel=[0.03, 0.01])
        data.ctrl[:] = 0.1
        for state, by in shift.items():
            getattr(data, state)[:] += by
        return data

    slopes, here = [], at()
    mujoco.mj_forward(model, here)
    for state in ("qpos", "qvel"):
        there = at(**{state: 1e-3})
        mujoco.mj_forward(model, there)
        slopes.append(np.maximum(-(there.actuator_force - here.actuator_force) / 1e-3, 0.0))
    springs, dampers = slopes
    felt = (springs > 1e-6) | (dampers > 1e-6)
    step = assembled(model, at())
    assert step.extra == np.count_nonzero(felt) == (5 if more else 4)
    np.testing.assert_allclose(step.flat.stiffness[-step.extra :], springs[felt], atol=1e-9)
    np.testing.assert_allclose(step.flat.damping[-step.extra :], dampers[felt], atol=1e-9)
