"""What every suite is: a function that measures, one that draws, and where their results go."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pliant.bench import LONG, SUITES
from pliant.bench.metric import Metric
from pliant.errors import InputError
from pliant.machine import machine, versions
from pliant.studies.study import Progress, Results, png, write_whole
from pliant.systems.mujoco_door import mujoco


@dataclass
class Measured:
    """metrics; details: what JSON can hold; skipped: what could not be measured here, and why, in words."""

    metrics: list[Metric] = field(default_factory=list)
    details: Results = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Suite:
    """title: in a line. run(quick, progress). draw(details): a matplotlib Figure per picture, by name. page(details):
    the details as Markdown, "" if metrics say all. parts: suites by name, that can be run alone, as SUITE:PART."""

    title: str
    run: Callable[[bool, Progress], Measured]
    draw: Callable[[Results], dict[str, Any]] = lambda details: {}
    page: Callable[[Results], str] = lambda details: ""
    parts: Mapping[str, Suite] = field(default_factory=dict)


class Finished(NamedTuple):
    """A suite, what it has measured, and what it has written."""

    name: str
    measured: Measured
    files: list[Path]


def find(names: Sequence[str]) -> dict[str, Suite]:
    """The suites of these names; if there are none, all but the long ones."""
    return {name: _find(*name.split(":", 1)) for name in names or SUITES}


def _find(name: str, part: str = "") -> Suite:
    if name not in (*SUITES, *LONG):
        raise InputError(f"no suite is called {name!r}; there are: {', '.join((*SUITES, *LONG))}")
    suite: Suite = importlib.import_module(f"pliant.bench.{name}").SUITE
    if part and part not in suite.parts:
        there = f"there are: {', '.join(suite.parts)}" if suite.parts else "it has none"
        raise InputError(f"no part of {name} is called {part!r}; {there}")
    return suite.parts[part] if part else suite


def bench(
    names: Sequence[str], folder: str | os.PathLike[str], *, quick: bool, progress: Progress
) -> Iterator[Finished]:
    """Run suites and write FOLDER/SUITE.json, of some a page, and, with Matplotlib, pictures; yields each that is done.

    A suite that is stopped, by an error or from the keyboard, leaves nothing.
    """
    suites = find(names)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / ".probe", b"").unlink()  # a folder that cannot be written is found out before the work
    for name, suite in suites.items():
        begin = time.perf_counter()
        with _no_log():
            measured = suite.run(quick, progress)
        document = {
            "suite": name,
            "title": suite.title,
            "command": f"pliant bench {name}{' --quick' if quick else ''}",
            "quick": quick,
            "seconds": time.perf_counter() - begin,
            "machine": machine(),
            "versions": versions(),
            "metrics": [metric.document() for metric in measured.metrics],
            "goals_missed": [metric.name for metric in measured.metrics if not metric.reached],
            "skipped": measured.skipped,
            "details": measured.details,
        }
        stem = name.replace(":", "-")
        files = {f"{stem}.json": json.dumps(document, indent=1).encode()} | _pictures(suite, measured)
        if page := suite.page(measured.details):
            files[f"{stem}.md"] = f"{page}\n".encode()
        yield Finished(name, measured, [write_whole(target / file, content) for file, content in files.items()])


@contextlib.contextmanager
def _no_log() -> Iterator[None]:
    """MuJoCo writes what explodes to a file in the working folder; the laps tell it."""
    mujoco().set_mju_user_warning(lambda text: None)
    try:
        yield
    finally:
        mujoco().set_mju_user_warning(None)


def _pictures(suite: Suite, measured: Measured) -> dict[str, bytes]:
    if importlib.util.find_spec("matplotlib") is None:
        return {}
    return {f"bench_{name}.png": png(figure) for name, figure in suite.draw(measured.details).items()}
