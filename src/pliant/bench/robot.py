"""Robots in contact: the state they are timed from, and laps through `mj_step` and through `rollout`."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from pliant.bench import clock
from pliant.bench.entrant import check
from pliant.inputs import Array
from pliant.studies.peers import Stepped
from pliant.systems.mujoco_door import mujoco


def fallen(model: Any, controls: Array) -> Array:
    """The state after these controls, (steps, nu), as MuJoCo simulates them."""
    data = mujoco().MjData(model)
    for control in controls:
        data.ctrl[:] = control
        mujoco()._functions.mj_step(model, data)
    return state_of(model, data)


def state_of(model: Any, data: Any) -> Array:
    """All that a step starts from, the warm start too."""
    kind = mujoco().mjtState.mjSTATE_INTEGRATION
    state = np.zeros(mujoco().mj_stateSize(model, kind))
    mujoco().mj_getState(model, data, state, kind)
    return state


def step_lap(runner: Stepped, state: Array, controls: Array) -> float:
    """Seconds per step, a call for each."""
    model, data = runner.model, runner.data
    mujoco().mj_resetData(model, data)  # its warnings too
    mujoco().mj_setState(model, data, state, mujoco().mjtState.mjSTATE_INTEGRATION)
    begin = clock.seconds()
    for control in controls:
        data.ctrl[:] = control
        runner.step(1)
    seconds = clock.seconds() - begin
    check(runner)
    return seconds / len(controls)


def physics_state(model: Any, state: Array) -> Array:
    """What `rollout` takes of a `state_of`: time, positions, velocities and activations."""
    data, kind = mujoco().MjData(model), mujoco().mjtState.mjSTATE_FULLPHYSICS
    mujoco().mj_setState(model, data, state, mujoco().mjtState.mjSTATE_INTEGRATION)
    found = np.zeros(mujoco().mj_stateSize(model, kind))
    mujoco().mj_getState(model, data, found, kind)
    return found


def rollout_lap(rollout: Callable[..., Any], model: Any, datas: list[Any], states: Array, controls: Array) -> float:
    """Seconds on the wall per step of each state, as threads share the work. datas: one per thread. states (n, size);
    controls (n or 1, steps, nu)."""
    nstep = controls.shape[1]
    given = controls if model.nu else None
    begin = perf_counter()
    rollout(model, datas if len(datas) > 1 else datas[0], states, given, nstep=nstep)
    return (perf_counter() - begin) / (nstep * len(states))
