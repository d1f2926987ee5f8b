"""How the work grows: many rows on few velocities, long chains, settled steps.

    python -m benchmarks.work

(a) n unilateral rows on 6 velocities, and the paper's minimum-norm program through Clarabel in the same run;
(b) chains of spheres; (c) factorizations of settled, warm-started steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import clarabel
import numpy as np
from scipy.sparse import csc_matrix, identity, vstack

import pliant
from benchmarks.report import write
from benchmarks.scenes.chain import Chain
from benchmarks.scenes.foundation import Foundation
from benchmarks.scenes.piles import Pile
from benchmarks.scenes.stepping import Scene, steps
from pliant.bench.metric import Metric

Records = list[dict[str, Any]]


def timed(scene: Scene, count: int, *, warm: bool) -> dict[str, float]:
    """Medians over `count` steps [s]: building the problem from arrays is not counted, lowering it is."""
    seconds, work, worst, last = [], [], 0.0, None
    for _ in range(count):
        problem = scene.problem()
        begin = time.perf_counter()
        solution = pliant.solve(problem, warm_start=last if warm else None, throw=False)
        seconds.append(time.perf_counter() - begin)
        scene.advance(solution.velocity)
        last = solution
        work.append(solution.factorizations)
        worst = max(worst, solution.residual)
    return {
        "median_ms": 1e3 * float(np.median(seconds)),
        "factorizations": float(np.mean(work)),
        "worst_residual": worst,
    }


def exponent(sizes: list[int], medians: list[float]) -> float:
    """Slope of log time over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(medians), 1)[0])


def grow(name: str, make: Callable[[int], Scene], sizes: list[int], count: int, *, warm: bool) -> Records:
    """Time per solve at each size; sizes are interleaved, so that a busy moment of the machine hits all."""
    rounds: dict[int, Records] = {size: [] for size in sizes}
    for size in sizes:
        timed(make(size), 3, warm=warm)  # compiled code and caches
    for _ in range(5):
        for size in sizes:
            rounds[size].append(timed(make(size), count, warm=warm))
    return [
        {
            "case": name,
            "size": size,
            "start": "warm" if warm else "cold",
            **{key: float(np.median([entry[key] for entry in rounds[size]])) for key in rounds[size][0]},
        }
        for size in sizes
    ]


