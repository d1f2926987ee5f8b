"""What a solve takes over from the one before: forces, on the rows that both have."""

from __future__ import annotations

import numpy as np

from pliant.constraints import Constraint
from pliant.errors import InputError
from pliant.inputs import Array, Ints, are_finite
from pliant.problem import StepProblem
from pliant.solution import Solution, WarmStart

Key = tuple[str, int, str | int]


def keys_of(problem: StepProblem) -> list[tuple[Key, Ints]]:
    """Identity of each constraint, by name or else by position, and of its rows."""
    return [
        ((type(c).__name__, c.dimension, c.name or position), c.ids) for position, c in enumerate(problem.constraints)
    ]


def start_forces(problem: StepProblem, warm_start: Solution | WarmStart | None) -> Array:
    """Forces of an earlier solution on the rows that it shares with this problem, else 0."""
    if warm_start is None:
        return np.zeros(problem.rows)
    if not isinstance(warm_start, Solution | WarmStart):
        raise InputError(f"warm_start must be an earlier pliant.Solution, got {type(warm_start).__name__}")
    known = {key: (ids, f) for (key, ids), f in zip(warm_start.keys, warm_start.forces, strict=True)}
    parts = [
        _carried_over(constraint, *known.get(key, (None, None)))
        for constraint, (key, _) in zip(problem.constraints, keys_of(problem), strict=True)
    ]
    force = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])
    return force if are_finite(force) else np.where(np.isfinite(force), force, 0.0)


def _carried_over(constraint: Constraint, ids: Ints | None, forces: Array | None) -> Array:
    """Forces of an earlier solution on the rows of one constraint, (rows,)."""
    part = np.zeros(constraint.rows)
    if ids is None or forces is None:
        return part
    if ids is constraint.ids or np.array_equal(constraint.ids, ids):
        part[:] = forces.ravel()
        return part
    _, here, there = np.intersect1d(constraint.ids, ids, assume_unique=True, return_indices=True)
    d = constraint.dimension
    part.reshape(constraint.count, d)[here] = forces.reshape(len(ids), d)[there]
    return part
