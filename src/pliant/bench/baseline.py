"""What earlier runs measured, in one file: the committed one, or one of your own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pliant.bench.metric import Metric, read_metric
from pliant.errors import FileError
from pliant.machine import machine, versions
from pliant.studies.study import write_whole

COMMITTED: Final = Path(__file__).with_name("baseline.json")


@dataclass(frozen=True)
class Entry:
    """A suite as it was measured: where, with what (see `machine.py`), and its metrics by name."""

    machine: dict[str, Any]
    versions: dict[str, str]
    metrics: dict[str, Metric]

    def differences(self) -> list[str]:
        """In what this machine and what is installed here are others, in words."""
        here, there = {**machine(), **versions()}, {**self.machine, **self.versions}
        return [f"{key} {there.get(key)}: it is {here[key]} here" for key in here if here[key] != there.get(key)]


Baseline = dict[str, Entry]  # by suite


def read_baseline(path: str | os.PathLike[str] = COMMITTED) -> Baseline:
    """Of a file that `save_baseline` wrote."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        return {suite: _entry(found) for suite, found in document["suites"].items()}
    except OSError as error:
        raise FileError(f"--baseline: cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"--baseline: {path} is none that `pliant bench --save` has written ({error!r})") from error


def _entry(found: Any) -> Entry:
    metrics = {metric.name: metric for metric in map(read_metric, found["metrics"])}
    return Entry(found["machine"], found["versions"], metrics)


def save_baseline(path: str | os.PathLike[str], suites: Mapping[str, Sequence[Metric]]) -> Path:
    """Write the metrics of these suites, in place of those that the file has of them; others stay in it."""
    target = Path(path)
    entries = read_baseline(target) if target.exists() else {}
    for name, metrics in suites.items():
        entries[name] = Entry(machine(), versions(), {metric.name: metric for metric in metrics})
    document = {"suites": {name: _document(entry) for name, entry in entries.items()}}
    return write_whole(target, (json.dumps(document, indent=1) + "\n").encode())


def _document(entry: Entry) -> dict[str, Any]:
    metrics = [metric.document() for metric in entry.metrics.values()]
    return {"machine": entry.machine, "versions": entry.versions, "metrics": metrics}
