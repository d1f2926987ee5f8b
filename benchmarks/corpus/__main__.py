"""Recorded steps, each solved from its guess: how many, with how much work, how fast, and whether it is true.

    python -m benchmarks.corpus [FILE ...] [--write]     # without files: robots.npz and piles.npz

Times are those of the engine, of the processor, warm, the least of three. Every tenth answer is judged by
`pliant.reference`, which knows no engine. --write: into results/corpus.json.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from benchmarks.corpus import FILES, Recorded, anew, read
from benchmarks.report import write
from pliant import _engine, reference
from pliant.bench.metric import Metric
from pliant.solution import STATUSES, Status

TOLERANCE, MOST = 1e-8, 100
REPEATS = 3
SAMPLE = 10  # every so manyth answer is judged by the reference
ROUNDING = 3e-11  # of residuals: the last digit of forces that cancel scores 1e-11
GOALS = {
    "robots": {"solved": 99.7, "p50": 3.0, "p90": 22.0, "p99": 100.0},
    "piles": {"solved": 96.0, "p90": 70.0, "p99": 160.0},
}


def solve(step: Recorded) -> tuple[np.ndarray, np.ndarray, Status, float, int, float]:
    """Velocity, forces, status, residual, factorizations, and the least time of a few solves [s]."""
    best = np.inf
    for _ in range(REPEATS):
        record = anew(step.problem)
        begin = time.thread_time()
        velocity, force, _, _, report, _ = _engine.solve(record, step.guess, None, False, TOLERANCE, MOST)
        best = min(best, time.thread_time() - begin)
    return velocity, force, STATUSES[report[0]], report[1], report[5], best


def is_true(problem: pliant.StepProblem, velocity: np.ndarray, force: np.ndarray, residual: float) -> bool:
    """Whether the reference finds the residual that was reported, and the momentum."""
    flat = problem.flat()
    law = float(reference.law_residual(flat, force).max(initial=0.0))
    agrees = max(law, residual) < ROUNDING or (law <= 10.0 * residual and residual <= 10.0 * law)
    return agrees and reference.momentum_residual(flat, velocity, force) < 1e-12


def run(path: Path) -> tuple[list[Metric], dict[str, Any]]:
    statuses: Counter[str] = Counter()
    work, seconds, unsolved, untrue, judged = [], [], [], [], 0
    for number, step in enumerate(read(path)):
        velocity, force, status, residual, factorizations, best = solve(step)
        statuses[status.name] += 1
        work.append(factorizations)
        seconds.append(best)
        if status is not Status.SOLVED:
            unsolved.append({"number": number, "origin": step.origin, "status": status.name, "residual": residual})
        if number % SAMPLE == 0:
            judged += 1
            if not is_true(step.problem, velocity, force, residual):
                untrue.append({"number": number, "origin": step.origin, "residual": residual})
    name, count = path.stem, len(work)
    goal = GOALS.get(name, {})
    p50, p90, p99 = (float(x) for x in np.percentile(work, [50, 90, 99]))
    us = 1e6 * np.array(seconds)
    answered = statuses["SOLVED"] + statuses["SOLVED_BY_FALLBACK"]
    metrics = [
        Metric(f"{name}: solved", 100.0 * statuses["SOLVED"] / count, "%", better="more", goal=goal.get("solved")),
        Metric(f"{name}: answered, by the convex program at last", 100.0 * answered / count, "%", "more", goal=100.0),
        Metric(f"{name}: factorizations, p50", p50, goal=goal.get("p50")),
        Metric(f"{name}: factorizations, p90", p90, goal=goal.get("p90")),
        Metric(f"{name}: factorizations, p99", p99, goal=goal.get("p99")),
        Metric(f"{name}: factorizations, most", float(max(work))),
        Metric(f"{name}: a solve, mean", float(us.mean()), "us"),
        *(Metric(f"{name}: a solve, p{p}", float(np.percentile(us, p)), "us") for p in (50, 90, 99)),
        Metric(f"{name}: answers that the reference does not confirm", float(len(untrue)), goal=0.0),
    ]
    details = {"statuses": dict(statuses), "judged": judged, "unsolved": unsolved, "untrue": untrue}
    return metrics, details


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="recorded steps (.npz)")
    parser.add_argument("--write", action="store_true", help="write results/corpus.json")
    options = parser.parse_args()
    metrics: list[Metric] = []
    details: dict[str, Any] = {}
    for path in options.files or FILES:
        found, more = run(path)
        metrics += found
        details[path.name] = more
        if not options.write:
            print(*found, *more["unsolved"], sep="\n")
    if options.write:
        details["load"] = [round(load, 2) for load in os.getloadavg()]
        write("corpus", "python -m benchmarks.corpus --write", metrics, details)


if __name__ == "__main__":
    main()
