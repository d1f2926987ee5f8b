"""The functions themselves: counts of steps, the split step, forwards, stats, and input that cannot be meant."""

from __future__ import annotations

import copy
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
from tests.support.interrupt import check_ctrl_c
from tests.support.models import SHAKES, ZOO, body, build, everything, rubbing, shake, shaken, slider, start, state

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize("count", [1.0, "3", None, True, -1, 2**31, 10**30])
def test_counts_of_steps_are_whole_numbers(count):
    model, data = shaken("rubbing")
    with pytest.raises(pliant.InputError, match="nstep"):
        pliant.mj_step(model, data, count)
    assert data.time == 0.0


STEPS = [pliant.mj_step, pliant.mj_step1, pliant.mj_step2, pliant.mj_forward]


@pytest.mark.parametrize("call", STEPS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["qpos", "qvel", "ctrl", "qfrc_applied"])
def test_numbers_that_are_not_finite_are_refused_by_name(name, value, call):
    model, data = shaken("everything")
    getattr(data, name)[2] = value
    with pytest.raises(pliant.InputError, match=rf"data\.{name} must be finite, got {value} at 2"):
        call(model, data)
    assert data.time == 0.0


@pytest.mark.parametrize("call", STEPS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_forces_on_bodies_that_are_not_finite_are_refused_by_name(value, call):
    model, data = shaken("everything")
    data.xfrc_applied[2, 3] = value
    with pytest.raises(pliant.InputError, match=rf"data\.xfrc_applied must be finite, got {value} at 15"):
        call(model, data)


@pytest.mark.parametrize("call", STEPS)
@pytest.mark.parametrize("value", [1e300, -1e300, 1.001e10])
@pytest.mark.parametrize("name", ["qpos", "qvel"])
def test_states_that_are_too_large_are_refused_by_name(name, value, call):
    """MuJoCo would start afresh."""
    model, data = shaken("everything")
    getattr(data, name)[2] = value
    with pytest.raises(
        pliant.SolveError, match=rf"t = 0 s: .* blown up: data\.{name} at 2 is {value:g}".replace("+", ".")
    ):
        call(model, data)
    assert getattr(data, name)[2] == value and not data.warning.number.any()


def driven() -> tuple[Any, Any]:
    """A mocap body that holds another, a motor, a ball: everything that may be set is there."""
    world = '<body name="hand" mocap="true" pos="0 0 1"/>' + body('size=".1"', "0 0 1", name="held")
    world += body('size=".1" mass="1"', "2 0 1", joint=slider("x"))
    rest = '<equality><weld body1="hand" body2="held"/></equality><actuator><motor joint="x"/></actuator>'
    model = build(world, rest=rest)
    return model, start(model)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["mocap_pos", "mocap_quat"])
def test_places_of_mocap_bodies_that_are_not_finite_are_refused_by_name(name, value):
    model, data = driven()
    getattr(data, name)[0, 1] = value
    with pytest.raises(pliant.InputError, match=rf"data\.{name} must be finite, got {value} at 1"):
        pliant.mj_step(model, data)


@pytest.mark.parametrize("name", ["qfrc_applied", "xfrc_applied", "mocap_pos"])
def test_inputs_that_are_too_large_are_an_error(name):
    model, data = driven()
    place = {"qfrc_applied": -1, "xfrc_applied": (3, 0), "mocap_pos": (0, 1)}[name]
    getattr(data, name)[place] = 1e300
    with pytest.raises(pliant.PliantError, match=rf"finite.*data\.{name}"):
        pliant.mj_step(model, data)


def test_controls_that_are_too_large_are_none_as_with_mujoco(tmp_path, monkeypatch):
    """It warns, and takes them for 0."""
    monkeypatch.chdir(tmp_path)  # where it leaves its log
    found = []
    for step in (pliant.mj_step, mujoco.mj_step):
        model, data = driven()
        data.ctrl[0] = 1e300
        step(model, data)
        found.append(data.warning.number.tolist())
        assert data.qvel[-1] == 0.0 and data.time > 0.0
    assert found[0] == found[1] and sum(found[0]) == 1


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


OTHERS = {
    **{call.__name__: call for call in STEPS},
    "printed": lambda model, data: pliant.mj_step(model, data, solver=pliant.Printed()),
    "contacts": pliant.contacts,
    "pressure": pliant.pressure,
}


