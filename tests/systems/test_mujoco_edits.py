"""What the user changes in a model counts at once, a step changes nothing in it, and nothing is kept of the gone."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from tests.support.models import SHAKES, ZOO, body, build, everything, shake, start


@pytest.fixture(autouse=True)
def _no_callbacks() -> Iterator[None]:
    """None are left behind."""
    yield
    mujoco.set_mjcb_control(None)


def image(model: Any) -> bytes:
    buffer = np.zeros(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


@pytest.mark.parametrize("callback", [False, True])
@pytest.mark.parametrize("name", ZOO)
def test_the_model_is_not_changed(name, callback):
    """Nor where a callback is set, which is called with the user's own model."""
    model = ZOO[name]()
    before = image(model)
    seen: list[bytes] = []
    if callback:
        mujoco.set_mjcb_control(lambda model, data: seen.append(image(model)))
    data = start(model)
    shake(model, data, 2, size=SHAKES[name])
    pliant.mj_step(model, data, 10, materials={"*": pliant.Law(1e6)} if name == "dropped" else None)
    pliant.mj_forward(model, data, compliance="model")
    pliant.mj_step1(model, data)
    pliant.mj_step2(model, data)
    assert image(model) == before and set(seen) == ({before} if callback else set())


def set_mass(model: Any) -> None:
    model.body_mass[:] *= 2.0
    model.body_inertia[:] *= 2.0
    mujoco.mj_setConst(model, mujoco.MjData(model))


def move_geom(model: Any) -> None:
    for i in range(4):
        model.geom(f"foot{i}").pos[2] -= 0.03


def turn_off(name: str) -> Any:
    def change(model: Any) -> None:
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")

    return change


def write(name: str, value: Any) -> Any:
    def change(model: Any) -> None:
        getattr(model, name)[:] = value

    return change


def scale(name: str, factor: float) -> Any:
    def change(model: Any) -> None:
        getattr(model, name)[:] *= factor

    return change


def option(name: str, value: Any) -> Any:
    def change(model: Any) -> None:
        if isinstance(value, list):
            getattr(model.opt, name)[:] = value
        else:
            setattr(model.opt, name, value)

    return change


EDITS = {
    "mass": set_mass,
    "friction": write("geom_friction", 0.01),
    "gravity": option("gravity", [1.0, 0.0, -5.0]),
    "timestep": option("timestep", 0.004),
    "viscosity": option("viscosity", 5.0),
    "gains": scale("actuator_gainprm", 0.1),
    "bias": scale("actuator_biasprm", 0.1),
    "force ranges": write("actuator_forcerange", [-0.1, 0.1]),
    "gear": scale("actuator_gear", 3.0),
    "margins": write("geom_margin", 0.01),
    "limits": write("jnt_range", [-0.001, 0.001]),
    "limits off": write("jnt_limited", 0),
    "contacts off": turn_off("CONTACT"),
    "limits disabled": turn_off("LIMIT"),
    "springs off": turn_off("SPRING"),
    "solref of limits": write("jnt_solref", [-10.0, -1.0]),
    "solref of equalities": write("eq_solref", [-1.0, -0.1]),
    "damping": scale("dof_damping", 20.0),
    "stiffness": write("jnt_stiffness", 50.0),
    "dry friction": write("dof_frictionloss", 0.5),
    "armature": write("dof_armature", 0.1),
    "tendon": scale("tendon_stiffness", 100.0),
    "geom size": scale("geom_size", 1.05),
    "geom position": move_geom,
    "contact types": write("geom_contype", 0),
    "condim": write("geom_condim", 1),
    "cone": option("cone", mujoco.mjtCone.mjCONE_ELLIPTIC),
}


