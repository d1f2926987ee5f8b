"""A model as a System: the step as a value, and simulations that are those of mj_step."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.hertz import hertz_stiffness
from tests.support.models import WEIGHT, ZOO, body, build, everything, hinge, shake, shaken, start, tied


def system_of(model: Any, data: Any) -> pliant.MujocoSystem:
    system = pliant.MujocoSystem(model)
    system.data.qpos[:], system.data.qvel[:], system.data.ctrl[:] = data.qpos, data.qvel, data.ctrl
    return system


@pytest.mark.parametrize("name", ZOO)
def test_the_problem_is_the_step_of_mj_step(name):
    """Solved as a value it gives the velocity that mj_step gives, which looks ahead of equalities."""
    model, data = shaken(name)
    system = system_of(model, data)
    if model.neq:
        velocity = pliant.step(system, 0.0, system.q, system.v, model.opt.timestep, drift="lookahead")[1]
    else:
        velocity = pliant.solve(system.problem(0.0, system.q, system.v, model.opt.timestep)).velocity
    pliant.mj_step(model, data)
    np.testing.assert_allclose(velocity, data.qvel, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("name", ["dropped", "limited", "rubbing"])
def test_a_simulation_is_many_steps_of_mj_step(name):
    """Where there are no equalities, which a simulation looks ahead of, and nothing is thrown out of another."""
    model = ZOO[name]()
    data = start(model)
    shake(model, data, 2, size=1e-4)
    system = system_of(model, data)
    h = model.opt.timestep
    found = pliant.simulate(system, system.q, system.v, duration=20 * h, step=h, drift="tangent")
    pliant.mj_step(model, data, 20)
    np.testing.assert_allclose(found.q[-1], data.qpos, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(found.v[-1], data.qvel, rtol=0.0, atol=1e-4)


def test_it_is_a_system_with_named_constraints():
    system = pliant.MujocoSystem(everything())
    assert isinstance(system, pliant.System)
    problem = system.problem(0.0, system.q, system.v, system.model.opt.timestep)
    names = [constraint.name for constraint in problem.constraints]
    assert "equality" in names and "contacts3" in names and len(set(names)) == len(names)
    values = system.values(0.0, system.q)
    assert len(values) == len(names)
    for constraint, value in zip(problem.constraints, values, strict=True):
        assert (value is None) == (constraint.name != "equality")


def test_values_are_those_of_the_problem():
    system = pliant.MujocoSystem(tied())
    shake(system.model, system.data, 0, size=0.05)
    problem = system.problem(0.0, system.q, system.v, system.model.opt.timestep)
    (value,) = system.values(0.0, system.q)
    tie: Any = problem.constraints[0]
    np.testing.assert_array_equal(value, tie.value)


def test_lookahead_keeps_equalities_closed():
    """A pendulum of a free body pinned to the world, 10 ms: the pin stays put where a tangent step lets it drift."""
    model = build(body('type="capsule" size=".03" fromto="0 0 0 .4 0 0" mass="1"', name="rod"), option='timestep=".01"',
                  rest='<equality><connect body1="rod" anchor="-.1 0 0"/></equality>')  # fmt: skip
    system = pliant.MujocoSystem(model)
    worst = {}
    for drift in ("auto", "tangent"):
        found = pliant.simulate(system, system.q, system.v, duration=1.0, step=0.01, drift=drift)
        worst[drift] = max(float(np.abs(np.asarray(system.values(0.0, q)[0])).max()) for q in found.q)
    assert worst["auto"] < 1e-6 and worst["tangent"] > 10 * worst["auto"]


def test_controls_of_the_data_act():
    model = build(body('size=".1" mass="1"', joint='<joint name="x" type="slide" axis="1 0 0"/>'),
                  rest='<actuator><motor joint="x"/></actuator>')  # fmt: skip
    system = pliant.MujocoSystem(model)
    system.data.ctrl[0] = 3.0
    h = model.opt.timestep
    _, v, _ = pliant.step(system, 0.0, system.q, system.v, h)
    assert v[0] == pytest.approx(3.0 * h)
    assert system.data.time == 0.0 and not system.data.qvel.any()  # the data only lends its inputs


def test_evaluations_leave_the_data_alone():
    model, data = shaken("everything")
    system = system_of(model, data)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)
    before, after = np.zeros(size), np.zeros(size)
    mujoco.mj_getState(model, system.data, before, mujoco.mjtState.mjSTATE_INTEGRATION)
    pliant.simulate(system, system.q, system.v, duration=10 * model.opt.timestep, step=model.opt.timestep)
    mujoco.mj_getState(model, system.data, after, mujoco.mjtState.mjSTATE_INTEGRATION)
    np.testing.assert_array_equal(before, after)


def test_a_step_is_a_function_of_the_state():
    model, data = shaken("everything")
    system = system_of(model, data)
    first = system.problem(0.0, system.q, system.v, model.opt.timestep)
    system.problem(0.0, np.array(start(model).qpos), np.zeros(model.nv), model.opt.timestep)
    again = system.problem(0.0, system.q, system.v, model.opt.timestep)
    assert pliant.solve(first).velocity.tobytes() == pliant.solve(again).velocity.tobytes()


def test_energies_are_those_of_the_model():
    model = build(body('size=".1" mass="2"', "0 0 3"))
    system = pliant.MujocoSystem(model)
    found = system.energy(0.0, system.q, np.array([0.0, 0.0, 4.0, 0.0, 0.0, 0.0]))
    assert found["kinetic"] == pytest.approx(16.0) and found["gravitational"] == pytest.approx(2 * WEIGHT * 3)
    assert found["spring"] == 0.0 and not system.driven


def test_energy_of_what_is_pressed_in():
    """By the laws: Hertz, K d^2.5/2.5, and a joint's spring, k angle^2/2."""
    arm = '<body pos="1 0 5"><joint name="arm" axis="0 1 0" stiffness="3"/><geom size=".1" mass="1"/></body>'
    model = build(body('name="ball" size=".1" mass="2"', "0 0 .099") + arm, floor=True)
    steel = pliant.Material.of("steel")
    system = pliant.MujocoSystem(model, materials={"*": steel})
    q = system.q
    q[-1] = 0.2
    K = hertz_stiffness(0.5 / steel.compliance, 10.0, 10.0)
    expected = K * 0.001**2.5 / 2.5 + 0.5 * 3.0 * 0.2**2
    assert system.energy(0.0, q, system.v)["spring"] == pytest.approx(expected, rel=1e-9)
    system.data.qfrc_applied[0] = 1.0
    assert system.driven


