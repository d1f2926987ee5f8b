"""What a step leaves in MjData: MuJoCo's own numbers where nothing pushes, our forces where something does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import pytest
from mujoco.introspect import structs

import pliant
from tests.support.models import SHAKES, ZOO, body, build, everything, hinge, shake, slider, start

LAYOUTS = [f'cone="{cone}" jacobian="{jac}"' for cone in ("pyramidal", "elliptic") for jac in ("dense", "sparse")]
# What the solver of either leaves of its own work, and memory.
OWN = {"qacc_warmstart", "solver", "solver_niter", "solver_nnz", "solver_fwdinv", "timer", "maxuse_stack",
       "maxuse_arena", "maxuse_con", "maxuse_efc", "arena", "buffer", "threadpool", "threadlock", "pstack", "pbase",
       "parena", "plugin_data", "warning", "narena"}  # fmt: skip


def names() -> list[str]:
    return [field.name for field in structs.STRUCTS["mjData"].fields if field.name not in OWN]


def compare(ours: Any, theirs: Any, tolerance: float) -> int:
    """Every field of the two; returns how many have numbers in them."""
    seen = 0
    for name in names():
        if not hasattr(theirs, name):
            continue
        found, expected = getattr(ours, name), getattr(theirs, name)
        if isinstance(expected, int | float | np.ndarray):
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=name)
            seen += bool(np.any(np.asarray(expected) != 0))
    return seen


FREE = {
    "falling": lambda: build(body('size=".1"', "0 0 3") + body('size=".2"', "1 0 3")),
    "arm": lambda: build(
        f"""<body>{hinge("a")}<geom type="capsule" size=".02" fromto="0 0 0 .4 0 0"/><site name="s"/><body pos=".4 0 0">
        {hinge("b", "0 0 1")}<geom type="capsule" size=".02" fromto="0 0 0 0 .4 0"/><site name="t" pos="0 .4 0"/>
        <camera pos="0 0 1"/><light/></body></body><site name="u" pos="0 0 1"/>""",
        rest="""<tendon><spatial name="rope"><site site="u"/><site site="t"/></spatial></tendon><actuator>
        <motor name="m" joint="a" gear="3"/><motor tendon="rope"/>
        <general joint="b" dyntype="filter" dynprm=".1" gainprm="2"/>
        </actuator><sensor><accelerometer site="t"/><gyro site="t"/><force site="s"/><torque site="s"/>
        <tendonpos tendon="rope"/>
        <framelinvel objtype="site" objname="t"/><subtreeangmom body="world"/><actuatorfrc actuator="m"/>
        <clock/></sensor>""",
        flags='energy="enable" contact="disable"',
    ),
    "ball": lambda: build(  # which is balanced: what inertia does within a step is another matter
        """<body pos="0 0 1"><joint name="j" type="ball"/><geom size=".2"/></body>
        <body mocap="true" pos="3 0 0"><geom size=".1"/></body>""",
        rest='<sensor><ballquat joint="j"/><ballangvel joint="j"/></sensor>',
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", ["mj_step", "mj_forward", "mj_step1"])
@pytest.mark.parametrize("name", FREE)
def test_where_nothing_pushes_every_field_is_that_of_mujoco(name, call):
    """With Euler, no active constraint, damping or servo."""
    model = FREE[name]()
    ours, theirs = start(model), start(model)
    for data in (ours, theirs):
        data.qvel[:] = np.linspace(-1.0, 1.0, model.nv)
        data.ctrl[:] = 0.3
        data.xfrc_applied[1] = [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]
        if name == "falling":
            data.qvel[3:6] = data.qvel[9:] = 0.7
    for _ in range(20):
        pliant.mj_step(model, ours)
        mujoco.mj_step(model, theirs)
    if call != "mj_step":
        getattr(pliant, call)(model, ours)
        getattr(mujoco, call)(model, theirs)
    assert ours.qpos.any() and compare(ours, theirs, 1e-12) > 20


def stepped(name: str, layout: str, seed: int = 0, steps: int = 3) -> Iterator[tuple[Any, Any, Any, Any]]:
    """(model, data, velocity before, a copy of the data before) of some steps with rows."""
    model = ZOO[name](option=layout)
    data = start(model)
    shake(model, data, seed, size=SHAKES[name])
    some = False
    for _ in range(steps):
        before = mujoco.MjData(model)
        mujoco.mj_copyData(before, model, data)
        pliant.mj_step(model, data)
        some = some or data.efc_force.any()
        yield model, data, before.qvel.copy(), before
    assert some


def close(found: Any, expected: Any, size: float | None = None, tolerance: float = 1e-9) -> None:
    scale = np.abs(expected).max(initial=0.0) if size is None else size
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * max(scale, 1e-3))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ZOO)
def test_accelerations_and_forces_belong_together(name, layout):
    for model, data, v0, _ in stepped(name, layout):
        h = model.opt.timestep
        close(data.qacc, (data.qvel - v0) / h)
        inertia = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, inertia)
        size = float(np.abs(inertia @ data.qacc).max() + np.abs(data.qfrc_constraint).max())
        close(inertia @ data.qacc, data.qfrc_smooth + data.qfrc_constraint, size)
        close(
            data.qfrc_smooth,
            data.qfrc_passive - data.qfrc_bias + data.qfrc_applied + data.qfrc_actuator,
            float(np.abs(data.qfrc_bias).max()),
        )
        pushed = np.zeros(model.nv)
        mujoco.mj_mulJacTVec(model, data, pushed, data.efc_force)
        close(data.qfrc_constraint, pushed)
        smooth = np.zeros((1, model.nv))
        mujoco.mj_solveM(model, data, smooth, data.qfrc_smooth[None])
        close(data.qacc_smooth, smooth[0])
        assert data.qacc_warmstart.tobytes() == data.qacc.tobytes()


@pytest.mark.parametrize("name", ZOO)
def test_every_layout_holds_the_same_forces(name):
    """Cones and storage are the user's; the forces are not theirs to change."""
    runs = [[(data.qfrc_constraint.copy(), data.qvel.copy()) for _, data, _, _ in stepped(name, layout)]
            for layout in LAYOUTS]  # fmt: skip
    for run in runs[1:]:
        for (force, v), (expected, w) in zip(run, runs[0], strict=True):
            close(force, expected)
            close(v, w)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["dropped", "everything"])
