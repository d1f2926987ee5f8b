"""Who touches whom, where, with what force: the tables of a run and of a step.

Systems hand over plain numbers, one row of `COLUMNS` per contact; here they become tables with names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pliant.inputs import Array
from pliant.solution import ContactState

# Numbers of the two geoms; of the element of a foundation on the second one, or -1; its area [m^2] and its place on
# the geom, in the geom's frame [m], or nan; in the world: where [m], the normal, the force on the second [N]; how deep
# [m]; the ContactState.
COLUMNS: Final = (
    "geom1", "geom2", "element", "area", "u", "v", "w", "x", "y", "z", "nx", "ny", "nz", "fx", "fy", "fz",
    "penetration", "state",
)  # fmt: skip
RIM: Final = 1.0 - 1e-9  # of the radius of the cone, from which friction is that of slip


def rows_of(
    pair: Array, element: Array, area: Array, local: Array, pos: Array, frame: Array, force: Array, depth: Array,
    friction: Array,
) -> Array:  # fmt: skip
    """(n, len(COLUMNS)). frame: (n, 3, 3) normal and tangents; force: (n, 3) along them; friction: (n, 2)."""
    world = np.einsum("ni,nij->nj", force, frame)
    return np.column_stack(
        [pair, element, area, local, pos, frame[:, 0], world, np.maximum(depth, 0.0), _states(force, friction)]
    )


def _states(force: Array, friction: Array) -> Array:
    rubs = friction > 0.0
    share = np.divide(force[:, 1:], friction, out=np.zeros_like(friction), where=rubs)
    slides = ~rubs.any(axis=1) | (np.hypot(share[:, 0], share[:, 1]) >= RIM * force[:, 0])
    state = np.where(slides, ContactState.SLIP, ContactState.STICK)
    return np.where(force[:, 0] > 0.0, state, ContactState.OPEN)


def contact_table(time: Array, rows: Array, names: Sequence[str]) -> Any:
    """A pandas.DataFrame if pandas is installed, else a structured array with the same columns."""
    column = dict(zip(COLUMNS, rows.T, strict=True)) if len(rows) else {name: np.zeros(0) for name in COLUMNS}
    table = {
        "time": time,
        "geom1": _named(column["geom1"], names),
        "geom2": _named(column["geom2"], names),
        "element": column["element"].astype(np.int64),
        **{name: column[name] for name in COLUMNS[7:17]},
        "state": np.array([ContactState(int(s)).name for s in column["state"]], dtype="U5"),
    }
    return _table(table)


def pressure_table(time: Array, rows: Array, names: Sequence[str]) -> Any:
    """The elements of foundations alone: where they are on their geom, and the normal force over their area [Pa]."""
    there = rows[:, COLUMNS.index("element")] >= 0.0
    column = dict(zip(COLUMNS, rows[there].T, strict=True))
    normal = sum(column[f"n{axis}"] * column[f"f{axis}"] for axis in "xyz")
    table = {
        "time": time[there],
        "geom": _named(column["geom2"], names),
        "element": column["element"].astype(np.int64),
        **{name: column[name] for name in ("u", "v", "w", "area")},
        "pressure": normal / column["area"],
        "shear": np.sqrt(np.maximum(sum(column[f"f{axis}"] ** 2 for axis in "xyz") - normal**2, 0.0)) / column["area"],
    }
    return _table(table)


def _named(numbers: Array, names: Sequence[str]) -> np.ndarray:
    """Names of geoms; those without one are called by their number."""
    known = np.array([name or f"#{i}" for i, name in enumerate(names)], dtype=object)
    return np.array(known[numbers.astype(np.int64)] if len(numbers) else [], dtype=str)


def _table(columns: dict[str, Any]) -> Any:
    try:
        from pandas import DataFrame
    except ImportError:
        table = np.zeros(len(columns["time"]), [(name, np.asarray(part).dtype) for name, part in columns.items()])
        for name, part in columns.items():
            table[name] = part
        return table
    return DataFrame(columns)
