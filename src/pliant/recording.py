"""Recording a run: samples gathered into chunks, in memory or appended to a file with the state to resume from."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

import numpy as np

from pliant.errors import FileError, InputError
from pliant.inputs import Array
from pliant.problem import StepProblem
from pliant.record import Record, append, read, write
from pliant.solution import Solution, Status, WarmStart
from pliant.trajectory import RUN, STATS, Chunk, Layout, Path, Trajectory, chunk_record, run_record

SAMPLES = 1000  # in a chunk at most
SECONDS = 5.0  # after which a file gets what there is
STATUSES = list(Status)
FREE = ("duration", "versions")  # parameters in which a run that goes on may differ from the one in the file


class State(NamedTuple):
    """All that the next step depends on."""

    steps: int  # taken so far
    q: Array
    v: Array
    warm_start: Solution | WarmStart | None


class Recorder:
    """Takes every step, keeps every `every`-th one."""

    def __init__(self, parameters: dict[str, Any], every: int, path: Path | None) -> None:
        self.parameters, self.every, self.path = parameters, every, path
        self._kept: list[Chunk] = []
        self._samples: list[tuple[float, Array, Array, Layout, Array, Array]] = []
        self._stats = np.zeros(len(STATS))
        self._written = time.monotonic()
        self._end: int | None = None  # of the file, once we have written to it

    def begin(self, now: float, state: State) -> State:
        """Where to start: `state`, or where the run in the file stopped."""
        if self.path is not None and os.path.exists(self.path):
            resumed = _resume(self.path, self.parameters)
            if resumed is not None:
                state, self._stats = resumed
                return state
        elif self.path is not None:
            write(self.path, [run_record(self.parameters)])
        self._samples.append((now, state.q, state.v, (), np.zeros(0), self._stats))
        return state

    def step(self, now: float, state: State, solution: Solution, gave_up: bool, layout: Layout) -> None:
        """Count a step, and keep it if it is its turn."""
        status = STATUSES.index(solution.status)
        worst = [status, solution.residual, solution.momentum_residual]
        self._stats[:3] = np.maximum(self._stats[:3], worst)
        self._stats[3:] += solution.iterations, solution.factorizations, gave_up, not solution.status.solved
        if state.steps % self.every == 0:
            force = np.concatenate([np.zeros(0), *(part.ravel() for part in solution.forces)])
            self._samples.append((now, state.q, state.v, layout, force, self._stats))
            self._stats = np.zeros(len(STATS))
            if len(self._samples) >= SAMPLES or (self.path and time.monotonic() - self._written > SECONDS):
                self._close(state, complete=False)

    def end(self, state: State, *, complete: bool) -> Trajectory:
        """The run as it is now."""
        self._close(state, complete=complete)
        if self.path is not None:
            return Trajectory.load(self.path)
        kept = self._kept
        return Trajectory(self.parameters, lambda: kept, complete=complete)

    def _close(self, state: State, *, complete: bool) -> None:
        """Make a chunk of the samples."""
        chunk = _chunk(self._samples, len(state.q), len(state.v))
        self._samples = []
        if self.path is None:
            self._kept.append(chunk)
        else:
            header, arrays = _state_record(state)
            arrays["open_stats"] = self._stats
            record = chunk_record(chunk, {**header, "complete": complete}, arrays)
            self._end = append(self.path, [record], self._end)
            self._written = time.monotonic()


def layout_of(problem: StepProblem) -> Layout:
    """How the forces of a step are laid out."""
    return tuple((c.name, c.count, c.dimension) for c in problem.constraints)


def _chunk(samples: list[Any], nq: int, nv: int) -> Chunk:
    times, q, v, layouts, forces, stats = zip(*samples, strict=True) if samples else ((),) * 6
    distinct = list(dict.fromkeys(layouts))
    place = {layout: i for i, layout in enumerate(distinct)}
    return Chunk(
        np.array(times, dtype=float),
        np.array(q, dtype=float).reshape(len(q), nq),
        np.array(v, dtype=float).reshape(len(v), nv),
        distinct,
        np.array([place[layout] for layout in layouts], dtype=np.int64),
        np.concatenate([np.zeros(0), *forces]),
        np.array(stats, dtype=float).reshape(len(stats), len(STATS)),
    )


def _state_record(state: State) -> tuple[dict[str, Any], dict[str, Array]]:
    start = state.warm_start
    keys = [] if start is None else [[list(key), len(ids)] for key, ids in start.keys]  # type: ignore[call-overload]
    forces = () if start is None else start.forces
    ids = [] if start is None else [ids for _, ids in start.keys]
    arrays = {
        "state_q": state.q,
        "state_v": state.v,
        "state_force": np.concatenate([np.zeros(0), *(part.ravel() for part in forces)]),
        "state_ids": np.concatenate([np.zeros(0, np.int64), *ids]),
    }
    return {"steps": state.steps, "keys": keys, "warm": start is not None}, arrays


def _resume(path: Path, parameters: dict[str, Any]) -> tuple[State, Array] | None:
    """The state, and the statistics since the last sample, of a run that was stopped; None: before its first sample."""
    name = os.fspath(path)
    first, last = None, None
    for record in read(path, strict=False):
        first = first or record
        last = record
    if first is None or first.header.get("content") != RUN:
        raise FileError(f"{name} exists and is not a run: choose another name for checkpoint")
    theirs = first.header["parameters"]
    other = [key for key in parameters if key not in FREE and parameters[key] != theirs.get(key)]
    if other:
        raise InputError(
            f"checkpoint: {name} holds another run: {', '.join(other)} differ ({other[0]} is "
            f"{theirs.get(other[0])!r} there and {parameters[other[0]]!r} here); choose another name, or ask for the "
            "same run to go on with it"
        )
    if last is first or last is None:
        return None
    return _state(last), last.arrays["open_stats"]


def _state(record: Record) -> State:
    header, arrays = record.header, record.arrays
    start = None
    if header["warm"]:
        keys, forces, row, number = [], [], 0, 0
        for (kind, dimension, name), count in header["keys"]:
            keys.append(((kind, dimension, name), arrays["state_ids"][number : number + count]))
            part = arrays["state_force"][row : row + count * dimension]
            forces.append(part.reshape(count, dimension) if kind == "Contact" else part)
            number, row = number + count, row + count * dimension
        start = WarmStart(tuple(keys), tuple(forces))
    return State(int(header["steps"]), arrays["state_q"], arrays["state_v"], start)
