"""Light under heavy: a box of 1 kg carries up to 1e6 kg."""

from __future__ import annotations

from typing import Final

import numpy as np

from pliant.bench.trust.mechanics import floor_forces
from pliant.bench.trust.scene import Outcome, Scene, Verdict, engines, try_out
from pliant.materials import Material
from pliant.studies.peers import Runner
from pliant.studies.scenes import GRAVITY
from pliant.studies.study import Progress

STEP, DURATION = 0.01, 10.0  # [s]
HALF, FOOT = 0.1, 0.01  # [m] of a box; radius of its feet
STIFFNESS: Final = 1e9  # [N/m] of each foot: 2 E* a, E* = 5e10 Pa, a = 1 cm
DAMPING, DISSIPATION = 1e7, 50.0  # [N s/m], a time constant of 10 ms; [s/m] for Drake
BLOCK: Final = Material(1e11, 0.0, damping=DAMPING, contact_radius=0.01)
LOADS, FEW = (1.0, 1e2, 1e4, 1e6), (1.0, 1e6)  # [kg]
REST: Final = 1e-6  # [m/s]
CLOSE: Final = 1e-4  # [m], and 1 % of the indentation
SHARE: Final = 1e-3  # of the weight


def tower(load: float, step: float) -> str:
    """Both on four round feet, which every engine finds four contacts for; those of the upper one further in."""
    low, high = _box("low", HALF + FOOT, HALF, 1.0), _box("high", 3.0 * HALF + 2.0 * FOOT, 0.8 * HALF, load)
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="0.5 0 0" condim="3"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    {low}
    {high}
  </worldbody>
</mujoco>"""


def _box(name: str, height: float, reach: float, mass: float) -> str:
    """reach: of its feet [m]."""
    places = [(x, y) for x in (-reach, reach) for y in (-reach, reach)]
    feet = "".join(f'<geom pos="{x} {y} {-HALF}" size="{FOOT}" mass="0"/>' for x, y in places)
    box = f'<geom name="{name}" type="box" size="{HALF} {HALF} {HALF}" mass="{mass:g}"/>'
    return f'<body name="{name}" pos="0 0 {height:.17g}"><freejoint/>{box}{feet}</body>'


def indentation(load: float) -> float:
    """[m] of the lower box in the floor, on four feet: (m + M) g / 4 K."""
    return (1.0 + load) * GRAVITY / (4.0 * STIFFNESS)


def run(quick: bool, progress: Progress) -> list[Outcome]:
    outcomes = []
    for load in FEW if quick else LOADS:

        def judge(runner: Runner, load: float = load) -> Verdict:
            return verdict(runner, load)

        for peer in engines(STIFFNESS, BLOCK, dissipation=DISSIPATION):
            progress(f"trust: ratios: {load:g}: {peer.name}")
            outcomes.append(try_out(peer, f"1 kg under {load:g} kg", tower(load, STEP), _steps(), judge))
    return outcomes


def verdict(runner: Runner, load: float) -> Verdict:
    """At rest, the weight on the floor, as deep as the springs say."""
    weight, depth = (1.0 + load) * GRAVITY, indentation(load)
    aside = float(np.linalg.norm(runner.position[:, :2], axis=1).max())
    sunk = HALF + FOOT - float(runner.position[0, 2])
    share = float(floor_forces(runner).sum()) / weight
    values = {
        "speed [m/s]": runner.speed,
        "support over weight": share,
        "sunk [m]": sunk,
        "sunk, by the springs [m]": depth,
        "sideways [m]": aside,
    }
    there = abs(sunk - depth) <= CLOSE + 0.01 * depth and aside <= CLOSE
    return runner.speed <= REST and abs(share - 1.0) <= SHARE and there, values


def _steps() -> int:
    return round(DURATION / STEP)


SCENE = Scene(
    "ratios",
    "A box of 1 kg that carries 1 to 1e6 kg, on feet of 1e9 N/m, at 10 ms",
    f"After 10 s: slower than {REST:g} m/s, a support within {SHARE:g} of the weight, and the lower box within 0.1 mm "
    "and 1 % of the indentation of its springs, none of them further aside than 0.1 mm.",
    run,
)
