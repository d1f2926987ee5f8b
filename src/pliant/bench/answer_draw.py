"""The picture of the suite `answer`: error against cost."""

from __future__ import annotations

from typing import Any, Final

from pliant.bench.answer_engines import DRAKE, MUJOCO
from pliant.bench.entrant import OURS
from pliant.plot.style import BLUE, GREEN, PALE, VERMILLION, label, legend, panels
from pliant.studies.study import Results

COLOURS: Final = {OURS: BLUE, MUJOCO: VERMILLION, DRAKE: GREEN}
LEAST: Final = 1e-8  # [m]; a logarithm has no zero


def figure(details: Results) -> Any:
    """A panel per scene, a curve per engine over its steps."""
    scenes = details["scenes"]
    title = f"Where bodies are after {details['duration']:g} s: error against cost, over the step"
    picture, axes = panels(len(scenes), columns=min(3, len(scenes)), title=title, height=2.3)
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
        said = None if family in named else family
        named.add(family)
        style = {"lw": 2.0, "ms": 5} if family == OURS else {"lw": 0.8, "ms": 2.5, "alpha": 0.7}
        ax.loglog(*zip(*points, strict=True), "o-", color=COLOURS[family], label=said, **style)
    ax.axhline(near, color=PALE, lw=0.8, ls="--")
    label(ax, "seconds for 1 s", "error of position [m]", name)
    legend(ax)
