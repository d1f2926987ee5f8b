"""What every study is: a function that computes, one that draws, and where their results go."""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from pliant.errors import InputError
from pliant.machine import said, versions
from pliant.plot.style import empty_figure
from pliant.run_file import INTERRUPTED
from pliant.simulate import simulate
from pliant.studies import STUDIES
from pliant.studies.markup import tag
from pliant.studies.page import Page
from pliant.studies.page import Results as Results
from pliant.studies.report import TITLE, Chapter, report
from pliant.trajectory import Trajectory

REPORT = "report.html"
Progress = Callable[[str], None]  # told what is being computed


class Finished(NamedTuple):
    """A study, or the report, and what it has written."""

    name: str
    files: list[Path]
    claims: list[Results]  # of the paper, and what came out


@dataclass(frozen=True)
class Study:
    """title: in a line. run(quick, progress): the results. draw(results): a matplotlib Figure per picture, by name.
    page: what the report says of it."""

    title: str
    run: Callable[[bool, Progress], Results]
    draw: Callable[[Results], dict[str, Any]]
    page: Page = field(default_factory=Page)


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
    """Run studies and write FOLDER/STUDY.json and their pictures, then report.html; yields the files of each study that
    is finished, and of the report.

    The report has the other studies as well whose STUDY.json lies there. A study that is stopped, by an error or from
    the keyboard, leaves none of its own, and no report is written.
    """
    studies = find(names)
    empty_figure(1.0, 1.0)  # no Matplotlib, no pictures: found out before the work, as a folder that cannot be written
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / ".probe", b"").unlink()
    check_ours(target / REPORT)
    chapters = earlier(target, [name for name in STUDIES if name not in studies])
    for name, study in studies.items():
        begin = time.perf_counter()
        results = study.run(quick, progress)
        document = {
            "study": name,
            "title": study.title,
            "quick": quick,
            "seconds": time.perf_counter() - begin,
            "date": time.strftime("%Y-%m-%d %H:%M"),
            "machine": said(),
            "versions": versions(),
            "results": results,
        }
        pictures = study.draw(results)
        files = {f"{picture}.png": png(figure) for picture, figure in pictures.items()}
        files[f"{name}.json"] = json.dumps(document, indent=1).encode()
        written = [write_whole(target / file, content) for file, content in files.items()]
        chapters[name] = Chapter(document, study.page, {picture: svg(one) for picture, one in pictures.items()})
        yield Finished(name, written, results.get("claims", []))
    page = report([chapters[name] for name in STUDIES if name in chapters])
    yield Finished("report", [write_whole(target / REPORT, page.encode())], [])


def check_ours(path: Path) -> None:
    """Raise unless there is no such file, or a report of before."""
    if path.exists() and tag("title", escape(TITLE)).encode() not in path.read_bytes():
        raise InputError(f"--out: {path} is not a report of pliant reproduce; move it away, or choose another folder")


def earlier(folder: Path, names: Sequence[str]) -> dict[str, Chapter]:
    """Studies whose results lie in the folder from runs of before, as chapters of the report."""
    found = {}
    for name in names:
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        study = find([name])[name]
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            pictures = {picture: svg(one) for picture, one in study.draw(document["results"]).items()}
            found[name] = Chapter(document, study.page, pictures)
            report([found[name]])
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise InputError(
                f"--out: {path} cannot be put into the report ({error!r}); move it away, or choose another folder"
            ) from error
    return found


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file completely or not at all."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"--out: cannot write {path}: {error.strerror}; choose another folder") from error
    finally:  # Ctrl-C as well leaves no part of a file
        temporary.unlink(missing_ok=True)
    return path


def png(figure: Any) -> bytes:
    content = BytesIO()
    figure.savefig(content, format="png", dpi=150)
    return content.getvalue()


def svg(figure: Any) -> bytes:
    """With its letters as curves, so that it needs no font."""
    content = BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    return content.getvalue()
