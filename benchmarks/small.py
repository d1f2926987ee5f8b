"""What small things cost, Python included: the crate of the README, a linkage, a fresh process.

    python -m benchmarks.small [--write]     # into results/small.json

Medians of rounds, by the clock, with nothing else running.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import pliant
from benchmarks.report import write
from pliant.bench.metric import Metric
from pliant.studies import four_bar

ROUNDS, CALLS = 15, 1000
PUSH = [8.0, 0.0, -2 * 9.81]
FIRST_SOLVE = """
import pliant
floor = pliant.Contact([[[0, 0, 1], [1, 0, 0], [0, 1, 0]]], [0.0], pliant.Law(1e10, 1.0), friction=0.5)
pliant.solve(pliant.StepProblem([2, 2, 2], [0, 0, 0], [8.0, 0.0, -19.62], 0.01, [floor]))
"""


def crate() -> pliant.Solution:
    """The example of the README, built anew."""
    floor = pliant.Contact(
        jacobian=[[[0, 0, 1], [1, 0, 0], [0, 1, 0]]],
        gap=[0.0],
        law=pliant.Law(stiffness=1e10, damping=1.0),
        friction=0.5,
    )
    return pliant.solve(
        pliant.StepProblem(mass=[2, 2, 2], velocity=[0, 0, 0], force=PUSH, step=0.01, constraints=[floor])
    )


def median_of(run: Callable[[], object], calls: int) -> float:
    """Of rounds of so many calls [s per call]."""
    times = []
    run()
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        times.append((time.perf_counter() - begin) / calls)
    return float(np.median(times))


class Rack:
    """Twelve springs and dampers on six velocities, as a system written by hand has them."""

    def __init__(self) -> None:
        self.jacobian = np.concatenate([np.eye(6), np.eye(6) - np.eye(6, k=1)])
        self.law = pliant.Law(1e6, 10.0)
        self.mass, self.force = np.ones(6), -9.81 * np.ones(6)

    def problem(self, time: float, q: np.ndarray, v: np.ndarray, step: float) -> pliant.StepProblem:
        rows = pliant.Unilateral(self.jacobian, self.jacobian @ q, self.law)
        return pliant.StepProblem(self.mass, v, self.force, step, [rows])

    def advance(self, q: np.ndarray, v: np.ndarray, step: float) -> np.ndarray:
        return q + step * v


def steps_of(system: pliant.System, q: np.ndarray, v: np.ndarray) -> float:
    """Of `simulate` [s per step]."""
    return median_of(lambda: pliant.simulate(system, q, v, duration=1.0, step=0.001), 1) / 1000.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write results/small.json")
    options = parser.parse_args()
    process = median_of(lambda: subprocess.run([sys.executable, "-c", FIRST_SOLVE], check=True), 1)
    metrics = [
        Metric("the crate of the README, built and solved", 1e6 * median_of(crate, CALLS), "us", goal=25.0),
        Metric("a step of simulate, 12 rows", 1e6 * steps_of(Rack(), np.zeros(6), np.zeros(6)), "us", goal=60.0),
        Metric(
            "a step of simulate, four-bar with lookahead", 1e6 * steps_of(four_bar.FourBar(), *four_bar.start()), "us"
        ),
        Metric("a fresh process to the end of its first solve", process, "s", goal=0.4),
    ]
    if options.write:
        write("small", "python -m benchmarks.small --write", metrics, {"load": [round(x, 2) for x in os.getloadavg()]})
    else:
        print(*metrics, sep="\n")


if __name__ == "__main__":
    main()
