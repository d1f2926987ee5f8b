"""The loop: steps one after the other, with progress, recording, and a policy for failures."""

from __future__ import annotations

import contextlib
import logging
import math
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pliant.errors import FileError, InputError, SolveError
from pliant.evaluate import check_system, moment, span
from pliant.evaluate import state as read_state
from pliant.formulation import Coulomb, Formulation
from pliant.interrupts import Interrupts
from pliant.recording import NOTHING, Recorder, State
from pliant.run_checks import WHOLE, check_coordinates
from pliant.run_file import COMPLETE, ERROR, INTERRUPTED, NON_FINITE, Path
from pliant.scene import scene_of
from pliant.solution import Status
from pliant.step import take_step
from pliant.trajectory import Trajectory

if TYPE_CHECKING:
    from pliant.systems import System

_log = logging.getLogger(__name__)
LOST: Final = (
    "at t = %.9g s: looking ahead was given up, and joints open by what they turn in the step; take a smaller step, or "
    "give the system a geometric_stiffness (said once; Trajectory.stats counts them)"
)


def simulate(
    system: System,
    q: Any,
    v: Any,
    *,
    duration: float,
    step: float,
    time: float = 0.0,
    solver: Formulation | None = None,
    drift: str = "auto",
    progress: bool = False,
    record_every: int = 1,
    checkpoint: Path | None = None,
    throw: bool = True,
) -> Trajectory:
    """Simulate `duration` [s] in steps of `step` [s] from (q, v) at `time` [s]: ceil(duration/step - 1e-9) whole steps.

    system: a `pliant.System`. solver, drift: as for `pliant.step`. progress: show a bar. record_every: keep every so
    many steps, and the last. checkpoint: a file to which the run is written as it goes; memory does not grow, and a run
    that was stopped goes on from where the file ends, to the same trajectory, bit for bit. It cannot see whether the
    system has changed. A file that already holds more than `duration` is returned as it is. throw: raise SolveError
    when an answer is not finite; else the run ends there. Steps at the iteration limit are counted (Trajectory.stats),
    never raised. Ctrl-C ends the run and returns what there is: Trajectory.ended is then "interrupted". An exception
    goes on with the run so far as its attribute `trajectory`, and in the file if there is one.
    """
    check_system(system)
    solver = Coulomb() if solver is None else solver
    first = State(0, read_state("q", q), read_state("v", v), None)
    h = span("step", step)
    clock = _Clock(moment(time), h, whole_steps(span("duration", duration), h))
    if not (isinstance(record_every, int) and record_every >= 1):
        raise InputError(f"record_every must be a whole number >= 1, got {record_every!r}")
    if not (checkpoint is None or isinstance(checkpoint, str | os.PathLike)):
        raise InputError(f"checkpoint must be a path, or None, got {checkpoint!r}")
    parameters = {
        "step": clock.step, "duration": float(duration), "time": clock.begin, "solver": repr(solver), "drift": drift,
        "record_every": record_every, "q": first.q.tolist(), "v": first.v.tolist(),
    }  # fmt: skip
    geoms, coordinates = getattr(system, "geoms", None), getattr(system, "coordinates", None)
    if geoms is not None:
        parameters["geoms"] = list(geoms)
        if (friction := getattr(system, "friction", None)) is not None:
            parameters["friction"] = friction
    if isinstance(coordinates, dict):
        try:
            check_coordinates(coordinates, len(first.q), len(first.v))
        except ValueError as error:
            raise InputError(f"system.coordinates: {error}; see help(pliant.System)") from error
        parameters["coordinates"] = coordinates
    scene = scene_of(system, clock.begin, first.q)
    recorder = Recorder(parameters, record_every, checkpoint, clock.begin, first, scene)
    try:
        if recorder.state.steps > clock.steps:
            return recorder.longer()
        with _bar(clock.steps, recorder.state.steps, progress) as bar, Interrupts() as interrupts:
            return _march(system, clock, solver, drift, recorder, bar, throw, interrupts)
    finally:
        recorder.release()


class _Clock(NamedTuple):
    begin: float  # [s]
    step: float  # [s]
    steps: int  # in all

    def at(self, steps: int) -> float:
        return self.begin + steps * self.step


def _march(
    system: System, clock: _Clock, solver: Formulation, drift: str, recorder: Recorder, bar: Any, throw: bool,
    interrupts: Interrupts,
) -> Trajectory:  # fmt: skip
    """Step after step, and what becomes of the run when it stops."""
    warned, lost, begin, readout = False, False, recorder.state.steps, getattr(system, "readout", None)
    try:
        while (here := recorder.state).steps < clock.steps:
            interrupts.check()
            now, first = clock.at(here.steps), here.steps == begin
            taken = take_step(system, now, here.q, here.v, clock.step, solver, drift, here.warm_start, first=first)
            solution = taken.solution
            if solution.status is Status.NON_FINITE:
                if throw:
                    raise SolveError(f"at t = {now:.9g} s: {solution.status}", taken.problem, solution)
                return recorder.end(NON_FINITE)
            there = State(here.steps + 1, taken.q, solution.velocity, solution)
            touch = readout(solution) if readout is not None else NOTHING
            recorder.step(clock.at(there.steps), there, solution, taken.gave_up, taken.problem.layout, touch)
            if not solution.status.solved and not warned:
                warned, says = True, solver.explain(solution.status)
                _log.warning("at t = %.9g s: %s (said once; Trajectory.stats counts them)", now, says)
            if taken.gave_up and not lost:
                lost = True
                _log.warning(LOST, now)
            bar.update()
    except KeyboardInterrupt:
        _log.warning("interrupted at t = %.9g s: returning what was simulated", clock.at(recorder.state.steps))
        return recorder.end(INTERRUPTED)
    except BaseException as error:
        reached, kept = clock.at(recorder.state.steps), ""
        # a full disk, an exception that is frozen: what went wrong first is what counts
        with contextlib.suppress(OSError, FileError, AttributeError):
            error.trajectory = recorder.end(ERROR)  # type: ignore[attr-defined]
            kept = "; .trajectory of this exception is that run"
        error.add_note(f"simulate got to t = {reached:.9g} s{kept}")
        raise
    return recorder.end(COMPLETE)


def whole_steps(duration: float, step: float) -> int:
    """Whole steps that cover the duration, but for rounding."""
    ratio = duration / step
    if not ratio < WHOLE:
        raise InputError(
            f"duration must be less than 2**53 steps, got {duration!r} s in steps of {step!r} s; take a larger step"
        )
    return max(1, math.ceil(ratio - max(1e-9, 1e-15 * ratio)))


def _bar(total: int, done: int, shown: bool) -> Any:
    if not shown:
        return contextlib.nullcontext(_NoBar())
    from tqdm import tqdm

    return tqdm(total=total, initial=done, unit="step")


class _NoBar:
    """What a bar that is not shown does."""

    def update(self) -> None:
        pass
