"""Log-log pictures of the suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pliant.plot.style import COLOURS, DASHES, MARKERS, label, legend, panels

Curve = Sequence[tuple[float, float]]


def lines(curves: Mapping[str, Curve], title: str, across: str, up: str) -> Any:
    """One panel of named curves."""
    figure, (ax,) = panels(1, columns=1, title=title, width=5.4, height=3.4)
    looks = zip(COLOURS * 2, DASHES * 2, MARKERS * 2, strict=True)
    for (name, points), (colour, dash, mark) in zip(curves.items(), looks, strict=False):
        x, y = zip(*points, strict=True)
        ax.loglog(x, y, marker=mark, ls=dash, ms=4, lw=2.2 if name == "pliant" else 1.2, color=colour, label=name)
    label(ax, across, up)
    legend(ax)
    return figure
