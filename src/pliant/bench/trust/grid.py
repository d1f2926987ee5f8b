"""Every stiffness at every step: a sphere, a box and a short stack that are dropped, over a grid of E and h."""

from __future__ import annotations

from itertools import product
from typing import Any, Final

import numpy as np

from pliant.bench.scenes import drop
from pliant.bench.trust.mechanics import watched
from pliant.bench.trust.scene import Outcome, Scene, Verdict, engines, try_out
from pliant.hertz import hertz_stiffness, punch_stiffness
from pliant.materials import Material
from pliant.studies.peers import Peer, Runner
from pliant.studies.scenes import GRAVITY, RADIUS, stack
from pliant.studies.study import Progress

MODULI: Final = tuple(10.0**k for k in range(4, 14))  # [Pa] of each of the two that touch
STEPS: Final = (1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1)  # [s]
FEW: Final = ((1e4, 1e9, 1e13), (1e-3, 0.01, 0.1))
SHORT, LONG = 1.0, 5.0  # [s]: the first at steps below 1 ms, but for what is soft and rings on
SOFT: Final = 1e5  # [Pa]
PATIENCE: Final = 120.0  # [s] for one engine on one case: up to half a million steps
TOUCHED: Final = 1.01  # times the energy at first touch, that there may be at most
NEAR: Final = 1e-4, 0.1  # [m], and of the deepest indentation, by which rest may be missed
STILL: Final = 1e-3  # [m/s]
SPHERES: Final = 3
HALF, CORNER = 0.05, 0.25 * np.sqrt(0.065 / 3.0 / np.pi)  # [m] of the box: half its height, radius of a corner's punch
DISSIPATION: Final = 10.0  # [s/m]: what was pressed in comes out at 0.1 m/s at most


def models(step: float) -> dict[str, str]:
    return {"sphere": stack(1, step), "box": drop(step), "stack": stack(SPHERES, step)}


def rest(case: str, modulus: float) -> np.ndarray:
    """Heights of the centres at rest [m], by Hertz and by the rule of flat punches."""
    pair = 0.5 * modulus
    if case == "box":
        return np.array([HALF - 0.25 * GRAVITY / punch_stiffness(pair, CORNER)])
    count = 1 if case == "sphere" else SPHERES
    load = GRAVITY * np.arange(count, 0, -1)
    K = np.full(count, hertz_stiffness(pair, 2.0 / RADIUS, 2.0 / RADIUS))
    K[0] = hertz_stiffness(pair, 1.0 / RADIUS, 1.0 / RADIUS)
    return np.asarray(RADIUS + 2.0 * RADIUS * np.arange(count) - np.cumsum((load / K) ** (2.0 / 3.0)))


def touching(case: str) -> np.ndarray:
    """The same of rigid bodies [m]."""
    return np.array([HALF]) if case == "box" else RADIUS + 2.0 * RADIUS * np.arange(1 if case == "sphere" else SPHERES)


def run(quick: bool, progress: Progress) -> list[Outcome]:
    moduli, steps = FEW if quick else (MODULI, STEPS)
    outcomes = []
    for case, modulus, step in product(models(0.01), moduli, steps):
        progress(f"trust: grid: {case}, {modulus:g} Pa, {step:g} s")
        load = GRAVITY * len(touching(case)) / (4.0 if case == "box" else 1.0)
        stiffness = load / float((touching(case) - rest(case, modulus))[0])  # the same depth, for those who take one
        material = Material(modulus, 0.0, dissipation=DISSIPATION)
        for peer in engines(stiffness, material, dissipation=DISSIPATION, drake=step >= 1e-3):
            outcomes.append(_try(peer, case, modulus, step))
    return outcomes


def _try(peer: Peer, case: str, modulus: float, step: float) -> Outcome:
    energy: list[float] = []

    def look(runner: Any) -> None:
        energy.append(runner.energy)

    def judge(runner: Runner) -> Verdict:
        expected = rest(case, modulus)
        away = float(np.abs(runner.position[:, 2] - expected).max())
        room = max(NEAR[0], NEAR[1] * float((touching(case) - expected).max()))
        grown = max(energy) / energy[0]
        right = away <= room and grown <= TOUCHED and runner.speed < STILL
        return right, {"energy [times]": grown, "away [m]": away, "speed [m/s]": runner.speed}

    duration = SHORT if step < 1e-3 and modulus > SOFT else LONG
    each = max(1, round(duration / step / 500))
    name = f"{case}, {modulus:.0e} Pa, {step:g} s"
    kept = watched(peer, lambda runner: None, look)
    return try_out(kept, name, models(step)[case], round(duration / step), judge, each=each, patience=PATIENCE)


SCENE = Scene(
    "grid",
    "A sphere, a box and a stack of three spheres dropped by a hand: E from 1e4 to 1e13 Pa, h from 1e-5 to 0.1 s",
    f"It is finite; motion and height never have more than {TOUCHED} times the energy of first touch; after {LONG:g} s "
    f"({SHORT:g} s at steps below 1 ms, above {SOFT:g} Pa) it rests, where Hertz's law, or that of a punch, says, to a "
    "tenth of the indentation or 0.1 mm. Others are given the stiffness that makes the same indentation, if they "
    "take one.",
    run,
)
