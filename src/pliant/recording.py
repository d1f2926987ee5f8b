"""Recording a run: samples gathered into chunks, in memory or appended to a file with the state to resume from."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from pliant.errors import FileError, InputError
from pliant.inputs import Array
from pliant.lock import Lock
from pliant.readout import COLUMNS
from pliant.record import RUN, Record, Truncated, append, is_blank, read, rewrite
from pliant.run_file import COMPLETE, STATS, UNFINISHED, Chunk, Layout, Path, chunk_record, run_record
from pliant.scene import Scene
from pliant.solution import Solution, Status, WarmStart
from pliant.trajectory import Trajectory

SAMPLES = 1000  # in a chunk at most
SECONDS = 5.0  # after which a file gets what there is
SEVERITY = {status: float(i) for i, status in enumerate(Status)}
FREE = (
    "duration",
    "versions",
    "geoms",
    "friction",
    "coordinates",
)  # parameters in which a run that goes on may differ from the one in the file
NOTHING = np.zeros((0, len(COLUMNS)))
Stats = tuple[float, ...]  # in the order of STATS: the worst of the first three, the sums of the others
NO_STATS: Stats = (0.0,) * len(STATS)
# time, q, v, how the forces are laid out, forces, statistics, contacts
Sample = tuple[float, Array, Array, Layout, tuple[Array, ...], Stats, Array]


class State(NamedTuple):
    """All that the next step depends on."""

    steps: int  # taken so far
    q: Array
    v: Array
    warm_start: Solution | WarmStart | None


class Outcome(Protocol):
    """What is kept of the solution of a step."""

    @property
    def status(self) -> Status: ...
    @property
    def residual(self) -> float: ...
    @property
    def momentum_residual(self) -> float: ...
    @property
    def iterations(self) -> int: ...
    @property
    def factorizations(self) -> int: ...
    @property
    def forces(self) -> tuple[Array, ...]: ...


class _Held(NamedTuple):
    """What is in memory only; exchanged as a whole, as Ctrl-C may come between any two instructions."""

    state: State
    samples: list[Sample]
    last: Sample | None  # of a step whose turn it is not
    stats: Stats  # since the last sample


class Recorder:
    """Takes every step, keeps every `every`-th one and the last."""

    def __init__(
        self, parameters: dict[str, Any], every: int, path: Path | None, now: float, start: State,
        scene: Scene | None = None,
    ) -> None:  # fmt: skip
        """Begin with `start`, or where the run in the file stopped. scene: how the system looks."""
        self.parameters, self.every, self.path, self.scene = parameters, every, path, scene
        self._held = _Held(start, [(now, start.q, start.v, (), (), NO_STATS, NOTHING)], None, NO_STATS)
        self._kept: list[Chunk] = []
        self._written = time.monotonic()
        self._end: int | None = None  # of the file
        self._stored: tuple[int, str] | None = None  # in the file: steps, and how the run ended
        self._foreign = False  # whether the file holds a run that is not this one
        self._lock = None if path is None else Lock(path)
        try:
            if path is not None:
                self._open(path)
        except BaseException:
            self.release()
            raise

    def _open(self, path: Path) -> None:
        if is_blank(path):
            self._end = rewrite(path, [run_record(self.parameters, self.scene)])
            return
        resumed = _resume(path, self.parameters)
        self._end = append(path, ())
        if resumed is not None:
            state, stats, ended = resumed
            self._held, self._stored = _Held(state, [], None, tuple(stats.tolist())), (state.steps, ended)

    @property
    def state(self) -> State:
        """Where the run is."""
        return self._held.state

    def release(self) -> None:
        """Let others write the file."""
        if self._lock is not None:
            self._lock.release()

    def step(
        self, now: float, state: State, solution: Outcome, gave_up: bool, layout: Layout, touch: Array = NOTHING
    ) -> None:
        """Count a step, and keep it if it is its turn. touch: its contacts, as rows of `pliant.readout`."""
        held = self._held
        if state.steps != held.state.steps + 1:
            self._foreign = True
            raise InputError(f"{os.fspath(self.path or '')} holds another run by now: choose another name")
        stats = _counted(held.stats, solution, gave_up)
        sample = (now, state.q, state.v, layout, solution.forces, stats, touch)
        if state.steps % self.every == 0:
            self._held = _Held(state, [*held.samples, sample], None, NO_STATS)
        else:
            self._held = _Held(state, held.samples, sample, stats)
        late = self.path is not None and time.monotonic() - self._written > SECONDS
        if late or len(self._held.samples) >= SAMPLES:
            self._close(UNFINISHED)

    def end(self, ended: str) -> Trajectory:
        """The run as it is now."""
        if self.path is None:
            self._close(ended)
            return Trajectory(self.parameters, partial(list, self._kept), ended=ended, scene=self.scene)
        if self._stored != (self.state.steps, ended) and not self._foreign:
            self._close(ended)
        return Trajectory.load(self.path)

    def longer(self) -> Trajectory:
        """The run in the file, which has more steps than are asked for."""
        run = Trajectory.load(self.path or "")
        run.ended = COMPLETE
        return run

    def _close(self, ended: str) -> None:
        """Make a chunk of the samples; they are let go once they are kept."""
        held = self._held
        extra = [] if held.last is None else [held.last]
        chunk = _chunk(held.samples + extra, len(held.state.q), len(held.state.v))
        if self.path is None:
            self._kept, self._held = [*self._kept, chunk], held._replace(samples=[])
            return
        if self.scene is not None and self.scene.place is not None:  # who reads the file has no system to ask
            chunk = chunk._replace(poses=self.scene.poses(chunk.time, chunk.q))
        header, arrays = _state_record(held.state)
        header.update(ended=ended, extra=bool(extra), duration=self.parameters["duration"])
        record = chunk_record(chunk, header, {**arrays, "open_stats": np.array(held.stats)})
        if self._lock is not None:
            self._lock.check()
        self._end, self._held = append(self.path, [record], self._end), held._replace(samples=[])
        self._written, self._stored = time.monotonic(), (held.state.steps, ended)


def _counted(stats: Stats, solution: Outcome, gave_up: bool) -> Stats:
    """Statistics with one step more. Plain numbers: as arrays they would take longer than the step itself."""
    worst, residual, momentum, iterations, factorizations, given_up, unsolved = stats
    status = solution.status
    return (
        _worse(worst, SEVERITY[status]),
        _worse(residual, solution.residual),
        _worse(momentum, solution.momentum_residual),
        iterations + solution.iterations,
        factorizations + solution.factorizations,
        given_up + gave_up,
        unsolved + (not status.solved),
    )


def _worse(a: float, b: float) -> float:
    """The larger one; what is no number is worst."""
    return a if a != a or b <= a else b


def _chunk(samples: list[Any], nq: int, nv: int) -> Chunk:
    times, q, v, layouts, forces, stats, touch = zip(*samples, strict=True) if samples else ((),) * 7
    distinct = list(dict.fromkeys(layouts))
    place = {layout: i for i, layout in enumerate(distinct)}
    return Chunk(
        np.array(times, dtype=float),
        np.array(q, dtype=float).reshape(len(q), nq),
        np.array(v, dtype=float).reshape(len(v), nv),
        distinct,
        np.array([place[layout] for layout in layouts], dtype=np.int64),
        np.concatenate([np.zeros(0), *(part.ravel() for parts in forces for part in parts)]),
        np.array(stats, dtype=float).reshape(len(stats), len(STATS)),
        np.array([len(part) for part in touch], dtype=np.int64),
        np.concatenate([NOTHING, *touch]),
        np.zeros((len(times), 0)),
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


def _resume(path: Path, parameters: dict[str, Any]) -> tuple[State, Array, str] | None:
    """The state, the statistics since the last sample, and how it ended, of a run; None: before its first sample."""
    name = os.fspath(path)
    first, last = _ends(path)
    if first is None or first.header.get("content") != RUN:
        raise FileError(f"{name} exists and is not a run: choose another name for checkpoint")
    theirs = first.header["parameters"]
    other = [key for key in parameters if key not in FREE and parameters[key] != theirs.get(key)]
    if other:
        differences = ", ".join(f"{key} is {theirs.get(key)!r} there and {parameters[key]!r} here" for key in other)
        raise InputError(
            f"checkpoint: {name} holds another run: {differences}; choose another name, or ask for the same run to go "
            "on with it"
        )
    if last is None:
        return None
    if "steps" not in last.header:
        raise InputError(
            f"checkpoint: {name} was written by Trajectory.save, without the state to go on from; choose another name"
        )
    return _state(last), last.arrays["open_stats"], str(last.header.get("ended"))


def _ends(path: Path) -> tuple[Record | None, Record | None]:
    """The first record of a file, and the last complete one if there are more."""
    first = last = None
    try:
        for record in read(path):
            first, last = (record, None) if first is None else (first, record)
    except Truncated:  # the process was stopped while it wrote
        pass
    except FileError as error:
        raise FileError(
            f"checkpoint: {error}. pliant.Trajectory.load reads what comes before it, if anything; to simulate, "
            "choose another name or move the file away"
        ) from error
    return first, last


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