def test_contact_forces_add_up(name, layout):
    """mj_contactForce of all contacts, through mj_jac, is what they push with; they obey their cones."""
    for model, data, _, _ in stepped(name, layout):
        total = np.zeros(model.nv)
        for c, contact in enumerate(data.contact):
            force = np.zeros(6)
            mujoco.mj_contactForce(model, data, c, force)
            assert force[0] >= 0.0 and not force[contact.dim :].any()
            cone = np.linalg.norm(force[1 : contact.dim] / contact.friction[: contact.dim - 1])
            assert cone <= force[0] * (1.0 + 1e-9)
            frame = contact.frame.reshape(3, 3)
            for sign, geom in ((-1.0, contact.geom1), (1.0, contact.geom2)):
                jacp, jacr = np.zeros((3, model.nv)), np.zeros((3, model.nv))
                mujoco.mj_jac(model, data, jacp, jacr, contact.pos, model.geom_bodyid[geom])
                total += sign * (jacp.T @ (frame.T @ force[:3]) + jacr.T @ (frame.T @ force[3:]))
        rows = np.isin(data.efc_type, [5, 6, 7])
        pushed = np.zeros(model.nv)
        mujoco.mj_mulJacTVec(model, data, pushed, np.where(rows, data.efc_force, 0.0))
        close(total, pushed)
        states = (data.efc_force != 0.0) <= (data.efc_state != 0)
        assert states.all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_body_forces_and_sensors_see_our_forces(layout):
    """After a forward, against MuJoCo's own mj_rnePostConstraint and mj_sensorAcc on the data, and by hand."""
    model = everything(option=layout)
    data = start(model)
    shake(model, data, 3, size=SHAKES["everything"])
    pliant.mj_step(model, data, 5)
    pliant.mj_forward(model, data)
    seen = data.sensordata.copy()
    mujoco.mj_rnePostConstraint(model, data)
    mujoco.mj_sensorAcc(model, data)
    close(seen, data.sensordata, tolerance=1e-12)
    assert data.cfrc_ext.any()
    # cfrc_ext: torque and force about the centre of mass of the tree, from contacts alone here.
    total = np.zeros(3)
    for c in range(data.ncon):
        force = np.zeros(6)
        mujoco.mj_contactForce(model, data, c, force)
        pair = model.body_weldid[model.geom_bodyid[data.contact.geom[c]]]
        total += (float(pair[1] != 0) - float(pair[0] != 0)) * (data.contact.frame[c].reshape(3, 3).T @ force[:3])
    close(data.cfrc_ext[1:, 3:].sum(axis=0), total)
    sole = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, "sole0")
    touch = 0.0
    for c in range(data.ncon):
        if model.site_bodyid[sole] in model.geom_bodyid[data.contact.geom[c]]:
            force = np.zeros(6)
            mujoco.mj_contactForce(model, data, c, force)
            near = np.linalg.norm(data.contact.pos[c] - data.site_xpos[sole]) < model.site_size[sole, 0]
            touch += force[0] * near
    close(data.sensordata[0], touch)


