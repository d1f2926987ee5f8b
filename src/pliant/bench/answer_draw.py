"""The picture of the suite `answer`: error against cost."""

from __future__ import annotations

from typing import Any, Final

from pliant.bench.answer_engines import DRAKE, MUJOCO
from pliant.bench.draw import finish
from pliant.bench.entrant import OURS
from pliant.studies.draw import BLUE, GREEN, VERMILLION, panels
from pliant.studies.study import Results

COLOURS: Final = {OURS: BLUE, MUJOCO: VERMILLION, DRAKE: GREEN}
LEAST: Final = 1e-8  # [m]; a logarithm has no zero


def figure(details: Results) -> Any:
    """A panel per scene, a curve per engine over its steps."""
    scenes = details["scenes"]
    title = f"Where bodies are after {details['duration']:g} s: error against cost, over the step"
    picture, axes = panels(len(scenes), columns=min(3, len(scenes)), title=title, width=4.0, height=3.2)
    for ax, (name, found) in zip(axes, scenes.items(), strict=True):
        _panel(ax, name, found["entries"], details["near"])
    return picture


def _panel(ax: Any, name: str, entries: list[Results], near: float) -> None:
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for entry in entries:
        if "seconds" in entry:
            point = entry["seconds"]["median"], max(LEAST, entry["position"])
            curves.setdefault((entry["family"], entry["engine"]), []).append(point)
    named: set[str] = set()
    for (family, _), points in curves.items():
        label = None if family in named else family
        named.add(family)
        style = {"lw": 2.0, "ms": 5} if family == OURS else {"lw": 0.8, "ms": 2.5, "alpha": 0.7}
        ax.loglog(*zip(*points, strict=True), "o-", color=COLOURS[family], label=label, **style)
    ax.axhline(near, color="#555555", lw=0.8, ls="--")
    ax.set_title(name, fontsize=10)
    finish(ax, "seconds per simulated second", "error of position [m]")
