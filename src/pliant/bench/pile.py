"""30 and 100 boxes, capsules and spheres poured into a tray: time per step, and how many of ours meet the laws."""

from __future__ import annotations

from typing import Any

from pliant.bench.entrant import OURS, Entrant, failures, rivals, scene_metrics
from pliant.bench.metric import Metric
from pliant.bench.race import Timing, race
from pliant.bench.scenes import pile
from pliant.bench.suite import Measured, Suite
from pliant.materials import DEFAULT_MATERIAL
from pliant.solution import Status
from pliant.studies.peers import ours
from pliant.studies.study import Progress, Results
from pliant.systems.mujoco_stats import stats

# Bodies, and the draw of their sizes and turns: what a pile takes hangs on how it falls. Drake has the first of each.
PILES, FEW = ((30, 0), (100, 0), (100, 1), (100, 2)), ((30, 0),)
STEP, DURATION = 0.01, 2.0  # [s]
STIFFNESS = 1e8  # [N/m] of the default material, for peers
DISSIPATION = 100.0  # [s/m] for Drake: what falls in hardly comes back, as with the default material
ROUNDS, PATIENCE = 3, 60.0  # [s] for a lap
GOALS = {"MuJoCo, stiff": 3.0, "MuJoCo, discrete": 3.0}
ENOUGH = 60.0  # [s] after which no round begins


def run(quick: bool, progress: Progress) -> Measured:
    others, missing = rivals(STIFFNESS, dissipation=DISSIPATION)
    details: Results = {"step": STEP, "duration": DURATION, "material": repr(DEFAULT_MATERIAL), "piles": {}}
    measured = Measured(details=details, skipped=missing)
    for count, draw in FEW if quick else PILES:
        case = f"{count} bodies" + (f", draw {draw + 1}" if draw else "")
        progress(f"pile: {case}")
        xml, steps = pile(count, STEP, seed=draw), round(DURATION / STEP)
        entrants = {
            peer.name: Entrant(peer, xml, steps, patience=PATIENCE, each=1)
            for peer in (ours(DEFAULT_MATERIAL), *others)
            if draw == 0 or not peer.name.startswith("Drake")
        }
        timings = race({name: entrant.lap for name, entrant in entrants.items()}, ROUNDS, seconds=ENOUGH)
        _keep(case, entrants, timings, measured)
    return measured


def _keep(case: str, entrants: dict[str, Entrant], timings: dict[str, Timing], measured: Measured) -> None:
    measured.metrics += scene_metrics(case, entrants, timings, goals=GOALS)
    if not timings[OURS].why:
        solved, reached = _solved(entrants[OURS].runner), entrants[OURS].reached * STEP
        measured.metrics.append(Metric(f"{case}: steps that meet the laws", solved, better="more", goal=0.99))
        measured.metrics.append(Metric(f"{case}: simulated by ours", reached, "s", better="more", goal=DURATION))
    measured.skipped += failures(case, timings)
    measured.details["piles"][case] = {
        name: timing.document(1e3)
        | {"settings": entrants[name].peer.settings, "reached": entrants[name].reached * STEP}
        for name, timing in timings.items()
    }


def _solved(runner: Any) -> float:
    """The part of our steps that is solved; without those of the fallback, some of which are the convex program's."""
    counted = stats(runner.data)
    return counted.statuses[Status.SOLVED] / counted.steps


SUITE = Suite("a hundred mixed bodies poured into a tray: time per step, steps that meet the laws", run)