def prepared() -> tuple[Any, Any]:
    model = everything()
    data = start(model)
    shake(model, data, 4, size=SHAKES["everything"], speed=0.5)
    data.qpos[[8, 10]] = 0.011  # knees, just beyond their limits
    return model, data


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_counts_from_the_next_step_on(edit):
    """As it would for a model that was edited before any step; and it does make a difference."""
    model, data = prepared()
    pliant.mj_step(model, data, 3)
    fresh_model, fresh = prepared()
    pliant.mj_step(fresh_model, fresh, 3)
    plain_model, plain = prepared()
    pliant.mj_step(plain_model, plain, 3)
    EDITS[edit](model)
    EDITS[edit](fresh_model)
    fresh_model = copy.copy(fresh_model)  # one that pliant has not seen
    again = mujoco.MjData(fresh_model)
    size = mujoco.mj_stateSize(fresh_model, mujoco.mjtState.mjSTATE_INTEGRATION)
    kept = np.zeros(size)
    mujoco.mj_getState(fresh_model, fresh, kept, mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_setState(fresh_model, again, kept, mujoco.mjtState.mjSTATE_INTEGRATION)
    pliant.mj_step(model, data, 20)
    pliant.mj_step(fresh_model, again, 20)
    pliant.mj_step(plain_model, plain, 20)
    np.testing.assert_array_equal(data.qpos, again.qpos)
    np.testing.assert_array_equal(data.efc_force, again.efc_force)
    if edit == "cone":
        assert len(data.efc_force) != len(plain.efc_force)
    else:
        assert not np.array_equal(data.qpos, plain.qpos)


BLOCK = """
<mujoco>
  <asset>
    <mesh name="block" vertex="-.1 -.1 -.1 -.1 -.1 .1 -.1 .1 -.1 -.1 .1 .1 .1 -.1 -.1 .1 -.1 .1 .1 .1 -.1 .1 .1 .1"/>
  </asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body pos="0 0 0.1"><freejoint/><geom type="mesh" mesh="block"/></body>
  </worldbody>
</mujoco>"""


def test_an_edit_of_a_mesh_counts_from_the_next_step_on():
    model = mujoco.MjModel.from_xml_string(BLOCK)
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 500)
    assert data.qpos[2] == pytest.approx(0.1, abs=1e-6)
    model.mesh_vert[:, 2] *= 1.5
    pliant.mj_step(model, data, 500)
    assert data.qpos[2] == pytest.approx(0.15, abs=1e-6)


