"""The functions themselves: counts of steps, the split step, forwards, stats, and input that cannot be meant."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.systems import mujoco_door
from tests.support.models import SHAKES, ZOO, body, build, everything, rubbing, shake, shaken, start, state


@pytest.mark.parametrize("name", ZOO)
def test_many_steps_in_one_call_are_as_many_calls(name):
    model, one = shaken(name)
    _, many = shaken(name)
    pliant.mj_step(model, one, 7)
    for _ in range(7):
        pliant.mj_step(model, many)
    assert state(model, one).tobytes() == state(model, many).tobytes()
    count: Any = np.int64(3)
    pliant.mj_step(model, one, nstep=count)
    pliant.mj_step(model, one, 0)
    assert one.time == pytest.approx(10 * model.opt.timestep)


@pytest.mark.parametrize("name", ZOO)
def test_the_split_step_is_the_step(name):
    model, whole = shaken(name)
    _, split = shaken(name)
    for _ in range(5):
        pliant.mj_step(model, whole)
        pliant.mj_step1(model, split)
        pliant.mj_step2(model, split)
        assert state(model, whole).tobytes() == state(model, split).tobytes()
        np.testing.assert_array_equal(whole.sensordata, split.sensordata)
        np.testing.assert_array_equal(whole.efc_force, split.efc_force)


def test_controls_set_between_the_halves_act_in_the_same_step():
    model, split = shaken("everything")
    _, whole = shaken("everything")
    pliant.mj_step1(model, split)
    split.ctrl[:] = whole.ctrl[:] = 0.8
    pliant.mj_step2(model, split)
    pliant.mj_step(model, whole)
    np.testing.assert_array_equal(split.qvel, whole.qvel)


@pytest.mark.parametrize("name", ZOO)
def test_a_forward_advances_nothing_and_changes_no_step(name):
    model, data = shaken(name)
    _, plain = shaken(name)
    pliant.mj_step(model, data, 3)
    pliant.mj_step(model, plain, 3)
    before = state(model, data)
    pliant.mj_forward(model, data)
    assert state(model, data).tobytes() == before.tobytes()
    qacc, force = data.qacc.copy(), data.efc_force.copy()
    pliant.mj_forward(model, data)
    np.testing.assert_array_equal(data.qacc, qacc)
    pliant.mj_step(model, data)
    np.testing.assert_array_equal(data.qacc, qacc)
    np.testing.assert_array_equal(data.efc_force, force)
    pliant.mj_step(model, plain)
    assert state(model, data).tobytes() == state(model, plain).tobytes()


@pytest.mark.parametrize("solver", [pliant.Coulomb(), pliant.Coulomb(tolerance=1e-10), pliant.Convex()])
def test_solvers_are_chosen(solver):
    model, data = shaken("everything")
    pliant.mj_step(model, data, 20, solver=solver)
    assert pliant.stats(data).statuses[pliant.Status.SOLVED] == 20


def test_stats_count_the_steps_of_a_data():
    model, data = shaken("everything")
    assert pliant.stats(data).steps == 0
    pliant.mj_step(model, data, 5)
    other = start(model)
    found = pliant.stats(data)
    assert found.steps == 5 == sum(found.statuses.values()) and pliant.stats(other).steps == 0
    assert found.iterations > 0 and found.factorizations > 0 and 0.0 <= found.worst_residual < 1e-8
    with pytest.raises(pliant.InputError, match=r"mujoco\.MjData, got MjModel"):
        pliant.stats(model)


def test_an_iteration_limit_is_counted_and_said_once(caplog):
    model, data = shaken("everything")
    with caplog.at_level(logging.WARNING, logger="pliant"):
        pliant.mj_step(model, data, 5, solver=pliant.Coulomb(max_iterations=1, tolerance=1e-15))
    limits = pliant.stats(data).statuses[pliant.Status.ITERATION_LIMIT]
    assert limits > 1 and pliant.stats(data).worst_residual > 0.0
    assert len([r for r in caplog.records if "iteration limit" in r.getMessage()]) == 1


def test_hard_steps_are_counted_and_said_once_in_one_call_or_many(caplog):
    """Also those that the convex program answers in the place of Coulomb's law."""
    found = []
    for calls in (1, 60):
        for limit in (2, 4, 5, 6, 8, 10, 12):
            model, data = shaken("dropped")
            caplog.clear()
            with caplog.at_level(logging.WARNING, logger="pliant"):
                for _ in range(calls):
                    pliant.mj_step(model, data, 60 // calls, solver=pliant.Coulomb(max_iterations=limit))
            statuses = pliant.stats(data).statuses
            for status in (pliant.Status.SOLVED_BY_FALLBACK, pliant.Status.ITERATION_LIMIT):
                assert sum(str(status) in r.getMessage() for r in caplog.records) == (statuses[status] > 0)
            found.append((statuses, [r.getMessage() for r in caplog.records], state(model, data).tobytes()))
    assert found[: len(found) // 2] == found[len(found) // 2 :]
    assert any(statuses[pliant.Status.SOLVED_BY_FALLBACK] for statuses, _, _ in found)


def test_threads_that_share_a_model_do_not_disturb_each_other():
    """As with MuJoCo, each with its own data."""
    model = everything()

    def run(seed: int) -> bytes:
        data = start(model)
        shake(model, data, seed, size=SHAKES["everything"])
        for _ in range(50):
            pliant.mj_step(model, data)
        return state(model, data).tobytes()

    alone = [run(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(4))) == alone


def test_forces_that_die_away_stay_solved():
    """Until they are too small for a number to hold: a residual relative to them means nothing any more."""
    model = ZOO["tied"]()
    data = start(model)
    pliant.mj_step(model, data, 600)
    assert pliant.stats(data).statuses[pliant.Status.SOLVED] == 600


@pytest.mark.parametrize("count", [1.0, "3", None, True, -1])
def test_counts_of_steps_are_whole_numbers(count):
    model, data = shaken("rubbing")
    with pytest.raises(pliant.InputError, match="nstep"):
        pliant.mj_step(model, data, count)
    assert data.time == 0.0


@pytest.mark.parametrize("call", [pliant.mj_step, pliant.mj_step1, pliant.mj_step2, pliant.mj_forward])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["qpos", "qvel", "ctrl"])
def test_numbers_that_are_not_finite_are_refused_by_name(name, value, call):
    model, data = shaken("everything")
    getattr(data, name)[2] = value
    with pytest.raises(pliant.InputError, match=rf"data\.{name} must be finite, got {value} at 2"):
        call(model, data)
    assert data.time == 0.0


@pytest.mark.parametrize("name", ["qfrc_applied", "xfrc_applied", "act", "mocap_pos", "mocap_quat"])
def test_other_numbers_that_are_not_finite_do_not_go_unsaid(name):
    world = '<body name="m" mocap="true"><geom size=".1"/></body>'
    world += body('size=".1"', "0 0 .5", name="b", more='<site name="s"/>')
    rest = """<equality><connect body1="m" body2="b" anchor="0 0 0"/></equality>
      <actuator><general site="s" dyntype="integrator" gainprm="1"/></actuator>"""
    model = build(world, rest=rest, floor=True)
    data = start(model)
    getattr(data, name).reshape(-1)[-1] = np.nan
    with pytest.raises(pliant.PliantError):
        pliant.mj_step(model, data)


def test_a_start_that_is_not_finite_is_not_used():
    """qacc_warmstart is only a guess."""
    model, data = shaken("everything")
    _, plain = shaken("everything")
    data.qacc_warmstart[:] = np.nan
    pliant.mj_step(model, data)
    pliant.mj_step(model, plain)
    np.testing.assert_allclose(data.qvel, plain.qvel, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("call", [pliant.mj_step, pliant.mj_step2, pliant.mj_forward])
def test_data_of_another_model_is_refused(call):
    model, other = everything(), rubbing()
    with pytest.raises(pliant.InputError, match="another model"):
        call(model, start(other))


@pytest.mark.parametrize("call", [pliant.mj_step, pliant.mj_step2, pliant.mj_forward])
def test_wrong_types_are_named(call):
    model, data = shaken("rubbing")
    with pytest.raises(pliant.InputError, match=r"model must be a mujoco\.MjModel, got str; pliant\.load reads files"):
        call("model.xml", data)
    with pytest.raises(pliant.InputError, match=r"data must be a mujoco\.MjData, got MjModel"):
        call(model, model)
    with pytest.raises(pliant.InputError, match=r"data must be a mujoco\.MjData, got NoneType"):
        call(model, None)
    with pytest.raises(pliant.InputError, match="solver"):
        call(model, data, solver="coulomb")


@pytest.mark.parametrize("version", ["3.17.0", "5.0.0", "2.3.7"])
def test_versions_that_are_not_known_are_refused(version, monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", version)
    mujoco_door.mujoco.cache_clear()
    try:
        with pytest.raises(pliant.PliantError, match=rf"MuJoCo {version} .*pip install"):
            mujoco_door.mujoco()
    finally:
        monkeypatch.undo()
        mujoco_door.mujoco.cache_clear()
    assert mujoco_door.mujoco() is mujoco


def test_ctrl_c_into_the_middle_of_its_import_is_ctrl_c(monkeypatch):
    """A compiled module tells of it as an ImportError, with the interrupt some errors further down."""

    class Interrupted:
        def find_spec(self, name: str, *_: Any) -> None:
            if name == "mujoco":
                between = SystemError()
                between.__cause__ = KeyboardInterrupt()
                raise ImportError("initialization failed") from between

    monkeypatch.delitem(sys.modules, "mujoco")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(KeyboardInterrupt):
        mujoco_door.mujoco.__wrapped__()


@pytest.mark.parametrize("version", ["4.0.0", "4.0.0rc1", "4.2.1"])
def test_versions_that_are_known_are_taken(version, monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", version)
    mujoco_door.mujoco.cache_clear()
    try:
        assert mujoco_door.mujoco() is mujoco
    finally:
        mujoco_door.mujoco.cache_clear()


ARENA = """
import mujoco, pliant
boxes = "".join(
    f'<body pos="{i % 8 * .15} {i // 8 * .15} .0999"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
    for i in range(60)
)
model = mujoco.MjModel.from_xml_string(
    f'<mujoco><size memory="60K"/><worldbody><geom type="plane" size="0 0 1"/>{boxes}</worldbody></mujoco>'
)
data = mujoco.MjData(model)
try:
    pliant.mj_step(model, data, 3)
except Exception as error:
    print(type(error).__name__, error)
small = mujoco.MjModel.from_xml_string("<mujoco/>")
pliant.mj_step(small, mujoco.MjData(small))
print("alive")
"""


def test_an_arena_that_is_too_small_is_an_exception(tmp_path):
    """Not the end of the process, and not a step without its contacts."""
    source = str(Path(pliant.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", ARENA],
        cwd=tmp_path,  # where MuJoCo leaves its log
        env=os.environ | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    assert last == "alive"
    assert "memory" in first or "arena" in first or "stack" in first


FIRST = """
import mujoco, pliant
world = '<worldbody><body><freejoint/><geom size=".1"/></body></worldbody>'
model = mujoco.MjModel.from_xml_string(f"<mujoco>{world}</mujoco>")
data, called = mujoco.MjData(model), []
mujoco.set_mjcb_control(lambda m, d: called.append(m.nv))
try:
    pliant.Batch(model, nsim=2)
except ValueError as error:
    print("control" in str(error))
pliant.mj_step(model, data, 3)
print(called, mujoco.get_mjcb_control() is not None)
"""


def test_a_callback_that_is_set_before_the_first_use():
    """It is called for the user's model and for no other."""
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["True", "[6, 6, 6] True"], done.stderr
