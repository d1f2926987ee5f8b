"""A pendulum that falls onto the limit of its range, theta >= 0: stable at any step, dead or elastic by its size.

What is done. The fall takes 0.59 s, 6e7 steps of 1e-8 s, in which the limit does nothing. So the fall, and each flight
after an impact, is the exact `Swing`; steps are taken from the second last point of the grid t = n h before the impact
until the limit lets go. The error of the flights, O(h), is thus left out. For h >= 1e-4 s (1e-5 without --quick) whole
runs of 1 s are taken step by step as well.

Beside it the closed form of `limit_impact`, implicit Euler on a spring.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.studies.limit_impact import (
    FALL,
    FREQUENCY,
    GRAVITY,
    INERTIA,
    LENGTH,
    MASS,
    RATE,
    STIFFNESS,
    Limited,
    closed_form,
    impact,
)
from pliant.studies.limit_page import PAGE
from pliant.studies.limit_pictures import draw
from pliant.studies.measure import claim
from pliant.studies.study import Progress, Results, Study, simulate_all
from pliant.studies.swing import Swing

SHOWN = (1e-5, 1e-6, 1e-7, 1e-8)  # the paper's steps [s]
STEPS = (1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8)
WHOLE, BRIEFLY, DURATION = (1e-2, 1e-3, 1e-4, 1e-5), (1e-2, 1e-3, 1e-4), 1.0
END = 2.5  # of the picture [s]
REST = 50  # flights of fewer steps are rest
WHERE, FIGURE = "Example: pendulum with soft range-of-limit", "Figure 6"  # the paper's section, its figure


def bounces(h: float) -> Results:
    """Swings and impacts in turn until END: theta over time, and the speeds given back."""
    swing, begin, ratios, shown = FALL, -0.5 * FALL.half, [], np.linspace(0.0, END, 501)
    theta = np.zeros(len(shown))
    while (arrival := begin + swing.half) < END:
        here = (shown >= begin) & (shown < arrival)
        theta[here] = swing.angle(shown[here] - begin)
        hit = impact(h, float(arrival / h - np.floor(arrival / h)), swing)
        ratios.append(hit.back / swing.speed)
        if hit.back <= 0.0 or (swing := Swing(hit.back, RATE)).half < REST * h:
            break
        begin = arrival + float(hit.time[-1] - hit.theta[-1] / hit.speed[-1])
    else:
        theta[shown >= begin] = swing.angle(shown[shown >= begin] - begin)
    return {"step": h, "restitutions": ratios, "time": shown.tolist(), "theta": theta.tolist()}


def sweep(h: float, phases: Sequence[float]) -> Results:
    """The first impact, met at several moments of a step."""
    hits = [impact(h, phase) for phase in phases]
    shown = hits[0]
    return {
        "step": h,
        "phases": list(phases),
        "restitution": [hit.back / FALL.speed for hit in hits],
        "closed_form": [closed_form(h, phase) for phase in phases],
        "energy_growth": max(hit.growth for hit in hits),
        "steps": len(shown.time) - 1,
        "time": shown.time.tolist(),
        "theta": shown.theta.tolist(),
    }


def whole(h: float) -> Results:
    """A run of 1 s, step by step from pi/2."""
    run = simulate_all(Limited(), [0.5 * np.pi], [0.0], duration=DURATION, step=h, throw=False)
    theta, speed = run.q[:, 0], run.v[:, 0]
    energy = 0.5 * INERTIA * speed**2 + MASS * GRAVITY * LENGTH * (1.0 - np.cos(theta))
    every = -(-len(theta) // 500)
    return {
        "step": h,
        "complete": run.complete,
        "lowest": float(theta.min()),
        "fastest_in": float(-speed.min()),
        "fastest_out": float(max(speed.max(), 0.0)),
        "energy_start": float(energy[0]),
        "energy_highest": float(energy.max()),
        "energy_end": float(energy[-1]),
        "time": run.time[::every].tolist(),
        "theta": theta[::every].tolist(),
    }


def run(quick: bool, progress: Progress) -> Results:
    """Impacts over h and phase, the bouncing, and whole runs; the paper's claims."""
    count, impacts, bouncing, runs = 4 if quick else 16, [], [], []
    for h in STEPS:
        progress(f"limit: impact, h = {h:g} s")
        impacts.append(sweep(h, [(i + 0.5) / count for i in range(count)]))
    for h in SHOWN:
        progress(f"limit: bounces, h = {h:g} s")
        bouncing.append(bounces(h))
    for h in BRIEFLY if quick else WHOLE:
        progress(f"limit: 1 s, h = {h:g} s")
        runs.append(whole(h))
    return {
        "mass": MASS,
        "length": LENGTH,
        "inertia": INERTIA,
        "stiffness": STIFFNESS,
        "frequency": FREQUENCY,
        "gravity": GRAVITY,
        "impact_time": 0.5 * FALL.half,
        "impact_speed": FALL.speed,
        "method": "flights exact, steps from the second last grid point before each impact until the limit lets go",
        "impacts": impacts,
        "bounces": bouncing,
        "whole": runs,
        "claims": claims(impacts, runs),
    }


def claims(impacts: list[Results], runs: list[Results]) -> list[Results]:
    """The paper's sentences on this experiment."""
    lost = {case["step"]: 1.0 - float(np.mean(case["restitution"])) for case in impacts}
    most = {case["step"]: max(case["restitution"]) for case in impacts}
    fine, finer = sorted(lost)[2], sorted(lost)[0]  # a decade apart
    power = float(np.log10(lost[fine] / lost[finer]) / np.log10(fine / finer))
    growth = max(case["energy_growth"] for case in impacts)
    dead = max(case["fastest_out"] / case["fastest_in"] for case in runs)
    stable = growth < 1e-9 and all(case["complete"] for case in runs)
    returned = ", ".join(f"{1.0 - lost[h]:.4f} at {h:g} s" for h in SHOWN)
    return [
        claim(
            WHERE,
            "stable for any h",
            f"energy gained in a step of an impact: {growth:.1e} of all at most, by gravity before touch",
            "yes" if stable else "no",
            beside=FIGURE,
        ),
        claim(
            WHERE,
            "dead impact for h >= 1e-5 s",
            f"at most {most[1e-5]:.4f} of the speed comes back at 1e-5 s, {dead:.4f} in whole runs",
            "yes" if max(most[1e-5], dead) < 0.02 else "no",
            beside=FIGURE,
        ),
        claim(
            WHERE,
            "elastic as h shrinks",
            f"speed given back: {returned}",
            "yes" if lost[1e-8] < 0.02 else "no",
            beside=FIGURE,
        ),
        claim(
            WHERE,
            "accuracy grows linearly as h falls",
            f"speed lost falls as h^{power:.3f} from {fine:g} to {finer:g} s",
            "yes" if abs(power - 1.0) < 0.1 else "no",
            beside=FIGURE,
        ),
    ]


STUDY = Study("A pendulum on the limit of its range: dead at large steps, elastic at small ones", run, draw, PAGE)
