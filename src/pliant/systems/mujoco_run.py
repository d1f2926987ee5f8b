"""`pliant run`: a model simulated from the command line, with a summary, a run file, and what went wrong kept."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.errors import InputError, PliantError, SolveError
from pliant.evaluate import span
from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.interrupts import Interrupts
from pliant.readout import COLUMNS
from pliant.recording import Recorder, State
from pliant.run_file import COMPLETE, ERROR, INTERRUPTED
from pliant.simulate import whole_steps
from pliant.solution import Status
from pliant.systems.mujoco_calls import DEFAULT, take_steps
from pliant.systems.mujoco_contacts import contact_rows
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import model_materials
from pliant.systems.mujoco_profile import Profile
from pliant.systems.mujoco_pulls import PullReader
from pliant.systems.mujoco_start import geom_labels, overlap, start_at
from pliant.systems.mujoco_stats import PARTS, stats
from pliant.systems.mujoco_stepper import outcome, stepper_of
from pliant.systems.mujoco_system import MujocoSystem
from pliant.trajectory import Trajectory

_log = logging.getLogger("pliant")
DEPTH, GEOM1, GEOM2 = (COLUMNS.index(name) for name in ("penetration", "geom1", "geom2"))
UNSOLVED: Final = (Status.ITERATION_LIMIT, Status.NON_FINITE)


@dataclass
class Summary:
    """What a run came to."""

    steps: int = 0
    step: float = 0.0  # [s]
    wall: float = 0.0  # [s]
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))  # of it, by part
    contacts: int = 0  # at most
    deepest: float = 0.0  # [m]
    where: str = ""  # between which geoms, when
    overlap: str = ""  # at the start, in words
    residual: float = 0.0
    statuses: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(Status, 0))
    saved: Path | None = None  # the first step that failed
    failed: str = ""  # why the run ended early
    profile: Profile = field(default_factory=Profile)

    def __str__(self) -> str:
        span, each = self.steps * self.step, self.wall / max(self.steps, 1)
        rest = {**self.seconds, "Python": max(self.wall - sum(self.seconds.values()), 0.0)}
        shares = ", ".join(f"{name} {100.0 * part / max(self.wall, 1e-300):.0f} %" for name, part in rest.items())
        solved, otherwise, unsolved = (
            self.statuses[s] for s in (Status.SOLVED, Status.SOLVED_BY_FALLBACK, Status.ITERATION_LIMIT)
        )
        lines = [
            f"steps      {self.steps} of {1e3 * self.step:g} ms: {span:g} s in {self.wall:.2f} s, "
            f"{span / max(self.wall, 1e-300):.3g} times real time",
            f"time       {1e6 * each:.0f} us per step: {shares}",
            f"contacts   {self.contacts} at most; deepest {self.deepest:.3g} m{self.where}",
            f"residual   {self.residual:.1e} at worst; {solved} steps solved, {otherwise} by the fallback, "
            f"{unsolved} at the iteration limit",
        ]
        if self.overlap:
            lines.append(f"start      {self.overlap}")
        if self.saved is not None:
            lines.append(f'failed     the first such step: pliant.StepProblem.load("{self.saved}")')
        return "\n".join(lines)


class _Outcome(NamedTuple):
    """What the recorder wants to know of a step."""

    status: Status
    residual: float
    iterations: int
    factorizations: int
    momentum_residual: float = 0.0
    forces: tuple[Array, ...] = ()


def run(
    model: Any,
    *,
    duration: float,
    out: Path,
    solver: Formulation | None = None,
    materials: Mapping[str, Any] | None = None,
    key: str | None = None,
    every: int = 1,
    name: str = "",
    progress: bool = False,
) -> tuple[Trajectory, Summary]:
    """Simulate a mujoco.MjModel for `duration` [s] into the file `out`, which must not exist.

    materials: beside and above those that the model names. key: the key frame to start from. every: samples are every
    so many steps, and the last. Ctrl-C ends the run and keeps it, and so does a step that fails; the first one that
    does is saved beside `out`.
    """
    if every < 1:
        raise InputError(f"every must be a whole number >= 1, got {every}")
    if out.exists():
        raise InputError(f"{out} exists already: choose another name, or move it away")
    solver = DEFAULT if solver is None else solver
    chosen = {**model_materials(model), **(materials or {})}
    system = MujocoSystem(model, materials=materials)
    if key is not None:
        start_at(model, system.data, key)
    h = float(model.opt.timestep)
    steps = whole_steps(span("duration", duration), h)
    parameters = {
        "step": h, "duration": float(duration), "time": float(system.data.time), "solver": repr(solver),
        "record_every": every, "q": system.q.tolist(), "v": system.v.tolist(), "geoms": system.geoms, "model": name,
        "coordinates": system.coordinates, "friction": system.friction,
        "materials": {key: repr(what) for key, what in chosen.items()},
    }  # fmt: skip
    if not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent} for {out.name}: make it, or choose another name")
    start = State(0, system.q, system.v, None)
    recorder = Recorder(parameters, every, out, float(system.data.time), start, system.draw())
    try:
        return _march(system, solver, steps, recorder, out, progress)
    finally:
        recorder.release()


def _march(
    system: MujocoSystem, solver: Formulation, steps: int, recorder: Recorder, out: Path, progress: bool
) -> tuple[Trajectory, Summary]:
    from tqdm import tqdm

    data, counted, h = system.data, stats(system.data), float(system.model.opt.timestep)
    summary, ended, geoms, pulls = Summary(step=h), COMPLETE, geom_labels(system.model), PullReader(system.model)
    summary.overlap = overlap(system.model, data)
    counted.clock()
    begin = perf_counter()
    with tqdm(total=steps, unit="step", disable=not progress) as bar, Interrupts() as interrupts:
        try:
            for k in range(steps):
                interrupts.check()
                before = (float(data.time), system.q, system.v)
                start = perf_counter()
                take_steps(system.made, stepper_of(data), system.model, data, solver)
                found = outcome(stepper_of(data))
                taken = perf_counter() - start
                held = pulls.read(data)
                layout = tuple((name, len(numbers), 1) for name, numbers in held.items())
                took = _Outcome(*found, forces=tuple(held.values()))
                if took.status in UNSOLVED and summary.saved is None:
                    summary.saved = _save(system, before, out)
                touch = contact_rows(system.model, data, data.qvel)
                recorder.step(float(data.time), State(k + 1, system.q, system.v, None), took, False, layout, touch)
                _note(summary, took, touch, geoms, float(data.time))
                summary.profile.add(taken, took.iterations, took.factorizations, data.nefc, len(touch))
                bar.update()
                if progress and k % 50 == 49:
                    bar.set_postfix_str(f"{(k + 1) * h / (perf_counter() - begin):.3g} x real time", refresh=False)
        except KeyboardInterrupt:
            ended = INTERRUPTED
        except (PliantError, mujoco().FatalError) as error:
            ended, summary.failed = ERROR, str(error)
            if isinstance(error, SolveError):
                summary.saved = summary.saved or _save(system, before, out)
    summary.wall, summary.seconds = perf_counter() - begin, counted.seconds
    summary.profile.end(summary.wall, h, counted)
    return recorder.end(ended), summary


def _note(summary: Summary, outcome: _Outcome, touch: Array, geoms: list[str], time: float) -> None:
    summary.steps += 1
    summary.statuses[outcome.status] += 1
    summary.residual = max(summary.residual, outcome.residual)
    summary.contacts = max(summary.contacts, len(touch))
    depths = touch[:, DEPTH]
    if len(depths) and depths.max() > summary.deepest:
        i = int(np.argmax(depths))
        one, two = (geoms[int(touch[i, column])] for column in (GEOM1, GEOM2))
        summary.deepest, summary.where = float(depths[i]), f", of {two} in {one} at {time:g} s"


def _save(system: MujocoSystem, before: tuple[float, Array, Array], out: Path) -> Path | None:
    """The step from a state, beside the run."""
    path = out.with_name(out.name + ".failed-step")
    try:
        system.problem(*before, float(system.model.opt.timestep)).save(path)
    except (PliantError, OSError) as error:
        _log.warning("the step that failed cannot be saved: %s", error)
        return None
    return path
