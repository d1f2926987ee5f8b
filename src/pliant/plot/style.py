"""One style for every picture: legible in print at the width of a column, told apart by every eye, and in grey."""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np

from pliant.errors import PliantError, missing_extra

# Okabe and Ito
BLUE, VERMILLION, GREEN, PURPLE, ORANGE = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"
GREY, INK, PALE, FAINT = "#8C8C8C", "#222222", "#555555", "#DDDDDD"
COLOURS: Final = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, GREY)
DASHES: Final = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS: Final = "osD^vP"
SMALL, TITLE, HEAD = 8.0, 9.0, 10.0  # [pt]; nothing is smaller than SMALL
COLUMN, PAGE = 3.5, 7.2  # [in] of a column and of a page in print
DPI: Final = 200
FEW_DECADES: Final = 2.0
BESIDE, HANDLE, LETTER = 0.55, 0.5, 0.06  # [in] left of a panel; of a name in a legend: its line, and a letter
LINE: Final = 0.15  # [in] of a legend
Path = str | os.PathLike[str]


def empty_figure(width: float, height: float, *, dpi: float = DPI) -> Any:
    """An empty figure of that many inches, or the ImportError with the remedy."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        missing_extra("matplotlib", "plot")
    return Figure(figsize=(width, height), dpi=dpi, layout="constrained", facecolor="white")


def panels(
    count: int, *, columns: int = 1, title: str = "", width: float = PAGE, height: float = 2.0, share: bool = False
) -> tuple[Any, list[Any]]:
    """A figure of `count` panels, and its axes, row by row. width: of the figure, height: of a panel [in]. share: one
    axis across for all."""
    rows = -(-count // columns)
    figure = empty_figure(width, height * rows + (0.35 if title else 0.0))
    if title:
        figure.suptitle(title, fontsize=HEAD)
    grid = np.atleast_1d(figure.subplots(rows, columns, squeeze=False, sharex=share)).ravel()
    for ax in grid[count:]:
        ax.set_axis_off()
    for ax in grid[:count]:
        plain(ax)
    return figure, list(grid[:count])


def plain(ax: Any) -> None:
    """A faint grid, small numbers."""
    ax.grid(color=FAINT, lw=0.6)
    ax.tick_params(which="both", labelsize=SMALL)
    ax.xaxis.get_offset_text().set_fontsize(SMALL)
    ax.yaxis.get_offset_text().set_fontsize(SMALL)
    ax.set_axisbelow(True)


def label(ax: Any, across: str = "", up: str = "", title: str = "") -> None:
    """Say what the axes are, with units."""
    ax.set_xlabel(across, fontsize=SMALL)
    ax.set_ylabel(up, fontsize=SMALL)
    if title:
        ax.set_title(title, fontsize=TITLE)


def decades(ax: Any) -> None:
    """Both axes logarithmic: numbers at decades, or at 1, 2 and 5 where there are few of them, never one on another."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        if np.log10(high / low) < FEW_DECADES:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())


def legend(ax: Any, **options: Any) -> Any:
    return ax.legend(**{"fontsize": SMALL, "title_fontsize": SMALL, "frameon": False, **options})


def legend_above(ax: Any, *, title: str = "") -> None:
    """Above the panel, where it hides nothing, in as many columns as its width has room for. The figure grows by
    its lines but one, so that the panel keeps its height."""
    handles, names = ax.get_legend_handles_labels()
    room = float(ax.figure.get_figwidth()) - BESIDE
    most = int((room - HANDLE) / LETTER)
    names = [name if len(name) <= most else f"{name[: most - 1]}…" for name in names]
    columns = max(1, min(len(names), int(room / (HANDLE + LETTER * max(map(len, names), default=1)))))
    lines = -(-len(names) // columns) + bool(title)
    ax.figure.set_figheight(ax.figure.get_figheight() + LINE * max(0, lines - 1))
    options = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "columnspacing": 1.0}
    legend(ax, handles=handles, labels=names, ncols=columns, title=title or None,
           alignment="left", handlelength=2.4, **options)  # fmt: skip


def look(number: int, *, marked: bool = False) -> dict[str, Any]:
    """How the curve of this number is drawn: a colour and a dash of its own, and a marker where it has points."""
    marks = {"marker": MARKERS[number % len(MARKERS)], "ms": 4.0} if marked else {}
    return {"color": COLOURS[number % len(COLOURS)], "ls": DASHES[number % len(DASHES)], "lw": 1.2, **marks}


def saved(figure: Any, path: Path | None) -> Any:
    """The figure, written to `path` if there is one (.png, .pdf, .svg)."""
    if path is not None:
        try:
            figure.savefig(path)
        except (OSError, ValueError) as error:  # no such folder, no such format
            raise PliantError(f"cannot write the picture {os.fspath(path)}: {error}") from error
    return figure
