"""Piles of 16 bodies dropped into a tray and left for 10 s: how many steps meet the laws, warm and cold.

python -m benchmarks.piles [--steps 1000] [--seeds 2 3 4]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import pliant
from benchmarks.report import write
from benchmarks.scenes.piles import SHAPES, Pile
from benchmarks.scenes.stepping import cone_excess, steps
from pliant.bench.metric import Metric

FRICTIONS = (0.3, 1.0)
GOOD = 1e-6  # the residual that counts as solved here
LAST = 200  # the settled steps
ENERGY = "kinetic_energy_per_body"


def run(shape: str, friction: float, seed: int, count: int) -> dict[str, Any]:
    """One pile: what its steps cost and how they ended, and the same steps solved from nothing."""
    pile = Pile(shape, friction, seed=seed)
    warm, cold, momentum, cone, work, times = [], [], [], [], [], []
    for problem, solution in steps(pile, count):
        warm.append(solution.residual)
        cold.append(pliant.solve(problem, throw=False).residual)
        momentum.append(solution.momentum_residual)
        cone.append(cone_excess(problem, solution))
        work.append(int(solution.islands.factorizations.max(initial=0)))
        times.append(solution.solve_time)
    return {
        "shape": shape,
        "friction": friction,
        "seed": seed,
        "steps": count,
        "warm": share(warm),
        "cold": share(cold),
        "worst_warm": max(warm),
        "worst_cold": max(cold),
        "warm_over_1e-8": float(np.mean(np.array(warm) > 1e-8)),
        "worst_momentum": max(momentum),
        "worst_cone": max(cone),
        "factorizations_mean": float(np.mean(work)),
        "factorizations_settled": float(np.mean(work[-LAST:])),
        "solve_time_median_ms": 1e3 * float(np.median(times)),
        "solve_time_worst_ms": 1e3 * float(np.max(times[1:])),
        ENERGY: pile.kinetic_energy() / pile.count,
    }


def share(residuals: list[float]) -> float:
    """Of steps with a good residual."""
    return float(np.mean(np.array(residuals) < GOOD))


def metrics(runs: list[dict[str, Any]]) -> list[Metric]:
    """The numbers that are promised, over all runs."""

    def over(key: str) -> list[float]:
        return [run[key] for run in runs]

    boxes = [run["factorizations_settled"] for run in runs if run["shape"] == "box"]
    return [
        Metric("warm steps under 1e-6, all piles", float(np.mean(over("warm"))), better="more", goal=0.99),
        Metric("warm steps under 1e-6, worst pile", min(over("warm")), better="more", goal=0.99),
        Metric("cold steps under 1e-6, all piles", float(np.mean(over("cold"))), better="more", goal=0.95),
        Metric("cold steps under 1e-6, worst pile", min(over("cold")), better="more", goal=0.95),
        Metric("worst residual, warm", max(over("worst_warm"))),
        Metric("worst residual, cold", max(over("worst_cold"))),
        Metric("worst momentum residual", max(over("worst_momentum")), goal=1e-12),
        Metric("worst distance outside a cone", max(over("worst_cone")), goal=1e-12),
        Metric("energy per body at the end, worst pile", max(over(ENERGY)), "J", goal=1e-6),
        Metric("piles at rest at the end", float(np.mean(np.array(over(ENERGY)) < 1e-6))),
        Metric("factorizations per settled step, boxes", float(np.mean(boxes)), goal=2.0),
        Metric("factorizations per settled step, worst pile", max(over("factorizations_settled"))),
    ]


def main() -> None:
    """All shapes, frictions and seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3, 4])
    chosen = parser.parse_args()
    runs = []
    for shape in SHAPES:
        for friction in FRICTIONS:
            for seed in chosen.seeds:
                runs.append(run(shape, friction, seed, chosen.steps))
                print({key: value for key, value in runs[-1].items() if key != "steps"}, flush=True)
    seeds = " ".join(map(str, chosen.seeds))
    write("piles", f"python -m benchmarks.piles --steps {chosen.steps} --seeds {seeds}", metrics(runs), runs)


if __name__ == "__main__":
    main()