def test_an_accelerometer_at_rest_shows_gravity():
    model = build(body('type="box" size=".1 .1 .1" mass="2"', "0 0 .1", more='<site name="s" size=".2"/>'), floor=True,
                  rest='<sensor><accelerometer site="s"/><touch site="s"/></sensor>')  # fmt: skip
    data = start(model)
    pliant.mj_step(model, data, 300)
    np.testing.assert_allclose(data.sensordata, [0.0, 0.0, 9.81, 2 * 9.81], atol=1e-9)


def test_force_and_torque_sensors_carry_what_is_welded_on():
    """A cantilever that a weld holds up: weight, and weight times lever, but for the tilt of the weld of 1e-6."""
    world = """<body name="arm" pos="0 0 1"><freejoint/><geom type="box" size=".01 .01 .01" mass="1e-6"/>
      <body pos="0 0 0"><site name="s"/><geom type="box" size=".05 .05 .05" pos=".5 0 0" mass="3"/></body></body>"""
    model = build(world, rest="""<equality><weld body1="arm"/></equality>
      <sensor><force site="s"/><torque site="s"/></sensor>""")  # fmt: skip
    data = start(model)
    pliant.mj_step(model, data, 500)
    np.testing.assert_allclose(data.sensordata, [0.0, 0.0, 3 * 9.81, 0.0, -1.5 * 9.81, 0.0], atol=1e-4)


def test_servos_and_dampers_show_in_their_fields():
    joint = slider("x", more='damping="30" stiffness="200"')
    model = build(body('size=".1" mass="1"', joint=joint), option='timestep=".02"',
                  rest='<actuator><position joint="x" kp="1e4" kv="50" gear="2"/></actuator>')  # fmt: skip
    data = start(model, [0.5], [0.3])
    data.ctrl[0] = 0.1
    for _ in range(5):
        pliant.mj_step(model, data)
        # All at the end of the step.
        x, v = data.qpos[0], data.qvel[0]
        close(data.qfrc_spring, [-200.0 * x])
        close(data.qfrc_damper, [-30.0 * v])
        close(data.qfrc_passive, data.qfrc_spring + data.qfrc_damper)
        close(data.actuator_force, [1e4 * (0.1 - 2.0 * x) - 50.0 * 2.0 * v])
        close(data.qfrc_actuator, 2.0 * data.actuator_force)
        close(data.qacc, data.qfrc_passive + data.qfrc_actuator)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_that_push_before_their_margin_are_there(layout):
    """A ball that lands within the step has a contact and a row with the force that stops it."""
    model = build(body('size=".1" mass="1"', "0 0 .3"), floor=True, option=f'timestep=".05" {layout}')
    data = start(model, [0.0, 0.0, -10.0, 0.0, 0.0, 0.0])
    pliant.mj_step(model, data)
    assert data.ncon == 1 and data.contact.efc_address[0] == 0 and data.contact.dist[0] == pytest.approx(0.2)
    force = np.zeros(6)
    mujoco.mj_contactForce(model, data, 0, force)
    close(force[0], (data.qvel[2] + 10.0) / 0.05 + 9.81)


def test_no_row_is_left_of_what_does_not_push():
    model = build(body('size=".1" mass="1"', "0 0 .5"), floor=True, option='timestep=".05"')
    data = start(model, [0.0, 0.0, -5.0, 0.0, 0.0, 0.0])
    pliant.mj_step(model, data)
    assert data.ncon == 0 and data.nefc == 0 and not data.qfrc_constraint.any()
