"""`rollout`: the steps of a loop of `mj_step`, bit for bit, in any number of threads; arguments as MuJoCo's."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import mujoco
import numpy as np
import pytest
from mujoco import rollout as theirs

import pliant
from tests.support.interrupt import check_ctrl_c
from tests.support.models import ZOO, body, build, everything, hinge
from tests.systems.test_mujoco_direct import walker

STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
CONTROL = mujoco.mjtState.mjSTATE_CTRL
STEPS = 25


def humanoid() -> Any:
    gymnasium = pytest.importorskip("gymnasium")
    return gymnasium.make("Humanoid-v5").unwrapped.model


def pile() -> Any:
    """Boxes that tumble onto each other."""
    boxes = "".join(body('type="box" size=".1 .15 .2"', f"{0.05 * k} 0 {0.25 + 0.45 * k}") for k in range(4))
    return build(boxes, floor=True, option='timestep="0.005"')


def servo() -> Any:
    """An arm with a servo and a tendon with a spring."""
    arm = body('type="capsule" size=".04" fromto="0 0 0 .4 0 0"', joint=hinge("a", more='range="-1 1"'))
    rest = """<tendon><fixed name="t" stiffness="50" springlength="0.2"><joint joint="a" coef="1"/></fixed></tendon>
      <actuator><position joint="a" kp="100" forcerange="-5 5"/></actuator>"""
    return build(arm, rest=rest)


MODELS = {"humanoid": humanoid, "pile": pile, "servo": servo, "sensors": walker, "everything": everything}


def ask(model: Any, n: int = 5, steps: int = STEPS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(n, nstate) states, (n, steps, nu) controls."""
    rng, data = np.random.default_rng(seed), mujoco.MjData(model)
    state = np.zeros((n, mujoco.mj_stateSize(model, STATE)))
    for row in state:
        data.qvel[:] = rng.uniform(-1.0, 1.0, model.nv)
        mujoco.mj_getState(model, data, row, STATE)
    return state, rng.uniform(-0.4, 0.4, (n, steps, model.nu))


