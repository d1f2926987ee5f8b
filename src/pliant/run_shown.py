"""A run from its file, to be looked at: what is no run, or cannot be read, is refused before anything is drawn."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from pliant.errors import FileError
from pliant.record import MAGIC, Truncated, read
from pliant.trajectory import Trajectory

_log = logging.getLogger("pliant")


def run_to_show(path: str | os.PathLike[str]) -> Trajectory:
    """The run in a file. Of a damaged one what can be read, with a warning; FileError where that is its start alone."""
    check_run(path)
    run, wrong = Trajectory.load(path), _damage(path)
    if wrong is None:
        return run
    count = f"{len(run)} of its samples could be read"
    if len(run) < 2:
        raise FileError(f"{wrong}: {count}; there is nothing to show: simulate it again")
    _log.warning("%s: %s, up to %g s", os.fspath(path), count, run.time[-1])
    return run


def check_run(path: str | os.PathLike[str]) -> None:
    """Refuse what is no file, or the model that a run could be made of."""
    place = Path(path)
    if not place.is_file():
        what = "a folder" if place.is_dir() else "no file"
        raise FileError(f"{str(path)!r} is {what}: give the file of a run, which `pliant run MODEL` makes")
    with open(place, "rb") as file:
        start = file.read(200)
    if not start.startswith(MAGIC) and start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        raise FileError(f"{place} is a model, not a run: make one first, with `pliant run {place}`")


def _damage(path: str | os.PathLike[str]) -> FileError | None:
    """What is wrong with a record, if anything is; a last one that is being written, or never was, is no damage to
    those before it."""
    count = 0
    try:
        for _ in read(path):
            count += 1
    except Truncated as error:
        return error if count < 2 else None
    except FileError as error:
        return error
    return None
