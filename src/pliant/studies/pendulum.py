"""The paper's pendulum in absolute coordinates: three treatments of drift, over 1 s and over 60 s.

A bob (x, y, theta) of 1 kg, inertia m L^2/12, on a rod of L = 1 m about the origin; a joint of k = 1e15 N/m,
b = 1 N s/m; released at rest, level; g = 9.8 m/s^2. The paper gives neither mass, length nor inertia: these are ours.

phi = (x, y) - L (cos theta, sin theta), a `Linkage` of one body

The energy is 0 at the start and should stay there. With the joint rigid, theta + pi/2 is an exact `Swing` of
rate^2 = m g L/(m L^2 + m L^2/12); the error of theta is measured against it. A four-bar loop stands beside it.
"""

from __future__ import annotations

import numpy as np

from pliant.drawing import Drawing, Shape, upright
from pliant.laws import Law
from pliant.studies import four_bar
from pliant.studies.linkage import GROUND, Linkage
from pliant.studies.measure import TREATMENTS, claim, follow, pick
from pliant.studies.pendulum_page import PAGE
from pliant.studies.pendulum_pictures import draw
from pliant.studies.study import Progress, Results, Study
from pliant.studies.swing import Swing

MASS, LENGTH, GRAVITY = 1.0, 1.0, 9.8  # [kg], [m], [m/s^2]
INERTIA = MASS * LENGTH**2 / 12.0  # of the bob [kg m^2]
STIFFNESS, DAMPING = 1e15, 1.0  # k [N/m], b [N s/m]
SHORT, LONG = 1.0, 60.0  # [s]
STEPS = {SHORT: (0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4), LONG: (0.1, 0.05, 0.01)}  # [s]
QUICK = {SHORT: (0.1, 0.01, 1e-3), LONG: (0.1, 0.05)}
WHERE, FIGURE = "Example: pendulum", "Figure 4"  # the paper's section, its figure


class Pendulum(Linkage):
    """The bob and its joint."""

    def __init__(self, *, turning: bool = True) -> None:
        joint = ((0, (-LENGTH, 0.0)), (GROUND, (0.0, 0.0)))
        super().__init__([MASS], [INERTIA], [joint], Law(STIFFNESS, DAMPING), gravity=GRAVITY, turning=turning)

    def draw(self) -> Drawing:
        """The bob on its rod, y up."""
        pivot = np.zeros(3)
        shapes = [Shape.sphere("pivot", 0.03, colour="black"), Shape.line("rod", 0.015), Shape.sphere("bob", 0.09)]
        return Drawing(shapes, lambda time, q: {"bob": upright(q[:2]), "rod": (pivot, upright(q[:2]))})


def exact_angle(time: float) -> float:
    """theta of a rigid joint [rad]."""
    swing = Swing.released(0.5 * np.pi, np.sqrt(MASS * GRAVITY * LENGTH / (MASS * LENGTH**2 + INERTIA)))
    return float(swing.angle(time + 0.5 * swing.half)) - 0.5 * np.pi  # released at its highest point


def simulate(drift: str, step: float, duration: float) -> Results:
    """A run from level, at rest, and its error; as in the paper, the step is not told how the forces turn."""
    q, v = [LENGTH, 0.0, 0.0], [0.0, 0.0, 0.0]
    case = follow(Pendulum(turning=False), q, v, drift=drift, step=step, duration=duration)
    error = abs(case.pop("last_q")[2] - exact_angle(case["reached"]))
    return {**case, "angle_error": error}


def run(quick: bool, progress: Progress) -> Results:
    """Every treatment, step and duration; the four-bar loop; the paper's claims."""
    cases = []
    for duration, steps in (QUICK if quick else STEPS).items():
        for drift in TREATMENTS:
            for step in steps:
                progress(f"pendulum: {drift}, h = {step:g} s, {duration:g} s")
                cases.append(simulate(drift, step, duration))
    return {
        "mass": MASS,
        "length": LENGTH,
        "inertia": INERTIA,
        "gravity": GRAVITY,
        "stiffness": STIFFNESS,
        "damping": DAMPING,
        "cases": cases,
        "order": {drift: order(pick(cases, drift=drift, duration=SHORT)) for drift in ("paper", "tangent")},
        "claims": claims(cases),
        "four_bar": four_bar.run(quick, progress),
    }


def order(cases: list[Results]) -> float:
    """p of deviation ~ h^p, between the two smallest steps."""
    small, large = sorted(cases, key=lambda case: case["step"])[:2]
    return float(np.log(large["deviation"] / small["deviation"]) / np.log(large["step"] / small["step"]))


def claims(cases: list[Results]) -> list[Results]:
    """The paper's sentences on this experiment, beside its own scheme."""
    ours = pick(cases, drift="paper")
    brief = sorted(pick(ours, duration=SHORT), key=lambda case: -case["step"])
    power = order(brief)
    gone = [case for case in ours if case["diverged"]]
    stray = {case["step"]: max(case["energy_highest"], -case["energy_lowest"]) for case in brief}
    return [
        claim(
            WHERE,
            "the joint's deviation falls with the square of h",
            f"order {power:.3f}; "
            + ", ".join(f"{case['deviation']:.2e} m at h = {case['step']:g} s" for case in brief),
            "yes" if abs(power - 2.0) < 0.2 else "no",
            beside=FIGURE,
        ),
        claim(
            WHERE + ", caption of the figure",
            "no instability at h = 0.1 and 1e-4 s, k = 1e15 N/m",
            "; ".join(f"h = {case['step']:g} s diverges after {case['reached']:.3g} s" for case in gone) or "none seen",
            "in part: for the 1 s of the experiment" if gone else "yes",
            beside=FIGURE,
            why="what compensates the drift, h Gdot v0, feeds energy in where the bob turns far in a step; the other "
            "two treatments of drift do not diverge",
        ),
        claim(
            WHERE,
            "the energy stays at precisely zero",
            ", ".join(f"strays by {far:.2g} J at h = {step:g} s" for step, far in stray.items()),
            "yes" if max(stray.values()) < 1e-9 else "no",
            why="a scheme of first order: what the energy strays by falls with h",
        ),
        claim(
            WHERE,
            "momentum across the constraint is conserved, and with it the energy, at large steps",
            f"{brief[0]['energy_highest']:.2g} J gained in 1 s at h = {brief[0]['step']:g} s, of 9.8 J to lose",
            "yes" if brief[0]["energy_highest"] < 1e-9 else "no",
            why="the direction across the constraint turns during the step",
        ),
    ]


STUDY = Study("The pendulum of the paper, and a four-bar loop: joints of 1e15 N/m over 1 s and 60 s", run, draw, PAGE)
