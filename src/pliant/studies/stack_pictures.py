"""Pictures of the study `stack`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.plot.style import BLUE, COLOURS, INK, MARKERS, SMALL, label, legend, panels
from pliant.studies.study import Results

SHADES = {"stands": "#BFE3D4", "sinks": "#F3E3B3", "moves": "#F3E3B3", "too slow": "#E3E3E3"}
BAD = "#F2C4B0"  # tunnels, explodes, topples, fails


def draw(results: Results) -> dict[str, Any]:
    title = "Spheres of 1 kg dropped onto each other, E* = 10$^{11}$ Pa, h = 10 ms"
    figure, (depth, cost, fall, rivals) = panels(4, columns=2, title=title, height=2.5)
    _depths(depth, results["columns"])
    _cost(cost, results["columns"])
    _falls(fall, results["jittered"])
    _rivals(rivals, results["peers"])
    return {"stack": figure}


def _depths(ax: Any, columns: list[Results]) -> None:
    for case, colour, mark in zip(columns, COLOURS, MARKERS, strict=False):
        level = np.arange(case["count"])
        ax.plot(1e6 * np.array(case["closed_form"]), level, color=INK, lw=0.8)
        some = level[:: max(1, len(level) // 20)]
        ax.plot(1e6 * np.array(case["indentations"])[some], some, mark, ms=3, color=colour, label=f"{case['count']}")
    label(ax, "indentation at rest [µm]", "contact, from the floor up [-]", "lines: Hertz under the weight above")
    legend(ax, title="spheres")


def _cost(ax: Any, columns: list[Results]) -> None:
    count, cost = ([case[name] for case in columns] for name in ("count", "ms_per_step"))
    ax.loglog(count, cost, "o-", color=BLUE)
    ax.set_xticks(count, [str(n) for n in count])
    ax.set_yticks(cost, [f"{c:.2g}" for c in cost])
    ax.minorticks_off()
    label(ax, "spheres [-]", "time per step [ms]", "cost, the fall included")


def _falls(ax: Any, falls: list[Results]) -> None:
    for case, colour, mark in zip(falls, COLOURS, MARKERS, strict=False):
        t, part = np.array(case["time"]), np.array(case["part"])
        ax.semilogy(t, part, mark, ms=3, color=colour, label=f"{case['count']}: {case['rate']:.1f}/s")
        ax.semilogy(t, part[-1] * np.exp(case["rate"] * (t - t[-1])), color=INK, lw=0.8)
    label(ax, "time [s]", "fastest mode [m]", "1 nm of jitter; lines: the rate by hand")
    legend(ax, title="spheres")


def _rivals(ax: Any, cases: list[Results]) -> None:
    names = list(dict.fromkeys(case["peer"] for case in cases))
    counts = sorted({case["count"] for case in cases})
    for case in cases:
        x, y = counts.index(case["count"]), names.index(case["peer"])
        shade = SHADES.get(case["outcome"], BAD)
        ax.fill([x - 0.5, x + 0.5, x + 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5], color=shade, ec="white")
        ax.text(x, y, case["outcome"].split(":")[0], ha="center", va="center", fontsize=SMALL)
    ax.grid(visible=False)
    ax.set_xlim(-0.5, len(counts) - 0.5)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xticks(range(len(counts)), [str(n) for n in counts])
    ax.set_yticks(range(len(names)), names, fontsize=SMALL)
    label(ax, "spheres [-]", title="what becomes of the column in 5 s")
