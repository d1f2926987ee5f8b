"""What a step of a robot in contact costs beside MuJoCo's own, from the same state, with the same controls.

Each takes a run of steps through `mj_step`, one call a step, and one through `rollout`, one call in all.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Final

import numpy as np

import pliant
from pliant.bench.entrant import NO_DRAKE, OURS, Entrant, failures, ratios, rivals
from pliant.bench.metric import Metric
from pliant.bench.race import Timing, race
from pliant.bench.robot import fallen, physics_state, rollout_lap, step_lap
from pliant.bench.scenes import Maker, robots
from pliant.bench.suite import Measured, Suite
from pliant.inputs import Array
from pliant.solution import Status
from pliant.studies.peers import Setting, Stepped, mujoco_settings, ours, steps_of_mujoco
from pliant.studies.scenes import incline
from pliant.studies.study import Progress, Results
from pliant.systems.mujoco_door import mujoco, part_of_mujoco
from pliant.systems.mujoco_load import read_spec
from pliant.systems.mujoco_stats import stats

SETTLE, LIMP, STEPS, ROUNDS, FEW = 500, 1500, 200, 15, 3  # LIMP: to settle, of robots without motors
ENOUGH: Final = 30.0  # [s] after which no round of a robot begins
PUSH: Final = 0.4  # the largest control
STIFFNESS: Final = 1e8  # [N/m] of our default, for MuJoCo's discrete
GOALS: Final = {
    "MuJoCo, default": 1.5,
    "MuJoCo, elliptic": 1.5,
    "MuJoCo, default, rollout": 1.0,
    "MuJoCo, elliptic, rollout": 1.0,
}
BLOCK_GOALS: Final = {"MuJoCo, default": 4.0, "MuJoCo, default, rollout": 1.5}
BLOCK, HARD_BLOCK = "block on four feet", "block on four feet, E* = 1e11 Pa"  # at rest on a slope
FRICTION, STEP = 0.375, 0.01  # of the block; [s]
FOOT_STIFFNESS: Final = 7.5e6  # [N/m], of a hard foot under its load, for peers


def run(quick: bool, progress: Progress) -> Measured:
    makers, missing = robots()
    makers = {BLOCK: lambda: read_spec(incline(FRICTION, STEP)), **makers}
    measured = Measured(details={"cases": {}}, skipped=missing)
    rounds = FEW if quick else ROUNDS
    progress(f"step: {HARD_BLOCK}")
    _hard_block(rounds, measured)
    for name, maker in makers.items():
        progress(f"step: {name}")
        try:
            field = _field(maker)
        except ImportError as error:  # installed in part
            measured.skipped.append(f"{name}: {error}")
            continue
        _robot(name, field, rounds, measured)
    return measured


def _hard_block(rounds: int, measured: Measured) -> None:
    """The one that Drake can have as well: a free body."""
    others, missing = rivals(FOOT_STIFFNESS)
    entrants = {
        peer.name: Entrant(peer, incline(FRICTION, STEP), STEPS, patience=np.inf, each=1) for peer in (ours(), *others)
    }
    timings = race({name: entrant.lap for name, entrant in entrants.items()}, rounds)
    runner: Any = entrants[OURS].runner
    measured.skipped += [f"{HARD_BLOCK}: {NO_DRAKE}"] if missing else []
    _keep(HARD_BLOCK, timings, runner, measured)


def _field(maker: Maker) -> dict[str, Stepped]:
    """Ours and MuJoCo's on the same robot, as `mujoco_settings` say, and with cones like ours; by Newton's method."""

    def change(setting: Setting, spec: Any) -> None:
        spec.option.solver, spec.option.iterations = mujoco().mjtSolver.mjSOL_NEWTON, 100
        setting.change(spec)

    def elliptic(spec: Any) -> None:
        settings[0].change(spec)
        spec.option.cone = mujoco().mjtCone.mjCONE_ELLIPTIC

    settings = mujoco_settings(STIFFNESS)
    settings.insert(1, Setting("MuJoCo, elliptic", "the same with true cones", elliptic))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what MuJoCo thinks of the files of others
        spec = maker()
        field = {OURS: Stepped(spec.copy(), pliant.mj_step, partial(change, settings[0]))}
        return field | {s.name: Stepped(spec.copy(), steps_of_mujoco, partial(change, s)) for s in settings}


def _robot(name: str, field: dict[str, Stepped], rounds: int, measured: Measured) -> None:
    rng, model = np.random.default_rng(0), field[OURS].model
    state = fallen(model, PUSH * rng.uniform(-1.0, 1.0, (SETTLE if model.nu else LIMP, model.nu)))
    for push, word in ((0.0, "none"), (PUSH, "random")) if model.nu else ((0.0, ""),):
        case = f"{name}, controls {word}" if word else name
        controls = push * rng.uniform(-1.0, 1.0, (STEPS, model.nu))
        timings = race(
            {key: partial(step_lap, runner, state, controls) for key, runner in field.items()}, rounds, seconds=ENOUGH
        )
        _keep(case, timings, field[OURS], measured)
        _rollout(case, {key: field[key] for key in field if not timings[key].why}, state, controls, rounds, measured)


def _rollout(
    case: str, field: dict[str, Stepped], state: Array, controls: Array, rounds: int, measured: Measured
) -> None:
    """One state, one thread."""
    laps = {}
    for name, runner in field.items():
        roll = pliant.rollout if name == OURS else part_of_mujoco("rollout").rollout
        start = physics_state(runner.model, state)[None]
        laps[name] = partial(rollout_lap, roll, runner.model, [runner.data], start, controls[None])
    timings = race(laps, rounds)
    named = {name if name == OURS else f"{name}, rollout": timing for name, timing in timings.items()}
    measured.metrics += ratios(case, named, goals=_goals(case))
    measured.skipped += failures(case, named)
    measured.details["cases"][case]["rollout_us"] = {name: timing.document(1e6) for name, timing in timings.items()}


def _keep(case: str, timings: dict[str, Timing], runner: Any, measured: Measured) -> None:
    measured.metrics += [Metric(f"{case}: pliant", 1e6 * timings[OURS].median, "us")] if timings[OURS].samples else []
    measured.metrics += ratios(case, timings, goals=_goals(case))
    measured.skipped += failures(case, timings)
    measured.details["cases"][case] = _details(timings, runner)


def _goals(case: str) -> dict[str, float]:
    return BLOCK_GOALS if case.startswith(BLOCK) else GOALS


def _details(timings: dict[str, Timing], runner: Any) -> Results:
    counted = stats(runner.data)
    return {
        "step": float(runner.model.opt.timestep),
        "contacts": int(runner.data.ncon),
        "step_us": {name: timing.document(1e6) for name, timing in timings.items()},
        "factorizations": counted.factorizations / max(1, counted.steps),
        "solved": counted.statuses[Status.SOLVED] / max(1, counted.steps),
    }


SUITE = Suite("a step of robots in contact beside MuJoCo's, through mj_step and rollout", run)
