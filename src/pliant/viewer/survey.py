"""All of a run, looked at before it is shown: where there is something to see, and how large things usually are.

Scales of a whole run stay as they are: arrows of two times can then be compared, and films have the same as pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.inputs import Array
from pliant.stage import Stage
from pliant.systems.mujoco_pulls import PullReader
from pliant.viewer.bodies import Place, place_of, place_of_all
from pliant.viewer.moment import AREA, ELEMENT, FORCE, GEOM1, GEOM2, NORMAL, PLACE, Moment
from pliant.viewer.playback import Playback
from pliant.viewer.scale import Scale

ROOM: Final = 0.22  # of the size of the scene, that the longest arrow takes


class Usual(NamedTuple):
    """The largest over the run but for a few, which are those of impacts; 0 where there is none."""

    force: float  # [N]
    torque: float  # [N m]
    pressure: float  # [Pa]


def place_of_run(source: Playback) -> Place:
    """Where there is something to see at any time."""
    return place_of_all([place_of(source.model, data) for _, data in source.survey()])


def usual(moments: Iterable[tuple[Moment, Any]], reader: PullReader) -> Usual:
    """moments: each with the data in which bodies are placed."""
    found = []
    for moment, data in moments:
        pulls, turns = reader.arrows(data, moment.pulls or {})
        force = max(longest(resultants(moment.rows)[:, FORCE]), longest(pulls.vector))
        found.append((force, longest(turns.vector), float(pressures(moment.rows)[1].max(initial=0.0))))
    return Usual(*(_largest_but_few(column) for column in zip(*found, strict=True)))


def force_scale(stage: Stage) -> float:
    """Newtons per metre of an arrow, as the viewer and exported pages have it."""
    source = Playback(stage.trajectory, stage)
    scale = Scale("N", ROOM * place_of_run(source).size)
    scale.see(_drawn_force(stage) if stage.drawn else usual(source.survey(), PullReader(stage.model)).force)
    return scale.per_metre


def resultants(rows: Array) -> Array:
    """Contacts as they are; elements of a foundation, too many to read, as one where their forces have their centre."""
    elements = rows[:, ELEMENT] >= 0.0
    found = [rows[~elements]]
    for pair in np.unique(rows[elements][:, [GEOM1, GEOM2]], axis=0):
        part = rows[elements & (rows[:, [GEOM1, GEOM2]] == pair).all(axis=1)]
        one = part[:1].copy()
        weight = np.linalg.norm(part[:, FORCE], axis=1)
        one[0, FORCE] = part[:, FORCE].sum(axis=0)
        one[0, PLACE] = np.average(part[:, PLACE], axis=0, weights=weight) if weight.any() else part[0, PLACE]
        found.append(one)
    return np.concatenate(found)


def pressures(rows: Array) -> tuple[Array, Array]:
    """Rows of elements, and the pressure on them [Pa]."""
    rows = rows[rows[:, ELEMENT] >= 0.0]
    return rows, np.einsum("ni,ni->n", rows[:, NORMAL], rows[:, FORCE]) / rows[:, AREA]


def longest(vectors: Array) -> float:
    return float(np.linalg.norm(vectors, axis=1).max(initial=0.0))


def _drawn_force(stage: Stage) -> float:
    """Of a system of somebody's own, whose geoms are not those of the drawing."""
    counts, rows = stage.trajectory.touches()
    parts = np.split(rows, np.cumsum(counts)[:-1])
    return _largest_but_few([longest(resultants(part)[:, FORCE]) for part in parts])


def _largest_but_few(values: Iterable[float]) -> float:
    there = [value for value in values if value > 0.0]
    return float(np.percentile(there, 90.0)) if there else 0.0
