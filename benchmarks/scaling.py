"""How the time of a warm solve grows with the size of the step.

    python -m benchmarks.scaling [--write]     # into results/scaling.json

Columns of spheres, chains of links, separate robots in one problem, springs under one body; and two threads. Sizes
are interleaved, so that a busy moment of the machine hits all; a number is the median, over the rounds, of the least
time in each. `engine` is the call of the compiled engine with its record, in time of the processor; `again` the same
for a second solve of the step; `solve` is `Solution.solve_time`, Python included, by the clock. Every first solve
begins at the velocity of the step before. `load` is what else the machine did: a calm one says about 1.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

import pliant
from benchmarks.corpus import FILES, anew, read
from benchmarks.report import write
from benchmarks.scenes.chain import Chain
from benchmarks.scenes.foundation import Foundation
from pliant import _engine
from pliant.bench.metric import Metric

ROUNDS = 7
SHIFTS = 3  # solves beyond the first, one after the other
LEAST = 0.02  # [s] of solves in a round
GOAL = 1.1
ROBOT = "unitree_go2"  # of the recorded steps
LEFT_OUT = ("step", "curvature", "constraint", "ids")  # of a record, by those who write it elsewhere

Warm = tuple[pliant.StepProblem, np.ndarray]  # the step and its guess


class Family(NamedTuple):
    """Steps of one kind in several sizes."""

    name: str
    make: Callable[[int], Warm]
    sizes: tuple[int, ...]


def column(count: int) -> Warm:
    """Spheres on each other, settling."""
    scene = Chain(count, spacing=0.0)
    for _ in range(50):
        scene.advance(pliant.solve(scene.problem(), guess=scene.velocity, throw=False).velocity)
    return scene.problem(), scene.velocity


def links(count: int) -> Warm:
    """A chain of rods in the plane, hung up at one end, swinging: (x, y, angle) each, two rows a joint."""
    length, h, mass = 0.1, 0.01, 0.1
    angle = 0.3 * np.sin(0.7 * np.arange(count))  # from the vertical
    arm = 0.5 * length * np.stack([-np.cos(angle), -np.sin(angle)], axis=1)  # of the ends' rates over the angle's
    first = 3 * np.arange(count)
    upper = np.stack([first, first + 1], axis=1).ravel()
    row, turning = np.arange(2 * count), np.repeat(first + 2, 2)
    entries = [  # the upper end of each link, less the lower end of the one above
        (row, upper, np.ones(2 * count)),
        (row, turning, arm.ravel()),
        (row[2:], upper[:-2], -np.ones(2 * count - 2)),
        (row[2:], turning[:-2], arm[:-1].ravel()),
    ]
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    jacobian = csr_array((values, (rows, columns)), shape=(2 * count, 3 * count))
    joints = pliant.Bilateral(jacobian, np.zeros(2 * count), pliant.Law(1e9, 10.0), name="joints")
    inertia = np.tile([mass, mass, mass * length**2 / 12.0], count)
    weight = np.tile([0.0, -9.81 * mass, 0.0], count)
    velocity = pliant.solve(pliant.StepProblem(inertia, np.zeros(3 * count), weight, h, [joints])).velocity
    return pliant.StepProblem(inertia, velocity, weight, h, [joints]), velocity


def robots(count: int) -> Warm:
    """A recorded step of a quadruped so many times side by side, each robot pushed a little differently."""
    given = next(step for step in read(FILES[0]) if ROBOT in step.origin and step.problem.rows > 48)
    flat = given.problem.flat()
    nv, rows, rng = given.problem.nv, given.problem.rows, np.random.default_rng(0)

    def starts(start: np.ndarray) -> np.ndarray:
        later = [start[1:] + k * start[-1] for k in range(count)]
        return np.concatenate([start[:1], *later])

    def columns(column: np.ndarray) -> np.ndarray:
        return np.concatenate([column + k * nv for k in range(count)])

    fields = {name: np.tile(part, count) for name, part in flat._asdict().items() if name not in LEFT_OUT}
    fields |= {name: starts(getattr(flat, name)) for name in ("mass_ptr", "jac_ptr", "block_ptr")}
    fields |= {name: columns(getattr(flat, name)) for name in ("mass_idx", "jac_idx")}
    fields["force"] *= np.repeat(1.0 + 1e-3 * rng.normal(size=count), nv)
    problem = pliant.StepProblem.from_flat({"step": flat.step, **fields})
    assert problem.rows == count * rows
    return problem, np.tile(given.guess, count)


def springs(count: int) -> Warm:
    """Elements under one body."""
    scene = Foundation(count)
    for _ in range(10):
        scene.advance(pliant.solve(scene.problem()).velocity)
    return scene.problem(), scene.velocity


FAMILIES = (
    Family("column of spheres", column, (10, 30, 100, 300, 1000)),
    Family("chain of links", links, (10, 100, 1000, 10_000)),
    Family("separate robots", robots, (1, 3, 10, 30, 100)),
    Family("elements under a body", springs, (100, 400, 900, 2500, 10_000)),
)


def by_engine(problem: pliant.StepProblem, guess: np.ndarray) -> float:
    """Time of one solve [s]."""
    record = anew(problem)
    begin = time.thread_time()
    _engine.solve(record, guess, None, False, 1e-8, 100)
    return time.thread_time() - begin


def by_solve(problem: pliant.StepProblem, guess: np.ndarray) -> float:
    """The same, as the solution says."""
    problem = pliant.StepProblem.from_flat(problem.flat())
    return pliant.solve(problem, guess=guess, throw=False).solve_time


def again(problem: pliant.StepProblem, guess: np.ndarray) -> float:
    """Time of a solve beyond the first, as lookahead asks for: other rate offsets, from the forces of the first."""
    record = problem.record
    velocity, force, *_ = _engine.solve(record, guess, None, False, 1e-8, 100)
    still, speed = np.zeros(problem.nv), 1e-6 * np.abs(velocity).max()
    shifted = [record.shifted(speed * np.sin(np.arange(problem.rows) + k), still) for k in range(SHIFTS)]
    begin = time.thread_time()
    for record in shifted:
        _engine.solve(record, velocity, force, False, 1e-8, 100)
    return (time.thread_time() - begin) / SHIFTS


TIMERS = {"engine": by_engine, "solve": by_solve, "again": again}


def measure(family: Family) -> dict[str, Any]:
    """Medians of all sizes, by both clocks [us], and how they grow."""
    warm = [family.make(size) for size in family.sizes]
    answers = [pliant.solve(problem, guess=guess, throw=False) for problem, guess in warm]
    found: dict[str, list[list[float]]] = {name: [[] for _ in warm] for name in TIMERS}
    for _ in range(ROUNDS):
        for k, (problem, guess) in enumerate(warm):
            for name, timer in TIMERS.items():
                times = [timer(problem, guess)]  # the first of a round finds cold caches
                times = [timer(problem, guess) for _ in range(max(3, round(LEAST / times[0])))]
                found[name][k].append(min(times))
    medians = {name: [1e6 * float(np.median(rounds)) for rounds in rows] for name, rows in found.items()}
    return {
        "sizes": list(family.sizes),
        "rows": [problem.rows for problem, _ in warm],
        "factorizations": [int(answer.islands.factorizations.max(initial=0)) for answer in answers],
        "status": [answer.status.name for answer in answers],
        "microseconds": medians,
        "exponent": {name: exponent(family.sizes, values) for name, values in medians.items()},
    }


def exponent(sizes: tuple[int, ...], times: list[float]) -> float:
    """Slope of log time over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def two_threads() -> Metric:
    """How many times the solves of one thread two of them do: the interpreter is free while the engine solves."""
    problem, guess = column(300)
    count = 20

    def work() -> None:
        for record in [anew(problem) for _ in range(count)]:
            _engine.solve(record, guess, None, False, 1e-8, 100)

    def seconds(threads: int) -> float:
        begin = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(work) for _ in range(threads)]:
                done.result()
        return time.perf_counter() - begin

    ratios = [2.0 * seconds(1) / seconds(2) for _ in range(3 * ROUNDS)]
    return Metric("two threads: solves over those of one", float(np.median(ratios)), "times", better="more")


def metrics_of(family: Family, found: dict[str, Any]) -> list[Metric]:
    name, engine = family.name, found["microseconds"]["engine"]
    made = [Metric(f"{name}, {size}: engine", us, "us") for size, us in zip(family.sizes, engine, strict=True)]
    made.append(Metric(f"{name}: exponent of the engine's time", found["exponent"]["engine"], goal=GOAL))
    if family.make is springs:
        us = found["microseconds"]["again"][family.sizes.index(900)]
        made.append(Metric(f"{name}, 900: a solve beyond the first", us, "us", goal=15.0))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write results/scaling.json")
    options = parser.parse_args()
    metrics: list[Metric] = []
    details: dict[str, Any] = {}
    for family in FAMILIES:
        found = details[family.name] = measure(family)
        metrics += metrics_of(family, found)
    metrics.append(two_threads())
    if options.write:
        details["load"] = [round(load, 2) for load in os.getloadavg()]
        write("scaling", "python -m benchmarks.scaling --write", metrics, details)
    else:
        print(*metrics, *(f"{name}: {found}" for name, found in details.items()), sep="\n")


if __name__ == "__main__":
    main()
