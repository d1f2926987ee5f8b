"""What a system hands over, checked: errors say which function gave what, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.problem import StepProblem

if TYPE_CHECKING:
    from pliant.systems import System


def state(name: str, data: Any) -> Array:
    """A finite vector, copied."""
    array = np.array(data, dtype=float)
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise InputError(f"{name} must be a vector of finite numbers, got {_shown(array)}")
    return array


def problem_at(system: System, time: float, q: Array, v: Array, step: float) -> StepProblem:
    """system.problem, for this state and step."""
    where = f"system.problem at t = {time:.9g} s"
    try:
        problem = system.problem(time, q, v, step)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if not isinstance(problem, StepProblem):
        raise InputError(f"{where} must return a pliant.StepProblem, got {type(problem).__name__}")
    if problem.step != step or not np.array_equal(problem.velocity, v):
        raise InputError(
            f"{where} must be built with the velocity and the step that it was given: v has shape {v.shape}, "
            f"the problem's {problem.velocity.shape}; step {step!r} and {problem.step!r}"
        )
    return problem


def reached(system: System, time: float, q: Array, v: Array, step: float) -> Array:
    """system.advance, (nq,)."""
    q1 = np.array(system.advance(q, v, step), dtype=float)
    if q1.shape != q.shape or not np.all(np.isfinite(q1)):
        raise InputError(
            f"system.advance at t = {time:.9g} s must return {q.shape[0]} finite numbers like q, got {_shown(q1)}"
        )
    return q1


def values_at(system: Any, time: float, q: Array, problem: StepProblem) -> list[Array | None]:
    """system.values: phi(t, q) of every constraint, None where it is not known."""
    where = f"system.values at t = {time:.9g} s"
    given = system.values(time, q)
    if not isinstance(given, Sequence) or len(given) != len(problem.constraints):
        raise InputError(
            f"{where} must return one entry per constraint of system.problem ({len(problem.constraints)}), "
            f"None where phi is not known, got {given!r}"
        )
    values: list[Array | None] = []
    for constraint, entry in zip(problem.constraints, given, strict=True):
        value = None if entry is None else np.array(entry, dtype=float)
        if value is not None and (value.shape != (constraint.count,) or not np.all(np.isfinite(value))):
            raise InputError(f"{where}: {constraint.label} has {constraint.count} rows, got {_shown(value)}")
        values.append(value)
    return values


def _shown(array: Array) -> str:
    bad = np.argwhere(~np.isfinite(array))
    where = f", {array[tuple(bad[0])]} at index {bad[0].tolist()}" if len(bad) else ""
    return f"shape {array.shape}{where}"
