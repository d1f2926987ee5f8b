"""Spheres dropped onto each other, h = 10 ms: time per step over the 5 s, how it grows, and what becomes of them."""

from __future__ import annotations

import numpy as np

from pliant.bench.entrant import OURS, Entrant, failures, ratios, rivals
from pliant.bench.metric import Metric
from pliant.bench.race import race
from pliant.bench.suite import Measured, Suite
from pliant.studies.peers import ours
from pliant.studies.scenes import HARD, stack
from pliant.studies.stack import STEP, STIFFNESS, end
from pliant.studies.study import Progress, Results

COUNTS, FEW = (100, 200, 400), (100,)
DURATION = 5.0  # [s]
ROUNDS, PATIENCE, BRIEF = 3, 30.0, 10.0  # [s] for a lap
ENOUGH = 120.0  # [s] after which no round of a height begins


def run(quick: bool, progress: Progress) -> Measured:
    others, missing = rivals(STIFFNESS)
    measured = Measured(skipped=missing)
    heights: dict[str, Results] = {}
    for count in FEW if quick else COUNTS:
        progress(f"stack: {count} spheres")
        entrants = {
            peer.name: Entrant(
                peer, stack(count, STEP), round(DURATION / STEP), patience=BRIEF if quick else PATIENCE, each=10
            )
            for peer in (ours(HARD), *others)
        }
        timings = race(
            {name: entrant.lap for name, entrant in entrants.items()}, 1 if quick else ROUNDS, seconds=ENOUGH
        )
        case = f"{count} spheres"
        measured.skipped += failures(case, timings)
        heights[str(count)] = {
            name: timing.document(1e3) | ({} if timing.why else _became(entrants[name]))
            for name, timing in timings.items()
        }
        measured.metrics += [
            Metric(f"{case}: {name}", 1e3 * timing.median, "ms") for name, timing in timings.items() if not timing.why
        ]
        measured.metrics += ratios(case, timings)
        measured.metrics.append(Metric(f"{case}: ours stands", _stands(entrants[OURS]), better="more", goal=1.0))
    measured.metrics += exponents(heights)
    measured.details = {"step": STEP, "duration": DURATION, "material": repr(HARD), "heights": heights}
    return measured


def _became(entrant: Entrant) -> Results:
    outcome = end(entrant.runner.position, entrant.runner.speed)
    return {"reached": entrant.reached * STEP, "outcome": outcome if entrant.reached == entrant.steps else "too slow"}


def _stands(entrant: Entrant) -> float:
    return float(_became(entrant)["outcome"] == "stands")


def exponents(heights: dict[str, Results]) -> list[Metric]:
    """The power of the number of spheres with which each one's time grows."""
    if len(heights) < 2:
        return []
    numbers = np.log([float(count) for count in heights])
    found = []
    for name in next(iter(heights.values())):
        times = [entries[name].get("median") for entries in heights.values()]
        if None not in times:
            power = float(np.polyfit(numbers, np.log(times), 1)[0])
            found.append(Metric(f"growth with the spheres, exponent: {name}", power))
    return found


def draw(details: Results) -> dict[str, object]:
    from pliant.bench.draw import lines

    curves: dict[str, list[tuple[float, float]]] = {}
    for count, entries in details["heights"].items():
        for name, entry in entries.items():
            if "median" in entry:
                curves.setdefault(name, []).append((float(count), entry["median"]))
    title = f"Spheres dropped onto each other, {details['duration']:g} s, h = {1e3 * details['step']:g} ms"
    return {"stack": lines(curves, title, "spheres", "time per step [ms]")}


SUITE = Suite("spheres in a column, from the drop: time per step and its growth", run, draw)
