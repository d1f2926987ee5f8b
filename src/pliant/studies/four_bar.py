"""A four-bar loop in absolute coordinates, its joints single or doubled: closed loops, and rows that repeat.

Bars of 1 kg/m, q = (x, y, theta) of each centre: crank 1 m, coupler 2 m, rocker 2 m, on pivots 2 m apart; by Grashof's
rule the crank goes round. Released with the crank upright, turning at 4 rad/s; gravity 9.8 m/s^2 downward.

p = (x, y) + s L/2 (cos theta, sin theta) is an end of a bar, s = -1 or 1;  phi = p_i - p_j, or p_i - pivot
G p-rows = [I, s L/2 (-sin theta, cos theta)],   Gdot v = -s L/2 omega^2 (cos theta, sin theta)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.constraints import Bilateral
from pliant.drawing import Drawing, Shape, upright
from pliant.inputs import Array
from pliant.laws import Law
from pliant.plot.style import COLOURS, DASHES, label, legend, panels
from pliant.problem import StepProblem
from pliant.studies.measure import TREATMENTS, follow, pick
from pliant.studies.study import Progress, Results

GRAVITY = 9.8  # [m/s^2]
LENGTHS = np.array([1.0, 2.0, 2.0])  # crank, coupler, rocker [m]; as many kg
PIVOTS = np.array([[0.0, 0.0], [2.0, 0.0]])  # [m]
SPEED = 4.0  # of the crank [rad/s]
STIFFNESS, DAMPING = 1e15, 1.0  # K [N/m], B [N s/m]
STEP, DURATION, BRIEFLY = 0.02, 60.0, 5.0  # [s]
# joint: the ends (bar, s) that meet; a pivot is (None, its number)
JOINTS: tuple[tuple[tuple[int, int], tuple[int | None, int]], ...] = (
    ((0, -1), (None, 0)),
    ((0, 1), (1, -1)),
    ((1, 1), (2, 1)),
    ((2, -1), (None, 1)),
)


class FourBar:
    """Three bars, four joints, each of them there `joints` times."""

    def __init__(self, joints: int = 1) -> None:
        self.joints, self.law = joints, Law(STIFFNESS, DAMPING)
        self.mass = np.column_stack([LENGTHS, LENGTHS, LENGTHS**3 / 12.0]).ravel()
        self.weight = np.array([0.0, -GRAVITY, 0.0] * 3) * self.mass

    def problem(self, time: float, q: Array, v: Array, step: float) -> StepProblem:
        """Two bilateral rows a joint."""
        rows = [self._joint(q, v, *ends) for ends in JOINTS]
        joints = [Bilateral(G, phi, self.law, curvature=w) for phi, G, w in rows for _ in range(self.joints)]
        return StepProblem(self.mass, v, self.weight, step, joints)

    def advance(self, q: Array, v: Array, step: float) -> Array:
        """q + h v."""
        return q + step * v

    def values(self, time: float, q: Array) -> list[Array]:
        """phi, a (2,) per joint [m]."""
        return [self._joint(q, np.zeros(9), *ends)[0] for ends in JOINTS for _ in range(self.joints)]

    def energy(self, time: float, q: Array, v: Array) -> dict[str, float]:
        """[J], heights from the pivots."""
        return {"kinetic": float(0.5 * v @ (self.mass * v)), "gravitational": float(-self.weight @ q)}

    def draw(self) -> Drawing:
        """The bars and their pivots, y up."""
        pivots = [Shape.sphere(f"pivot {i}", 0.07, colour="black", at=upright(p)) for i, p in enumerate(PIVOTS)]
        colours = {"crank": "vermillion", "coupler": "grey", "rocker": "blue"}
        bars = [Shape.line(name, 0.04, colour=colour) for name, colour in colours.items()]

        def place(time: float, q: Array) -> dict[str, tuple[Array, Array]]:
            ends = [[upright(_end(q, np.zeros(9), bar, s)[0]) for s in (-1, 1)] for bar in range(len(LENGTHS))]
            return {name: (one, two) for name, (one, two) in zip(colours, ends, strict=True)}

        return Drawing([*pivots, *bars], place)

    def _joint(self, q: Array, v: Array, one: tuple[int, int], other: tuple[int | None, int]) -> Any:
        """(phi, G, Gdot v)."""
        phi, G, curvature = _end(q, v, *one)
        bar, which = other
        if bar is None:
            return phi - PIVOTS[which], G, curvature
        phi2, G2, curvature2 = _end(q, v, bar, which)
        return phi - phi2, G - G2, curvature - curvature2


def _end(q: Array, v: Array, bar: int, s: int) -> tuple[Array, Array, Array]:
    """(p, dp/dq, d/dt(dp/dq) v) of an end."""
    x, y, theta = q[3 * bar : 3 * bar + 3]
    arm = 0.5 * s * LENGTHS[bar] * np.array([np.cos(theta), np.sin(theta)])
    G = np.zeros((2, 9))
    G[:, 3 * bar : 3 * bar + 3] = [[1.0, 0.0, -arm[1]], [0.0, 1.0, arm[0]]]
    return np.array([x, y]) + arm, G, -(v[3 * bar + 2] ** 2) * arm


def start() -> tuple[Array, Array]:
    """(q, v): the crank upright, the loop closed, all rates those of the crank."""
    crank, coupler, rocker = LENGTHS
    b, d = PIVOTS[0] + [0.0, crank], PIVOTS[1]
    across = d - b
    far = np.linalg.norm(across)
    along = (coupler**2 - rocker**2 + far**2) / (2.0 * far)
    side = np.array([-across[1], across[0]]) / far
    c = b + along * across / far + np.sqrt(coupler**2 - along**2) * side
    bars = ((PIVOTS[0], b), (b, c), (d, c))
    q = np.concatenate([[*(0.5 * (p + r)), np.arctan2(*(r - p)[::-1])] for p, r in bars])
    system = FourBar()
    G = np.vstack([system._joint(q, np.zeros(9), *ends)[1] for ends in JOINTS])
    turns = np.vstack([G, np.eye(9)[2]])  # G v = 0, omega of the crank
    return q, np.linalg.solve(turns, np.append(np.zeros(8), SPEED))


def run(quick: bool, progress: Progress) -> Results:
    """Every treatment, single and doubled joints."""
    duration, cases = BRIEFLY if quick else DURATION, []
    for joints in (1, 2):
        for drift in TREATMENTS:
            progress(f"four-bar: {drift}, joints {'doubled' if joints == 2 else 'single'}, h = {STEP:g} s")
            case = follow(FourBar(joints), *start(), drift=drift, step=STEP, duration=duration)
            del case["last_q"]
            cases.append({"joints": joints, **case})
    return {
        "lengths": LENGTHS.tolist(),
        "masses": LENGTHS.tolist(),
        "pivots": PIVOTS.tolist(),
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
