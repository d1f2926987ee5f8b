"""Materials of a model's geoms: indentations under a known load, friction, and how things bounce."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.hertz import hertz_stiffness
from pliant.readout import COLUMNS
from pliant.systems.mujoco_contacts import contact_rows
from pliant.systems.mujoco_laws import Laws
from tests.support.models import CONTACT, WEIGHT, body, build, start

MASS = 3.0
STEEL, RUBBER = pliant.Material(2e11, 0.3), pliant.Material(1e7, 0.49)
MODULUS = 2e11 / (2.0 * (1.0 - 0.3**2))  # E* of two of steel
BALL = f'name="ball" size=".1" mass="{MASS}"'


def sunk(world: str, materials: Any, height: float, **options: Any) -> float:
    """How far the first body is below the height at which it touches, at rest."""
    model = build(world, floor=True, option='timestep=".01"')
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 600, materials=materials, **options)
    assert np.abs(data.qvel).max() < 1e-12
    return height - float(data.xpos[1, 2])


def depth(force: float, stiffness: float) -> float:
    return float((force / stiffness) ** (2.0 / 3.0))


def test_a_ball_sinks_as_hertz_says():
    K = 4.0 / 3.0 * MODULUS * np.sqrt(0.1)
    assert sunk(body(BALL, "0 0 .1"), {"*": STEEL}, 0.1) == pytest.approx(depth(MASS * WEIGHT, K), rel=1e-6)


def test_the_modulus_is_that_of_the_pair():
    soft = 1.0 / (STEEL.compliance + RUBBER.compliance)
    K = 4.0 / 3.0 * soft * np.sqrt(0.1)
    materials = {"floor": STEEL, "ball": RUBBER}
    assert sunk(body(BALL, "0 0 .1"), materials, 0.1) == pytest.approx(depth(MASS * WEIGHT, K), rel=1e-6)


def test_what_is_not_named_is_the_default_material():
    mixed = 1.0 / (STEEL.compliance + pliant.DEFAULT_MATERIAL.compliance)
    K = 4.0 / 3.0 * mixed * np.sqrt(0.1)
    assert sunk(body(BALL, "0 0 .1"), {"ball": STEEL}, 0.1) == pytest.approx(depth(MASS * WEIGHT, K), rel=1e-6)
    assert sunk(body(BALL, "0 0 .1"), None, 0.1) == pytest.approx(MASS * WEIGHT / CONTACT, rel=1e-6)


SHAPES = {  # the geom, how high its centre is, k1 and k2 against a plane, contacts
    "capsule on its side": ('type="capsule" size=".1 .3" euler="1.5707963267948966 0 0"', 0.1, (10.0, 10.0), 2),
    "capsule on its end": ('type="capsule" size=".1 .3"', 0.4, (10.0, 10.0), 1),
    "ellipsoid": ('type="ellipsoid" size=".1 .3 .2"', 0.2, (0.2 / 0.1**2, 0.2 / 0.3**2), 1),
    "long ellipsoid": ('type="ellipsoid" size=".05 .5 .05"', 0.05, (20.0, 0.05 / 0.5**2), 1),
    "cylinder on its side": ('type="cylinder" size=".1 .3" euler="1.5707963267948966 0 0"', 0.1, (10.0, 0.01), 2),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_sink_by_their_curvatures(shape):
    geom, height, (k1, k2), contacts = SHAPES[shape]
    joint = '<joint type="slide" axis="0 0 1"/>'
    world = f'<body pos="0 0 {height}">{joint}<geom name="it" mass="{MASS}" {geom}/></body>'
    K = hertz_stiffness(MODULUS, k1, k2)
    expected = depth(MASS * WEIGHT / contacts, K)
    assert sunk(world, {"*": STEEL}, height) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("angle", [90.0, 60.0, 20.0])
def test_crossed_cylinders(angle):
    """Of equal radii: at 90 degrees as a sphere on a plane; else k = (1 -+ cos) / r."""
    low = f'<geom name="low" type="capsule" size=".1 .5" euler="{np.pi / 2} 0 0" pos="0 0 1"/>'
    tilt = f'<geom name="high" type="capsule" size=".1 .5" euler="{np.pi / 2} {np.radians(angle)} 0" mass="{MASS}"/>'
    world = f'{low}<body pos="0 0 1.2"><joint type="slide" axis="0 0 1"/>{tilt}</body>'
    c = np.cos(np.radians(angle))
    K = hertz_stiffness(MODULUS, (1.0 + c) / 0.1, (1.0 - c) / 0.1)
    assert sunk(world, {"low": STEEL, "high": STEEL}, 1.2) == pytest.approx(depth(MASS * WEIGHT, K), rel=1e-6)


FLAT = {  # the geom, its height, the radius of a punch
    "box": ('type="box" size=".1 .1 .1"', 0.1, np.sqrt(0.04 / np.pi) / 4.0),
    "flat box": ('type="box" size=".2 .1 .05"', 0.05, np.sqrt((0.08 + 0.04 + 0.02) / 3.0 / np.pi) / 4.0),
    "cylinder on its end": ('type="cylinder" size=".1 .3"', 0.3, 0.1 / 4.0),
}


@pytest.mark.parametrize("shape", FLAT)
@pytest.mark.parametrize("given", [None, 0.002])
def test_flats_are_punches(shape, given):
    geom, height, radius = FLAT[shape]
    world = f'<body pos="0 0 {height}"><freejoint/><geom name="it" mass="{MASS}" {geom}/></body>'
    model = build(world, floor=True)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    soft = pliant.Material(1e9, 0.3, contact_radius=given)
    K = 2.0 * (radius if given is None else given) / (2.0 * soft.compliance) * data.ncon
    assert sunk(world, {"*": soft}, height) == pytest.approx(MASS * WEIGHT / K, rel=1e-6)


def test_a_law_stands_above_a_material():
    materials = {"*": STEEL, "ball": pliant.Law(1e4)}
    assert sunk(body(BALL, "0 0 .1"), materials, 0.1) == pytest.approx(MASS * WEIGHT / 1e4, rel=1e-6)
    assert sunk(body(BALL, "0 0 .1"), {"ball": pliant.Law(1e4), "*": STEEL}, 0.1) < 1e-5  # the later one holds


def test_the_later_key_holds_alone():
    """A law after a foundation, after a material that bounces and rubs; and a name with a colon in it."""
    layer = pliant.Foundation(1e6, 0.01, elements=50, friction=0.9)
    bouncy = pliant.Material(1e9, restitution=0.9, friction=0.9)
    for first in (layer, bouncy):
        materials = {"*": first, "geom:*": pliant.Law(1e4)}
        assert sunk(body(BALL, "0 0 .1"), materials, 0.1) == pytest.approx(MASS * WEIGHT / 5e3, rel=1e-6)
        laws = Laws(build(body(BALL, "0 0 .1"), floor=True), materials, "materials")
        restitution = laws.material[:, 4]
        assert not restitution.any() and not laws.foundation and not laws.friction
    named = body(BALL.replace("ball", "left:ball"), "0 0 .1")
    assert sunk(named, {"left:ball": pliant.Law(1e4)}, 0.1) == pytest.approx(MASS * WEIGHT / 1e4, rel=1e-6)


def test_damping_is_shared_as_what_gives_way_is():
    hard, soft = pliant.Material(1e11, 0.0, damping=7.0, dissipation=1.0), pliant.Material(1e10, 0.0, damping=18.0)
    model = build(body(BALL, "0 0 .1"), floor=True)
    system = pliant.MujocoSystem(model, materials={"floor": hard, "ball": soft})
    law = system.problem(0.0, system.q, system.v, model.opt.timestep).constraints[0].law
    assert law.damping == pytest.approx(7.0 / 11.0 + 180.0 / 11.0, rel=1e-12)
    assert law.dissipation == pytest.approx(1.0 / 11.0, rel=1e-12)


def test_friction_is_the_models_unless_given():
    world = body(BALL + ' friction=".7" condim="3"', "0 0 .1")
    model = build(world + '<geom type="plane" name="ground" size="1 1 1" friction=".2"/>')
    for friction, expected in ((None, 0.7), (0.3, 0.3), (0.0, 0.2), (0.9, 0.9)):
        data = mujoco.MjData(model)
        pliant.mj_step(model, data, materials={"ball": pliant.Material(1e9, friction=friction)})
        assert data.contact.friction[0, 0] == expected
    assert model.geom_friction[model.geom("ball").id, 0] == 0.7
    pliant.mj_step(model, data)
    assert data.contact.friction[0, 0] == 0.7
    model.geom_friction[:, 0] = 0.4
    pliant.mj_step(model, data, materials={"ball": pliant.Material(1e9, friction=0.6)})
    assert data.contact.friction[0, 0] == 0.6


def test_joints_take_laws():
    model = build(body(BALL, "0 0 .1") + '<body><joint name="knee" range="0 1"/><geom size=".01"/></body>')
    with pytest.raises(pliant.InputError, match=r"a joint takes a pliant\.Law, not a Material"):
        pliant.mj_step(model, mujoco.MjData(model), materials={"knee": STEEL})


def test_steps_with_materials_are_the_same_in_one_call_or_many():
    """To the bit: capsules, ellipsoids and boxes that fall onto each other."""
    shapes = ('type="capsule" size=".05 .1"', 'type="ellipsoid" size=".1 .05 .07"', 'type="box" size=".06 .07 .05"')
    world = "".join(
        f'<body pos="{0.02 * i} {0.01 * i} {0.2 + 0.25 * i}" euler="{0.4 * i} 0.5 0"><freejoint/><geom {shape}/></body>'
        for i, shape in enumerate(shapes)
    )
    model = build(world, floor=True, option='timestep=".005"')
    materials = {"floor": STEEL, "body:*": pliant.Material(1e8, 0.4, dissipation=0.5, friction=0.5)}
    one, two = mujoco.MjData(model), mujoco.MjData(model)
    pliant.mj_step(model, one, 100, materials=materials)
    for _ in range(100):
        pliant.mj_step(model, two, materials=dict(materials))
    np.testing.assert_array_equal(one.qpos, two.qpos)
    np.testing.assert_array_equal(one.qvel, two.qvel)
    plain = mujoco.MjData(model)
    pliant.mj_step(model, plain, 100)
    assert not np.array_equal(plain.qpos, one.qpos)


def drop(height: float, material: pliant.Material, steps: int, h: float = 0.01) -> tuple[Any, np.ndarray]:
    """A ball from rest; its heights above the floor."""
    model = build(body(BALL, f"0 0 {0.1 + height}"), floor=True, option=f'timestep="{h}"')
    data = mujoco.MjData(model)
    heights = [height]
    for _ in range(steps):
        pliant.mj_step(model, data, materials={"*": material})
        heights.append(float(data.qpos[2]) - 0.1)
    return data, np.array(heights)


def tops(heights: np.ndarray) -> np.ndarray:
    """The highest points after each bounce."""
    up = (heights[1:-1] > heights[:-2]) & (heights[1:-1] >= heights[2:])
    return heights[1:-1][up]


@pytest.mark.parametrize("modulus", [1e8, 2e11])
@pytest.mark.parametrize("e", [0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("height", [0.3, 1.0, 1.37])
def test_a_ball_comes_back_to_e_squared_of_its_height(height, e, modulus):
    _, heights = drop(height, pliant.Material(modulus, restitution=e), 250)
    assert tops(heights)[0] == pytest.approx(e**2 * height, rel=0.02)
    assert heights[1:].max() < height * (1.0 + 1e-12)


def test_a_ball_comes_to_rest():
    data, heights = drop(0.5, pliant.Material(2e11, restitution=0.7), 800)
    assert np.abs(data.qvel).max() < 1e-12
    assert (np.diff(tops(heights)) <= 1e-12).all()


def test_without_restitution_impacts_are_dead():
    _, heights = drop(0.5, pliant.Material(2e11), 200)
    assert heights[40:].max() < 1e-6


def test_slow_impacts_are_dead():
    for least, bounces in ((1.0, True), (3.0, False)):
        _, heights = drop(0.2, pliant.Material(2e11, restitution=0.8, restitution_speed=least), 60)
        assert (heights[25:].max() > 0.05) == bounces  # it meets the floor at 2 m/s


def test_a_resolved_impact_needs_no_restitution():
    """Elastic at small h: the spring gives back what it took, up to the damping of the scheme."""
    model = build(body(BALL, "0 0 .1001"), floor=True, option='timestep="1e-6" gravity="0 0 0"')
    data = start(model, [0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    pliant.mj_step(model, data, 4000, materials={"*": pliant.Material(1e9)})
    assert 0.99 < data.qvel[2] < 1.0


def tumble(seed: int, e: float, friction: float) -> np.ndarray:
    """A box dropped at any angle, 2 s: its energy as the scheme keeps it in free fall, over that of the start."""
    quat = " ".join(map(str, np.random.default_rng(seed).standard_normal(4)))
    geom = f'type="box" size=".1 .15 .2" mass="2" friction="{friction}" condim="3"'
    floor = f'<geom type="plane" size="2 2 1" friction="{friction}"/>'
    model = build(f'{floor}<body pos="0 0 1" quat="{quat}"><freejoint/><geom {geom}/></body>', option='timestep=".01"')
    data, found = mujoco.MjData(model), []
    for _ in range(200):
        pliant.mj_step(model, data, materials={"*": pliant.Material.of("steel", restitution=e)})
        v, w = data.qvel[:3], data.qvel[3:]
        motion = v @ v + 0.5 * model.body_inertia[1] @ w**2
        found.append(motion + 2.0 * WEIGHT * (data.qpos[2] - 0.005 * v[2]))
    return np.array(found) / found[0]


@pytest.mark.parametrize("seed", range(5))
def test_a_tumbling_box_keeps_its_energy_at_e_1(seed):
    np.testing.assert_allclose(tumble(seed, 1.0, 0.0), 1.0, rtol=1e-8)


def test_more_restitution_leaves_more_energy():
    """Also with friction, where bounces that would add energy are taken with less restitution."""
    for friction in (0.0, 0.5):
        runs = [np.array([tumble(seed, e, friction) for seed in range(6)]) for e in (0.6, 0.8, 1.0)]
        assert all(np.diff(run, axis=1).max() < 1e-4 for run in runs)
        left = [float(np.median(run[:, -1])) for run in runs]
        assert left == sorted(left) and left[-1] > 0.7


@pytest.mark.parametrize("seed", range(6))
def test_bouncing_bodies_gain_no_energy(seed):
    """Boxes and balls thrown about, with friction and spin. What rolls at 20 rad/s gains 2e-5 of all in a step."""
    rng = np.random.default_rng(seed)
    shapes = ('type="box" size=".1 .08 .06"', 'size=".1"', 'type="capsule" size=".05 .1"')
    world = "".join(
        f'<body pos="{0.3 * i} 0 {0.4 + 0.3 * (i % 2)}"><freejoint/><geom {shapes[i % 3]} mass="1"/></body>'
        for i in range(4)
    )
    model = build(world, floor=True, option='timestep=".005"')
    data = start(model, rng.normal(0.0, 2.0, model.nv))
    materials = {"*": pliant.Material(1e10, restitution=1.0), "body:*": pliant.Material(1e10, restitution=0.9)}

    def energy() -> float:
        """v^2/2 + g x - g h v/2, which free fall keeps."""
        mujoco.mj_forward(model, data)
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        lag = 0.5 * model.opt.timestep * WEIGHT * sum(data.qvel[6 * i + 2] for i in range(4))
        return float(data.energy.sum() - lag)

    first = before = energy()
    for _ in range(200):
        pliant.mj_step(model, data, materials=materials)
        now = energy()
        assert now <= before * (1.0 + 1e-4) and now <= first * (1.0 + 1e-9)
        before = now


def test_a_model_that_names_its_materials():
    text = '<custom><text name="pliant" data="{floor: steel, ball: steel}"/></custom>'
    model = build(body(BALL, "0 0 .1"), floor=True, option='timestep=".01"', rest=text)
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 600)
    K = 4.0 / 3.0 * MODULUS * np.sqrt(0.1)
    assert 0.1 - data.qpos[2] == pytest.approx(depth(MASS * WEIGHT, K), rel=1e-6)
    wrong = build(body(BALL, "0 0 .1"), rest=text.replace("steel}", "stel}"))
    with pytest.raises(pliant.FileError, match=r'<text name="pliant"> of the model, line 1: .*stel'):
        pliant.mj_step(wrong, mujoco.MjData(wrong))


@pytest.mark.parametrize("name", ["humanoid", "ant", "half_cheetah", "hopper", "walker2d"])
def test_walkers_stand_on_the_default_material(name):
    """Gymnasium's, without controls: they come down, are pressed in by less than a millimetre at the worst impact, and
    the ground carries their weight."""
    gymnasium = pytest.importorskip("gymnasium")
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    model = mujoco.MjModel.from_xml_path(str(assets / f"{name}.xml"))
    data, deepest, carried = mujoco.MjData(model), 0.0, []
    depths, across, floor = (COLUMNS.index(column) for column in ("penetration", "fz", "geom1"))
    for _ in range(2000):
        pliant.mj_step(model, data)
        rows = contact_rows(model, data, data.qvel)
        deepest = max(deepest, rows[:, depths].max(initial=0.0))
        carried.append(rows[rows[:, floor] == model.geom("floor").id, across].sum())
    weight = -model.opt.gravity[2] * model.body_subtreemass[0]
    assert deepest < 1e-3 and np.mean(carried[-1000:]) == pytest.approx(weight, rel=0.06)
    assert pliant.stats(data).statuses[pliant.Status.ITERATION_LIMIT] == 0
