"""`patch_mujoco`: MuJoCo's names are ours until it closes, whatever happens, and its own solver is not called."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from tests.support.models import SHAKES, everything, shake, start

NAMES = ("mj_step", "mj_step1", "mj_step2", "mj_forward")
ENVIRONMENTS = ["Humanoid-v5", "Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"]
UNTOUCHED = -77  # as an iteration count


def originals() -> dict[str, Any]:
    return {name: getattr(mujoco, name) for name in NAMES}


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = originals()
    yield
    assert originals() == before


def test_names_are_ours_until_it_closes():
    before = originals()
    with pliant.patch_mujoco():
        assert all(getattr(mujoco, name) is not before[name] for name in NAMES)
    assert originals() == before


def test_it_may_be_called_once_and_closed_later():
    before = originals()
    patch = pliant.patch_mujoco()
    assert originals() != before
    patch.close()
    patch.close()
    assert originals() == before


def test_exceptions_close_it():
    before = originals()
    with pytest.raises(ZeroDivisionError), pliant.patch_mujoco():
        raise ZeroDivisionError
    assert originals() == before


def test_patches_nest_and_close_in_order():
    before = originals()
    outer = pliant.patch_mujoco()
    during = originals()
    with pliant.patch_mujoco(solver=pliant.Convex()):
        assert originals() != during
    assert originals() == during
    inner = pliant.patch_mujoco()
    with pytest.raises(pliant.PliantError, match="opened last first"):
        outer.close()
    inner.close()
    outer.close()
    assert originals() == before


def shaken() -> tuple[Any, Any]:
    model = everything()
    data = start(model)
    shake(model, data, 1, size=SHAKES["everything"])
    return model, data


def test_steps_inside_are_ours():
    model, inside = shaken()
    _, ours = shaken()
    _, theirs = shaken()
    with pliant.patch_mujoco():
        mujoco.mj_step(model, inside, 5)
        mujoco.mj_step(model, inside, nstep=5)
        mujoco.mj_step1(model, inside)
        mujoco.mj_step2(model, inside)
        mujoco.mj_forward(model, inside)
    pliant.mj_step(model, ours, 11)
    pliant.mj_forward(model, ours)
    mujoco.mj_step(model, theirs, 11)
    np.testing.assert_array_equal(inside.qpos, ours.qpos)
    np.testing.assert_array_equal(inside.efc_force, ours.efc_force)
    assert not np.array_equal(inside.qpos, theirs.qpos)


def test_options_reach_the_steps():
    model, data = shaken()
    _, expected = shaken()
    options: dict[str, Any] = {"materials": {"foot*": pliant.Law(1e5, 10.0)}, "solver": pliant.Convex()}
    with pliant.patch_mujoco(**options):
        mujoco.mj_step(model, data, 5)
    pliant.mj_step(model, expected, 5, **options)
    np.testing.assert_array_equal(data.qpos, expected.qpos)
    _, plain = shaken()
    pliant.mj_step(model, plain, 5)
    assert not np.array_equal(data.qpos, plain.qpos)


def untouched(data: Any) -> bool:
    """Whether MuJoCo's solver has not run on it since `mark`."""
    return bool(np.all(data.solver_niter == UNTOUCHED))


def mark(data: Any) -> None:
    data.solver_niter[:] = UNTOUCHED


def test_the_mark_of_the_solver_is_lost_when_it_runs():
    """The check of the tests below can fail."""
    model, data = shaken()
    mark(data)
    pliant.mj_step(model, data)
    assert untouched(data)
    mujoco.mj_step(model, data)
    assert data.nefc > 0 and not untouched(data)


@pytest.mark.filterwarnings("ignore")
def play(name: str, steps: int) -> None:
    pytest.importorskip("gymnasium.envs.mujoco")
    import gymnasium

    environment: Any = gymnasium.make(name, max_episode_steps=10**6)
    environment.reset(seed=0)
    environment.action_space.seed(0)
    data, model = environment.unwrapped.data, environment.unwrapped.model
    taken = 0
    with pliant.patch_mujoco():
        mark(data)
        for _ in range(steps):
            before = data.time
            observed, reward, terminated, _, _ = environment.step(environment.action_space.sample())
            taken += round((data.time - before) / model.opt.timestep)
            assert np.isfinite(observed).all() and np.isfinite(reward)
            assert untouched(data)
            if terminated:
                environment.reset()
                mark(data)
    environment.close()
    found = pliant.stats(data)
    assert found.steps >= taken == steps * environment.unwrapped.frame_skip
    assert found.statuses[pliant.Status.SOLVED] + found.statuses[pliant.Status.SOLVED_BY_FALLBACK] == found.steps


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_gymnasium_runs(name):
    play(name, 50)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_gymnasium_runs_long(name):
    play(name, 1000)


def suite() -> list[str]:
    """The model files of dm_control, which need not be importable."""
    found = importlib.util.find_spec("dm_control")
    folders = [Path(place) for place in (found.submodule_search_locations or [])] if found else []
    return sorted(str(path) for folder in folders for path in (folder / "suite").glob("*.xml"))


@pytest.mark.slow
def test_models_of_the_control_suite_run():
    """All that compile by themselves: 200 steps with random controls, from their own start."""
    paths = suite()
    if not paths:
        pytest.skip("dm_control is not installed")
    ran = 0
    for path in paths:
        try:
            model = mujoco.MjModel.from_xml_path(path)
        except ValueError:
            continue  # a template that the suite fills in
        data = start(model)
        rng = np.random.default_rng(0)
        for _ in range(200):
            data.ctrl[:] = rng.uniform(-1.0, 1.0, model.nu)
            pliant.mj_step(model, data)
        assert np.isfinite(data.qpos).all() and np.abs(data.qvel).max(initial=0.0) < 1e3, path
        ran += 1
    assert ran >= 12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_control_suite_runs():
    try:
        tasks: Any = importlib.import_module("dm_control.suite")
        tasks.load("cartpole", "balance")
    except Exception as error:  # whatever keeps it from running beside this MuJoCo
        pytest.skip(f"dm_control does not run with this MuJoCo: {error}")
    seen = set()
    for domain, task in tasks.BENCHMARKING:
        if domain in seen:
            continue
        seen.add(domain)
        environment = tasks.load(domain, task, task_kwargs={"random": 0})
        with pliant.patch_mujoco():
            environment.reset()
            data = environment.physics.data.ptr
            mark(data)
            spec = environment.action_spec()
            rng = np.random.default_rng(0)
            for _ in range(30):
                found = environment.step(rng.uniform(spec.minimum, spec.maximum, spec.shape))
                assert all(np.isfinite(value).all() for value in found.observation.values()), domain
                assert untouched(data), domain
        assert pliant.stats(data).steps > 0, domain
    assert len(seen) > 8


FIRST = """
import mujoco, pliant
with pliant.patch_mujoco():
    world = '<worldbody><body><freejoint/><geom size=".1"/></body></worldbody>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{world}</mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mujoco.mj_step(model, data, nstep=3)
print(pliant.stats(data).steps)
"""


def test_the_first_use_of_pliant_in_a_process():
    """What looks at MuJoCo's memory then is not to be led back to us."""
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["3"], done.stderr
