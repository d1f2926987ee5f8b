"""The forces of contacts over time, by the names of what touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.inputs import Array
from pliant.plot.chosen import busiest, named
from pliant.plot.style import COLUMN, Path, label, legend_above, look, panels, saved

if TYPE_CHECKING:
    from pliant.trajectory import Trajectory


class Force(NamedTuple):
    """normal: (T,) [N], summed over contact points, of a constraint without friction its force. friction: (T,) [N]."""

    normal: Array
    friction: Array


def forces(
    run: Trajectory, *, which: str | Sequence[str] | None = None, path: Path | None = None, width: float = COLUMN
) -> Any:
    """Normal force and friction over time, per pair of geoms ("floor - ball"), or per named constraint.

    which: names or globs of pairs, "*ball*". Six are shown at most, those with the largest forces. A force at a time is
    that of the step that ended there. Friction of a pair is the sum of its contact points as vectors.
    """
    chosen = named("contact", contact_forces(run), which)
    shown, others = busiest(chosen, {name: float(np.abs(one.normal).max()) for name, one in chosen.items()})
    rubs = any(one.friction.any() for one in shown.values())
    figure, axes = panels(2 if rubs else 1, width=width, height=1.9, share=True)
    time = run.time[1:]
    for i, (name, one) in enumerate(shown.items()):
        axes[0].plot(time, one.normal, label=name, **look(i))
        if rubs:
            axes[1].plot(time, one.friction, **look(i))
    label(axes[0], up="normal force [N]")
    if rubs:
        label(axes[1], up="friction [N]")
    label(axes[-1], "time [s]", axes[-1].get_ylabel())
    if shown:
        legend_above(axes[0], title=others)
    else:
        axes[0].set_title("nothing touches in this run", fontsize=9)
    figure.align_ylabels()
    return saved(figure, path)


def contact_forces(run: Trajectory) -> dict[str, Force]:
    """Of every pair that touches in the run, or of every constraint, by name."""
    return _of_pairs(run) if run.parameters.get("geoms") is not None else _of_constraints(run)


def _of_pairs(run: Trajectory) -> dict[str, Force]:
    table, steps = run.contacts, len(run) - 1
    column = {name: np.asarray(table[name]) for name in ("time", "geom1", "geom2")}
    n, f = (np.stack([np.asarray(table[c + axis]) for axis in "xyz"], axis=1) for c in "nf")
    normal = np.sum(n * f, axis=1)
    across = f - normal[:, None] * n
    step = np.searchsorted(run.time[1:], column["time"])
    pairs = np.char.add(np.char.add(column["geom1"].astype(str), " - "), column["geom2"].astype(str))
    known, first, which = np.unique(pairs, return_index=True, return_inverse=True)
    rows = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which, minlength=len(known)))[:-1])
    found = {}
    for i in np.argsort(first):  # as they come to touch
        pair, its = str(known[i]), rows[i]
        sideways = np.stack([np.bincount(step[its], across[its, k], minlength=steps) for k in range(3)], axis=1)
        push = np.asarray(np.bincount(step[its], normal[its], minlength=steps), float)
        found[pair] = Force(push[:steps], np.linalg.norm(sideways, axis=1)[:steps])
    return found


def _of_constraints(run: Trajectory) -> dict[str, Force]:
    steps = len(run) - 1
    found: dict[str, Force] = {}
    for k, (names, parts) in enumerate(zip(run.force_names, run.forces, strict=True)):
        for i, (name, part) in enumerate(zip(names, parts, strict=True)):
            known = found.setdefault(name or f"constraint {i}", Force(np.zeros(steps), np.zeros(steps)))
            known.normal[k] += float(part.sum() if part.ndim == 1 else part[:, 0].sum())
            if part.ndim == 2:
                known.friction[k] += float(np.linalg.norm(part[:, 1:3], axis=1).sum())
    return found
