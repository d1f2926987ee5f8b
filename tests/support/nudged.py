"""Steps whose data are moved a little, and what `solve` makes of it: finite differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import pliant
from pliant.constraints import Clipped, Constraint, Contact, ScalarConstraint
from pliant.inputs import Array
from pliant.linearize import ROW_DATA

TIGHT: dict[str, Any] = {"tolerance": 1e-12, "max_iterations": 400}
# Weights of the central difference of order six, at 1, 2 and 3 steps to either side.
WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}


def random_change(problem: pliant.StepProblem, name: str, rng: np.random.Generator) -> Array:
    """Of the size of the data, (nv,) or (rows,); 0 where a change of either sign would be out of range."""
    data = dict(zip((*ROW_DATA, "velocity", "force"), _data(problem), strict=True))[name]
    size = np.abs(np.where(np.isfinite(data), data, 0.0))
    if name in ("velocity", "force"):
        size = np.full(len(data), size.max() or 1.0)
    if name == "rate_offset":
        size = np.full(len(data), np.abs(problem.velocity).max() or 1.0)
    return np.asarray(size * rng.normal(size=len(data)))


def _data(problem: pliant.StepProblem) -> tuple[Array, ...]:
    flat = problem.flat()
    rows = flat.value, flat.offset, flat.stiffness, flat.damping, flat.friction
    return *rows, flat.velocity, flat.force


def nudged(problem: pliant.StepProblem, size: float, change: Mapping[str, Array]) -> pliant.StepProblem:
    """The problem with size * change added to its data; row data are given per flat row."""
    none = np.zeros(problem.rows)
    parts = [problem.split(size * change.get(name, none)) for name in ROW_DATA]
    still = np.zeros(problem.nv)
    return pliant.StepProblem(
        problem.mass,
        problem.velocity + size * change.get("velocity", still),
        problem.force + size * change.get("force", still),
        problem.step,
        [_nudged(c, *rows) for c, *rows in zip(problem.constraints, *parts, strict=True)],
    )


def _nudged(constraint: Constraint, value: Array, offset: Array, K: Array, B: Array, mu: Array) -> Constraint:
    shifted = constraint.rate_offset + offset
    if isinstance(constraint, Contact):
        tangent = constraint.tangent_law
        return Contact(
            constraint.jacobian,
            constraint.gap + value[:, 0],
            _law(constraint.law, K[:, 0], B[:, 0]),
            constraint.friction + mu[:, 1:],
            tangent_law=None if tangent is None else _law(tangent, K[:, 1:], B[:, 1:]),
            stretch=0.0 if tangent is None else constraint.stretch + value[:, 1:],
            rate_offset=shifted,
        )
    assert isinstance(constraint, ScalarConstraint)
    more = (constraint.lower, constraint.upper) if isinstance(constraint, Clipped) else ()
    law = _law(constraint.law, K, B)
    return type(constraint)(constraint.jacobian, constraint.value + value, law, *more, rate_offset=shifted)


def _law(law: pliant.Law, K: Array, B: Array) -> pliant.Law:
    stiffness, damping = (
        np.asarray(x)[:, None] if np.ndim(x) == 1 and K.ndim == 2 else x for x in (law.stiffness, law.damping)
    )
    return pliant.Law(stiffness + K, damping + B, exponent=law.exponent, dissipation=law.dissipation)


def answers(
    problem: pliant.StepProblem, change: Mapping[str, Array], size: float, solver: Any
) -> dict[int, tuple[pliant.StepProblem, pliant.Solution]]:
    """Problems and solutions at -3 ... 3 steps along `change`, each solved without warm start."""
    steps = [sign * k for k in WEIGHTS for sign in (-1, 1)]
    moved = {k: nudged(problem, k * size, change) for k in steps}
    return {k: (step, pliant.solve(step, solver, throw=False)) for k, step in moved.items()}


def difference(solutions: Mapping[int, pliant.Solution], size: float) -> tuple[Array, Array]:
    """(dv1, dlambda) along the change, of order six."""
    velocity = {k: s.velocity for k, s in solutions.items()}
    force = {k: flat_forces(s) for k, s in solutions.items()}
    dv, df = (sum(weight * (x[k] - x[-k]) for k, weight in WEIGHTS.items()) / size for x in (velocity, force))
    return np.asarray(dv), np.asarray(df)


def flat_forces(solution: pliant.Solution) -> Array:
    """(rows,)"""
    return np.concatenate([np.zeros(0), *(part.ravel() for part in solution.forces)])


def sides(problem: pliant.StepProblem, solution: pliant.Solution) -> list[int]:
    """On which side of its kinks each row (each contact) lies."""
    out: list[int] = []
    for constraint, force, state in zip(problem.constraints, solution.forces, solution.states, strict=True):
        if state is not None:
            out += state.tolist()
        elif isinstance(constraint, Clipped):
            out += (2 * (force >= constraint.upper) + (force <= constraint.lower)).tolist()
        else:
            out += (np.isclose(force, 0.0) & isinstance(constraint, pliant.Unilateral)).tolist()
    return out