FIELD = """<mujoco><option timestep="0.01"/><asset><hfield name="f" nrow="5" ncol="5" size="1 1 1 0.1"/></asset>
  <worldbody><geom type="hfield" hfield="f"/>
  <body pos="0 0 0.2"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""


def test_an_edit_of_a_height_field_counts_from_the_next_step_on():
    model = mujoco.MjModel.from_xml_string(FIELD)
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 200)
    assert data.qpos[2] == pytest.approx(0.1, abs=1e-6)
    model.hfield_data[:] = -0.05  # it sinks: what is raised would begin inside
    pliant.mj_step(model, data, 200)
    assert data.qpos[2] == pytest.approx(0.05, abs=1e-6)


def test_a_layer_grows_with_its_geom():
    """Elements of a foundation are sampled from the geom as it is."""
    model = build(body('name="it" type="box" size=".1 .1 .1" mass="2"', "0 0 .1"), floor=True)
    data, layer = mujoco.MjData(model), pliant.Foundation(1e7, 0.01, elements=25, side="-z", damping=100.0)
    pliant.mj_step(model, data, 500, materials={"it": layer})
    sunk = 0.1 - data.qpos[2]
    assert 0.0 < sunk < 1e-4
    model.geom("it").size[2] = 0.15
    data.qpos[2] += 0.05
    pliant.mj_step(model, data, 500, materials={"it": layer})
    assert 0.15 - data.qpos[2] == pytest.approx(sunk, abs=1e-9)
    model.geom("it").size[:2] = 0.2  # four times the area
    pliant.mj_step(model, data, 500, materials={"it": layer})
    assert 0.15 - data.qpos[2] == pytest.approx(sunk / 4, rel=1e-6)


def test_materials_that_are_changed_in_place_count_from_the_next_step_on():
    model = build(body('name="ball" size=".1" mass="1"', "0 0 .1"), floor=True, option='timestep=".01"')
    data, materials = mujoco.MjData(model), {"*": pliant.Law(2e4)}
    for stiffness in (1e4, 5e3):
        materials["*"] = pliant.Law(2 * stiffness)  # two in series
        pliant.mj_step(model, data, 1000, materials=materials)
        assert 0.1 - data.qpos[2] == pytest.approx(9.81 / stiffness, rel=1e-6)


def test_an_edit_counts_where_callbacks_are_set():
    model = build(body('size=".1" mass="1"'), option='gravity="0 0 -1"')
    data, seen = start(model), []

    def control(model: Any, data: Any) -> None:
        seen.append(float(model.opt.gravity[2]))

    mujoco.set_mjcb_control(control)
    pliant.mj_step(model, data)
    model.opt.gravity[2] = -2.0
    pliant.mj_step(model, data)
    assert data.qacc[2] == pytest.approx(-2.0) and seen == [-1.0, -2.0] and model.opt.gravity[2] == -2.0


@pytest.mark.parametrize("step", [mujoco.mj_step, pliant.mj_step], ids=["mujoco", "pliant"])
def test_an_edit_by_a_callback_counts_from_the_next_step_on(step):
    model = build(body('size=".1" mass="1"'), option='gravity="0 0 -1"')
    data = start(model)

    def control(model: Any, data: Any) -> None:
        model.opt.gravity[2] -= 1.0

    mujoco.set_mjcb_control(control)
    for k in range(3):
        step(model, data)
        assert data.qacc[2] == pytest.approx(-1.0 - k) and model.opt.gravity[2] == -2.0 - k


def test_an_edit_that_is_taken_back_is_taken_back():
    model, data = prepared()
    plain_model, plain = prepared()
    pliant.mj_step(model, start(model))
    model.geom_friction[:] *= 0.1
    pliant.mj_step(model, start(model))
    model.geom_friction[:] *= 10.0
    model.geom_friction[:] = plain_model.geom_friction
    pliant.mj_step(model, data, 3)
    pliant.mj_step(plain_model, plain, 3)
    np.testing.assert_array_equal(data.qpos, plain.qpos)


def test_model_and_data_die_when_they_are_let_go():
    model = everything()
    data = start(model)
    pliant.mj_step(model, data, 2)
    pliant.mj_step(model, data, materials={"floor": pliant.Law(1e6)})
    pliant.stats(data)
    gone = weakref.ref(model), weakref.ref(data)
    del model, data
    gc.collect()
    assert gone[0]() is None and gone[1]() is None


def test_a_system_dies_when_it_is_let_go():
    system = pliant.MujocoSystem(everything())
    pliant.simulate(system, system.q, system.v, duration=0.01, step=system.model.opt.timestep)
    gone = weakref.ref(system.model), weakref.ref(system.data)
    del system
    gc.collect()
    assert gone[0]() is None and gone[1]() is None


def test_an_address_used_again_is_not_mistaken():
    """Models made and let go in turn, so that Python gives the same ids: each falls by its own gravity."""
    seen: set[int] = set()
    again = 0
    for k in range(200):
        model = build(body('size=".1"'), option=f'gravity="0 0 {-k}"')
        data = start(model)
        again += id(model) in seen
        seen.add(id(model))
        assert pliant.stats(data).steps == 0
        pliant.mj_step(model, data)
        assert data.qacc[2] == pytest.approx(-k)
        del model, data
    assert again > 0


def test_two_models_and_many_data_do_not_mix():
    first, second = (
        build(body('size=".1"'), option='gravity="0 0 -1"'),
        build(body('size=".1"'), option='gravity="0 0 -2"'),
    )
    datas = [(first, start(first)), (second, start(second)), (first, start(first))]
    for _ in range(3):
        for model, data in datas:
            pliant.mj_step(model, data)
    assert [data.qacc[2] for _, data in datas] == pytest.approx([-1.0, -2.0, -1.0])
    assert [pliant.stats(data).steps for _, data in datas] == [3, 3, 3]


def test_a_copy_of_a_model_is_another_model():
    model, data = prepared()
    pliant.mj_step(model, data)
    other = copy.deepcopy(model)
    other.opt.gravity[:] = 0.0
    alone = mujoco.MjData(other)
    pliant.mj_step(other, alone)
    model_before = model.opt.gravity.copy()
    pliant.mj_step(model, data)
    np.testing.assert_array_equal(model.opt.gravity, model_before)
    assert model.opt.gravity[2] == -9.81
