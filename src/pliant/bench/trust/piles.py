"""Boxes, capsules and spheres poured into a tray: do steps meet the laws, how deep do they sink, do they stay."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Final

import numpy as np

from pliant.bench.scenes import TRAY, pile
from pliant.bench.trust.scene import Outcome, Scene, Verdict, engines, try_out
from pliant.materials import DEFAULT_MATERIAL
from pliant.solution import Status
from pliant.studies.peers import Peer, Runner, Stepped
from pliant.studies.study import Progress
from pliant.systems.mujoco_stats import stats

COUNTS, FEW = (50, 100, 200), (20,)
STEP, DURATION = 0.01, 3.0  # [s]
STIFFNESS: Final = 1e8  # [N/m] of the default material, for others
DISSIPATION: Final = 100.0  # [s/m]: what falls in hardly comes back, as with the default material
DEEP: Final = 1e-3  # [m] that bodies may reach into each other at the end
MET: Final = 0.95  # of our steps, that meet the laws


def run(quick: bool, progress: Progress) -> list[Outcome]:
    outcomes = []
    for count in FEW if quick else COUNTS:
        for peer in engines(STIFFNESS, DEFAULT_MATERIAL, dissipation=DISSIPATION):
            progress(f"trust: piles: {count}: {peer.name}")
            outcomes.append(_pour(peer, count))
    return outcomes


def _pour(peer: Peer, count: int) -> Outcome:
    begin = perf_counter()

    def judge(runner: Runner) -> Verdict:
        inside = bool((np.abs(runner.position[:, :2]) < TRAY).all() and (runner.position[:, 2] > 0.0).all())
        values = {"time [ms per step]": 1e3 * (perf_counter() - begin) / round(DURATION / STEP)}
        right = inside
        if isinstance(runner, Stepped):
            values["depth [m]"] = float(np.max(-runner.now.contact.dist, initial=0.0))
            right = right and values["depth [m]"] <= DEEP
            if "pliant" in peer.name:
                values |= _solved(runner.data)
                right = right and values["steps that meet the laws"] >= MET
        return right, values

    return try_out(peer, f"{count} bodies", pile(count, STEP), round(DURATION / STEP), judge, each=5, patience=300.0)


def _solved(data: Any) -> dict[str, float]:
    """Without the steps of the fallback, some of which are the convex program's."""
    counted = stats(data)
    solved = counted.statuses[Status.SOLVED] / counted.steps
    return {"steps that meet the laws": solved, "worst residual": counted.worst_residual}


SCENE = Scene(
    "piles",
    "50, 100 and 200 boxes, capsules and spheres poured into a tray, h = 10 ms",
    f"All stay in the tray and reach at most {1e3 * DEEP:g} mm into each other after {DURATION:g} s (looked at with "
    f"MuJoCo's collisions, where it has the scene); of our steps {100 * MET:g} % meet the laws.",
    run,
)
