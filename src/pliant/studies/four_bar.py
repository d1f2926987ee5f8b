"""A four-bar loop in absolute coordinates, its joints single or doubled: closed loops, and rows that repeat.

Bars of 1 kg/m, q = (x, y, theta) of each centre: crank 1 m, coupler 2 m, rocker 2 m, on pivots 2 m apart; by Grashof's
rule the crank goes round. Released with the crank upright, turning at 4 rad/s; gravity 9.8 m/s^2 downward.

(x, y) + s L/2 (cos theta, sin theta) is an end of a bar, s = -1 or 1: a `Linkage` of three bodies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.drawing import Drawing, Shape, upright
from pliant.inputs import Array
from pliant.laws import Law
from pliant.plot.style import COLOURS, DASHES, label, legend, panels
from pliant.studies.linkage import GROUND, Linkage, Side
from pliant.studies.measure import TREATMENTS, follow, pick
from pliant.studies.study import Progress, Results

GRAVITY = 9.8  # [m/s^2]
LENGTHS = np.array([1.0, 2.0, 2.0])  # crank, coupler, rocker [m]; as many kg
PIVOTS = ((0.0, 0.0), (2.0, 0.0))  # [m]
SPEED = 4.0  # of the crank [rad/s]
STIFFNESS, DAMPING = 1e15, 1.0  # K [N/m], B [N s/m]
STEP, DURATION, BRIEFLY = 0.02, 60.0, 5.0  # [s]


def _end(bar: int, s: int) -> Side:
    return bar, (0.5 * s * float(LENGTHS[bar]), 0.0)


JOINTS: tuple[tuple[Side, Side], ...] = (
    (_end(0, -1), (GROUND, PIVOTS[0])),
    (_end(0, 1), _end(1, -1)),
    (_end(1, 1), _end(2, 1)),
    (_end(2, -1), (GROUND, PIVOTS[1])),
)


class FourBar(Linkage):
    """Three bars, four joints, each of them there `joints` times."""

    def __init__(self, joints: int = 1, *, turning: bool = True) -> None:
        law = Law(STIFFNESS, DAMPING)
        super().__init__(LENGTHS, LENGTHS**3 / 12.0, JOINTS, law, gravity=GRAVITY, copies=joints, turning=turning)

    def draw(self) -> Drawing:
        """The bars and their pivots, y up."""
        pivots = [Shape.sphere(f"pivot {i}", 0.07, colour="black", at=upright(p)) for i, p in enumerate(PIVOTS)]
        colours = {"crank": "vermillion", "coupler": "grey", "rocker": "blue"}
        bars = [Shape.line(name, 0.04, colour=colour) for name, colour in colours.items()]

        def place(time: float, q: Array) -> dict[str, tuple[Array, Array]]:
            ends = [[upright(self.point(q, *_end(bar, s))) for s in (-1, 1)] for bar in range(len(LENGTHS))]
            return {name: (one, two) for name, (one, two) in zip(colours, ends, strict=True)}

        return Drawing([*pivots, *bars], place)


def start() -> tuple[Array, Array]:
    """(q, v): the crank upright, the loop closed, all rates those of the crank."""
    crank, coupler, rocker = LENGTHS
    a, d = np.array(PIVOTS)
    b = a + np.array([0.0, crank])
    across = d - b
    far = np.linalg.norm(across)
    along = (coupler**2 - rocker**2 + far**2) / (2.0 * far)
    side = np.array([-across[1], across[0]]) / far
    c = b + along * across / far + np.sqrt(coupler**2 - along**2) * side
    bars = ((a, b), (b, c), (d, c))
    q = np.concatenate([[*(0.5 * (p + r)), np.arctan2(*(r - p)[::-1])] for p, r in bars])
    G = FourBar().problem(0.0, q, np.zeros(9), STEP).constraints[0].jacobian
    turns = np.vstack([G, np.eye(9)[2]])  # G v = 0, omega of the crank
    return q, np.linalg.solve(turns, np.append(np.zeros(8), SPEED))


def run(quick: bool, progress: Progress) -> Results:
    """Every treatment, single and doubled joints."""
    duration, cases = BRIEFLY if quick else DURATION, []
    for joints in (1, 2):
        for drift in TREATMENTS:
            progress(f"four-bar: {drift}, joints {'doubled' if joints == 2 else 'single'}, h = {STEP:g} s")
            case = follow(FourBar(joints, turning=False), *start(), drift=drift, step=STEP, duration=duration)
            del case["last_q"]
            cases.append({"joints": joints, **case})
    return {
        "lengths": LENGTHS.tolist(),
        "masses": LENGTHS.tolist(),
        "pivots": [list(pivot) for pivot in PIVOTS],
        "crank_speed": SPEED,
        "stiffness": STIFFNESS,
        "damping": DAMPING,
        "gravity": GRAVITY,
        "cases": cases,
    }


def draw(results: Results) -> dict[str, Any]:
    """Energy above, joints below; single joints left, doubled right."""
    title = f"Four-bar loop, K = {results['stiffness']:g} N/m, h = {1e3 * STEP:g} ms"
    figure, axes = panels(4, columns=2, title=title, height=2.2)
    for column, (joints, words) in enumerate(((1, "joints single"), (2, "joints doubled"))):
        above, below = axes[column], axes[column + 2]
        for drift, colour, dash in zip(TREATMENTS, COLOURS, DASHES, strict=False):
            (case,) = pick(results["cases"], joints=joints, drift=drift)
            gap = np.maximum(case["gap"], 1e-17)
            above.plot(case["time"], case["energy"], ls=dash, color=colour, lw=0.9, label=drift)
            below.semilogy(case["time"], gap, ls=dash, color=colour, lw=0.9, label=drift)
        start_energy = case["energy_start"]
        above.set_ylim(min(0.0, *case["energy"]), 2.0 * start_energy)
        below.set_ylim(1e-17, 1e2)
        label(above, "time [s]", "energy [J]", words)
        label(below, "time [s]", "widest joint |phi| [m]")
        legend(above, loc="lower left", ncols=3, columnspacing=1.0, handlelength=1.6)
        for ax in (above, below):
            ax.set_xlim(0.0, results["cases"][-1]["duration"])
    return {"four-bar": figure}
