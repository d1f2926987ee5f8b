"""`Batch`: mujoco.batch.Batch with the steps of `mj_step`, bit for bit, in any number of threads."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from mujoco import batch as theirs

import pliant
from tests.support.models import body, build
from tests.systems.test_mujoco_direct import walker
from tests.systems.test_mujoco_rollout import MODELS, pile

N = 5
BOUND = ("xpos", "qfrc_constraint", "sensordata", "ncon", "qacc")


def started(model: Any, threads: int = 1, persistent: bool = False, n: int = N, **options: Any) -> Any:
    batch = pliant.Batch(model, n, threads, persistent, **options)
    batch.qvel[:] = np.random.default_rng(0).uniform(-1.0, 1.0, (n, model.nv))
    return batch


def alone(model: Any, batch: Any) -> list[Any]:
    """A data of its own for each simulation, at its state."""
    return [batch.get_data(i) for i in range(batch.nsim)]


def assert_state(batch: Any, datas: list[Any], *, bound: bool = True) -> None:
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    for i, data in enumerate(datas):
        state = np.zeros(batch.nstate)
        mujoco.mj_getState(batch.model, data, state, spec)
        np.testing.assert_array_equal(batch.state[i], state)
        for name in BOUND if bound else ():
            np.testing.assert_array_equal(batch.bind(name)[i], getattr(data, name), err_msg=name)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_it_is_a_loop_of_steps(name, persistent):
    model = MODELS[name]()
    for threads in (1, 2, 4):
        batch, rng = started(model, threads, persistent), np.random.default_rng(1)
        datas = alone(model, batch)
        for field in BOUND:
            batch.bind(field)
        for k in range(6):
            batch.ctrl = control = rng.uniform(-0.4, 0.4, (N, model.nu))
            batch.step(nstep=k + 1)
            for data, row in zip(datas, control, strict=True):
                data.ctrl[:] = row
                pliant.mj_step(model, data, k + 1)
            assert_state(batch, datas)


def test_it_is_one_of_mujocos():
    batch = pliant.Batch(pile(), 3)
    assert isinstance(batch, theirs.Batch)
    assert batch.nsim == 3 and batch.nthread >= 1 and not batch.persistent
    assert pliant.Batch(pile(), 3, persistent=True).persistent


def test_only_the_chosen_go():
    model = walker()
    batch = started(model, 2)
    before = batch.state.copy()
    batch.step([1, 3])
    changed = (batch.state != before).any(1)
    assert changed.tolist() == [False, True, False, True, False]
    batch.step(np.array([True, False, False, False, True]), nstep=2)
    assert (batch.state != before).any(1).tolist() == [True, True, False, True, True]
    assert batch.time.tolist() == pytest.approx(model.opt.timestep * np.array([2, 1, 0, 1, 2]))
    with pytest.raises(ValueError, match="sorted"):
        batch.step([3, 1])


@pytest.mark.parametrize("stage", ["POS", "VEL", "ACC"])
def test_stages_are_those_of_the_new_state(stage):
    model, kind = walker(), getattr(mujoco.mjtStage, f"mjSTAGE_{stage}")
    batch = started(model, 2)
    datas = alone(model, batch)
    fields = {
        "POS": ["xpos"],
        "VEL": ["xpos", "cvel"],
        "ACC": ["xpos", "cvel", "qacc", "qfrc_constraint", "sensordata"],
    }
    for field in fields[stage]:
        batch.bind(field)
    batch.step(nstep=3, stage=kind.value)
    for i, data in enumerate(datas):
        pliant.mj_step(model, data, 3)
        np.testing.assert_array_equal(batch.qpos[i], data.qpos)
        pliant.mj_forward(model, data)
        for field in fields[stage]:
            np.testing.assert_array_equal(batch.bind(field)[i], getattr(data, field), err_msg=field)


def test_a_forward_leaves_our_forces():
    model = pile()
    batch = started(model)
    batch.qpos[:, 2] = 0.149
    force = batch.bind("qfrc_constraint")
    batch.forward()
    for i, data in enumerate(alone(model, batch)):
        pliant.mj_forward(model, data)
        np.testing.assert_array_equal(force[i], data.qfrc_constraint)
    assert force.any()


def keyed() -> Any:
    keys = '<keyframe><key qpos="0 0 .0999 1 0 0 0"/><key qpos="0 0 2 1 0 0 0" time="3"/></keyframe>'
    return build(body('type="box" size=".1 .1 .1" mass="1"', "0 0 1"), floor=True, rest=keys)


@pytest.mark.parametrize("persistent", [False, True])
def test_resets_compute_our_forces(persistent):
    model = keyed()
    batch = started(model, 2, persistent, 4)
    force = batch.bind("qfrc_constraint")
    batch.step(nstep=10)
    batch.reset(keyframe=[0, 1, -1, 0])
    assert batch.time.tolist() == [0.0, 3.0, 0.0, 0.0]
    assert batch.qpos[:, 2].tolist() == [0.0999, 2.0, 1.0, 0.0999]
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    pliant.mj_forward(model, data)
    np.testing.assert_array_equal(force[[0, 3]], [data.qfrc_constraint] * 2)
    assert data.qfrc_constraint[2] > 0.0 and not force[1:3].any()
    batch.step()
    batch.reset([2], stage=mujoco.mjtStage.mjSTAGE_NONE)
    assert batch.time.tolist() == pytest.approx([0.002, 3.002, 0.0, 0.002])
    with pytest.raises(ValueError, match="keyframe"):
        batch.reset(keyframe=2)


def test_records_are_those_of_each_step():
    model = walker()
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    for threads in (1, 2, 4):
        batch = started(model, threads)
        datas = alone(model, batch)
        control = np.random.default_rng(2).uniform(-0.4, 0.4, (N, 12, model.nu))
        given = {"qpos": np.zeros((N, 12, model.nq))}
        found = batch.rollout(12, control, record=("qpos", "qfrc_constraint", "ncon", "sensordata", spec), out=given)
        assert found["qpos"] is given["qpos"]
        for i, data in enumerate(datas):
            for k in range(12):
                data.ctrl[:] = control[i, k]
                pliant.mj_step(model, data)
                state = np.zeros(mujoco.mj_stateSize(model, spec))
                mujoco.mj_getState(model, data, state, spec)
                np.testing.assert_array_equal(found[spec][i, k], state)
                for name in ("qpos", "qfrc_constraint", "ncon", "sensordata"):
                    np.testing.assert_array_equal(found[name][i, k], getattr(data, name), err_msg=name)
        assert_state(batch, datas, bound=False)


def test_records_of_some_by_their_place():
    model = pile()
    batch = started(model, 2)
    datas = alone(model, batch)
    found = batch.rollout(4, ids=[1, 4], record=("qvel",))["qvel"]
    for row, i in zip(found, (1, 4), strict=True):
        pliant.mj_step(model, datas[i], 4)
        np.testing.assert_array_equal(row[-1], datas[i].qvel)


def test_a_simulation_that_fails_keeps_its_state():
    model = walker()
    batch = started(model, 2)
    batch.qvel[3, 2] = np.nan
    before, rest = batch.state.copy(), [0, 1, 2, 4]
    with pytest.raises(theirs.SimulationError, match="qvel") as caught:
        batch.step(nstep=3)
    assert caught.value.ids.tolist() == [3] and "finite" in batch.error(3) and batch.error(0) == ""
    assert batch.status.tolist() == [0, 0, 0, 1, 0]
    np.testing.assert_array_equal(batch.state[3], before[3])
    assert (batch.time[rest] > 0.0).all()
    batch.reset([3])
    assert batch.error(3) == ""
    batch.step()
    assert not batch.status.any()


def test_fields_of_models_may_differ():
    """Before and after they are written again; constants follow."""
    model = pile()
    batch = started(model, 2)
    datas = alone(model, batch)
    mass = batch.expand("body_mass")
    for round_ in range(2):
        mass[:] = model.body_mass * np.linspace(1.0, 2.0 + round_, N)[:, None]
        batch.set_const()
        batch.step(nstep=4)
        for i, data in enumerate(datas):
            pliant.mj_step(batch.get_model(i), data, 4)
    assert_state(batch, datas, bound=False)
    batch.jac(1, [0.0, 0.0, 1.0])


def test_models_may_be_given():
    models = [pile() for _ in range(N)]
    for k, model in enumerate(models):
        model.opt.gravity[2] = -5.0 - k
    batch = started(models[0], 2)
    datas = alone(models[0], batch)
    batch.set_models(models)
    batch.step(nstep=5)
    for model, data in zip(models, datas, strict=True):
        pliant.mj_step(model, data, 5)
    assert_state(batch, datas, bound=False)
    batch.set_models(models[2])
    batch.step()
    for data in datas:
        pliant.mj_step(models[2], data)
    assert_state(batch, datas, bound=False)


def test_the_model_is_a_copy():
    model = pile()
    batch = started(model)
    datas, own = alone(model, batch), pile()
    model.opt.gravity[2] = 5.0
    batch.step(nstep=3)
    for data in datas:
        pliant.mj_step(own, data, 3)
    assert_state(batch, datas, bound=False)


def test_persistent_data_can_be_seen():
    model = pile()
    batch = started(model, 2, True)
    batch.step(nstep=40)
    other = batch.get_data(2)
    data = started(model).get_data(2)
    pliant.mj_step(model, data, 40)
    np.testing.assert_array_equal(other.qpos, data.qpos)
    np.testing.assert_array_equal(other.efc_force, data.efc_force)


def test_options_reach_the_steps():
    model = pile()
    options: dict[str, Any] = {"materials": {"*": pliant.Law(1e5, 10.0)}, "solver": pliant.Convex()}
    batch = started(model, 2, **options)
    datas = alone(model, batch)
    batch.step(nstep=40)
    for data in datas:
        pliant.mj_step(model, data, 40, **options)
    assert_state(batch, datas, bound=False)


def test_steps_are_counted():
    batch = started(pile(), 2)
    batch.step(nstep=3)
    batch.rollout(4)
    batch.forward()
    assert batch.stats.steps == 7 * N and batch.stats.statuses[pliant.Status.SOLVED] == 7 * N
    assert 0.0 < batch.stats.worst_residual < 1e-6


def test_a_model_that_cannot_be_stepped_is_an_error_of_its_simulation():
    model = pile()
    batch = started(model, 2)
    batch.expand("opt.timestep")[2] = -1.0
    before = batch.state.copy()
    with pytest.raises(theirs.SimulationError, match="timestep") as caught:
        batch.step()
    assert caught.value.ids.tolist() == [2]
    assert (batch.state != before).any(1).tolist() == [True, True, False, True, True]


def test_what_cannot_be_is_refused():
    model = walker()
    batch = started(model)
    for wrong in ({"nstep": 0}, {"nstep": -1}, {"stage": 7}):
        with pytest.raises(pliant.InputError):
            batch.step(**wrong)
    with pytest.raises(ValueError):
        batch.rollout(2, control=np.zeros(1), control_spec=1)
    with pytest.raises(ValueError, match="efc_force"):
        batch.rollout(2, record=("efc_force",))
    with pytest.raises(ValueError, match="arena"):
        batch.bind("efc_force")
    with pytest.raises(pliant.InputError, match="solver"):
        pliant.Batch(model, 2, solver="newton")  # type: ignore[arg-type]
    asleep = build(body('size=".1"'), flags='sleep="enable"')
    with pytest.raises(pliant.InputError, match="sleep"):
        pliant.Batch(asleep, 2, persistent=True)


def test_callbacks_in_python_are_refused_by_name():
    batch = started(walker())
    mujoco.set_mjcb_control(lambda *_: None)
    try:
        with pytest.raises(ValueError, match="mjcb_control"):
            batch.step()
    finally:
        mujoco.set_mjcb_control(None)
    batch.step()


def test_memory_does_not_grow():
    resource = pytest.importorskip("resource")
    batch = started(walker(), 2)
    batch.bind("xpos")

    def often(n: int) -> int:
        for _ in range(n):
            batch.step()
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    before = often(100)
    assert often(300) - before < 3000  # kB


@pytest.mark.parametrize(("numbers", "named"), [(("3", 1), "nsim"), ((0, 1), "nsim"), ((2, -1), "nthread")])
def test_numbers_that_are_none_are_refused(numbers, named):
    with pytest.raises(pliant.InputError, match=f"{named} must be a whole number"):
        pliant.Batch(pile(), *numbers)
