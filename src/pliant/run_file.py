"""The file of a run: its first record says what was asked for and how it looks, the others hold samples."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.errors import FileError
from pliant.inputs import Array, Ints
from pliant.readout import COLUMNS
from pliant.record import RUN, Record, read
from pliant.run_checks import check_chunk, check_parameters
from pliant.scene import Scene

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


def poses_in(chunk: Chunk, width: int) -> Array:
    """(n, width); nan for samples that have none, or those of another drawing."""
    return chunk.poses if chunk.poses.shape[1] == width else np.full((len(chunk.time), width), np.nan)


def forces_in(chunk: Chunk) -> Iterator[tuple[Array, ...]]:
    """Per sample: one array per constraint."""
    start = 0
    for index in chunk.layout:
        parts = []
        for _, count, dimension in chunk.layouts[index]:
            part = chunk.force[start : start + count * dimension]
            parts.append(part.reshape(count, dimension) if dimension > 1 else part)
            start += count * dimension
        yield tuple(parts)
