"""Whether what a file says is a run: a checksum proves that its bytes were meant, not that they make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pliant.inputs import Array
from pliant.readout import COLUMNS
from pliant.solution import ContactState, Status

if TYPE_CHECKING:
    from pliant.run_file import Chunk

WHOLE: Final = 2.0**53  # up to here reals are whole numbers
PARTS: Final = 1_000_000  # arrays of forces of a chunk, beyond those that hold any


def check_parameters(parameters: Any, duration: Any) -> None:
    """Raise ValueError if these cannot be what a run was asked for."""
    if not isinstance(parameters, dict):
        raise ValueError(f"its parameters are {parameters!r}")
    if duration is not None and (isinstance(duration, bool) or not isinstance(duration, int | float)):
        raise ValueError(f"its duration is {duration!r}")
    geoms = parameters.get("geoms")
    if geoms is not None and not (isinstance(geoms, list) and all(isinstance(name, str) for name in geoms)):
        raise ValueError("its geoms are no list of names")
    for name in "qv":
        if not isinstance(parameters.get(name) or [], list):
            raise ValueError(f"its {name} is {parameters[name]!r}")
    if parameters.get("coordinates") is not None:
        check_coordinates(parameters["coordinates"], *(len(parameters.get(name) or ()) for name in "qv"))


def check_coordinates(coordinates: Any, nq: int, nv: int) -> None:
    """Raise ValueError unless these are a name and a unit for each entry of q and of v."""
    for name, count in (("q", nq), ("v", nv)):
        its = coordinates.get(name) if isinstance(coordinates, dict) else None
        if not isinstance(its, list | tuple) or len(its) != count:
            raise ValueError(f"expected {count} entries [name, unit] for {name}, got {its!r}")
        if not all(isinstance(one, list | tuple) and [type(part) for part in one] == [str, str] for one in its):
            raise ValueError(f"expected a name and a unit, both texts, for each entry of {name}, got {its!r}")


def check_chunk(chunk: Chunk, whole: Sequence[str], geoms: Sequence[str] | None) -> None:
    """Raise ValueError if the arrays of a chunk do not fit together. whole: for each statistic, its name if it is a
    whole number, else nothing."""
    n = len(chunk.time)
    for name, axes in {
        "time": 1,
        "q": 2,
        "v": 2,
        "layout": 1,
        "force": 1,
        "stats": 2,
        "touches": 1,
        "touch": 2,
        "poses": 2,
    }.items():
        array = getattr(chunk, name)
        kind = "i" if name in ("layout", "touches") else "f"
        if array.ndim != axes or array.dtype.kind != kind:
            raise ValueError(f"{name} has shape {array.shape} and dtype {array.dtype}")
        if name not in ("force", "touch") and len(array) != n:
            raise ValueError(f"{name} has {len(array)} samples of {n}")
    _check_forces(chunk)
    _check_stats(chunk.stats, whole)
    _check_touches(chunk, geoms)


def _check_forces(chunk: Chunk) -> None:
    if np.any(chunk.layout < 0) or np.any(chunk.layout >= len(chunk.layouts)):
        raise ValueError("a layout is not there")
    sizes = []
    for layout in chunk.layouts:
        if any(count < 0 or dimension < 1 for _, count, dimension in layout):
            raise ValueError("a layout has sizes below 0")
        sizes.append(sum(count * dimension for _, count, dimension in layout))
    times = np.bincount(chunk.layout, minlength=len(chunk.layouts)).tolist()
    if sum(size * often for size, often in zip(sizes, times, strict=True)) != chunk.force.size:
        raise ValueError("forces and their layout disagree")
    if sum(len(layout) * often for layout, often in zip(chunk.layouts, times, strict=True)) > PARTS + chunk.force.size:
        raise ValueError("there are far more constraints than forces")


def _check_stats(stats: Array, whole: Sequence[str]) -> None:
    if stats.shape[1] != len(whole):
        raise ValueError(f"there are {stats.shape[1]} statistics")
    counted = stats[:, [bool(name) for name in whole]]
    if not np.all((counted >= 0.0) & (counted < WHOLE)) or np.any(stats[:, whole.index("status")] >= len(Status)):
        raise ValueError("statistics are out of range")


def _check_touches(chunk: Chunk, geoms: Sequence[str] | None) -> None:
    if chunk.touch.shape[1] != len(COLUMNS) or np.any(chunk.touches < 0):
        raise ValueError("contacts have other columns")
    if np.any(chunk.touches > len(chunk.touch)) or sum(chunk.touches.tolist()) != len(chunk.touch):
        raise ValueError("contacts and their numbers disagree")
    column = dict(zip(COLUMNS, chunk.touch.T, strict=True))
    limits = {"state": (0.0, float(len(ContactState))), "element": (-1.0, WHOLE)}
    if geoms is not None:
        limits |= {"geom1": (0.0, float(len(geoms))), "geom2": (0.0, float(len(geoms)))}
    for name, (low, high) in limits.items():
        if not np.all((column[name] >= low) & (column[name] < high)):
            raise ValueError(f"contacts have a {name} that is not there")
