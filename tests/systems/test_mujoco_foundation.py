"""Elastic foundations on geoms, beside a hand-written one and closed forms."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.studies.foundation_cube import DAMPING, DEPTH, GRAVITY, START_Q, START_V, Cube, Row, load_point
from pliant.systems.mujoco_stepper import stepper_of
from tests.support import distance
from tests.support.models import WEIGHT, build

CUBE = '<body pos="0 0 .5"><freejoint/><geom name="cube" type="box" size=".5 .5 .5" density="8" condim="1"/></body>'


@pytest.mark.parametrize("row", [Row(100, 5.0, 1e7), Row(900, 50.0, 1e7), Row(900, 5.0, 1e11)], ids=lambda r: r.name)
def test_the_cube_of_the_paper(row):
    """The same steps as the study that is written by hand: to the rounding of a height of 0.5 m."""
    model = build(CUBE, floor=True, option=f'timestep=".01" gravity="0 0 -{GRAVITY}"')
    data, by_hand = mujoco.MjData(model), Cube(row)
    layer = pliant.Foundation(row.modulus, DEPTH, elements=row.elements, side="-z", damping=DAMPING)
    q, v = np.array(START_Q), np.array(START_V)
    for k in range(40):
        R = data.xmat[1].reshape(3, 3) if k else np.eye(3)
        mujoco.mju_quat2Mat(R.reshape(-1), data.qpos[3:])
        push = np.array([0.0, 0.0, -row.load])
        data.qfrc_applied[:3], data.qfrc_applied[3:] = push, R.T @ np.cross(R @ load_point(0.01 * k), push)
        pliant.mj_step(model, data, materials={"cube": layer})
        q, v, _ = pliant.step(by_hand, 0.01 * k, q, v, 0.01)
        np.testing.assert_allclose(data.qpos[:3] - [0.0, 0.0, 0.5], q[:3], rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(data.qpos[3:], q[3:], rtol=0.0, atol=1e-14)


def pressed(shape: str, height: float, layer: pliant.Foundation, mass: float, other: str = "", **options: Any) -> Any:
    """A run in which a body comes to rest on the floor, or on what else there is."""
    model = build(
        f'{other}<body pos="0 0 {height}"><freejoint/><geom name="it" {shape} mass="{mass}"/></body>',
        floor=not other, option='timestep=".01"',
    )  # fmt: skip
    system = pliant.MujocoSystem(model, materials={"it": layer, **options})
    return pliant.simulate(system, system.q, system.v, duration=2.0, step=0.01)


def test_a_sphere_on_its_foundation():
    """Winkler: F = pi E R d^2 / depth, p = E / depth times how far each point is inside."""
    E, depth, R, mass = 1e6, 0.01, 0.05, 20.0
    run = pressed('size=".05"', 0.05, pliant.Foundation(E, depth, elements=20000), mass)
    pressure = run.pressure
    last = pressure[pressure["time"] == run.time[-1]]
    load = float(np.sum(last["pressure"] * last["area"]))
    assert load == pytest.approx(mass * WEIGHT, rel=1e-9)
    sunk = 0.05 - run.q[-1, 2]
    assert sunk == pytest.approx(np.sqrt(mass * WEIGHT * depth / (np.pi * E * R)), rel=1e-3)
    touches = run.contacts[run.contacts["time"] == run.time[-1]]
    r = np.hypot(touches["x"], touches["y"])
    shape = E / depth * (sunk - (R - np.sqrt(R**2 - r**2)))
    np.testing.assert_allclose(np.array(last["pressure"]), np.array(shape), atol=0.01 * float(shape.max()))


@pytest.mark.parametrize(
    ("shape", "height"),
    [
        ('type="box" size=".1 .1 .1"', 0.1),
        ('type="cylinder" size=".1 .1"', 0.1),
        ('type="capsule" size=".1 .1"', 0.2),
        ('type="mesh" mesh="tent"', 0.1),
    ],
)
def test_every_shape_stands_on_its_elements(shape, height):
    layer = pliant.Foundation(1e7, 0.01, elements=400, damping=100.0)
    mesh = '<asset><mesh name="tent" vertex=".1 .1 -.1 -.1 .1 -.1 -.1 -.1 -.1 .1 -.1 -.1 0 0 .1"/></asset>'
    world = f'<body pos="0 0 {height}"><freejoint/><geom name="it" {shape} mass="2"/></body>'
    model = build(world, floor=True, option='timestep=".01"', rest=mesh if "mesh" in shape else "")
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 300, materials={"it": layer})
    table = pliant.contacts(model, data)
    assert float(np.sum(table["fz"])) == pytest.approx(2.0 * WEIGHT, rel=1e-9) and (table["geom2"] == "it").all()
    assert np.abs(data.qvel).max() < 1e-9 and (table["element"] >= 0).all()
    assert data.qfrc_constraint[2] == pytest.approx(2.0 * WEIGHT, rel=1e-9)


OTHERS = {
    "box": '<geom name="under" type="box" size=".5 .5 .1" pos="0 0 -.1"/>',
    "sphere": '<geom name="under" size="5" pos="0 0 -5"/>',
    "capsule": '<geom name="under" type="capsule" size="1 1" euler="1.5707963 0 0" pos="0 0 -1"/>',
    "cylinder": '<geom name="under" type="cylinder" size="1 1" pos="0 0 -1"/>',
    "plane": '<geom name="under" type="plane" size="1 1 1"/>',
}


@pytest.mark.parametrize("other", OTHERS)
def test_every_shape_carries_elements(other):
    layer = pliant.Foundation(1e7, 0.01, elements=400, side="-z", damping=100.0)
    run = pressed('type="box" size=".1 .1 .1"', 0.1, layer, 2.0, OTHERS[other])
    last = run.contacts[run.contacts["time"] == run.time[-1]]
    assert float(np.sum(last["fz"])) == pytest.approx(2.0 * WEIGHT, rel=1e-9)
    assert set(last["geom1"]) == {"under"} and np.abs(run.v[-1]).max() < 1e-9


def test_two_layers_are_softer_than_one():
    layer = pliant.Foundation(1e7, 0.01, elements=100, side="-z")
    model = OTHERS["box"]
    one, two = (pressed('type="box" size=".1 .1 .1"', 0.1, layer, 2.0, model, **more) for more in
                ({}, {"under": pliant.Foundation(1e7, 0.03, elements=10)}))  # fmt: skip
    assert (0.1 - two.q[-1, 2]) / (0.1 - one.q[-1, 2]) == pytest.approx(4.0, rel=1e-6)


def test_elements_rub():
    """On a slope it sticks below the coefficient of the layer and slides above, as one body."""
    for friction, sticks in ((0.5, True), (0.1, False)):
        layer = pliant.Foundation(1e7, 0.01, elements=100, side="-z", friction=friction)
        model = build(
            '<geom type="plane" name="ground" size="9 9 1" friction=".01"/><body pos="0 0 .1"><freejoint/>'
            '<geom name="it" type="box" size=".1 .1 .1" mass="2"/></body>',
            option='timestep=".01" gravity="2.5391 0 -9.4757"',
        )
        data = mujoco.MjData(model)
        pliant.mj_step(model, data, 50, materials={"it": layer})
        settled = data.qpos[0]
        pliant.mj_step(model, data, 50, materials={"it": layer})
        state = set(pliant.contacts(model, data)["state"])
        # uphill, where little weight is, elements may carry all that they can while the body does not move
        assert ("STICK" in state) if sticks else (state == {"SLIP"})
        slide = 0.5 * (2.5391 - friction * 9.4757)
        if sticks:
            assert data.qpos[0] == pytest.approx(settled, abs=1e-12)
        else:
            assert data.qpos[0] == pytest.approx(slide, rel=0.02)


def test_what_elements_cannot_touch_is_said():
    ball = '<geom name="egg" type="ellipsoid" size=".5 .5 .1" pos="0 0 -.1"/>'
    with pytest.raises(pliant.InputError, match=r"geom 'egg' \(ellipsoid\): its elements touch planes, boxes"):
        pressed('type="box" size=".1 .1 .1"', 0.1, pliant.Foundation(1e7, 0.01, elements=9), 1.0, ball)
    with pytest.raises(pliant.InputError, match=r"geom 'it' \(ellipsoid\) takes no Foundation, which is for boxes"):
        pressed('type="ellipsoid" size=".1 .1 .1"', 0.1, pliant.Foundation(1e7, 0.01, elements=9), 1.0)


def test_maps_of_pressure(tmp_path):
    run = pressed('type="box" size=".1 .05 .1"', 0.1, pliant.Foundation(1e7, 0.01, elements=50, side="-z"), 2.0)
    run.plot_pressure(path=tmp_path / "a.png")
    run.plot_pressure(path=tmp_path / "b.svg", geom="it", time=0.5)
    assert (tmp_path / "a.png").stat().st_size > 5000 and (tmp_path / "b.svg").stat().st_size > 5000
    with pytest.raises(pliant.PliantError, match="geom 'no' has no pressure in this run; these have: it"):
        run.plot_pressure(path=tmp_path / "c.png", geom="no")
    with pytest.raises(pliant.PliantError, match="no pressure at 99 s; the nearest time is 2 s"):
        run.plot_pressure(path=tmp_path / "c.png", time=99.0)
    with pytest.raises(pliant.PliantError, match=r"cannot write the picture .*c\.foo"):
        run.plot_pressure(path=tmp_path / "c.foo")


def test_pressure_after_a_step():
    model = build(
        '<body pos="0 0 .1"><freejoint/><geom name="it" type="box" size=".1 .1 .1" mass="2"/></body>', floor=True
    )
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 1000, materials={"it": pliant.Foundation(1e7, 0.01, elements=25, side="-z")})
    table = pliant.pressure(model, data)
    assert float(np.sum(table["pressure"] * table["area"])) == pytest.approx(2.0 * WEIGHT, rel=1e-9)
    assert len(table) == 25 and set(table["geom"]) == {"it"}
    pliant.mj_step(model, data)  # of the default material
    assert len(pliant.pressure(model, data)) == 0 and len(pliant.contacts(model, data)) == data.ncon


TOUCHED: dict[str, Any] = {
    "plane": ('type="plane" size="1 1 1"', distance.plane),
    "sphere": ('size=".3"', lambda points: distance.sphere(points, 0.3)),
    "capsule": ('type="capsule" size=".3 .2"', lambda points: distance.capsule(points, 0.3, 0.2)),
    "cylinder": ('type="cylinder" size=".3 .2"', lambda points: distance.cylinder(points, 0.3, 0.2)),
    "box": ('type="box" size=".3 .2 .1"', lambda points: distance.box(points, np.array([0.3, 0.2, 0.1]))),
}


@pytest.mark.parametrize("name", TOUCHED)
def test_elements_are_as_deep_as_they_are_inside_the_other_geom(name):
    """Gaps and normals of the engine, by NumPy, in the frame of a geom that is turned."""
    shape, far = TOUCHED[name]
    world = f'<geom {shape} euler="10 20 30"/><body pos=".1 -.05 .1"><freejoint/><geom name="ball" size=".25"/></body>'
    model = build(world, option='gravity="0 0 0"')
    data = mujoco.MjData(model)
    pliant.mj_forward(model, data, materials={"ball": pliant.Foundation(1e5, 0.01, elements=400)})
    table = stepper_of(data).elements(np.zeros(model.nv))[1].reshape(-1, 26)
    R = data.geom_xmat[0].reshape(3, 3)
    gap, normal = far((table[:, 8:11] - data.geom_xpos[0]) @ R)
    assert np.count_nonzero(gap < 0.0) > 20
    np.testing.assert_allclose(table[:, 4], gap, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(table[:, 11:14], normal @ R.T, rtol=0.0, atol=1e-12)
