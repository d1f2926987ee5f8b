"""Coordinates and velocities of a run over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.inputs import Array
from pliant.plot.chosen import busiest, named
from pliant.plot.style import COLUMN, Path, label, legend_above, look, panels, saved

if TYPE_CHECKING:
    from pliant.trajectory import Trajectory

QUANTITIES = {
    "m": "position", "rad": "angle", "m/s": "velocity", "rad/s": "rate", "-": "quaternion",
    "m, rad": "coordinates", "m/s, rad/s": "velocities",
}  # fmt: skip


class _Curve(NamedTuple):
    unit: str
    values: Array


def states(
    run: Trajectory, *, which: str | Sequence[str] | None = None, path: Path | None = None, width: float = COLUMN
) -> Any:
    """The states of a run over time: a panel per unit.

    which: names or globs of coordinates; those of MuJoCo models are called after their joints and bodies ("hinge",
    "ball x", "ball vx"), others by their number ("q0", "v0"). A panel shows six at most, those that move most.
    """
    chosen = named("coordinate", _curves(run), which)
    units = list(dict.fromkeys(curve.unit for curve in chosen.values()))
    figure, axes = panels(len(units), width=width, height=1.75, share=True)
    for ax, unit in zip(axes, units, strict=True):
        its = {name: curve.values for name, curve in chosen.items() if curve.unit == unit}
        shown, others = busiest(its, {name: float(np.ptp(values)) for name, values in its.items()})
        for i, (name, values) in enumerate(shown.items()):
            ax.plot(run.time, values, label=name, **look(i))
        label(ax, up=f"{QUANTITIES.get(unit, 'state')} [{unit}]")
        legend_above(ax, title=others)
    label(axes[-1], "time [s]", axes[-1].get_ylabel())
    figure.align_ylabels()
    return saved(figure, path)


def _curves(run: Trajectory) -> dict[str, _Curve]:
    told = run.parameters.get("coordinates") or {}
    curves: dict[str, _Curve] = {}
    for vector, values, unit in (("q", run.q, "m, rad"), ("v", run.v, "m/s, rad/s")):
        names = told.get(vector) or [[f"{vector}{i}", unit] for i in range(values.shape[1])]
        for i, (name, unit) in enumerate(names):
            curves[f"{name} ({vector}{i})" if name in curves else name] = _Curve(unit, values[:, i])
    return curves
