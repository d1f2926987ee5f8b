"""One random model, stepped: how it ended."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

import pliant
from pliant.systems.mujoco_system import INPUTS, MujocoSystem
from tests.support.random_models import random_control, random_model, random_state
from tests.support.verdict import Verdict, judge

HELD = 10  # steps with the same controls
FAST = 1e5  # [m/s], [rad/s], beyond which a motion has blown up
WRITTEN = ("qpos", "qvel", "qacc", "act", "qfrc_constraint", "qfrc_actuator", "qfrc_passive", "efc_force", "sensordata")
GOOD = ("fine", "refused")


class Outcome(NamedTuple):
    """kind: "fine", "refused" by name, "raised" an error of pliant's that names a cause, "exception" of another kind,
    "nan" without a word, "invalid" to MuJoCo, or, by who watches, "hang" or "crash"."""

    kind: str
    detail: str = ""
    steps: int = 0
    limited: int = 0  # steps that ended at the iteration limit
    fallback: int = 0
    full: int = 0  # times that MuJoCo had no room for contacts or rows
    verdict: Verdict | None = None  # on the step that would follow
    beside: bool = False  # whether MuJoCo's own motion blows up


def made(seed: int) -> tuple[Any, Any, np.random.Generator]:
    """The model of a seed, a data in a state of it, and what goes on to draw its controls."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(random_model(rng))
    data = mujoco.MjData(model)
    random_state(rng, model, data)
    return model, data, rng


def options(seed: int) -> dict[str, Any]:
    """Of `mj_step`: every seventh seed takes the springs of the model."""
    return {"compliance": "model"} if seed % 7 == 3 else {}


def trial(seed: int, steps: int, *, certify: bool = False, tell: Callable[[int], None] = lambda step: None) -> Outcome:
    """Step the model of a seed; whatever happens is an outcome. tell: called with the number of steps done."""
    try:
        model, data, rng = made(seed)
    except ValueError as error:
        return Outcome("invalid", str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return _stepped(seed, steps, model, data, rng, certify, tell)
        except pliant.PliantError as error:
            kind = "refused" if "does not simulate" in str(error) else "raised"
            return Outcome(kind, _told(error, data), _done(data))
        except Exception as error:  # any at all is what is looked for
            return Outcome("exception", f"{_told(error, data)} {_where(error)}", _done(data))


def blows_up_in_mujoco(seed: int, steps: int) -> bool:
    """Whether the model of a seed is faster than FAST within so many steps of MuJoCo's own."""
    model, data, rng = made(seed)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    for k in range(steps):
        if k % HELD == 0:
            random_control(rng, model, data)
        mujoco.mj_step(model, data)
        if not np.abs(data.qvel).max(initial=0.0) < FAST:
            return True
    return False


def _told(error: Exception, data: Any) -> str:
    """The error, and how fast things were: what has blown up before is no riddle."""
    return f"{type(error).__name__}: {error} [speed {np.abs(data.qvel).max(initial=0.0):.1e}]"


def _where(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"in {Path(last.filename).name}:{last.lineno}"


def _stepped(
    seed: int, steps: int, model: Any, data: Any, rng: np.random.Generator, certify: bool, tell: Callable[[int], None]
) -> Outcome:
    for done in range(0, steps, HELD):
        tell(done)
        random_control(rng, model, data)
        _advance(seed, model, data, min(HELD, steps - done))
        broken = [name for name in WRITTEN if not np.isfinite(getattr(data, name)).all()]
        if broken:
            return Outcome("nan", f"in {', '.join(broken)}", _done(data))
    tell(steps)
    verdict = certificate(seed, model, data) if certify and model.nv else None
    counted = pliant.stats(data).statuses
    limited, fallback = counted[pliant.Status.ITERATION_LIMIT], counted[pliant.Status.SOLVED_BY_FALLBACK]
    full = int(sum(data.warning[kind].number for kind in _full()))
    return Outcome("fine", "", _done(data), limited, fallback, full, verdict)


def _advance(seed: int, model: Any, data: Any, count: int) -> None:
    """In one call, or one by one."""
    for size in [count] if seed % 2 else [1] * count:
        pliant.mj_step(model, data, size, **options(seed))


def _done(data: Any) -> int:
    return int(pliant.stats(data).steps)


def _full() -> list[int]:
    kinds = mujoco.mjtWarning
    return [int(getattr(kinds, name)) for name in ("mjWARN_CONTACTFULL", "mjWARN_CNSTRFULL") if hasattr(kinds, name)]


def next_problem(seed: int, model: Any, data: Any) -> pliant.StepProblem:
    """The step that would follow, as a value."""
    system = MujocoSystem(model, **options(seed))
    for name in INPUTS:
        getattr(system.data, name)[:] = getattr(data, name)
    return system.problem(float(data.time), data.qpos.copy(), data.qvel.copy(), float(model.opt.timestep))


def certificate(seed: int, model: Any, data: Any) -> Verdict:
    """Of the step that would follow: what its solution says of itself, and what is true at 50 digits."""
    problem = next_problem(seed, model, data)
    return judge(problem, pliant.solve(problem, throw=False), compare=False)
