"""What every ingredient of the two tiers pays for: recorded steps solved again without each of them.

    python -m benchmarks.ablation [--write]     # --write: into results/ablation.json and docs/solver.md; three minutes

Two corpora of recorded steps, robots and piles, and random steps with rows of up to 1e15 N/m that contradict each
other. Of each: the share solved to 1e-8; of the random steps also the share at rounding. Factorizations at 50, 90 and
99 %, and the mean time of a solve, of the processor, the least of two; all variants take turns on each step.
`engine/solve/tuning.h` has the numbers.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

import pliant
from benchmarks.corpus import FILES, anew, read
from benchmarks.report import write
from pliant import _engine
from pliant.bench.metric import Metric
from pliant.solution import STATUSES, Status
from tests.support.random_problems import random_problem

PAGE = Path(__file__).parent.parent / "docs" / "solver.md"
BEGIN, END = "<!-- ablation -->", "<!-- end of ablation -->"
TOLERANCE, MOST = 1e-8, 100
ROUNDING = 1e-12  # residual of an answer that has all its digits
RANDOM = range(1000, 1500)  # seeds; those of the tests are others
REPEATS = 2


class Variant(NamedTuple):
    """What is left out, or has another in its place, and how; guess: whether Newton starts from one."""

    name: str
    tuning: dict[str, float]
    guess: bool = True


VARIANTS = (
    Variant("nothing", {}),
    Variant("tier 1", {"steps": 0}),
    Variant("the guess (v0 in its place)", {}, guess=False),
    Variant("at the start, forces that stop contacts alone", {"share_alone": 0.0}),
    Variant("at the start, slips that keep their direction", {"keeps_direction": math.inf}),
    Variant("giving up early", {"hopeless": math.inf, "slow": math.inf}),
    Variant("the proximal term of 1e-6 (1e-12 in its place)", {"proximal": 1e-12}),
    Variant("a finer proximal term later", {"finer": 1.0}),
    Variant("old factors while the pieces stay", {"chord": 0.0}),
    Variant("tier 2", {"path": 0}),
    Variant("a share of the shift's derivative after short steps (all of it in its place)", {"damping": 1.0}),
    Variant("Mehrotra's second order", {"second_order": 0}),
    Variant("Gondzio's corrections", {"corrections": 0}),
    Variant("short steps taken by 0.8 (0.99 in its place)", {"fraction": 0.99}),
    Variant("the end of a path that comes no nearer (all 100 iterations in its place)", {"patience": 1000}),
    Variant("another start of a path that got stuck", {"widest": 1.0}),
    Variant("Newton on the way", {"near": 0.0}),
    Variant("Newton from the end of a path that failed", {"last_digits": 0}),
    Variant("Newton from the start once more", {"again": 0}),
    Variant("contacts that close gradually", {"closing": 0}),
    Variant("their proximal term of 1e-10 (1e-6 in its place)", {"finely": 1e-6}),
    Variant("twofold rates", {"cancellation": math.inf}),
    Variant("twofold factors", {"stiff": math.inf}),
    Variant("Newton beyond the tolerance", {"polish": 0}),
)


# Unit, and which way is better; of numbers of factorizations: none, less.
KINDS: dict[str, tuple[str, Literal["less", "more"]]] = {
    "solved": ("%", "more"),
    "at rounding": ("%", "more"),
    "time": ("us", "less"),
}


class Case(NamedTuple):
    problem: pliant.StepProblem
    guess: np.ndarray | None


class Solved(NamedTuple):
    status: Status
    residual: float
    factorizations: int
    seconds: float


def recorded(path: Path) -> Iterator[Case]:
    for step in read(path):
        yield Case(step.problem, step.guess)


def random() -> Iterator[Case]:
    for seed in RANDOM:
        yield Case(random_problem(np.random.default_rng(seed), size="large"), None)


def solve(case: Case, variant: Variant) -> Solved:
    guess, least = case.guess if variant.guess else None, math.inf
    for _ in range(REPEATS):
        record = anew(case.problem)
        begin = time.thread_time()
        report = _engine.solve(record, guess, None, False, TOLERANCE, MOST, variant.tuning)[4]
        least = min(least, time.thread_time() - begin)
    return Solved(STATUSES[report[0]], report[1], report[5], least)


def measure(cases: Iterator[Case]) -> list[list[Solved]]:
    """Per variant, what came of every case."""
    found: list[list[Solved]] = [[] for _ in VARIANTS]
    for case in cases:
        solve(case, VARIANTS[0])  # the first one asks for memory
        for variant, made in zip(VARIANTS, found, strict=True):
            made.append(solve(case, variant))
    return found


def share(solved: list[Solved], residual: float) -> float:
    """Those solved with residuals below this [%]."""
    return 100.0 * sum(s.status is Status.SOLVED and s.residual < residual for s in solved) / len(solved)


def numbers(solved: list[Solved]) -> dict[str, float]:
    work = np.percentile([s.factorizations for s in solved], [50, 90, 99])
    return {
        "solved": share(solved, TOLERANCE),
        "at rounding": share(solved, ROUNDING),
        "p50": float(work[0]),
        "p90": float(work[1]),
        "p99": float(work[2]),
        "time": 1e6 * float(np.mean([s.seconds for s in solved])),
    }


def table(found: dict[str, list[dict[str, float]]]) -> str:
    """A row per variant; times as multiples of those with everything."""
    robots, piles, random = found["robots"], found["piles"], found["random"]
    lines = [
        "| left out, or replaced | robots: solved | p50, p90, p99 | time | piles: solved | p50, p90, p99 | time | "
        "random: solved | at rounding |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for variant, r, p, x in zip(VARIANTS, robots, piles, random, strict=True):
        cells = [variant.name]
        for one, whole in ((r, robots[0]), (p, piles[0])):
            work = ", ".join(f"{one[key]:.0f}" for key in ("p50", "p90", "p99"))
            cells += [f"{one['solved']:.1f} %", work, f"{one['time'] / whole['time']:.2f}"]
        cells += [f"{x['solved']:.1f} %", f"{x['at rounding']:.1f} %"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def metrics_of(found: dict[str, list[dict[str, float]]]) -> list[Metric]:
    return [
        Metric(f"{name}, without {variant.name}: {key}", value, *KINDS.get(key, ("", "less")))
        for name, rows in found.items()
        for variant, row in zip(VARIANTS, rows, strict=True)
        for key, value in row.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write results/ablation.json and the table of the docs")
    options = parser.parse_args()
    cases = {path.stem: recorded(path) for path in FILES} | {"random": random()}
    found = {name: [numbers(solved) for solved in measure(steps)] for name, steps in cases.items()}
    print(table(found))
    if options.write:
        write("ablation", "python -m benchmarks.ablation --write", metrics_of(found))
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table(found)}\n\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
