"""What a benchmark leaves behind: metrics with unit and goal, the machine, the versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pliant.bench.metric import Metric
from pliant.machine import machine, versions

RESULTS = Path(__file__).parent / "results"


def write(name: str, command: str, metrics: list[Metric], details: Any = None) -> Path:
    """Print the metrics and write results/NAME.json."""
    for metric in metrics:
        print(metric)
    record = {
        "benchmark": name,
        "command": command,
        "machine": machine(),
        "versions": versions(),
        "metrics": [metric.document() for metric in metrics],
        "goals_missed": [metric.name for metric in metrics if not metric.reached],
    }
    if details is not None:
        record["details"] = details
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path
