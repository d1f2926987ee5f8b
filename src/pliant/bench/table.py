"""Metrics as tables: rows are cases, columns are quantities; in Markdown, for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from pliant.bench.baseline import Baseline, Entry
from pliant.bench.metric import RATIO, Metric
from pliant.errors import FileError

BEGIN: Final = "<!-- written by: pliant bench --table -->"
SHOWN: Final = ("python", "mujoco", "drake")  # versions; the baseline has all
END: Final = "<!-- end of what is written -->"
WIDEST: Final = 4  # times as many quantities as cases


def markdown(baseline: Baseline) -> str:
    """A table per suite, and where it was measured."""
    return "\n\n".join(
        f"### {suite}\n\n{_where(entry)}\n\n{table(entry.metrics.values())}" for suite, entry in baseline.items()
    )


def _where(entry: Entry) -> str:
    installed = ", ".join(f"{name} {entry.versions[name]}" for name in SHOWN if name in entry.versions)
    return f"{entry.machine['processor']}, {entry.machine['cores']} cores, {entry.machine['system']}; {installed}."


def table(metrics: Iterable[Metric]) -> str:
    """In Markdown. A name is "case: quantity"."""
    cells: dict[str, dict[str, Metric]] = {}
    for metric in metrics:
        case, _, quantity = metric.name.rpartition(": ")
        cells.setdefault(case, {})[_head(quantity, metric.unit)] = metric
    heads = list(dict.fromkeys(head for row in cells.values() for head in row))
    rows = [["", *heads], *([case, *(_cell(row.get(head)) for head in heads)] for case, row in cells.items())]
    if len(heads) > WIDEST * len(cells):  # few cases with many quantities fit on a page the other way round
        rows = [list(column) for column in zip(*rows, strict=True)]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(map(_line, rows))


def _head(quantity: str, unit: str) -> str:
    return quantity if unit in ("", RATIO) else f"{quantity} [{unit}]"


def _cell(metric: Metric | None) -> str:
    if metric is None:
        return ""
    shown = f"{metric.value:.0f}" if 1e3 <= metric.value < 1e6 else f"{metric.value:.3g}"
    return shown if metric.reached else f"{shown} (goal {metric.goal:g})"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write_between(path: Path, text: str) -> None:
    """Put the text between the marks of a page."""
    try:
        page = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"--table: cannot read {path}: {error.strerror}") from error
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise FileError(f"--table: {path} has no lines {BEGIN!r} and {END!r} to write between")
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
