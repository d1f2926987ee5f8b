"""Errors against the step, with the order that they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.plot.style import COLUMN, INK, SMALL, Path, decades, label, legend_above, look, panels, saved

Points = tuple[Sequence[float] | Array, Sequence[float] | Array]


def convergence(
    curves: Mapping[str, Points], *, error: str = "error [-]", slope: float | None = None, path: Path | None = None,
    width: float = COLUMN,
) -> Any:  # fmt: skip
    """Errors against the step, both logarithmic, each curve with the order fitted to it, and a triangle of a slope.

    curves: by name (steps [s], errors). error: what the errors are, with their unit. slope: of the triangle; by default
    the order of the first curve, rounded to a whole number.
    """
    found = {name: pairs("convergence", name, points) for name, points in curves.items()}
    if not found:
        raise InputError("curves: there is none; give {name: (steps, errors)}")
    figure, (ax,) = panels(1, width=width, height=2.7)
    for i, (name, (h, e)) in enumerate(found.items()):
        fitted = f", order {order(h, e):.2f}" if len(h) > 1 else ""
        ax.loglog(h, e, label=name + fitted, mfc="none", **look(i, marked=True))
    first = order(*next(iter(found.values())))
    _triangle(ax, found, round(first) if slope is None and np.isfinite(first) else slope)
    label(ax, "step h [s]", error)
    decades(ax)
    legend_above(ax)
    return saved(figure, path)


def order(steps: Sequence[float] | Array, errors: Sequence[float] | Array) -> float:
    """p of error ~ h^p, by least squares on logarithms; nan where there is one point only."""
    h, e = np.log(np.asarray(steps, float)), np.log(np.asarray(errors, float))
    return float(np.polyfit(h, e, 1)[0]) if len(h) > 1 and np.ptp(h) > 0.0 else float("nan")


def pairs(who: str, name: str, points: Any) -> tuple[Array, Array]:
    """Both arrays, sorted by the first, checked: as many of one as of the other, and positive."""
    try:
        one, two = (np.asarray(part, dtype=float).ravel() for part in points)
    except (TypeError, ValueError) as error:
        raise InputError(f"curves: {name!r} must be a pair of sequences of numbers, got {points!r}") from error
    if len(one) != len(two) or not len(one):
        raise InputError(f"curves: {name!r} has {len(one)} and {len(two)} numbers; {who} needs as many of both")
    if not (np.all(np.isfinite(one) & (one > 0.0)) and np.all(np.isfinite(two) & (two > 0.0))):
        raise InputError(f"curves: {name!r} has numbers that are not positive, which a logarithm cannot show")
    sorting = np.argsort(one)
    return one[sorting], two[sorting]


def _triangle(ax: Any, curves: Mapping[str, tuple[Array, Array]], slope: float | None) -> None:
    """Below all curves, a third of the way, as wide as a third of them."""
    h = np.concatenate([h for h, _ in curves.values()])
    if slope is None or h.min() == h.max():
        return
    ends = h.min() * (h.max() / h.min()) ** np.array([0.5, 0.83])
    under = [min(float(np.exp(np.interp(np.log(x), np.log(h), np.log(e)))) for h, e in curves.values()) for x in ends]
    left, right = ends
    high = 0.35 * min(under[1], under[0] * (right / left) ** slope)
    low = high * (left / right) ** slope
    ax.set_ylim(bottom=min(ax.get_ylim()[0], 0.55 * low))
    ax.plot([left, right, right, left], [low, low, high, low], color=INK, lw=0.9)
    ax.text(right * 1.04, np.sqrt(low * high), f"{slope:g}", fontsize=SMALL, color=INK, va="center")
    ax.text(np.sqrt(left * right), low * 0.93, "1", fontsize=SMALL, color=INK, ha="center", va="top")
