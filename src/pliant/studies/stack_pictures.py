"""Pictures of the study `stack`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.studies.draw import BLUE, COLOURS, INK, panels
from pliant.studies.study import Results

SHADES = {"stands": "#BFE3D4", "sinks": "#F3E3B3", "moves": "#F3E3B3", "too slow": "#E3E3E3"}
BAD = "#F2C4B0"  # tunnels, explodes, topples, fails


def draw(results: Results) -> dict[str, Any]:
    title = "Spheres of 1 kg dropped onto each other, E* = 10$^{11}$ Pa, h = 10 ms"
    figure, (depth, cost, fall, rivals) = panels(4, columns=2, title=title, width=4.8, height=3.2)
    _depths(depth, results["columns"])
    _cost(cost, results["columns"])
    _falls(fall, results["jittered"])
    _rivals(rivals, results["peers"])
    return {"stack": figure}


def _depths(ax: Any, columns: list[Results]) -> None:
    for case, colour in zip(columns, COLOURS, strict=False):
        level = np.arange(case["count"])
        ax.plot(1e6 * np.array(case["closed_form"]), level, color=INK, lw=0.8)
        some = level[:: max(1, len(level) // 20)]
        ax.plot(1e6 * np.array(case["indentations"])[some], some, "o", ms=3, color=colour, label=f"{case['count']}")
    ax.set_xlabel("indentation at rest [µm]", fontsize=9)
    ax.set_ylabel("contact, from the floor up", fontsize=9)
    ax.set_title("lines: Hertz under the weight above", fontsize=10)
    ax.legend(fontsize=8, frameon=False, title="spheres", title_fontsize=8)


def _cost(ax: Any, columns: list[Results]) -> None:
    count, cost = ([case[name] for case in columns] for name in ("count", "ms_per_step"))
    ax.loglog(count, cost, "o-", color=BLUE)
    ax.set_xticks(count, [str(n) for n in count])
    ax.set_yticks(cost, [f"{c:.2g}" for c in cost])
    ax.minorticks_off()
    ax.set_xlabel("spheres", fontsize=9)
    ax.set_ylabel("time per step [ms]", fontsize=9)
    ax.set_title("cost, the fall included", fontsize=10)


def _falls(ax: Any, falls: list[Results]) -> None:
    for case, colour in zip(falls, COLOURS, strict=False):
        t, part = np.array(case["time"]), np.array(case["part"])
        ax.semilogy(t, part, "o", ms=3, color=colour, label=f"{case['count']}: {case['rate']:.1f}/s")
        ax.semilogy(t, part[-1] * np.exp(case["rate"] * (t - t[-1])), color=INK, lw=0.8)
    ax.set_xlabel("time [s]", fontsize=9)
    ax.set_ylabel("fastest mode [m]", fontsize=9)
    ax.set_title("1 nm of jitter; lines: the rate by hand", fontsize=10)
    ax.legend(fontsize=8, frameon=False, title="spheres", title_fontsize=8)


def _rivals(ax: Any, cases: list[Results]) -> None:
    names = list(dict.fromkeys(case["peer"] for case in cases))
    counts = sorted({case["count"] for case in cases})
    for case in cases:
        x, y = counts.index(case["count"]), names.index(case["peer"])
        shade = SHADES.get(case["outcome"], BAD)
        ax.fill([x - 0.5, x + 0.5, x + 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5], color=shade, ec="white")
        ax.text(x, y, case["outcome"].split(":")[0], ha="center", va="center", fontsize=8)
    ax.grid(visible=False)
    ax.set_xlim(-0.5, len(counts) - 0.5)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xticks(range(len(counts)), [str(n) for n in counts])
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_xlabel("spheres", fontsize=9)
    ax.set_title("what becomes of the column in 5 s", fontsize=10)
