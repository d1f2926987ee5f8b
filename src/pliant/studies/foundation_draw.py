"""The pictures of the foundation: errors against the step, and work against precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.plot.style import BLUE, COLOURS, COLUMN, GREY, INK, MARKERS, SMALL, label, panels
from pliant.studies.study import Results

NAMES = ("LSODA", "VODE", "BDF", "Radau", "DOP853", "CVODE")


def draw(results: Results) -> dict[str, Any]:
    """Both pictures."""
    pictures = {"foundation-error": _errors(results["rows"]), "foundation-work": _work(results)}
    return {**pictures, "foundation-pressure": _pressure(results["pressure"])}


def _pressure(found: Results) -> Any:
    """Under the cube, seen from above."""
    figure, (ax,) = panels(1, title="Pressure under the cube", width=COLUMN, height=2.9)
    n = found["side"]
    pressure = np.array(found["pressure"]).reshape(n, n)
    shown = np.where(pressure > 0.0, pressure, np.nan)
    image = ax.imshow(shown, origin="lower", extent=(-0.5, 0.5, -0.5, 0.5), cmap="viridis")
    ax.plot(*found["load"], "o", ms=9, mfc="white", mec=INK, mew=1.2, clip_on=False)
    ax.grid(visible=False)
    label(ax, "x [m]", "y [m]")
    ax.set_title(f"{found['row']}\n{found['time']:g} s; circle: the load", fontsize=SMALL)
    bar = figure.colorbar(image, ax=ax)
    bar.set_label("pressure [Pa]", fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    return figure


def _errors(rows: list[dict[str, Any]]) -> Any:
    """Error over motion against h, a panel a modulus; the paper's as open markers of the same shape."""
    moduli = sorted({row["modulus"] for row in rows})
    title = "A cube on an elastic foundation: error of the final pose"
    figure, axes = panels(len(moduli), columns=len(moduli), title=title, height=3.4)
    for ax, modulus in zip(axes, moduli, strict=True):
        for i, row in enumerate(row for row in rows if row["modulus"] == modulus):
            look = {"color": COLOURS[i], "marker": MARKERS[i], "ms": 5}
            label = f"{row['elements']} elements, {row['load']:g} N"
            ax.plot([r["step"] for r in row["ours"]], [r["error"] for r in row["ours"]], lw=1.2, label=label, **look)
            leading = [r["step"] for r in row["leading"]], [r["error"] for r in row["leading"]]
            ax.plot(*leading, lw=0.8, ls="--", **{**look, "ms": 3})
            paper = [(0.01, row["paper"]["error"]), (0.001, row["paper"]["fine_error"])]
            known = [(h, error / row["motion"]) for h, error in paper if error is not None]
            ax.plot(*zip(*known, strict=True), mfc="none", lw=0.8, ls=":", **look)
        ax.plot([], [], color=GREY, marker="o", mfc="none", ls=":", lw=0.8, label="the paper's, same shapes")
        ax.plot([], [], color=GREY, marker="o", ms=3, ls="--", lw=0.8, label="load of the end of the step, same shapes")
        ax.axhline(1.0, color=INK, lw=0.8)
        ax.text(0.5, 1.0, "a cube that does not move", ha="center", va="bottom", fontsize=SMALL,
                transform=ax.get_yaxis_transform())  # fmt: skip
        _logarithmic(ax, "step h [s]", "error of the pose / motion of the cube [-]")
        chaotic = any(row["chaotic"] for row in rows if row["modulus"] == modulus)
        ax.set_title(f"E = {modulus:.0e} N/m²{' (100 elements, 50 N: chaotic)' if chaotic else ''}", fontsize=SMALL)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=SMALL)
    return figure


def _work(results: Results) -> Any:
    """Time against error, a panel a row: ours by step, the integrators by tolerance; crosses at MATLAB's default."""
    rows = sorted(results["rows"], key=lambda row: (row["modulus"], row["elements"], row["load"]))
    title = "A cube on an elastic foundation: work against precision (lower left is better)"
    figure, axes = panels(len(rows), columns=3 if len(rows) > 4 else 2, title=title, height=2.4)
    names = [name for name in NAMES if any(run["name"] == name for run in rows[0]["default"])]
    for ax, row in zip(axes, rows, strict=True):
        for name, colour, marker in zip(NAMES, (*COLOURS[1:], INK), MARKERS, strict=True):
            if name in names:
                _curve(ax, _of(row["ladder"], name), color=colour, marker=marker, label=name)
                _curve(ax, _of(row["default"], name), color=colour, marker="x", ms=6, mew=1.5, ls="")
        by_step = sorted(row["large"] + row["ours"] + row["leading"], key=lambda run: float(run["step"]))
        for lead, name, look in ((0.0, "pliant", {"lw": 2.0}), (1.0, "pliant, load of the end", {"mfc": "none"})):
            _curve(
                ax, [run for run in by_step if run["lead"] == lead], color=BLUE, marker="*", label=name, ms=9, **look
            )
        _logarithmic(ax, "error / motion [-]", "seconds for 1 s")
        star = ", chaotic" if row["chaotic"] else ""
        ax.set_title(f"{row['elements']}, {row['load']:g} N, {row['modulus']:.0e} N/m²{star}", fontsize=SMALL)
        _missing(ax, row, names)
    _same_limits(axes)
    handles, labels = axes[0].get_legend_handles_labels()
    handles += axes[0].plot([], [], color=INK, marker="x", mew=1.5, ls="")
    labels += ["rtol 1e-3, atol 1e-6"]
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 5), fontsize=SMALL)
    return figure


def _missing(ax: Any, row: dict[str, Any], names: list[str]) -> None:
    """Who did not come to the end at any tolerance."""
    none = [name for name in names if not any(_known(_of(row["ladder"] + row["default"], name)))]
    if none:
        seconds = max(run["seconds"] for name in none for run in _of(row["default"], name))
        said = f"no end within {seconds:.0f} s: {', '.join(none)}"
        ax.text(0.03, 0.03, said, transform=ax.transAxes, fontsize=SMALL, color=INK)


def _same_limits(axes: list[Any]) -> None:
    """One scale for all panels, so that they can be compared."""
    boxes = [ax.dataLim for ax in axes]
    for ax in axes:
        ax.set_xlim(0.5 * min(box.x0 for box in boxes), 2.0 * max(box.x1 for box in boxes))
        ax.set_ylim(0.3 * min(box.y0 for box in boxes), 2.0 * max(box.y1 for box in boxes))


def _of(runs: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [run for run in runs if run["name"] == name]


def _known(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [run for run in runs if run["error"] is not None]


def _curve(ax: Any, runs: list[dict[str, Any]], **look: Any) -> None:
    known = _known(runs)
    style = {"lw": 1.0, "ms": 4, **look}
    ax.plot([run["error"] for run in known], [run["seconds"] for run in known], **style)


def _logarithmic(ax: Any, x: str, y: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    label(ax, x, y)
