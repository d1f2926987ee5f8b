"""64 rollouts of a humanoid that has fallen: beside mujoco.rollout, and what a second thread gains."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

import pliant
from pliant.bench.entrant import OURS
from pliant.bench.metric import RATIO, Metric
from pliant.bench.race import Lap, Timing, race, ratio
from pliant.bench.robot import fallen, physics_state, rollout_lap
from pliant.bench.scenes import walker
from pliant.bench.suite import Measured, Suite
from pliant.inputs import Array
from pliant.machine import cores
from pliant.studies.study import Progress
from pliant.systems.mujoco_door import mujoco, part_of_mujoco
from pliant.systems.mujoco_load import read_model

STATES, STEPS, SETTLE = 64, 100, 300
ROUNDS, FEW = 9, 2
THREADS: Final = (1, 2)
PUSH: Final = 0.4  # the largest control
THEIRS: Final = "mujoco.rollout"


def run(quick: bool, progress: Progress) -> Measured:
    try:
        model = _humanoid()
    except ImportError as error:
        return Measured(skipped=[str(error)])
    progress(f"rollout: {STATES} states")
    states, controls = _states(model)
    possible = [threads for threads in THREADS if threads <= cores()]
    laps = {f"{name}, {threads}": lap for threads in possible for name, lap in _laps(model, threads, states, controls)}
    timings = race(laps, FEW if quick else ROUNDS)
    measured = Measured(details={name: timing.document(1e6) for name, timing in timings.items()})
    measured.skipped = [f"{n} threads: this process may use {cores()} core" for n in THREADS if n not in possible]
    measured.skipped += [f"{name} threads: {timing.why}" for name, timing in timings.items() if timing.why]
    for threads in possible:
        measured.metrics += _metrics(threads, timings)
    return measured


def _humanoid() -> Any:
    model = read_model(walker("humanoid"))
    model.opt.integrator, model.opt.solver = mujoco().mjtIntegrator.mjINT_EULER, mujoco().mjtSolver.mjSOL_NEWTON
    return model


def _states(model: Any) -> tuple[Array, Array]:
    """Each after a fall of its own, and the controls that follow."""
    rng = np.random.default_rng(0)
    controls = PUSH * rng.uniform(-1.0, 1.0, (STATES, SETTLE + STEPS, model.nu))
    states = [physics_state(model, fallen(model, each[:SETTLE])) for each in controls]
    return np.array(states), np.ascontiguousarray(controls[:, SETTLE:])


def _laps(model: Any, threads: int, states: Array, controls: Array) -> list[tuple[str, Lap]]:
    def lap(roll: Any) -> Lap:
        datas = [mujoco().MjData(model) for _ in range(threads)]
        return partial(rollout_lap, roll, model, datas, states, controls)

    return [(OURS, lap(pliant.rollout)), (THEIRS, lap(part_of_mujoco("rollout").rollout))]


def _metrics(threads: int, timings: dict[str, Timing]) -> list[Metric]:
    ours, theirs = timings[f"{OURS}, {threads}"], timings[f"{THEIRS}, {threads}"]
    if ours.why or theirs.why:
        return []
    case = f"{STATES} states, {threads} {'thread' if threads == 1 else 'threads'}"
    found = [
        Metric(f"{case}: pliant", 1e6 * ours.median, "us per step"),
        Metric(f"{case}: times {THEIRS}", ratio(ours, theirs), RATIO, goal=1.0),
    ]
    alone = timings[f"{OURS}, 1"]
    if threads > 1 and not alone.why:
        found.append(Metric(f"{case}: faster than with one", ratio(alone, ours), better="more", goal=1.8))
    return found


SUITE = Suite("64 rollouts of a humanoid on one and two threads, beside mujoco.rollout", run)
