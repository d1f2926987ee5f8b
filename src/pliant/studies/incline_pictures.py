"""Pictures of the study `incline`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.studies.draw import BLUE, COLOURS, GREY, INK, panels
from pliant.studies.study import Results

LEAST = 1e-18  # [m] that a bar shows


def draw(results: Results) -> dict[str, Any]:
    figure, (slides, feet, peers) = panels(
        3, columns=3, title="A box on a slope of 15°, h = 10 ms", width=4.3, height=3.2
    )
    _slides(slides, [case for case in results["slides"] if case["step"] == 0.01])
    _feet(feet, results)
    _peers(peers, results["peers"])
    return {"incline": figure}


def _slides(ax: Any, cases: list[Results]) -> None:
    for case, colour in zip(cases, COLOURS, strict=False):
        t, closed = np.array(case["time"]), case["closed_form"]
        ax.plot(t, closed * t**2, color=colour, lw=1.0)
        ax.plot(t[::5], case["distance"][::5], "o", ms=4, color=colour, label=f"$\\mu$ = {case['friction']:g}")
    ax.set_xlabel("time [s]", fontsize=9)
    ax.set_ylabel("distance [m]", fontsize=9)
    ax.set_title("lines: 1/2 a t²", fontsize=10)
    ax.legend(fontsize=8, frameon=False)


def _feet(ax: Any, results: Results) -> None:
    rest = results["rests"][0]
    names = list(rest["force"])
    ax.bar(range(4), list(rest["force"].values()), color=BLUE, width=0.6)
    for k, load in enumerate((results["loads"]["uphill"],) * 2 + (results["loads"]["downhill"],) * 2):
        ax.plot([k - 0.4, k + 0.4], [load, load], color=INK, lw=1.5)
    for k, depth in enumerate(rest["indentation"].values()):
        ax.text(k, 0.08, f"{1e9 * depth:.0f} nm", ha="center", fontsize=8, color="white")
    ax.set_xticks(range(4), [name.replace(" ", "\n") for name in names], fontsize=8)
    ax.set_ylabel("normal force [N]", fontsize=9)
    ax.set_title("at rest, $\\mu$ = 0.375; lines: by hand", fontsize=10)


def _peers(ax: Any, cases: list[Results]) -> None:
    stuck = [case for case in cases if case["friction"] == 0.375]
    creep = [max(abs(case["second_second"]), LEAST) for case in stuck]
    ax.barh(range(len(stuck)), creep, color=[BLUE if case["peer"] == "pliant" else GREY for case in stuck], left=LEAST)
    ax.set_yticks(range(len(stuck)), [case["peer"] for case in stuck], fontsize=8)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlim(LEAST, 1.0)
    ax.set_xlabel("moved in the 2nd second [m]", fontsize=9)
    ax.set_title("held by friction, $\\mu$ = 0.375", fontsize=10)
