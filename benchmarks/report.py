"""What a benchmark leaves behind: metrics with unit and goal, the machine, the versions."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pliant

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "scipy", "numba", "clarabel", "mujoco")


@dataclass(frozen=True)
class Metric:
    """One number. goal: what it must reach, at most or at least; None: for information."""

    name: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def reached(self) -> bool:
        """Whether the goal is met."""
        low = self.at_least is None or self.value >= self.at_least
        return low and (self.at_most is None or self.value <= self.at_most)

    def __str__(self) -> str:
        bounds = (("<=", self.at_most), (">=", self.at_least))
        goals = [f"{sign} {goal:g}" for sign, goal in bounds if goal is not None]
        verdict = f"   (goal {' '.join(goals)}: {'reached' if self.reached else 'MISSED'})" if goals else ""
        return f"{self.name}: {self.value:.4g} {self.unit}{verdict}"


def write(name: str, command: str, metrics: list[Metric], details: Any = None) -> Path:
    """Print the metrics and write results/NAME.json."""
    for metric in metrics:
        print(metric)
    record = {
        "benchmark": name,
        "command": command,
        "machine": machine(),
        "versions": versions(),
        "metrics": [_filled(asdict(metric)) for metric in metrics],
        "goals_missed": [metric.name for metric in metrics if not metric.reached],
    }
    if details is not None:
        record["details"] = details
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "")}


def machine() -> dict[str, Any]:
    """Processor, cores that this process may use, and system."""
    allowed = getattr(os, "sched_getaffinity", None)
    return {
        "processor": _processor(),
        "cores": len(allowed(0)) if allowed else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def versions() -> dict[str, str]:
    """Of Python, pliant and what it stands on."""
    found = {"python": platform.python_version(), "pliant": pliant.__version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
