"""A map of the pressure on a geom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import InputError
from pliant.plot.style import COLUMN, SMALL, Path, empty_figure, label, plain, saved

if TYPE_CHECKING:
    from pliant.trajectory import Trajectory


def pressure(
    run: Trajectory, *, geom: str | None = None, time: float | None = None, path: Path | None = None,
    width: float = COLUMN,
) -> Any:  # fmt: skip
    """The pressure on a geom with a Foundation at a time [s]; by default the first geom that has any, at the last
    sample at which it has."""
    table = run.pressure
    if not len(table):
        raise InputError("no pressure: no geom with a Foundation touches anything in this run")
    known = list(dict.fromkeys(np.asarray(table["geom"]).tolist()))
    geom = known[0] if geom is None else geom
    if geom not in known:
        raise InputError(f"geom {geom!r} has no pressure in this run; these have: {', '.join(known)}")
    its = table[np.asarray(table["geom"]) == geom]
    times = np.asarray(its["time"])
    now = float(times[-1] if time is None else times[np.argmin(np.abs(times - time))])
    if time is not None and abs(now - time) > np.diff(run.time).max():
        raise InputError(f"geom {geom!r} has no pressure at {time:g} s; the nearest time is {now:g} s")
    return saved(pressure_figure(its[times == now], geom, now, width=width), path)


def pressure_figure(table: Any, geom: str, time: float, *, width: float = COLUMN) -> Any:
    """The pressure on a geom at a time as a map over its surface, seen along its thinnest side. table:
    `Trajectory.pressure` of this geom and time."""
    places = np.stack([np.asarray(table[name]) for name in "uvw"], axis=1)
    extent = np.ptp(places, axis=0)
    one, two = sorted(np.argsort(extent)[1:])
    tall = float(np.clip((width - 1.3) * extent[two] / max(extent[one], 1e-12), 1.2, 1.2 * width))
    wide = float(np.clip(tall * extent[one] / max(extent[two], 1e-12), 0.7, width - 1.3))
    figure = empty_figure(wide + 1.3, tall + 0.8)
    ax = figure.subplots()
    pressure, area = np.asarray(table["pressure"]), np.asarray(table["area"])
    plain(ax)
    ax.set_aspect("equal")
    label(ax, f"{'xyz'[one]} [mm]", f"{'xyz'[two]} [mm]", f"{geom} at {time:g} s")
    spots = ax.scatter(1e3 * places[:, one], 1e3 * places[:, two], c=1e-3 * pressure, s=1.0, marker="s", cmap="viridis")
    ax.margins(0.08)
    for axis, far in ((ax.xaxis, extent[one]), (ax.yaxis, extent[two])):
        axis.get_major_locator().set_params(nbins=int(np.clip(8.0 * far / extent.max(), 2, 8)))
    bar = figure.colorbar(spots, ax=ax)
    bar.set_label("pressure [kPa]", fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    figure.draw_without_rendering()
    # squares of the area of the elements, in points: in a grid they touch each other
    points = ax.transData.transform([(0.0, 0.0), (1.0, 0.0)])
    each = 72.0 / figure.dpi * float(points[1, 0] - points[0, 0])  # points per mm
    spots.set_sizes((1e3 * np.sqrt(area) * each) ** 2)
    return figure