def test_limits_are_springs_where_materials_make_them_so():
    """Those of the model's own are all but rigid: 0.1 rad beyond would be half a megajoule."""
    model = build(body('size=".1"', joint=hinge("knee", more='range="-1 -0.1"')))
    q, v = np.zeros(1), np.zeros(1)
    assert pliant.MujocoSystem(model).energy(0.0, q, v)["spring"] == 0.0
    soft = pliant.MujocoSystem(model, materials={"joint:knee": pliant.Law(50.0, 1.0)})
    assert soft.energy(0.0, q, v)["spring"] == pytest.approx(0.5 * 50.0 * 0.1**2)


def test_coordinates_have_names_and_units():
    model = build('<body name="box"><freejoint/><geom size=".1"/></body>'
                  '<body name="door"><joint name="hinge"/><geom size=".1"/></body>'
                  '<body name="cart"><joint type="slide"/><joint/><geom size=".1"/></body>')  # fmt: skip
    found = pliant.MujocoSystem(model).coordinates
    assert [len(found["q"]), len(found["v"])] == [model.nq, model.nv]
    assert found["q"][2] == ["box z", "m"] and found["q"][3] == ["box qw", "-"] and found["q"][7] == ["hinge", "rad"]
    assert found["q"][8:] == [["cart joint 0", "m"], ["cart joint 1", "rad"]]
    assert found["v"][5] == ["box wz", "rad/s"] and found["v"][-2] == ["cart joint 0 rate", "m/s"]


def test_free_bodies_go_where_their_average_velocity_leads():
    inertial = '<inertial pos=".1 0 0" mass="6" diaginertia="1 2 3"/>'
    model = build(f'<body><freejoint/>{inertial}<geom size=".01" mass="0"/></body>',
                  option='timestep=".01" gravity="0 0 0"')  # fmt: skip
    v = np.array([0.0, 0.0, 0.0, 3.0, 20.0, 5.0])
    data = start(model, v)
    system = pliant.MujocoSystem(model)
    found = pliant.simulate(system, system.q, v, duration=0.5, step=0.01)
    pliant.mj_step(model, data, 50)
    np.testing.assert_allclose(found.q[-1], data.qpos, rtol=0.0, atol=1e-9)


def test_the_problem_has_the_limits_that_the_step_itself_brings_near():
    """A slider at rest, 1 cm from its limit, that is struck."""
    slide = '<joint type="slide" axis="1 0 0" {}/>'
    world = body('size=".1" mass="10"', "-.3 0 0", joint=slide.format(""))
    world += body('size=".1" mass="1"', joint=slide.format('range="-1 .01"'))
    model = build(world, option='timestep=".01" gravity="0 0 0"')
    system = pliant.MujocoSystem(model)
    run = pliant.simulate(system, system.q, [20.0, 0.0], duration=0.01, step=0.01)
    data = start(model, [20.0, 0.0])
    pliant.mj_step(model, data)
    np.testing.assert_allclose(run.q[-1], data.qpos, rtol=1e-9)
    assert run.q[-1, 1] == pytest.approx(0.01, abs=1e-4)


def test_wrong_arguments_are_named():
    system = pliant.MujocoSystem(build(body('size=".1"', joint=hinge())))
    h = system.model.opt.timestep
    with pytest.raises(pliant.InputError, match=r"set model\.opt\.timestep"):
        system.problem(0.0, system.q, system.v, 2 * h)
    with pytest.raises(pliant.InputError, match=r"shapes \(1,\) and \(1,\)"):
        system.problem(0.0, np.zeros(2), system.v, h)
    with pytest.raises(pliant.InputError, match=r"data\.qvel must be finite"):
        system.problem(0.0, system.q, np.array([np.nan]), h)
    with pytest.raises(pliant.InputError, match=r"got str; pliant\.load reads files"):
        pliant.MujocoSystem("model.xml")
