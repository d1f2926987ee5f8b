"""One style for the pictures of the studies: legible in print, told apart by every eye."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.plot import BLUE, GREY, INK, VERMILLION, empty_figure

__all__ = ["BLUE", "COLOURS", "GREEN", "GREY", "INK", "VERMILLION", "panels"]

GREEN, PURPLE, ORANGE = "#009E73", "#CC79A7", "#E69F00"
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, GREY)  # Okabe and Ito


def panels(count: int, *, columns: int, title: str, width: float = 3.6, height: float = 2.5) -> tuple[Any, list[Any]]:
    """A figure of `count` panels; returns it and its axes, row by row."""
    rows = -(-count // columns)
    figure = empty_figure(width * columns, height * rows + 0.5)
    figure.suptitle(title, fontsize=12)
    grid = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for ax in grid[count:]:
        ax.set_axis_off()
    for ax in grid[:count]:
        ax.grid(color="#DDDDDD", lw=0.6)
        ax.tick_params(labelsize=8)
        ax.set_axisbelow(True)
    return figure, list(grid[:count])