@pytest.mark.parametrize("call", OTHERS)
def test_data_of_another_model_is_refused(call):
    """It would read and write beyond the arrays; and the data is as good as before for its own model."""
    model, other = everything(), rubbing()
    data, plain = start(other), start(other)
    for _ in range(2):
        with pytest.raises(pliant.InputError, match="another model"):
            OTHERS[call](model, data)
        pliant.mj_step(other, data)
        pliant.mj_step(other, plain)
    np.testing.assert_array_equal(data.qpos, plain.qpos)


def test_data_of_a_copy_of_the_model_is_taken():
    model, data = shaken("everything")
    _, plain = shaken("everything")
    pliant.mj_step(copy.copy(model), data, 3)
    pliant.mj_step(model, plain, 3)
    np.testing.assert_array_equal(data.qpos, plain.qpos)


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


def test_wrong_types_are_named_in_the_first_half_of_a_step():
    model, data = shaken("rubbing")
    wrong: Any = "model.xml"
    with pytest.raises(pliant.InputError, match=r"model must be a mujoco\.MjModel, got str; pliant\.load reads files"):
        pliant.mj_step1(wrong, data)
    with pytest.raises(pliant.InputError, match=r"data must be a mujoco\.MjData, got MjModel"):
        pliant.mj_step1(model, model)


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
import sys, mujoco, pliant
boxes = "".join(
    f'<body pos="{i % 8 * .15} {i // 8 * .15} .0999"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
    for i in range(60)
)
size, layout = sys.argv[1:]
model = mujoco.MjModel.from_xml_string(
    f'<mujoco><size memory="{size}"/><option jacobian="{layout}"/><worldbody><geom type="plane" size="0 0 1"/>{boxes}'
    '</worldbody></mujoco>'
)
data = mujoco.MjData(model)
for solver in (pliant.Coulomb(), pliant.Convex(), None):
    try:
        pliant.mj_step(model, data, 3, solver=solver)
        print("warned" if data.warning.number.any() else "nothing")
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
    mujoco.mj_resetData(model, data)
small = mujoco.MjModel.from_xml_string("<mujoco/>")
pliant.mj_step(small, mujoco.MjData(small))
data.qpos[2::7] = range(1, 61)  # no contacts now
data.qpos[2::7] *= 2
pliant.mj_step(model, data)
print("alive", data.qacc[2].round(9))
"""


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("size", ["60K", "200K", "280K", "340K", "600K", "1500K"])
def test_an_arena_that_is_too_small_is_an_exception_or_a_warning(size, layout, tmp_path):
    """Not the end of the process, whatever there was no room for."""
    source = str(Path(pliant.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", ARENA, size, layout],
        cwd=tmp_path,  # where MuJoCo leaves its log
        env=os.environ | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    *said, last = done.stdout.splitlines()
    assert last == "alive -9.81" and len(said) == 3
    for line in said:
        assert line == "warned" or "memory" in line or "arena" in line or "stack" in line


LONG = """
import threading, mujoco, pliant
from tests.support.models import shaken
model, data = shaken("everything")
pliant.mj_step(model, data, solver=SOLVER)
if CALLBACK:
    mujoco.set_mjcb_control(lambda model, data: None)
print("begins", flush=True)
try:
    pliant.mj_step(model, data, 10**9, solver=SOLVER)
except KeyboardInterrupt:
    print("stopped", flush=True)
before = pliant.stats(data).steps
pliant.mj_step(model, data, 3, solver=SOLVER)
assert before > 10 and pliant.stats(data).steps == before + 3
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("callback", [False, True])
@pytest.mark.parametrize("solver", ["None", "pliant.Convex()"])
def test_ctrl_c_stops_many_steps(solver, callback):
    """Within a second, and the data can be stepped on."""
    check_ctrl_c(LONG.replace("SOLVER", solver).replace("CALLBACK", str(callback)))


AFTER = """
import mujoco, numpy as np, pliant
from tests.support.models import body, build
model = build(body('name="it" type="box" size=".1 .1 .1"', "0 0 .099"), floor=True)
data, layer = mujoco.MjData(model), {"it": pliant.Foundation(1e7, 0.01, elements=100_000, side="-z")}
pliant.mj_step(model, data, materials=layer)
assert len(pliant.contacts(model, data)) > 90_000
data.qfrc_applied[0] = np.nan
try:
    pliant.mj_step(model, data, materials=layer)
except pliant.InputError:
    pliant.contacts(model, data), pliant.pressure(model, data)
    print("lives")
"""


def test_contacts_may_be_asked_for_after_a_step_that_failed():
    """It read memory that was given back."""
    strict = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}  # what is given back is gone at once
    command = [sys.executable, "-c", AFTER]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env=strict)
    assert done.stdout == "lives\n", done.stderr


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
