"""A mass on a spring and a damper: three Euler schemes and ours, with the eigenvalues of their iteration matrices.

x' = v,  m v' = -k x - b v;   state after a step = A (state before), stable where every |eigenvalue of A| <= 1

explicit        x1 = x0 + h v0,  v1 = v0 - h (k x0 + b v0)/m
semi-implicit   v1 = (v0 - h k x0/m) / (1 + h b/m),  x1 = x0 + h v1     (the paper's; b implicit, k not)
implicit        x1 = x0 + h v1,  v1 = v0 - h (k x1 + b v1)/m
pliant          a `Bilateral` row with phi = x: the same as implicit, taken through `pliant.step`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.constraints import Bilateral
from pliant.drawing import Drawing, Shape
from pliant.inputs import Array
from pliant.laws import Law
from pliant.plot.style import BLUE, SMALL, label, panels
from pliant.problem import StepProblem
from pliant.step import step
from pliant.studies.spring_page import PAGE, claims
from pliant.studies.study import Progress, Results, Study

MASS = 1.0  # m [kg]
START = 1.0, 0.0  # x [m], v [m/s]
# scheme, h [s], k [N/m], b [N s/m], steps shown, what the paper says
CASES = (
    ("explicit", 1e-5, 1e6, 1.0, 100_000, "unstable"),
    ("explicit", 1e-5, 1e6, 10.0, 100_000, "somewhat more stable"),
    ("explicit", 1e-5, 1e6, 2e5, 1000, "stable"),
    ("explicit", 1e-5, 1e6, 2.1e5, 1000, "unstable"),
    ("semi-implicit", 1e-3, 1e6, 1.0, 1000, "stable"),
    ("semi-implicit", 1e-3, 1e7, 1.0, 1000, "unstable"),
    ("implicit", 1e-5, 1e6, 0.0, 100_000, "stable"),
    ("implicit", 1e-2, 1e6, 0.0, 100, "stable, damped"),
    ("pliant", 1e-5, 1e6, 0.0, 2000, "stable"),
    ("pliant", 1e-2, 1e6, 0.0, 100, "stable, damped"),
    ("pliant", 1e-2, 1e15, 1.0, 100, "stable, damped"),
)
SHOWN = 2000  # points of a curve
FEW = 10  # steps, of a curve that is at rest after them
NEAR = 1e-9  # of 1: the unit circle, up to rounding


class Mass:
    """The mass on its spring."""

    def __init__(self, k: float, b: float) -> None:
        self.law = Law(k, b)

    def problem(self, time: float, q: Array, v: Array, step: float) -> StepProblem:
        """A bilateral row along x."""
        return StepProblem([MASS], v, [0.0], step, [Bilateral([[1.0]], q, self.law)])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        """x + h v."""
        return q + step * v

    def draw(self) -> Drawing:
        """The mass beside the wall that the spring holds it from, 2 m away."""
        wall = np.array([-2.0, 0.0, 0.0])
        shapes = [
            Shape.box("wall", (0.1, 1.0, 1.0), colour="grey", at=wall),
            Shape.spring("spring", 0.15, turns=10),
            Shape.box("mass", (0.4, 0.4, 0.4)),
        ]

        def place(time: float, q: Array) -> dict[str, Any]:
            x = np.array([q[0], 0.0, 0.0])
            return {"mass": x, "spring": (wall, x - [0.2, 0.0, 0.0])}

        return Drawing(shapes, place)


def iteration_matrix(scheme: str, h: float, k: float, b: float) -> Array:
    """A, (2, 2), on (x, v)."""
    if scheme == "explicit":
        return np.array([[1.0, h], [-h * k / MASS, 1.0 - h * b / MASS]])
    down = 1.0 + h * b / MASS + (0.0 if scheme == "semi-implicit" else h * h * k / MASS)
    v = np.array([-h * k / MASS, 1.0]) / down
    return np.array([np.array([1.0, 0.0]) + h * v, v])


def _simulate(scheme: str, h: float, k: float, b: float, count: int) -> Array:
    """x at the end of each step."""
    x = np.empty(count + 1)
    x[0] = START[0]
    if scheme == "pliant":
        q, v, system, solution = np.array([START[0]]), np.array([START[1]]), Mass(k, b), None
        for i in range(count):
            q, v, solution = step(system, i * h, q, v, h, warm_start=solution)
            x[i + 1] = q[0]
        return x
    A, now = iteration_matrix(scheme, h, k, b), np.array(START)
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(count):
            now = A @ now
            x[i + 1] = now[0]
    return x


def verdict(largest: float) -> str:
    """From the largest eigenvalue."""
    return "unstable" if largest > 1.0 + NEAR else "marginal" if largest > 1.0 - NEAR else "stable"


def _until_it_overflows(x: Array) -> list[float]:
    """What JSON can hold."""
    ends = np.flatnonzero(~(np.abs(x) < 1e300))
    return [float(value) for value in x[: ends[0] if len(ends) else None]]


def run(quick: bool, progress: Progress) -> Results:
    """Every case: its eigenvalues, and its way."""
    cases = []
    for scheme, h, k, b, count, paper in CASES:
        progress(f"spring: {scheme}, h = {h:g} s, k = {k:g} N/m, b = {b:g} N s/m")
        steps = min(count, 2000) if quick else count
        x = _simulate(scheme, h, k, b, steps)
        values = np.linalg.eigvals(iteration_matrix(scheme, h, k, b))
        every = max(1, steps // SHOWN)
        largest = float(np.abs(values).max())
        cases.append(
            {
                "scheme": scheme,
                "step": h,
                "stiffness": k,
                "damping": b,
                "paper": paper,
                "eigenvalues": [[float(z.real), float(z.imag)] for z in values],
                "largest": largest,
                "found": verdict(largest),
                "steps": steps,
                "every": every,
                "x": _until_it_overflows(x[::every]),
            }
        )
    damped = float(np.abs(np.linalg.eigvals(iteration_matrix("explicit", 1e-7, 1e6, 1.0))).max())
    return {"mass": MASS, "start": START, "cases": cases, "claims": claims(cases, damped)}


def draw(results: Results) -> dict[str, Any]:
    """x over time, a panel a case, its largest eigenvalue in the title."""
    cases = results["cases"]
    figure, axes = panels(len(cases), columns=3, title="A mass on a spring and a damper", height=1.95)
    for ax, case in zip(axes, cases, strict=True):
        x = np.array(case["x"])
        time = np.arange(len(x)) * case["every"] * case["step"]
        bound = min(np.abs(x).max(), 5.0) * 1.1
        gone = len(x) > FEW and bool(np.all(np.abs(x[FEW:]) < 1e-3))
        shown = FEW if gone else case["steps"]
        ax.plot(1e3 * time, np.clip(x, -bound, bound), color=BLUE, lw=0.9, marker="o" if gone else "", ms=3)
        ax.set_ylim(-bound, bound)
        ax.set_xlim(0.0, 1e3 * shown * case["step"])
        ax.set_title(
            f"{case['scheme']}, h = {case['step']:g} s\nk = {case['stiffness']:g}, b = {case['damping']:g}\n"
            f"|z| = {case['largest']:.6g}: {case['found']}",
            fontsize=SMALL,
        )
        label(ax, "time [ms]", "x [m]")
    return {"spring": figure}


STUDY = Study("A mass on a spring and a damper: which Euler scheme survives", run, draw, PAGE)
