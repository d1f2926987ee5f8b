"""Log-log pictures of the suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pliant.studies.draw import COLOURS, panels

Curve = Sequence[tuple[float, float]]


def lines(curves: Mapping[str, Curve], title: str, across: str, up: str) -> Any:
    """One panel of named curves."""
    figure, (ax,) = panels(1, columns=1, title=title, width=6.4, height=4.0)
    for (name, points), colour in zip(curves.items(), COLOURS * 2, strict=False):
        x, y = zip(*points, strict=True)
        ax.loglog(x, y, "o-", ms=4, lw=2.2 if name == "pliant" else 1.2, color=colour, label=name)
    finish(ax, across, up)
    return figure


def finish(ax: Any, across: str, up: str) -> None:
    ax.set_xlabel(across, fontsize=9)
    ax.set_ylabel(up, fontsize=9)
    ax.legend(fontsize=8, frameon=False)
