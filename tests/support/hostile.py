"""Records that no sane program would make: numbers at the edges of double precision and beyond, rows that repeat or
contradict each other, rows and blocks of nothing, masses that are singular, laws as stiff and as soft as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.flat import INTEGER_FIELDS, NORMAL, ROW_FIELDS, Flat
from tests.support.random_contacts import random_contact_problem
from tests.support.random_problems import random_problem
from tests.support.tiny_rows import FACTORS, KINDS, ROWS, tiny_row_problem

Rng = np.random.Generator
Array = np.ndarray

NUMBERS = (np.nan, np.inf, -np.inf, 1e300, -1e300, 1e150, 1e20, -1e15, 1e-20, 1e-300, 5e-324, 0.0, -0.0, -1.0)
REALS = [name for name in Flat._fields[1:] if name not in INTEGER_FIELDS and name != "mass_val"]


def hostile_flat(rng: Rng) -> Flat:
    """A random step to which up to three of the changes below have been made."""
    flat = _start(rng)
    with np.errstate(all="ignore"):
        for _ in range(int(rng.integers(0, 4))):
            flat = CHANGES[int(rng.integers(len(CHANGES)))](rng, flat)
    return flat


def _start(rng: Rng) -> Flat:
    case = rng.random()
    if case < 0.6:
        return random_problem(rng).flat()
    if case < 0.8:
        return random_contact_problem(rng, 12).flat()
    row, factor, kind = (str(rng.choice(ROWS)), float(rng.choice(FACTORS)), str(rng.choice(KINDS)))
    return tiny_row_problem(int(rng.integers(1 << 30)), row, factor, 8, kind).flat()


def _with(flat: Flat, name: str, array: Any) -> Flat:
    fields: dict[str, Any] = {name: np.ascontiguousarray(array)}
    return flat._replace(**fields)


def one_number(rng: Rng, flat: Flat) -> Flat:
    name = str(rng.choice(REALS))
    array = getattr(flat, name).copy()
    if len(array):
        array[rng.integers(len(array))] = rng.choice(NUMBERS)
    return _with(flat, name, array)


def a_whole_field(rng: Rng, flat: Flat) -> Flat:
    name = str(rng.choice(REALS))
    return _with(flat, name, getattr(flat, name) * rng.choice([0.0, -1.0, 10.0 ** rng.uniform(-20, 20)]))


def the_step(rng: Rng, flat: Flat) -> Flat:
    return flat._replace(step=float(rng.choice([1e-300, 1e-12, 1e-6, 1e3, 1e12, 1e300, np.inf])))


def stiff_laws(rng: Rng, flat: Flat) -> Flat:
    stiffness = np.where(np.isinf(flat.stiffness), np.inf, 10.0 ** rng.uniform(-20, 20, size=len(flat.kind)))
    return _with(flat, "stiffness", stiffness)


def rows_twice(rng: Rng, flat: Flat) -> Flat:
    """All of them, or with values that contradict."""
    rows: dict[str, Any] = {name: np.tile(getattr(flat, name), 2) for name in ROW_FIELDS}
    if rng.random() < 0.5:
        rows["value"] = rows["value"] + 1e-3 * rng.normal(size=len(rows["value"]))
    end = int(flat.jac_ptr[-1])
    return flat._replace(
        jac_ptr=np.concatenate([flat.jac_ptr, flat.jac_ptr[1:] + end]),
        jac_idx=np.tile(flat.jac_idx[:end], 2),
        jac_val=np.tile(flat.jac_val[:end], 2),
        block_ptr=np.concatenate([flat.block_ptr, flat.block_ptr[1:] + len(flat.kind)]),
        **rows,
    )


def empty_blocks(rng: Rng, flat: Flat) -> Flat:
    again = rng.integers(len(flat.block_ptr), size=3)
    return _with(flat, "block_ptr", np.sort(np.concatenate([flat.block_ptr, flat.block_ptr[again]])))


def zero_rows(rng: Rng, flat: Flat) -> Flat:
    """Explicit zeros in the Jacobian of a few rows."""
    value = flat.jac_val.copy()
    for row in rng.integers(len(flat.kind), size=min(3, len(flat.kind))):
        value[flat.jac_ptr[row] : flat.jac_ptr[row + 1]] = 0.0
    return _with(flat, "jac_val", value)


def rows_of_nothing(rng: Rng, flat: Flat) -> Flat:
    """A few rows, or all of them, without entries."""
    keep = rng.random(len(flat.kind)) < rng.choice([0.0, 0.8])
    kept = np.repeat(keep, np.diff(flat.jac_ptr))
    end = int(flat.jac_ptr[-1])
    return flat._replace(
        jac_ptr=np.concatenate([[0], np.cumsum(np.where(keep, np.diff(flat.jac_ptr), 0))]).astype(np.int64),
        jac_idx=flat.jac_idx[:end][kept],
        jac_val=flat.jac_val[:end][kept],
    )


def no_rows(rng: Rng, flat: Flat) -> Flat:
    none: dict[str, Any] = {name: getattr(flat, name)[:0] for name in (*ROW_FIELDS, "jac_idx", "jac_val")}
    return flat._replace(jac_ptr=np.zeros(1, np.int64), block_ptr=np.zeros(1, np.int64), **none)


def bounds_that_meet(rng: Rng, flat: Flat) -> Flat:
    """Of scalar rows: equal, the wrong way round, or huge."""
    lower, upper = flat.lower.copy(), flat.upper.copy()
    rows = np.flatnonzero(flat.kind < NORMAL)
    if len(rows):
        row = rng.choice(rows)
        lower[row], upper[row] = ((1.0, 1.0), (1e300, np.inf), (-1e-300, 1e-300))[int(rng.integers(3))]
    return flat._replace(lower=lower, upper=upper)


def scaled_mass(rng: Rng, flat: Flat) -> Flat:
    """D M D: units of velocities that are twelve decades apart."""
    scale = 10.0 ** rng.uniform(-6, 6, size=len(flat.velocity))
    rows = np.repeat(np.arange(len(flat.velocity)), np.diff(flat.mass_ptr))
    return _with(flat, "mass_val", flat.mass_val * scale[rows] * scale[flat.mass_idx[: len(rows)]])


def no_mass(rng: Rng, flat: Flat) -> Flat:
    """One velocity without, or with a negative, infinite or unknown one."""
    value, j = flat.mass_val.copy(), int(rng.integers(len(flat.velocity)))
    rows = np.repeat(np.arange(len(flat.velocity)), np.diff(flat.mass_ptr))
    value[(rows == j) | (flat.mass_idx[: len(rows)] == j)] *= rng.choice([0.0, -1.0, 1e300, np.nan, np.inf])
    return _with(flat, "mass_val", value)


CHANGES: list[Callable[[Rng, Flat], Flat]] = [
    one_number, a_whole_field, the_step, stiff_laws, rows_twice, empty_blocks, zero_rows, rows_of_nothing, no_rows,
    bounds_that_meet, scaled_mass, no_mass,
]  # fmt: skip
