"""What every study is: a function that computes, one that draws, and where their results go."""

from __future__ import annotations

import importlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from pliant.errors import InputError
from pliant.plot import empty_figure
from pliant.record import package_versions
from pliant.run_file import INTERRUPTED
from pliant.simulate import simulate
from pliant.studies import STUDIES
from pliant.trajectory import Trajectory

Progress = Callable[[str], None]  # told what is being computed
Results = dict[str, Any]  # what JSON can hold


class Finished(NamedTuple):
    """A study, and what it has written."""

    name: str
    files: list[Path]
    claims: list[Results]  # of the paper, and what came out


@dataclass(frozen=True)
class Study:
    """title: in a line. run(quick, progress): the results. draw(results): a matplotlib Figure per picture, by name."""

    title: str
    run: Callable[[bool, Progress], Results]
    draw: Callable[[Results], dict[str, Any]]


def simulate_all(*arguments: Any, **options: Any) -> Trajectory:
    """`pliant.simulate`, but Ctrl-C ends the study with it: a part of a run is not a result."""
    run = simulate(*arguments, **options)
    if run.ended == INTERRUPTED:
        raise KeyboardInterrupt
    return run


def find(names: Sequence[str]) -> dict[str, Study]:
    """The studies of these names, all if there are none."""
    unknown = [name for name in names if name not in STUDIES]
    if unknown:
        raise InputError(f"no study is called {unknown[0]!r}; there are: {', '.join(STUDIES)}")
    return {name: importlib.import_module(f"pliant.studies.{name}").STUDY for name in names or STUDIES}


def reproduce(
    names: Sequence[str], folder: str | os.PathLike[str], *, quick: bool, progress: Progress
) -> Iterator[Finished]:
    """Run studies and write FOLDER/STUDY.json and their pictures; yields the files of each study that is finished.

    A study that is stopped, by an error or from the keyboard, leaves none of its own.
    """
    studies = find(names)
    empty_figure(1.0, 1.0)  # no Matplotlib, no pictures: found out before the work, as a folder that cannot be written
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / ".probe", b"").unlink()
    for name, study in studies.items():
        begin = time.perf_counter()
        results = study.run(quick, progress)
        document = {
            "study": name,
            "title": study.title,
            "quick": quick,
            "seconds": time.perf_counter() - begin,
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "versions": {"python": platform.python_version(), **package_versions()},
            "results": results,
        }
        files = {f"{picture}.png": png(figure) for picture, figure in study.draw(results).items()}
        files[f"{name}.json"] = json.dumps(document, indent=1).encode()
        written = [write_whole(target / file, content) for file, content in files.items()]
        yield Finished(name, written, results.get("claims", []))


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file completely or not at all."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"--out: cannot write {path}: {error.strerror}; choose another folder") from error
    return path


def png(figure: Any) -> bytes:
    content = BytesIO()
    figure.savefig(content, format="png", dpi=150)
    return content.getvalue()