def looped(model: Any, state: Any, control: Any, warm: Any = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same by `mj_step`."""
    n, steps, _ = control.shape
    states, sensors = np.zeros((n, steps, state.shape[1])), np.zeros((n, steps, model.nsensordata))
    for i in range(n):
        data = mujoco.MjData(model)
        mujoco.mj_setState(model, data, state[i], STATE)
        data.qacc_warmstart[:] = 0.0 if warm is None else warm[i]
        for k in range(steps):
            data.ctrl[:] = control[i, k]
            pliant.mj_step(model, data, **options)
            mujoco.mj_getState(model, data, states[i, k], STATE)
            sensors[i, k] = data.sensordata
    return states, sensors


def datas(model: Any, n: int) -> Any:
    return [mujoco.MjData(model) for _ in range(n)] if n > 1 else mujoco.MjData(model)


@pytest.mark.parametrize("name", MODELS)
def test_it_is_a_loop_of_steps(name):
    model = MODELS[name]()
    state, control = ask(model)
    expected = looped(model, state, control)
    for threads, chunk in ((1, None), (2, None), (2, 3), (4, 1)):
        use, keeps = datas(model, threads), chunk == 1
        found = pliant.rollout(model, use, state, control, chunk_size=chunk, persistent_pool=keeps)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("name", ["pile", "everything"])
def test_data_are_left_as_after_the_last_step(name):
    model = MODELS[name]()
    state, control = ask(model, 2)
    data, other = mujoco.MjData(model), mujoco.MjData(model)
    pliant.rollout(model, data, state, control)
    mujoco.mj_setState(model, other, state[1], STATE)
    for row in control[1]:
        other.ctrl[:] = row
        pliant.mj_step(model, other)
    for field in ("qpos", "qacc", "qfrc_constraint", "efc_force", "xpos", "qacc_warmstart", "nefc", "ncon"):
        np.testing.assert_array_equal(getattr(data, field), getattr(other, field), err_msg=field)
    assert pliant.stats(data).steps == 2 * STEPS


def test_warm_starts_are_those_given():
    model = pile()
    state, control = ask(model, 3)
    warm = np.random.default_rng(1).uniform(-5.0, 5.0, (3, model.nv))
    found, _ = pliant.rollout(model, mujoco.MjData(model), state, control, initial_warmstart=warm)
    np.testing.assert_array_equal(found, looped(model, state, control, warm)[0])


def test_a_run_goes_on_where_it_was():
    """With the warm start of the data."""
    model = walker()
    state, control = ask(model, 1, 20)
    data = mujoco.MjData(model)
    whole, _ = pliant.rollout(model, mujoco.MjData(model), state, control)
    first, _ = pliant.rollout(model, data, state, control[:, :8])
    warm = data.qacc_warmstart.copy()
    rest, _ = pliant.rollout(model, data, first[:, -1], control[:, 8:], initial_warmstart=warm)
    np.testing.assert_array_equal(np.concatenate([first, rest], 1), whole)


def test_outputs_that_are_given_are_filled():
    model = walker()
    state, control = ask(model, 3)
    states, sensors = np.full((3, STEPS, state.shape[1]), np.nan), np.full((3, STEPS, model.nsensordata), np.nan)
    found = pliant.rollout(model, mujoco.MjData(model), state, control, state=states, sensordata=sensors)
    assert found[0] is states or np.shares_memory(found[0], states)
    np.testing.assert_array_equal(states, looped(model, state, control)[0])
    assert np.isfinite(sensors).all()


def test_without_checks_only_what_is_given_is_filled():
    model = walker()
    state, control = ask(model, 3)
    states = np.zeros((3, STEPS, state.shape[1]))
    found = pliant.rollout(
        [model] * 3, [mujoco.MjData(model)], state, control, nstep=STEPS, state=states, skip_checks=True
    )
    assert found[1] is None
    np.testing.assert_array_equal(states, looped(model, state, control)[0])
    with pytest.raises(ValueError, match="state"):
        pliant.rollout(
            [model] * 3, [mujoco.MjData(model)], state, control[:, :4], nstep=4, state=states, skip_checks=True
        )


def test_one_row_holds_for_all():
    model = walker()
    state, control = ask(model, 3)
    data = mujoco.MjData(model)
    found, _ = pliant.rollout(model, data, state, control[:1, :1], nstep=STEPS)
    expected = looped(model, state, np.broadcast_to(control[:1, :1], control.shape))[0]
    np.testing.assert_array_equal(found, expected)
    found, _ = pliant.rollout(model, data, state[0], control)
    np.testing.assert_array_equal(found, looped(model, np.broadcast_to(state[:1], state.shape), control)[0])


def test_models_may_differ():
    models = [pile() for _ in range(3)]
    for k, model in enumerate(models):
        model.opt.gravity[2] = -5.0 - k
    state, control = ask(models[0], 3)
    found, _ = pliant.rollout(models, datas(models[0], 2), state, nstep=STEPS)
    for k, model in enumerate(models):
        np.testing.assert_array_equal(found[k], looped(model, state[k : k + 1], control[k : k + 1])[0][0])


def test_inputs_that_are_not_set_are_as_with_mujoco():
    """Applied forces and mocap bodies, of a data that was used before; other controls by their spec."""
    world = (
        body('size=".1"', "0 0 3", name="ball") + '<body name="hand" mocap="true" pos="0 0 1"><geom size=".1"/></body>'
    )
    model = build(world, rest='<equality><weld body1="ball" body2="hand" active="false"/></equality>')
    data, other = mujoco.MjData(model), mujoco.MjData(model)
    for each in (data, other):
        each.qfrc_applied[:], each.xfrc_applied[:], each.mocap_pos[:] = 3.0, 4.0, 5.0
        each.eq_active[:] = 1
    state, _ = ask(model, 2)
    ours, _ = pliant.rollout(model, data, state, nstep=5)
    peers, _ = theirs.rollout(model, other, state, nstep=5)
    np.testing.assert_allclose(ours, peers, rtol=0, atol=1e-9)
    push = np.full((2, 5, model.nv), 0.3)
    spec = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value
    ours, _ = pliant.rollout(model, data, state, push, control_spec=spec)
    peers, _ = theirs.rollout(model, other, state, push, control_spec=spec)
    np.testing.assert_allclose(ours, peers, rtol=0, atol=1e-9)


def wrong() -> dict[str, dict[str, Any]]:
    zeros = np.zeros
    return {
        "width of a state": {"initial_state": zeros((1, 4))},
        "width of controls": {"control": zeros((1, 3, 2))},
        "number of simulations": {"initial_state": zeros((2, 3)), "control": zeros((3, 3, 1))},
        "number of steps": {"control": zeros((1, 3, 1)), "nstep": 4},
        "dimensions": {"initial_state": zeros((1, 1, 3))},
        "a list": {"initial_state": [0.0, 0.0, 0.0]},
        "nstep": {"nstep": -1},
        "nstep that is no number": {"nstep": 1.5},
        "chunk": {"chunk_size": 0},
        "spec": {"control_spec": 1 | 64},
        "warm start": {"initial_warmstart": zeros((1, 2))},
        "output": {"state": zeros((1, 1, 3)), "nstep": 3},
        "sensors": {"sensordata": zeros((1, 3, 1)), "nstep": 3},
    }


@pytest.mark.parametrize("case", wrong())
def test_what_mujoco_refuses_is_refused(case):
    model = build(body('size=".1"', joint=hinge("a")), rest='<actuator><motor joint="a"/></actuator>')
    arguments = {"initial_state": np.zeros((1, 3)), **wrong()[case]}
    for call in (theirs.rollout, pliant.rollout):
        with pytest.raises(ValueError):
            call(model, mujoco.MjData(model), **arguments)


def test_models_and_data_are_checked():
    model, other = pile(), walker()
    state, _ = ask(model, 2)
    data = mujoco.MjData(model)
    cases = [
        (3, data), ([], data), (model, []), (model, 3), (model, [data, data]), ([model] * 3, data),
        ([model, other], data), (model, mujoco.MjData(other)),
    ]  # fmt: skip
    for m, d in cases:
        with pytest.raises(pliant.InputError):
            pliant.rollout(m, d, state, nstep=2)
    with pytest.raises(pliant.InputError, match="solver"):
        pliant.rollout(model, data, state, solver="newton")  # type: ignore[arg-type]


def test_no_steps_leave_nothing():
    model = pile()
    state, _ = ask(model, 2)
    found, sensors = pliant.rollout(model, mujoco.MjData(model), state, nstep=0)
    assert found.shape == (2, 0, state.shape[1]) and sensors.shape == (2, 0, 0)


@pytest.mark.parametrize("kind", ["control", "passive", "act_bias", "contactfilter", "sensor"])
def test_callbacks_in_python_are_refused_by_name(kind):
    model = walker()
    state, control = ask(model, 2, 2)
    getattr(mujoco, f"set_mjcb_{kind}")(lambda *_: 0)
    try:
        with pytest.raises(ValueError, match=f"mjcb_{kind}"):
            pliant.rollout(model, mujoco.MjData(model), state, control)
    finally:
        getattr(mujoco, f"set_mjcb_{kind}")(None)


def test_options_reach_the_steps():
    model = ZOO["dropped"]()
    state, control = ask(model, 2)
    options: dict[str, Any] = {"materials": {"*": pliant.Law(1e5, 10.0)}, "solver": pliant.Convex()}
    found, _ = pliant.rollout(model, datas(model, 2), state, control, **options)
    np.testing.assert_array_equal(found, looped(model, state, control, **options)[0])
    assert not np.array_equal(found, looped(model, state, control)[0])


def test_what_is_no_number_is_an_error_of_its_simulation():
    model = walker()
    state, control = ask(model, 4)
    control[2, 7, 0] = np.nan
    with pytest.raises(pliant.InputError, match="ctrl") as caught:
        pliant.rollout(model, datas(model, 2), state, control)
    assert "simulation 2" in caught.value.__notes__[0]
    found, _ = pliant.rollout(model, datas(model, 2), state, np.nan_to_num(control))
    assert np.isfinite(found).all()


def test_limits_of_iterations_are_counted(caplog):
    model = ZOO["dropped"]()
    state, control = ask(model, 2)
    data = mujoco.MjData(model)
    pliant.rollout(model, data, state, control, solver=pliant.Coulomb(max_iterations=1))
    assert pliant.stats(data).statuses[pliant.Status.ITERATION_LIMIT] > 0
    assert len([r for r in caplog.records if "iteration limit" in r.getMessage()]) == 1


def test_warnings_stop_a_simulation_and_its_last_state_repeats(tmp_path, monkeypatch):
    """MuJoCo's, of a control that is too large, say; with MuJoCo itself as well."""
    monkeypatch.chdir(tmp_path)  # where MuJoCo leaves its log
    model = walker()
    state, control = ask(model, 2, 10)
    control[0, 4] = 1e11
    for call in (pliant.rollout, theirs.rollout):
        found, sensors = call(model, mujoco.MjData(model), state, control)
        assert (found[0, 5:] == found[0, 4:5]).all() and (found[0, 4] != found[0, 3]).any()
        assert (sensors[0, 5:] == sensors[0, 4:5]).all()
        assert (found[1, 1:] != found[1, :-1]).any(1).all()
    np.testing.assert_array_equal(
        pliant.rollout(model, mujoco.MjData(model), state[1:], control[1:])[0],
        pliant.rollout(model, mujoco.MjData(model), state, control)[0][1:],
    )


def test_two_rollouts_of_one_model_at_once_do_not_meet():
    model = walker()
    state, control = ask(model, 4)
    expected, _ = looped(model, state, control)
    found: list[Any] = []

    def run() -> None:
        for _ in range(5):
            found.append(pliant.rollout(model, datas(model, 2), state, control)[0])

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 15
    for each in found:
        np.testing.assert_array_equal(each, expected)


def test_a_patched_rollout_is_ours():
    model = pile()
    state, control = ask(model, 2)
    expected, _ = pliant.rollout(model, mujoco.MjData(model), state, control, solver=pliant.Convex())
    own = theirs.rollout
    with pliant.patch_mujoco(solver=pliant.Convex()):
        found, _ = theirs.rollout(model, mujoco.MjData(model), state, control)
    assert theirs.rollout is own
    np.testing.assert_array_equal(found, expected)


LONG = """
import sys, mujoco, numpy as np, pliant
from tests.systems.test_mujoco_direct import walker
model = walker()
datas = [mujoco.MjData(model) for _ in range({threads})]
state = np.zeros((4, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
mujoco.mj_getState(model, datas[0], state[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
state[:] = state[0]
pliant.rollout(model, datas, state, nstep=3)
print("begins", flush=True)
try:
    pliant.rollout(model, datas, state, nstep=2_000_000)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_it(threads):
    check_ctrl_c(LONG.format(threads=threads))


SMALL = """
import mujoco, numpy as np, pliant
from tests.support.models import body, build
boxes = "".join(body('type="box" size=".1 .1 .1"', f"{0.15 * (k % 8)} {0.15 * (k // 8)} .0999") for k in range(60))
model = build(boxes, floor=True, size='memory="60K"')
try:
    data = mujoco.MjData(model)
    state = np.zeros((2, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    mujoco.mj_getState(model, data, state[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state[1] = state[0]
    pliant.rollout(model, [data, mujoco.MjData(model)], state, nstep=5)
except mujoco.FatalError:
    pass
print("lives")
"""


def test_an_arena_that_is_too_small_is_no_end_of_the_process():
    done = subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().endswith("lives"), done.stderr


def test_memory_does_not_grow():
    resource = pytest.importorskip("resource")
    model = walker()
    state, control = ask(model, 8, 5)
    use = datas(model, 2)

    def often(n: int) -> int:
        for _ in range(n):
            pliant.rollout(model, use, state, control)
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    before = often(50)
    assert often(150) - before < 3000  # kB
