"""Pictures of the study `incline`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.plot.style import BLUE, COLOURS, GREY, INK, MARKERS, SMALL, label, legend, panels
from pliant.studies.study import Results

LEAST = 1e-18  # [m] that a bar shows


def draw(results: Results) -> dict[str, Any]:
    figure, (slides, feet, peers) = panels(3, columns=3, title="A box on a slope of 15°, h = 10 ms", height=2.5)
    _slides(slides, [case for case in results["slides"] if case["step"] == 0.01])
    _feet(feet, results)
    _peers(peers, results["peers"])
    return {"incline": figure}


def _slides(ax: Any, cases: list[Results]) -> None:
    for case, colour, mark in zip(cases, COLOURS, MARKERS, strict=False):
        t, closed = np.array(case["time"]), case["closed_form"]
        ax.plot(t, closed * t**2, color=colour, lw=1.0)
        ax.plot(t[::5], case["distance"][::5], mark, ms=4, color=colour, label=f"$\\mu$ = {case['friction']:g}")
    label(ax, "time [s]", "distance [m]", "lines: 1/2 a t²")
    legend(ax)


def _feet(ax: Any, results: Results) -> None:
    rest = results["rests"][0]
    names = list(rest["force"])
    ax.bar(range(4), list(rest["force"].values()), color=BLUE, width=0.6)
    for k, load in enumerate((results["loads"]["uphill"],) * 2 + (results["loads"]["downhill"],) * 2):
        ax.plot([k - 0.4, k + 0.4], [load, load], color=INK, lw=1.5)
    for k, depth in enumerate(rest["indentation"].values()):
        ax.text(k, 0.08, f"{1e9 * depth:.0f} nm", ha="center", fontsize=SMALL, color="white", rotation=90)
    ax.set_xticks(range(4), [name.replace(" ", "\n") for name in names], fontsize=SMALL, rotation=90)
    label(ax, up="normal force [N]", title="at rest, $\\mu$ = 0.375")


def _peers(ax: Any, cases: list[Results]) -> None:
    stuck = [case for case in cases if case["friction"] == 0.375]
    creep = [max(abs(case["second_second"]), LEAST) for case in stuck]
    ax.barh(range(len(stuck)), creep, color=[BLUE if case["peer"] == "pliant" else GREY for case in stuck], left=LEAST)
    ax.set_yticks(range(len(stuck)), [case["peer"] for case in stuck], fontsize=SMALL)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlim(LEAST, 1.0)
    label(ax, "moved in the 2nd second [m]", title="held by friction")
