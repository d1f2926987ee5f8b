"""The pendulum's pictures: how far its joint opens, and where its energy goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.plot.style import COLOURS, INK, label, legend, panels
from pliant.studies import four_bar
from pliant.studies.measure import TREATMENTS, pick
from pliant.studies.study import Results

FLOOR = 1e-17  # what a logarithm shows of 0 [m]
STYLES = ("-", "--", "-.")


def draw(results: Results) -> dict[str, Any]:
    """Deviation (the paper's figure, and its order), energy, and the four-bar loop."""
    pictures = {"pendulum-deviation": _deviation(results), "pendulum-energy": _energy(results)}
    return {**pictures, **four_bar.draw(results["four_bar"])}


def _deviation(results: Results) -> Any:
    """Over 1 s at the largest and the smallest step; then the largest of each run against h."""
    brief = pick(results["cases"], duration=1.0)
    steps = sorted({case["step"] for case in brief})
    title = f"The pendulum's joint of {results['stiffness']:g} N/m, released level: how far it opens within 1 s"
    figure, axes = panels(3, columns=3, title=title, height=2.5)
    for ax, step in zip(axes, (steps[-1], steps[0]), strict=False):
        for drift, colour, style in zip(TREATMENTS, COLOURS, STYLES, strict=False):
            (case,) = pick(brief, drift=drift, step=step)
            ax.semilogy(case["time"], np.maximum(case["gap"], FLOOR), style, color=colour, lw=1.3, label=drift)
        label(ax, "time [s]", "|phi| [m]", f"h = {step:g} s")
        ax.set_ylim(FLOOR, 1.0)
    for drift, colour, style, mark in zip(TREATMENTS, COLOURS, STYLES, "osD", strict=False):
        widest = [pick(brief, drift=drift, step=step)[0]["deviation"] for step in steps]
        axes[2].loglog(steps, widest, style, marker=mark, ms=5, color=colour, mfc="none", label=drift)
    (slope,) = axes[2].loglog(steps, 30.0 * np.square(steps), ":", color=INK, lw=1.0, label="slope 2")
    axes[2].set_ylim(FLOOR, 1.0)
    label(axes[2], "step h [s]", "largest |phi| [m]", "widest of the run")
    legend(axes[0], loc="center right")
    legend(axes[2], handles=[slope], loc="center")
    return figure


def _energy(results: Results) -> Any:
    """60 s at two large steps, whole and the first seconds."""
    long = pick(results["cases"], duration=60.0)
    steps = sorted({case["step"] for case in long}, reverse=True)[:2]
    title = "The pendulum's energy, 0 J at the start and, hanging at rest, -9.8 J"
    figure, axes = panels(2 * len(steps), columns=2, title=title, height=2.1)
    for row, step in enumerate(steps):
        for ax, until in zip(axes[2 * row : 2 * row + 2], (60.0, 5.0 if step > 0.07 else 20.0), strict=True):
            for drift, colour, style in zip(TREATMENTS, COLOURS, STYLES, strict=False):
                (case,) = pick(long, drift=drift, step=step)
                end = f", diverges at {case['reached']:.3g} s" if case["diverged"] else ""
                ax.plot(case["time"], case["energy"], style, color=colour, lw=1.0, label=drift + end)
            ax.set_xlim(0.0, until)
            ax.set_ylim(-12.0, 30.0)
            part = "all of it" if until == 60.0 else "the beginning"
            label(ax, "time [s]", "energy [J]", f"h = {step:g} s, {part}")
        legend(axes[2 * row], loc="upper right")
    return figure