def minimum_norm(problem: pliant.StepProblem) -> Callable[[], np.ndarray]:
    """The paper's program `min 1/2 |lambda|^2, (I + (h^2 K + h B) A) lambda >= r, lambda >= 0` to solve.

    A = G inv(M) G' and r = c - (h K + B) G v* are computed here, outside the timing.
    """
    (rows,) = problem.constraints
    assert isinstance(rows, pliant.Unilateral)
    h, n = problem.step, rows.count
    free = problem.velocity + h * problem.force / problem.mass
    K, B = float(rows.law.stiffness), float(rows.law.damping)
    slope = h * K + B
    start = -K * rows.value - B / h * np.maximum(rows.value, 0.0)
    system = np.eye(n) + h * slope * (rows.jacobian / problem.mass) @ rows.jacobian.T
    bound = start - slope * (rows.jacobian @ free)
    objective, linear = csc_matrix(identity(n)), np.zeros(n)
    constraint = csc_matrix(vstack([csc_matrix(-system), -identity(n)]))
    limit = np.concatenate([-bound, np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False

    def solve() -> np.ndarray:
        cones = [clarabel.NonnegativeConeT(2 * n)]
        solution = clarabel.DefaultSolver(objective, linear, constraint, limit, cones, settings).solve()
        if str(solution.status) != "Solved":
            raise RuntimeError(f"Clarabel: {solution.status}")
        return np.array(solution.x)

    return solve


def against_minimum_norm(elements: int, repeats: int) -> tuple[list[Metric], dict[str, Any]]:
    """The same steps solved by both, in turn."""
    scene = Foundation(elements)
    ours, theirs, apart = [], [], []
    for _ in steps(scene, 10):
        pass
    for _ in range(repeats):
        problem = scene.problem()
        theirs_solve = minimum_norm(problem)
        begin = time.perf_counter()
        solution = pliant.solve(problem)
        middle = time.perf_counter()
        force = theirs_solve()
        theirs.append(time.perf_counter() - middle)
        ours.append(middle - begin)
        apart.append(float(np.abs(force - solution.forces[0]).max() / solution.forces[0].max()))
        scene.advance(solution.velocity)
    mine, other = float(np.median(ours)), float(np.median(theirs))
    metrics = [
        Metric(f"{elements} rows: solve, cold", 1e3 * mine, "ms"),
        Metric(f"{elements} rows: minimum-norm program through Clarabel", 1e3 * other, "ms"),
        Metric(f"{elements} rows: times faster than the minimum-norm program", other / mine, better="more", goal=200.0),
    ]
    return metrics, {"largest_difference_of_forces": max(apart), "repeats": repeats}


def settled(name: str, scene: Scene, count: int = 1000, last: int = 200) -> dict[str, Any]:
    """Factorizations of the last steps of a warm-started run, of the island that took most."""
    work, seconds, worst = [], [], 0.0
    for _, solution in steps(scene, count):
        work.append(int(solution.islands.factorizations.max(initial=0)))
        seconds.append(solution.solve_time)
        worst = max(worst, solution.residual)
    return {
        "case": name,
        "steps": count,
        "factorizations": float(np.mean(work[-last:])),
        "median_ms": 1e3 * float(np.median(seconds[-last:])),
        "worst_residual": worst,
    }


def rows_on_few() -> tuple[list[Metric], Records]:
    """(a)"""
    sizes, metrics, records = [100, 900, 10000], [], []
    for warm in (False, True):
        found = grow("foundation", Foundation, sizes, 20, warm=warm)
        start = found[0]["start"]
        metrics += [Metric(f"{r['size']} rows on 6 velocities, {start}", r["median_ms"], "ms") for r in found]
        slope = exponent(sizes, [record["median_ms"] for record in found])
        metrics.append(Metric(f"exponent of rows on 6 velocities, {start}", slope, goal=1.1))
        records += found
    return metrics, records


def dropped(count: int) -> Scene:
    """Contacts close one after the other from below. A chain of 100 is down after 12 steps, others later:
    no more than these are compared."""
    return Chain(count, spacing=1e-3)


def standing(count: int) -> Scene:
    """All contacts closed from the first step on."""
    return Chain(count, spacing=0.0)


def chains() -> tuple[list[Metric], Records]:
    """(b)"""
    sizes, metrics, records = [100, 400], [], []
    for name, make in (("dropped", dropped), ("standing", standing)):
        for warm in (False, True):
            found = grow(name, make, sizes, 12, warm=warm)
            label = f"{name} chain, {found[0]['start']}"
            metrics += [Metric(f"{label}, {r['size']} spheres", r["median_ms"], "ms") for r in found]
            slope = exponent(sizes, [record["median_ms"] for record in found])
            metrics.append(Metric(f"exponent of a {label}", slope, goal=1.2))
            records += found
    return metrics, records


def settled_steps() -> tuple[list[Metric], Records]:
    """(c)"""
    records = [
        settled("stack of 100", Chain(100)),
        settled("pile of 16 boxes, mu = 0.3", Pile("box", 0.3)),
        settled("pile of 16 boxes, mu = 1", Pile("box", 1.0)),
    ]
    name = "factorizations per settled step, {}"
    return [Metric(name.format(r["case"]), r["factorizations"], goal=2.0) for r in records], records


def main() -> None:
    """All three, and the result."""
    metrics, details = rows_on_few()
    ratio, ratio_details = against_minimum_norm(900, 7)
    chain_metrics, chain_details = chains()
    settled_metrics, settled_details = settled_steps()
    write(
        "work",
        "python -m benchmarks.work",
        [*metrics, *ratio, *chain_metrics, *settled_metrics],
        {
            "growth": [*details, *chain_details],
            "minimum_norm": ratio_details,
            "settled": settled_details,
        },
    )


if __name__ == "__main__":
    main()
