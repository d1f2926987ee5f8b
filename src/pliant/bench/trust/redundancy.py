"""More constraints than needed: tables of many legs, doubled and conflicting welds, a door, closed mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from pliant.bench.trust.linkages import (
    bars_energy,
    bricard,
    bricard_energy,
    door,
    door_energy,
    four_bars,
    push_bars,
    push_door,
    shelf,
    table,
    uprights,
)
from pliant.bench.trust.mechanics import equality_force, floor_forces, gaps, loop_engines, watched
from pliant.bench.trust.scene import Outcome, Scene, Verdict, engines, try_out
from pliant.materials import Material
from pliant.studies.peers import Peer, Runner
from pliant.studies.scenes import GRAVITY, HARD
from pliant.studies.study import Progress

SHORT, STEP = 0.001, 0.01  # [s] of the mechanisms, of what comes to rest
DURATION, SETTLED = 10.0, 5.0  # [s]
STIFFNESS: Final = 1e8  # [N/m] of a leg
LEG: Final = Material(1e10, 0.0, damping=1e6, contact_radius=0.01)
APART: Final = 0.1  # [m], of conflicting welds from the middle
REST, EVEN, CLOSE = 1e-6, 1e-3, 1e-3  # [m/s]; of the weight; [m]
KEPT: Final = 1e-2  # of the energy
OPEN: Final = 1e-3  # [m], of joints
FAN: Final = 1e-2  # [rad] between the uprights of the four-bars: on the way through the aligned position


def run(quick: bool, progress: Progress) -> list[Outcome]:
    outcomes = []
    for legs in (4, 16 if quick else 400):
        for peer in engines(STIFFNESS, LEG, dissipation=50.0):
            progress(f"trust: redundancy: {legs} legs: {peer.name}")
            outcomes.append(_rested(peer, f"table on {legs} legs", table(legs, STEP), even(legs)))
    for case, offset in {"doubled welds": 0.0, "conflicting welds": APART}.items():
        for peer in loop_engines(HARD):
            outcomes.append(_rested(peer, case, shelf(offset, STEP), between))
    for case, (xml, push, scale) in mechanisms(quick).items():
        for peer in loop_engines(HARD):
            progress(f"trust: redundancy: {case}: {peer.name}")
            outcomes.append(follow(peer, case, xml, push, scale, 1.0 if quick else DURATION))
    return outcomes


def mechanisms(quick: bool) -> dict[str, tuple[str, Callable[[Any], None], float]]:
    """(model, what sets it going, energy [J] to compare with)."""
    rows = (2,) if quick else (2, 40)
    found: dict[str, tuple[str, Callable[[Any], None], float]] = {
        "door on 5 hinges": (door(SHORT), push_door, door_energy()),
        "Bricard": (bricard(SHORT), lambda runner: None, abs(bricard_energy())),
    }
    for loops in rows:
        found[f"{loops} four-bars"] = four_bars(loops, SHORT), push_bars, bars_energy(loops)
    return found


def _rested(peer: Peer, case: str, xml: str, judge: Callable[[Runner], Verdict]) -> Outcome:
    return try_out(peer, case, xml, round(SETTLED / STEP), judge)


def even(legs: int) -> Callable[[Runner], Verdict]:
    """All legs alike: each bears its part."""
    weight = 10.0 * GRAVITY

    def judge(runner: Runner) -> Verdict:
        forces = floor_forces(runner)
        total, spread = forces.sum() / weight, np.abs(forces * legs / weight - 1.0).max(initial=0.0)
        values = {"speed [m/s]": runner.speed, "support over weight": float(total), "legs uneven by": float(spread)}
        right = len(forces) == legs and abs(total - 1.0) <= EVEN and spread <= EVEN
        return bool(right) and runner.speed <= REST, values

    return judge


def between(runner: Any) -> Verdict:
    """At rest in the middle of the two welds, which bear the weight together."""
    off = float(np.linalg.norm(runner.position[0]))
    share = float(np.linalg.norm(equality_force(runner, 0)[:3] + equality_force(runner, 1)[:3])) / GRAVITY
    values = {"speed [m/s]": runner.speed, "from the middle [m]": off, "support over weight": share}
    return runner.speed <= REST and off <= CLOSE and abs(share - 1.0) <= EVEN, values


def follow(peer: Peer, case: str, xml: str, push: Callable[[Any], None], scale: float, duration: float) -> Outcome:
    """Energy, joints and branch on the way."""
    total: list[float] = []
    wide: list[float] = []
    fan: list[float] = []

    def look(runner: Any) -> None:
        total.append(runner.energy)
        wide.append(float(gaps(runner).max()))
        fan.append(float(np.ptp(uprights(runner))) if "four-bars" in case else 0.0)

    def judge(runner: Runner) -> Verdict:
        change = (np.array(total) - total[0]) / scale
        values = {"energy, most": change.max(), "energy, least": change.min(), "widest joint [m]": max(wide)}
        right = np.abs(change).max() <= KEPT and max(wide) <= OPEN
        if "four-bars" in case:
            values["uprights apart [rad]"] = max(fan)
            right = right and max(fan) <= FAN
        return bool(right), {name: float(value) for name, value in values.items()}

    return try_out(watched(peer, push, look), case, xml, round(duration / SHORT), judge)


SCENE = Scene(
    "redundancy",
    "Tables on 4 and 400 legs, doubled and conflicting welds, a door on five hinges, Bricard's mechanism, rows of "
    "four-bars through their aligned position (IFToMM A04, A02)",
    f"Legs bear equal parts of the weight, to {EVEN:g}; the welded box rests within {CLOSE:g} m of the middle, its "
    f"weight on the welds; what moves, 10 s at 1 ms, keeps its energy to {KEPT:g} of the start's and its joints to "
    f"{OPEN:g} m; uprights of four-bars stay parallel to {FAN:g} rad. {REST:g} m/s is at rest.",
    run,
)
