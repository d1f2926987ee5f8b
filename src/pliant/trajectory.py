"""What a run leaves behind: states, forces and statistics, in memory or in a file that is read when asked.

A run is a sequence of chunks of samples. In memory they are a list; in a file each is one record, which also holds the
state to go on from: a run that was stopped resumes from its last complete record.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.drawing import POSE
from pliant.errors import FileError, PliantError
from pliant.inputs import Array, Ints
from pliant.readout import COLUMNS, contact_table, pressure_table
from pliant.record import RUN, Record, read, write
from pliant.run_checks import check_chunk, check_parameters
from pliant.scene import Scene
from pliant.solution import Status

CHUNK: Final = "samples"
STATS: Final = ("status", "residual", "momentum_residual", "iterations", "factorizations", "gave_up", "unsolved")
REAL: Final = ("residual", "momentum_residual")  # the others are whole numbers
COUNTS: Final = tuple("" if name in REAL else name for name in STATS)
COMPLETE, INTERRUPTED, NON_FINITE, ERROR, UNFINISHED = "complete", "interrupted", "non-finite", "error", "unfinished"
ENDINGS: Final = (COMPLETE, INTERRUPTED, NON_FINITE, ERROR, UNFINISHED)
Path = str | os.PathLike[str]
Layout = tuple[tuple[str, int, int], ...]  # per constraint: name, count, dimension


class Chunk(NamedTuple):
    """Samples one after the other. Forces and statistics are those of the steps that led to a sample."""

    time: Array  # (n,) [s]
    q: Array  # (n, nq)
    v: Array  # (n, nv)
    layouts: list[Layout]  # those that occur
    layout: Ints  # (n,) which
    force: Array  # forces of all samples, constraint by constraint
    stats: Array  # (n, len(STATS))
    touches: Ints  # (n,) how many contacts each sample has
    touch: Array  # (sum, len(COLUMNS)) their rows
    poses: Array  # (n, 7 shapes) where the shapes of the run's scene are; (n, 0) where nobody needs it


class Trajectory:
    """A simulated run.

    time (T+1,) [s], q (T+1, nq), v (T+1, nv): the samples, the first one the start
    forces  list of T tuples, as Solution.forces, of the step that ended at time[k + 1]; force_names: their names
    stats   dict of arrays (T,), over the steps since the sample before: status (worst, as an index into
            list(pliant.Status)), residual and momentum_residual (largest), iterations, factorizations, gave_up (steps
            where looking ahead did not contract) and unsolved (steps at the iteration limit), summed
    contacts, pressure: tables of who touches whom, for systems that tell (MuJoCo models do)
    parameters, complete: what the run was asked for, and whether it got there
    ended   how: "complete", "interrupted" (Ctrl-C), "non-finite" (an answer, with throw=False: the last status says so
            too), "error" (an exception), or "unfinished" (killed, or still being written)
    """

    def __init__(
        self,
        parameters: dict[str, Any],
        chunks: Callable[[], Iterable[Chunk]],
        *,
        ended: str,
        scene: Scene | Callable[[], Scene | None] | None = None,
    ) -> None:
        self.parameters = parameters
        self.ended = ended
        self._chunks = chunks
        self._scene = scene

    @property
    def complete(self) -> bool:
        """Whether the run got to its duration."""
        return self.ended == COMPLETE

    @cached_property
    def time(self) -> Array:
        """(T+1,) [s]."""
        return self._joined("time")

    @cached_property
    def q(self) -> Array:
        """(T+1, nq)."""
        return self._joined("q")

    @cached_property
    def v(self) -> Array:
        """(T+1, nv)."""
        return self._joined("v")

    @cached_property
    def forces(self) -> list[tuple[Array, ...]]:
        """T tuples, one array per constraint: (n,) or (n, d) [N]."""
        return [forces for chunk in self._chunks() for forces in _forces(chunk)][1:]

    @cached_property
    def force_names(self) -> list[tuple[str, ...]]:
        """T tuples, the names of the constraints whose forces they are. Runs of `pliant run` hold the limits and
        equalities that push, such as "joint:knee" and "equality:loop"; their contacts are in `contacts`."""
        layouts = [chunk.layouts[index] for chunk in self._chunks() for index in chunk.layout]
        return [tuple(name for name, _, _ in layout) for layout in layouts][1:]

    @cached_property
    def stats(self) -> dict[str, Any]:
        """By name, (T,) each."""
        columns = zip(STATS, self._joined("stats")[1:].T, strict=True)
        stats = {name: column if name in REAL else column.astype(np.int64) for name, column in columns}
        if self.ended == NON_FINITE:  # the step that failed leads to no sample of its own
            stats["status"][-1:] = list(Status).index(Status.NON_FINITE)
        return stats

    @property
    def contacts(self) -> Any:
        """A row per contact and sample, of the step that ended at its time: a pandas.DataFrame if pandas is installed,
        else a structured array.

        time [s], geom1, geom2, element (of a Foundation on geom2, else -1), x y z [m], nx ny nz (the normal, from geom1
        to geom2), fx fy fz [N] in the world: what geom1 does to geom2, penetration [m] at the end of the step, state.
        """
        return contact_table(*self._touches())

    @property
    def pressure(self) -> Any:
        """A row per element of a Foundation that pushes: time, geom, element, u v w (its place in the frame of the geom
        [m]), area [m^2], pressure and shear [Pa]."""
        return pressure_table(*self._touches())

    def draw_pressure(self, path: Path, *, geom: str | None = None, time: float | None = None) -> None:
        """A map of the pressure on a geom at a time, as a picture (.png, .pdf, .svg); by default the first geom that
        has any, at the last sample at which it has."""
        from pliant.plot import pressure_figure

        table = self.pressure
        if not len(table):
            raise PliantError("no pressure: no geom with a Foundation touches anything in this run")
        known = list(dict.fromkeys(np.asarray(table["geom"]).tolist()))
        geom = known[0] if geom is None else geom
        if geom not in known:
            raise PliantError(f"geom {geom!r} has no pressure in this run; these have: {', '.join(known)}")
        its = table[np.asarray(table["geom"]) == geom]
        times = np.asarray(its["time"])
        now = float(times[-1] if time is None else times[np.argmin(np.abs(times - time))])
        if time is not None and abs(now - time) > np.diff(self.time).max():
            raise PliantError(f"geom {geom!r} has no pressure at {time:g} s; the nearest time is {now:g} s")
        try:
            pressure_figure(its[times == now], geom, now).savefig(path)
        except (OSError, ValueError) as error:
            raise PliantError(f"cannot write the picture {os.fspath(path)}: {error}") from error

    def _touches(self) -> tuple[Array, Array, list[str]]:
        names = self.parameters.get("geoms")
        if names is None:
            raise PliantError(
                "this run has no contacts by name: its system has no `readout`; Trajectory.forces has the forces"
            )
        counts, rows = self.touches()
        return np.repeat(self.time, counts), rows, names

    def touches(self) -> tuple[Ints, Array]:
        """(T+1,) how many contacts each sample has, and the rows of all of them, see pliant.readout."""
        return self._joined("touches").astype(np.int64), self._joined("touch")

    @property
    def scene(self) -> Scene | None:
        """How the system looks, for `pliant.stage.Stage.of`; None where nobody said."""
        return self._scene() if callable(self._scene) else self._scene

    def poses_of(self, scene: Scene) -> Array:
        """(T+1, 7 shapes) where the shapes of a scene are: as its system says, or else as the file has it; nan where
        neither knows."""
        if scene.place is not None:
            return scene.poses(self.time, self.q)
        width = POSE * scene.count
        return np.concatenate([_poses(chunk, width) for chunk in self._chunks()])

    def save(self, path: Path) -> None:
        """Write the run to a file of its own; an existing file is replaced."""
        write(path, self._records())

    @classmethod
    def load(cls, path: Path) -> Trajectory:
        """A run in a file, up to its last complete record; samples are read when they are asked for."""
        parameters, ended = read_run(path)
        return cls(parameters, partial(read_chunks, path), ended=ended, scene=partial(read_scene, path))

    def _records(self) -> Iterator[Record]:
        yield run_record(self.parameters, self.scene)
        chunks = self._posed()
        for i, chunk in enumerate(chunks):
            yield chunk_record(chunk, {"ended": self.ended if i + 1 == len(chunks) else UNFINISHED}, {})

    def _posed(self) -> list[Chunk]:
        """The chunks with the poses of the shapes, for readers that have no system to ask."""
        scene = self.scene
        if scene is None or scene.place is None:
            return list(self._chunks())
        return [chunk._replace(poses=scene.poses(chunk.time, chunk.q)) for chunk in self._chunks()]

    def __getstate__(self) -> dict[str, Any]:
        scene = None if callable(self._scene) else self._scene
        if scene is None or scene.place is None:
            return self.__dict__
        # the system's function may be one that another process cannot have
        return {**self.__dict__, "_chunks": partial(list, self._posed()), "_scene": replace(scene, place=None)}

    def _joined(self, name: str) -> Array:
        return np.concatenate([getattr(chunk, name) for chunk in self._chunks()])

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        state = "" if self.complete else ", stopped early"
        return f"Trajectory({len(self)} samples, {self.time[0]:g} to {self.time[-1]:g} s{state})"


def run_record(parameters: dict[str, Any], scene: Scene | None) -> Record:
    """What a file begins with."""
    header: dict[str, Any] = {"content": RUN, "parameters": parameters}
    if scene is None:
        return Record(header, {})
    return Record({**header, "scene": {"kind": scene.kind, **scene.header}}, scene.arrays)


def read_scene(path: Path) -> Scene | None:
    """What the file says of how the run looks, as it stands there."""
    first = next(read(path, strict=False), None)
    header = None if first is None else first.header.get("scene")
    if first is None or header is None:  # files of before there were scenes have none
        return None
    if not isinstance(header, dict):
        raise FileError(f"{os.fspath(path)}: the record does not make a run: its scene is {header!r}")
    return Scene(str(header.get("kind")), header, first.arrays)


def chunk_record(chunk: Chunk, header: dict[str, Any], state: dict[str, Array]) -> Record:
    """A chunk, and the state to go on from."""
    arrays = {name: part for name, part in chunk._asdict().items() if name != "layouts"}
    return Record({"content": CHUNK, "layouts": chunk.layouts, **header}, {**arrays, **state})


def read_run(path: Path) -> tuple[dict[str, Any], str]:
    """(parameters, how the run ended)."""
    records = read(path, strict=False)
    first = next(records, None)
    if first is None or first.header.get("content") != RUN:
        found = "no complete record" if first is None else repr(first.header.get("content"))
        raise FileError(f"{os.fspath(path)}: expected a run, found {found}")
    header = first.header
    for record in records:
        header = record.header
    parameters: Any = first.header.get("parameters")
    ended = header.get("ended", UNFINISHED)
    try:
        check_parameters(parameters, header.get("duration"))
        if ended not in ENDINGS:
            raise ValueError(f"it ended {ended!r}")
    except ValueError as error:
        raise FileError(f"{os.fspath(path)}: the record does not make a run: {error}") from error
    if "duration" in header:  # a run that went on was asked for more
        parameters = {**parameters, "duration": header["duration"]}
    return dict(parameters), ended


def read_chunks(path: Path) -> Iterator[Chunk]:
    """The chunks of a file, two in memory at a time.

    The last sample of a chunk is `extra` where the run ended, or was flushed, between two samples of record_every:
    none that counts once the run has gone on.
    """
    held, extra = None, False
    parameters: dict[str, Any] = {}
    for record in read(path, strict=False):
        parameters = parameters or record.header.get("parameters", {})
        chunk = _chunk(record, parameters.get("geoms"), path) if record.header.get("content") == CHUNK else None
        if chunk is not None and len(chunk.time):
            if held is not None and (held.q.shape[1:], held.v.shape[1:]) != (chunk.q.shape[1:], chunk.v.shape[1:]):
                raise FileError(f"{os.fspath(path)}: a record has samples of another size than those before it")
            if held is not None:
                yield _without_last(held) if extra else held
            held, extra = chunk, bool(record.header.get("extra"))
    yield held if held is not None else _start(parameters, path)


def _without_last(chunk: Chunk) -> Chunk:
    rows = sum(count * dimension for _, count, dimension in chunk.layouts[chunk.layout[-1]])
    short = {name: getattr(chunk, name)[:-1] for name in ("time", "q", "v", "layout", "stats", "touches", "poses")}
    touch = chunk.touch[: int(short["touches"].sum())]
    return chunk._replace(**short, force=chunk.force[: len(chunk.force) - rows], touch=touch)


def _start(parameters: dict[str, Any], path: Path) -> Chunk:
    """The one sample of a run that was stopped before its first record."""
    try:
        time, q, v = (np.atleast_2d(np.array(parameters[name], dtype=float)) for name in ("time", "q", "v"))
        if time.shape != (1, 1) or q.ndim != 2 or v.ndim != 2 or not len(q) == len(v) == 1:
            raise ValueError("more than one start")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FileError(f"{os.fspath(path)}: the run has no samples and does not say where it starts") from error
    none, one = np.zeros(0), np.zeros(1, np.int64)
    touch, poses = none.reshape(0, len(COLUMNS)), none.reshape(1, 0)
    return Chunk(time[0], q, v, [()], one, none, np.zeros((1, len(STATS))), one, touch, poses)


def _chunk(record: Record, geoms: list[str] | None, path: Path) -> Chunk:
    try:
        layouts = [tuple((str(n), int(c), int(d)) for n, c, d in layout) for layout in record.header["layouts"]]
        # files of before there were tables and scenes have none
        n = len(record.arrays["time"])
        none = {
            "touches": np.zeros(n, np.int64), "touch": np.zeros((0, len(COLUMNS))), "poses": np.zeros((n, 0))
        }  # fmt: skip
        given = {**none, **record.arrays}
        arrays = {name: given[name] for name in Chunk._fields if name != "layouts"}
        chunk = Chunk(layouts=layouts, **arrays)
        check_chunk(chunk, COUNTS, geoms)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise FileError(f"{os.fspath(path)}: a record does not hold samples of a run: {error!r}") from error
    return chunk


def _poses(chunk: Chunk, width: int) -> Array:
    """(n, width); nan for samples that have none, or those of another drawing."""
    return chunk.poses if chunk.poses.shape[1] == width else np.full((len(chunk.time), width), np.nan)


def _forces(chunk: Chunk) -> Iterator[tuple[Array, ...]]:
    """Per sample: one array per constraint."""
    start = 0
    for index in chunk.layout:
        parts = []
        for _, count, dimension in chunk.layouts[index]:
            part = chunk.force[start : start + count * dimension]
            parts.append(part.reshape(count, dimension) if dimension > 1 else part)
            start += count * dimension
        yield tuple(parts)
