"""Changes of the data as users write them, constraint by constraint, and as one number per flat row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pliant.constraints import Constraint, Contact
from pliant.errors import InputError
from pliant.inputs import Array, over_contact_rows, over_rows, over_tangents

# One entry per constraint, or a dict of those that are not zero, by position (int) or name (str).
PerConstraint = Sequence[Any] | Mapping[Any, Any]


def over_all_rows(name: str, entries: PerConstraint, constraints: Sequence[Constraint]) -> Array:
    """One number per flat row; `name` says what is given, and whether it is friction."""
    parts = [np.zeros(0)]
    for i, entry in enumerate(_in_order(name, entries, constraints)):
        constraint = constraints[i]
        label = f"{name}[{i}] ({constraint.label})"
        parts.append(np.zeros(constraint.rows) if entry is None else _over(label, name, entry, constraint))
    return np.concatenate(parts)


def _in_order(name: str, entries: PerConstraint, constraints: Sequence[Constraint]) -> list[Any]:
    """One entry per constraint, None where there is none."""
    if isinstance(entries, Mapping):
        out: list[Any] = [None] * len(constraints)
        for key, entry in entries.items():
            out[_position(name, key, constraints)] = entry
        return out
    if not isinstance(entries, list | tuple) or len(entries) != len(constraints):
        raise InputError(
            f"{name} must be a list with one entry per constraint ({len(constraints)}, None for no change), "
            f"or a dict from positions or names of constraints to entries, got {entries!r}"
        )
    return list(entries)


def _position(name: str, key: int | str, constraints: Sequence[Constraint]) -> int:
    if isinstance(key, str):
        named = {constraint.name: i for i, constraint in enumerate(constraints) if constraint.name}
        if key in named:
            return named[key]
        known = ", ".join(map(repr, named))
        raise InputError(
            f"{name}: no constraint has the name {key!r}; names are: {known or 'none'}; "
            f"use a position, 0 to {len(constraints) - 1}"
        )
    if not isinstance(key, int | np.integer) or not 0 <= key < len(constraints):
        raise InputError(
            f"{name}: keys must be positions of constraints, 0 to {len(constraints) - 1}, or names, got {key!r}"
        )
    return int(key)


def _over(label: str, name: str, entry: Any, constraint: Constraint) -> Array:
    """Numbers for all rows of a constraint, read as its own arguments are."""
    n, d = constraint.count, constraint.dimension
    if name == "friction":
        if not isinstance(constraint, Contact):
            raise InputError(f"{label} must be None: only a Contact has friction, got {entry!r}")
        return np.concatenate([np.zeros((n, 1)), over_tangents(label, entry, n, d - 1)], axis=1).ravel()
    if isinstance(constraint, Contact):
        return over_contact_rows(label, entry, n, d).ravel()
    return over_rows(label, entry, n)
