"""Right answers: against MuJoCo at steps a fiftieth as long, and against what statics says of robots and stacks."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path
from threading import Thread
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.studies.scenes import HARD, stack
from tests.support.models import CONTACT, WEIGHT, body, build, start

ROBOTS = {
    "ANYmal": "anymal_b_simple_description/robots/anymal.urdf",
    "Solo12": "solo_description/robots/solo12.urdf",
    "Talos": "talos_data/robots/talos_reduced.urdf",
    "Panda": "panda_description/urdf/panda.urdf",
    "UR5": "ur_description/urdf/ur5_robot.urdf",
}


@pytest.mark.parametrize("step", [0.002, 0.01, 0.02])
@pytest.mark.parametrize("stiffness", [CONTACT, 1e10])
def test_a_light_box_carries_a_heavy_one(stiffness, step):
    """1 kg under 1e6 kg, each on four corners: both rest at the indentation of their law.

    The upper one is narrower: where edges lie in one plane, MuJoCo's contact points jump along them by a turn of 1e-14.
    """
    box = 'name="{}" type="box" size="{} {} .2" mass="{}"'
    world = body(box.format("low", 0.2, 0.2, 1), "0 0 .2") + body(box.format("high", 0.19, 0.19, 1e6), "0 0 .6")
    model = build(world, floor=True, option=f'timestep="{step}"')
    K = stiffness
    low, high = (1e6 + 1) * WEIGHT / (4 * K), 1e6 * WEIGHT / (4 * K)
    data = start(model)
    part = 1.0 if stiffness == CONTACT else 0.9  # 1e6 kg on the softer springs would swing on for a minute
    data.qpos[2] -= part * low
    data.qpos[9] -= part * (low + high)
    materials = {"low": pliant.Law(stiffness, 0.02 * stiffness if stiffness == CONTACT else 0.0)}
    pliant.mj_step(model, data, 1000, materials=materials)
    assert np.abs(data.qvel).max() < 1e-9
    assert 0.2 - data.qpos[2] == pytest.approx(low, rel=1e-6)
    assert 0.6 - data.qpos[9] == pytest.approx(low + high, rel=1e-6)


def robots() -> Path | None:
    """The folder of the robots, which need not be importable."""
    try:
        found = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        return None
    return Path(str(found.locate_file("cmeel.prefix/share/example-robot-data/robots")))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_that_are_dropped_come_to_rest_on_their_supports(name):
    """20 ms, 5 s. Their files give joints no friction: they would swing on for minutes. As of a gearbox, 1 N m and
    1 N m s/rad are set. A foot of Talos has been seen to stay wedged under its base, or to let go once."""
    folder = robots()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    system = pliant.load(folder / ROBOTS[name], floating=True, floor=True)
    model, data = system.model, system.data
    model.opt.timestep = 0.02
    hinges = np.flatnonzero(np.isin(model.jnt_type, [mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE]))
    model.dof_damping[model.jnt_dofadr[hinges]] = model.dof_frictionloss[model.jnt_dofadr[hinges]] = 1.0
    mujoco.mj_kinematics(model, data)
    lowest = min(data.geom_xpos[g, 2] - model.geom_rbound[g] for g in range(model.ngeom) if model.geom_rbound[g] > 0.0)
    data.qpos[2] += 0.01 - lowest
    pliant.mj_step(model, data, 250)
    assert np.abs(data.qvel).max() < 1e-6
    weight = float(model.body_mass.sum()) * WEIGHT
    total = 0.0
    for c in range(data.ncon):
        force = np.zeros(6)
        mujoco.mj_contactForce(model, data, c, force)
        ends = model.body_weldid[model.geom_bodyid[data.contact.geom[c]]]
        if (ends == 0).any():
            push = data.contact.frame[c].reshape(3, 3).T @ force[:3]
            total += float(push[2]) * (1.0 if ends[0] == 0 else -1.0)
    assert total == pytest.approx(weight, rel=1e-6)


def humanoid(step: float, *, servos: bool = True) -> Any:
    """The humanoid of gymnasium, with servos of 100 N m/rad and 5 N m s/rad in place of its motors."""
    found = importlib.util.find_spec("gymnasium")
    if found is None or not found.submodule_search_locations:
        pytest.skip("gymnasium is not installed")
    path = Path(found.submodule_search_locations[0]) / "envs" / "mujoco" / "assets" / "humanoid.xml"
    spec = mujoco.MjSpec.from_file(str(path))
    for motor in list(spec.actuators):
        spec.delete(motor)
    for joint in spec.joints if servos else ():
        if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
            spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_position(kp=100.0, kv=5.0)
    spec.option.timestep = step
    return spec.compile()


def lie_down(model: Any, step: Any) -> np.ndarray:
    """qpos after 5 s from just above the floor, on its back: standing, it falls over, and not twice the same way."""
    data = mujoco.MjData(model)
    data.ctrl[:] = data.qpos[7:]
    data.qpos[2], data.qpos[3:7] = 0.2, [np.sqrt(0.5), 0.0, -np.sqrt(0.5), 0.0]
    step(model, data, round(5.0 / model.opt.timestep))
    return np.array(data.qpos)


@pytest.mark.slow
def test_a_held_humanoid_is_that_of_mujoco_at_a_fiftieth_of_the_step():
    """10 ms against 0.2 ms with contacts of 0.4 ms: within 1 cm and 1 degree."""
    found = lie_down(humanoid(0.01), pliant.mj_step)
    model = humanoid(2e-4)
    model.geom_solref[:] = model.jnt_solref[:] = [4e-4, 1.0]
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    expected = lie_down(model, mujoco.mj_step)
    turn = np.zeros(3)
    mujoco.mju_subQuat(turn, found[3:7], expected[3:7])
    assert np.abs(found[:3] - expected[:3]).max() < 0.01
    assert np.degrees(np.linalg.norm(turn)) < 1.0
    assert np.degrees(np.abs(found[7:] - expected[7:]).max()) < 1.0


@pytest.fixture(scope="module")
def lying() -> tuple[Any, float, float]:
    """A humanoid that has fallen on its side, and the factorizations of a step while it fell and while it lay."""
    model = humanoid(0.003, servos=False)
    data = mujoco.MjData(model)
    data.qpos[2], data.qpos[3:7] = 0.4, [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]
    pliant.mj_step(model, data, 500)
    falling = pliant.stats(data).factorizations
    pliant.mj_step(model, data, 500)
    return data, falling / 500, (pliant.stats(data).factorizations - falling) / 500


def test_a_humanoid_lies_still(lying):
    assert np.abs(lying[0].qvel).max() < 1e-9


def test_a_humanoid_that_falls_takes_few_factorizations(lying):
    """Contacts that creep lie on the rims of their cones: a step of Newton must not leave them."""
    assert lying[1] < 9


def test_a_humanoid_that_lies_takes_few_factorizations(lying):
    assert lying[2] < 5


def column(count: int) -> Any:
    """Stiff spheres a millimetre apart."""
    return mujoco.MjModel.from_xml_string(stack(count, 0.01))


@pytest.mark.xfail(reason="Newton starts from a velocity, not from the forces of the step before")
def test_a_column_that_lands_takes_few_factorizations():
    """Of a stiff contact that has just closed the force is known better than the depth."""
    model, materials = column(60), {"*": HARD}
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 55, materials=materials)
    assert data.nefc > 80  # else it goes another way
    before = pliant.stats(data).factorizations
    pliant.mj_step(model, data, 15, materials=materials)
    assert pliant.stats(data).factorizations - before < 15 * 8


def wall(across: int, high: int) -> Any:
    """Bricks in a bond, each on two: their contacts are redundant four times over."""
    bricks = "".join(
        body(
            'type="box" size=".1 .05 .05" mass="1" friction=".6"',
            f"{0.21 * (i + 0.5 * (k % 2))} 0 {0.0499 + 0.0998 * k}",
        )
        for k in range(high)
        for i in range(across)
    )
    return build(bricks, option='timestep="0.01"', floor=True)


@pytest.fixture(scope="module")
def standing() -> tuple[Any, int]:
    """A wall at rest, and the iterations of its last 20 steps."""
    model = wall(4, 4)
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 200)
    before = pliant.stats(data).iterations
    pliant.mj_step(model, data, 20)
    return data, pliant.stats(data).iterations - before


def test_a_wall_stands_still(standing):
    assert np.abs(standing[0].qvel).max() < 1e-6


@pytest.mark.xfail(reason="Newton starts from a velocity, not from the forces of the step before")
def test_a_wall_at_rest_takes_an_iteration_or_two(standing):
    assert standing[1] <= 50


def test_forces_alone_change_nothing_where_many_share_a_load():
    model = wall(4, 4)
    one, two = (mujoco.MjData(model) for _ in range(2))
    for _ in range(30):
        pliant.mj_step(model, one)
        pliant.mj_step(model, two)
        pliant.mj_forward(model, two)
    np.testing.assert_array_equal(one.qpos, two.qpos)
    np.testing.assert_array_equal(one.qvel, two.qvel)


def test_nothing_of_the_steps_before_is_remembered():
    """While a column lands and comes to rest, beside steps of new data in threads of their own."""
    model, materials = column(60), {"*": HARD}
    data = mujoco.MjData(model)
    for k in range(90):
        other = mujoco.MjData(model)
        mujoco.mj_copyState(model, data, other, mujoco.mjtState.mjSTATE_INTEGRATION)
        pliant.mj_step(model, data, materials=materials)
        if k % 5 == 0:
            thread = Thread(target=pliant.mj_step, args=(model, other), kwargs={"materials": materials})
            thread.start()
            thread.join()
            assert np.array_equal(data.qvel, other.qvel) and np.array_equal(data.efc_force, other.efc_force)
    assert data.nefc > 80
