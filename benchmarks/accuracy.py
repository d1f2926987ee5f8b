"""Answers to many random steps beside exact ones of 50 digits; needs python-flint.

python -m benchmarks.accuracy [--count 100000] [--large 1000]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm import tqdm

import pliant
from benchmarks.report import write
from pliant.bench.metric import Metric
from tests.support.random_problems import random_problem
from tests.support.verdict import Verdict, judge

SHOWN = 50  # seeds listed of each kind of failure
RARE = 0.01  # share of answers that may be others than the reference finds
Test = Callable[[Verdict], bool]


@dataclass
class Tally:
    """Verdicts on the answers of one solver to the steps of one size."""

    size: str
    name: str
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    raised: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, seed: int, problem: pliant.StepProblem, solver: Any, **options: bool) -> None:
        """Solve and judge one step; what it raises is kept, warnings too."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                begin = time.perf_counter()
                solution = pliant.solve(problem, solver, throw=False)
                self.seconds += time.perf_counter() - begin
        except Exception as error:  # any at all is what this benchmark looks for
            self.raised[seed] = repr(error)
            return
        self.verdicts[seed] = judge(problem, solution, **options)

    def count(self, holds: Test) -> int:
        """How many verdicts are so."""
        return sum(map(holds, self.verdicts.values()))

    def share(self, holds: Test) -> float:
        """Of all verdicts."""
        return self.count(holds) / max(1, len(self.verdicts))

    def worst(self, attribute: str, among: Test) -> float:
        """The largest, among some; 0 of none."""
        return max((getattr(v, attribute) for v in self.verdicts.values() if among(v)), default=0.0)

    def seeds(self, holds: Test) -> dict[int, str]:
        """The first of them, in words."""
        found = {seed: str(v) for seed, v in self.verdicts.items() if holds(v)}
        return dict(list(found.items())[:SHOWN])


def missed(verdict: Verdict) -> bool:
    """Neither the exact answer nor one that meets the laws."""
    return not (verdict.agrees or verdict.certified)


def unsolved(verdict: Verdict) -> bool:
    """Not solved, in its own words or in truth."""
    return not (verdict.status.solved and verdict.law <= 1e-8)


def broken(verdict: Verdict) -> bool:
    """Not finite."""
    return not np.isfinite(verdict.law)


def general(tally: Tally) -> list[Metric]:
    """What every solver is measured by."""
    name = f"{tally.name}, {tally.size}"
    solved = 1.0 - tally.share(unsolved)
    return [
        Metric(f"{name}: steps", len(tally.verdicts) + len(tally.raised)),
        Metric(f"{name}: exceptions and warnings", len(tally.raised), goal=0),
        Metric(f"{name}: answers that are not finite", tally.count(broken), goal=0),
        Metric(f"{name}: solved to 1e-8", solved, better="more", goal=1.0 if tally.name == "Convex" else None),
        Metric(f"{name}: residuals off by more than 10", tally.count(lambda v: not v.honest), goal=0),
        Metric(f"{name}: worst momentum residual", tally.worst("momentum", lambda v: True), goal=1e-9),
        Metric(f"{name}: mean time", 1e3 * tally.seconds / max(1, len(tally.verdicts)), "ms"),
    ]


def exactness(tally: Tally) -> list[Metric]:
    """How the answers compare with exact ones."""
    name = f"{tally.name}, {tally.size}"
    return [
        Metric(f"{name}: share with other answers", tally.share(lambda v: not v.agrees), goal=RARE),
        Metric(f"{name}: of these beyond 1e-9", tally.count(missed), goal=0),
        Metric(f"{name}: other active sets", tally.count(lambda v: not v.same_sets)),
        Metric(f"{name}: same sets, elsewhere", tally.count(lambda v: v.same_sets and not v.agrees)),
        Metric(f"{name}: worst velocity over allowed", tally.worst("velocity", lambda v: v.agrees), goal=1.0),
        Metric(f"{name}: worst impulse over allowed", tally.worst("impulse", lambda v: v.agrees), goal=1.0),
    ]


def details(tally: Tally) -> dict[str, Any]:
    """The seeds to look at."""
    return {
        "solver": tally.name,
        "size": tally.size,
        "raised": tally.raised,
        "unsolved": tally.seeds(unsolved),
        "missed": tally.seeds(missed) if tally.name == "Coulomb" else {},
        "dishonest": tally.seeds(lambda v: not v.honest),
        "same_sets_elsewhere": tally.seeds(lambda v: v.same_sets and not v.agrees),
    }


def run(size: str, count: int) -> tuple[Tally, Tally]:
    """The first `count` seeds of a size."""
    coulomb, convex = Tally(size, "Coulomb"), Tally(size, "Convex")
    for seed in tqdm(range(count), desc=size, mininterval=5.0):
        problem = random_problem(np.random.default_rng(seed), size=size)
        coulomb.add(seed, problem, pliant.Coulomb())
        convex.add(seed, problem, pliant.Convex(), convex=True, compare=False)
    return coulomb, convex


def main() -> None:
    """Small steps, then large ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="small steps: 1-10 velocities, 0-20 rows")
    parser.add_argument("--large", type=int, default=1000, help="large steps: 20-60 velocities, 60-200 rows")
    chosen = parser.parse_args()
    metrics, seeds = [], []
    for size, count in (("small", chosen.count), ("large", chosen.large)):
        coulomb, convex = run(size, count)
        metrics += general(coulomb) + exactness(coulomb) + general(convex)
        seeds += [details(coulomb), details(convex)]
    command = f"python -m benchmarks.accuracy --count {chosen.count} --large {chosen.large}"
    write("accuracy", command, metrics, seeds)


if __name__ == "__main__":
    main()
