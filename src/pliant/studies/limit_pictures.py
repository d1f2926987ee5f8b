"""The limited pendulum's picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.plot.style import BLUE, COLOURS, INK, VERMILLION, label, legend, panels
from pliant.studies.limit_impact import closed_form
from pliant.studies.study import Results

STYLES = ("-", "-.", ":", "--")


def draw(results: Results) -> dict[str, Any]:
    """theta over time (the paper's figure), the spring during the impact, the speed given back, and whole runs."""
    title = f"A pendulum on its limit theta >= 0, k = {results['stiffness']:g} N m/rad, b = 0"
    figure, axes = panels(4, columns=2, title=title, height=2.5)
    _bounces(axes[0], results["bounces"])
    _spring(axes[1], results)
    _restitution(axes[2], results)
    _whole(axes[3], results["whole"])
    return {"limit": figure}


def _bounces(ax: Any, cases: list[Results]) -> None:
    for case, colour, style in zip(cases, (VERMILLION, BLUE, INK, COLOURS[2]), STYLES, strict=True):
        ax.plot(case["time"], case["theta"], style, color=colour, lw=1.4, label=f"h = {case['step']:.0e} s")
    ax.set_ylim(-0.1, 2.2)
    legend(ax, ncols=2, loc="upper right")
    label(ax, "time [s]", "theta [rad]", "flights exact, impacts in steps of h")


def _spring(ax: Any, results: Results) -> None:
    w, speed = results["frequency"], results["impact_speed"]
    for case, colour in zip([case for case in results["impacts"] if case["step"] <= 1e-6], COLOURS, strict=False):
        ax.plot(1e6 * np.array(case["time"]), 1e6 * np.array(case["theta"]), color=colour, lw=1.2,
                marker="o" if case["steps"] < 40 else "", ms=3, label=f"h = {case['step']:.0e} s")  # fmt: skip
    time = np.linspace(0.0, np.pi / w, 100)
    ax.plot(1e6 * time, -1e6 * speed / w * np.sin(w * time), "--", color=INK, lw=1.0, label="exact")
    ax.set_xlim(-0.5, 6.0)
    ax.set_ylim(-5.0, 4.0)
    legend(ax, loc="lower right")
    label(ax, "time since theta = 0 [µs]", "theta [µrad]", "the first impact")


def _restitution(ax: Any, results: Results) -> None:
    h = np.geomspace(5e-9, 2e-5, 200)
    phases = np.linspace(0.0, 0.999, 40)
    e = np.array([[closed_form(float(x), float(phase)) for phase in phases] for x in h])
    ax.fill_between(h, e.min(axis=1), e.max(axis=1), color="#CCCCCC", label="closed form, any moment of a step")
    ax.plot(h, np.exp(-0.5 * np.pi * h * results["frequency"]), "--", color=INK, lw=1.0, label="exp(-pi h w/2)")
    for i, case in enumerate(results["impacts"]):
        steps = np.full(len(case["restitution"]), case["step"])
        ax.plot(steps, case["restitution"], "o", ms=3.5, color=BLUE, mfc="none", label=None if i else "pliant")
    ax.set_xscale("log")
    ax.set_ylim(-0.05, 1.05)
    legend(ax, loc="lower left")
    label(ax, "step h [s]", "coefficient of restitution [-]", "speed given back by the limit")


def _whole(ax: Any, cases: list[Results]) -> None:
    for case, colour, style in zip(cases, COLOURS, STYLES, strict=False):
        ax.plot(case["time"], case["theta"], style, color=colour, lw=1.3, label=f"h = {case['step']:.0e} s")
    ax.set_ylim(-0.1, 1.7)
    legend(ax, loc="upper right")
    label(ax, "time [s]", "theta [rad]", "every step from the release")
