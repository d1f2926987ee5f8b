"""Spheres dropped onto each other, h = 10 ms: time per step over the 5 s, how it grows, and what becomes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.bench.entrant import OURS, Entrant, failures, rivals, scene_metrics
from pliant.bench.metric import Metric
from pliant.bench.race import race
from pliant.bench.suite import Measured, Suite
from pliant.studies.peers import ours
from pliant.studies.scenes import HARD, stack
from pliant.studies.stack import STEP, STIFFNESS, end
from pliant.studies.study import Progress, Results
from pliant.systems.mujoco_stats import stats

COUNTS, FEW = (100, 200, 400), (100,)
DURATION = 5.0  # [s]
ROUNDS, PATIENCE = 3, 10.0  # [s] for a lap of others
ENOUGH = 120.0  # [s] after which no round of a height begins
GOALS = {"MuJoCo, stiff": 1.0, "Drake, lagged": 0.2, "Drake, CENIC": 0.25}
GROWTH = 1.1  # the exponent that is to be reached from the drop
MORE = 100  # steps at rest of which the parts are timed


def run(quick: bool, progress: Progress) -> Measured:
    others, missing = rivals(STIFFNESS)
    details: Results = {"step": STEP, "duration": DURATION, "material": repr(HARD), "heights": {}}
    measured = Measured(details=details, skipped=missing)
    for count in FEW if quick else COUNTS:
        progress(f"stack: {count} spheres")
        xml, steps = stack(count, STEP), round(DURATION / STEP)
        entrants = {peer.name: Entrant(peer, xml, steps, patience=PATIENCE, each=10) for peer in others}
        entrants = {OURS: Entrant(ours(HARD), xml, steps, patience=np.inf, each=10), **entrants}
        laps = {name: entrant.lap for name, entrant in entrants.items()}
        timings = race(laps, 1 if quick else ROUNDS, seconds=ENOUGH)
        case = f"{count} spheres"
        measured.skipped += failures(case, timings)
        measured.metrics += scene_metrics(case, entrants, timings, goals=GOALS)
        became = {
            name: timing.document(1e3) | ({} if timing.why else _became(entrants[name]))
            for name, timing in timings.items()
        }
        details["heights"][str(count)] = became | _parts(entrants[OURS].runner)
        stands = float(became[OURS].get("outcome") == "stands")
        measured.metrics.append(Metric(f"{case}: ours stands", stands, better="more", goal=1.0))
    measured.metrics += exponents(details["heights"])
    return measured


def _became(entrant: Entrant) -> Results:
    outcome = end(entrant.runner.position, entrant.runner.speed)
    return {"reached": entrant.reached * STEP, "outcome": "too slow" if entrant.cut_short else outcome}


def _parts(runner: Any) -> dict[str, Results]:
    """What the parts of a step of ours take at the end, at rest [ms]."""
    counted = stats(runner.data)
    counted.clock()
    runner.step(MORE)
    return {f"{OURS}, {part}": {"median": 1e3 * time / MORE} for part, time in counted.seconds.items()}


def exponents(heights: dict[str, Results]) -> list[Metric]:
    """The power of the number of spheres with which each one's time grows, and those of the parts of our step."""
    if len(heights) < 2:
        return []
    numbers = np.log([float(count) for count in heights])
    found = []
    for name in next(iter(heights.values())):
        times = [entries[name].get("median") for entries in heights.values()]
        if None not in times:
            power = float(np.polyfit(numbers, np.log(times), 1)[0])
            found.append(Metric(f"{name}: exponent", power, goal=GROWTH if name == OURS else None))
    return found


def draw(details: Results) -> dict[str, object]:
    from pliant.bench.draw import lines

    curves: dict[str, list[tuple[float, float]]] = {}
    for count, entries in details["heights"].items():
        for name, entry in entries.items():
            if "median" in entry and not name.startswith(f"{OURS}, "):
                curves.setdefault(name, []).append((float(count), entry["median"]))
    title = f"Spheres dropped onto each other, {details['duration']:g} s, h = {1e3 * details['step']:g} ms"
    return {"stack": lines(curves, title, "spheres", "time per step [ms]")}


SUITE = Suite("spheres in a column, from the drop: time per step and its growth", run, draw)
