"""Work against precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pliant.errors import InputError
from pliant.plot.slopes import Points, pairs
from pliant.plot.style import COLUMN, Path, decades, label, legend_above, look, panels, saved


def work_precision(
    curves: Mapping[str, Points], *, error: str = "error [-]", work: str = "time [s]", path: Path | None = None,
    width: float = COLUMN,
) -> Any:  # fmt: skip
    """What an answer costs against how wrong it is, both logarithmic: lower left is better.

    curves: by name (errors, costs), one point per step or tolerance. error, work: what they are, with their units.
    """
    if not curves:
        raise InputError("curves: there is none; give {name: (errors, costs)}")
    figure, (ax,) = panels(1, width=width, height=2.7)
    for i, (name, points) in enumerate(curves.items()):
        ax.loglog(*pairs("work_precision", name, points), label=name, mfc="none", **look(i, marked=True))
    label(ax, error, work)
    decades(ax)
    legend_above(ax)
    return saved(figure, path)
