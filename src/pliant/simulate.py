"""The loop: steps one after the other, with progress, recording, and a policy for failures."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

from pliant.errors import InputError, SolveError
from pliant.evaluate import state as read_state
from pliant.recording import Recorder, State, layout_of
from pliant.solution import Status
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.formulation import Formulation
from pliant.step import take_step
from pliant.trajectory import Path, Trajectory

if TYPE_CHECKING:
    from pliant.systems import System

_log = logging.getLogger(__name__)


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
    """Simulate `duration` [s] in steps of `step` [s] from (q, v) at `time` [s].

    system: a `pliant.System`. solver, drift: as for `pliant.step`. progress: show a bar. record_every: keep every so
    many steps. checkpoint: a file to which the run is written as it goes; memory does not grow, and a run that was
    stopped goes on from where the file ends, to the same trajectory, bit for bit. throw: raise SolveError when an
    answer is not finite; else the run ends there. Steps at the iteration limit are counted (Trajectory.stats), never
    raised. Ctrl-C ends the run and returns what there is; Trajectory.complete is then False.
    """
    solver = Coulomb() if solver is None else solver
    first = State(0, read_state("q", q), read_state("v", v), None)
    count = _count(duration, step)
    if not (isinstance(record_every, int) and record_every >= 1):
        raise InputError(f"record_every must be a whole number >= 1, got {record_every!r}")
    parameters = {
        "step": step, "duration": duration, "time": time, "solver": repr(solver), "drift": drift,
        "record_every": record_every, "q": first.q.tolist(), "v": first.v.tolist(),
    }  # fmt: skip
    recorder = Recorder(parameters, record_every, checkpoint)
    here = recorder.begin(time, first)
    warned = False
    bar = _bar(count, here.steps, progress)
    try:
        while here.steps < count:
            now = time + here.steps * step
            taken = take_step(system, now, here.q, here.v, step, solver, drift, here.warm_start)
            solution = taken.solution
            if solution.status is Status.NON_FINITE:
                if throw:
                    recorder.end(here, complete=False)
                    raise SolveError(f"at t = {now:.9g} s: {solution.status}", taken.problem, solution)
                return recorder.end(here, complete=False)
            here = State(here.steps + 1, taken.q, solution.velocity, solution)
            layout = layout_of(taken.problem)
            recorder.step(time + here.steps * step, here, solution, taken.gave_up, layout)
            if not solution.status.solved and not warned:
                warned = True
                _log.warning("at t = %.9g s: %s (said once; Trajectory.stats counts them)", now, solution.status)
            bar.update()
    except KeyboardInterrupt:
        _log.warning("interrupted at t = %.9g s: returning what was simulated", time + here.steps * step)
        return recorder.end(here, complete=False)
    finally:
        bar.close()
    return recorder.end(here, complete=True)


def _count(duration: float, step: float) -> int:
    """Steps in the duration, the last one complete."""
    for name, number in (("duration", duration), ("step", step)):
        if not (isinstance(number, int | float) and math.isfinite(number) and number > 0.0):
            raise InputError(f"{name} must be one number > 0 [s], got {number!r}")
    return max(1, round(duration / step))


def _bar(total: int, done: int, shown: bool) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, initial=done, unit="step", disable=not shown)
