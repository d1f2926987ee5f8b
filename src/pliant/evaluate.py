"""What a system hands over, checked: errors say which function gave what, and when.

Its functions are handed copies: one that works in place spoils nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant._engine import finite_reals
from pliant.constraints import Constraint, Contact
from pliant.errors import InputError
from pliant.inputs import Array, Matrix, floats, is_sparse, number
from pliant.problem import StepProblem

if TYPE_CHECKING:
    from pliant.systems import System

AGREES = 1e-6  # of the largest coordinate and value, within which values() must meet the problem it stands for


def state(name: str, data: Any) -> Array:
    """A finite vector, copied."""
    array = np.array(floats(name, data))
    if array.ndim != 1:
        raise InputError(f"{name} must be a vector of finite numbers, got {_shown(array)}")
    return array


def moment(time: Any) -> float:
    """A finite time [s]."""
    if not math.isfinite(number(time)):
        raise InputError(f"time must be one finite number [s], got {time!r}")
    return float(time)


def span(name: str, seconds: Any) -> float:
    """A finite time > 0 [s]."""
    if not 0.0 < number(seconds) < math.inf:
        raise InputError(f"{name} must be one number > 0 [s], got {seconds!r}")
    return float(seconds)


def check_system(system: Any) -> None:
    """Raise unless it has the methods of a `System`."""
    if isinstance(system, type):
        raise InputError(f"system must be an instance, got the class {system.__name__}; write {system.__name__}(...)")
    missing = [name for name in ("problem", "advance") if not callable(getattr(system, name, None))]
    if missing:
        raise InputError(
            f"system must have the methods problem(time, q, v, step) and advance(q, v, step), got "
            f"{type(system).__name__} without {' and '.join(missing)}; see help(pliant.System)"
        )
    for name in ("values", "geometric_stiffness"):
        given = getattr(system, name, None)
        if not (given is None or callable(given)):
            raise InputError(f"system.{name} must be a method, or None, got {given!r}; see help(pliant.System)")


def knows_values(system: Any) -> bool:
    """Whether it has the optional method `values`."""
    return callable(getattr(system, "values", None))


def knows_turning(system: Any) -> bool:
    """Whether it has the optional method `geometric_stiffness`."""
    return callable(getattr(system, "geometric_stiffness", None))


def _called(name: str, time: float) -> str:
    """Which function of the system, and when: for messages, made only when they are needed."""
    return f"system.{name} at t = {time:.9g} s"


def problem_at(system: System, time: float, q: Array, v: Array, step: float) -> StepProblem:
    """system.problem, for this state and step."""
    try:
        problem: Any = system.problem(time, q.copy(), v.copy(), step)
    except Exception as error:
        _explain(error, _called("problem", time))
        raise
    if not isinstance(problem, StepProblem):
        where = _called("problem", time)
        raise InputError(f"{where} must return a pliant.StepProblem, got {type(problem).__name__}")
    if problem.step != step or not _same(problem.velocity, v):
        raise InputError(
            f"{_called('problem', time)} must be built with the velocity and the step that it was given: "
            f"{_difference(v, problem.velocity, step, problem.step)}"
        )
    return problem


def _explain(error: Exception, where: str) -> None:
    """What goes wrong inside a function of the system says which, and when."""
    if isinstance(error, InputError):
        raise InputError(f"{where}: {error}") from error
    error.add_note(f"raised in {where}")


def _same(a: Array, b: Array) -> bool:
    """Whether two vectors are equal; most are so to the bit, which is soon told."""
    return a.tobytes() == b.tobytes() or np.array_equal(a, b)


def _difference(v: Array, theirs: Array, step: float, their_step: float) -> str:
    if step != their_step:
        return f"step is {step!r}, the problem's {their_step!r}"
    if v.shape != theirs.shape:
        return f"v has shape {v.shape}, the problem's velocity {theirs.shape}"
    i = int(np.flatnonzero(v != theirs)[0])
    return f"v[{i}] is {float(v[i])!r}, the problem's velocity[{i}] {float(theirs[i])!r}"


def reached(system: System, time: float, q: Array, v: Array, step: float) -> Array:
    """system.advance, (nq,)."""
    try:
        given = system.advance(q.copy(), v.copy(), step)
    except Exception as error:
        _explain(error, _called("advance", time))
        raise
    found: Array | None = finite_reals(given)
    if found is not None and found.shape == q.shape:
        return found.copy()
    where = _called("advance", time)
    q1 = _numbers(f"{where} must return {q.shape[0]} finite numbers like q", given)
    if q1.shape != q.shape or not np.all(np.isfinite(q1)):
        raise InputError(f"{where} must return {q.shape[0]} finite numbers like q, got {_shown(q1)}")
    return q1


def values_at(system: Any, time: float, q: Array, problem: StepProblem) -> list[Array | None]:
    """system.values: phi(t, q) of every constraint, None where it is not known."""
    try:
        given = system.values(time, q.copy())
    except Exception as error:
        _explain(error, _called("values", time))
        raise
    if not isinstance(given, Sequence) or len(given) != len(problem.constraints):
        raise InputError(
            f"{_called('values', time)} must return a list with one entry per constraint of system.problem "
            f"({len(problem.constraints)}): an array, or None where phi is not known; got {given!r}"
        )
    return [
        None if entry is None else _value_of(constraint, entry, time)
        for constraint, entry in zip(problem.constraints, given, strict=True)
    ]


def _value_of(constraint: Constraint, entry: Any, time: float) -> Array:
    """(n,) finite numbers, one per row."""
    value: Array | None = finite_reals(entry)
    if value is not None and value.shape == constraint.ids.shape:
        return value
    where = _called("values", time)
    expected = f"{where}: {constraint.label} has {constraint.count} rows and needs as many finite numbers"
    raise InputError(f"{expected}, got {_shown(_numbers(expected, entry))}")


def stiffness_at(system: Any, time: float, q: Array, forces: Sequence[Array], problem: StepProblem) -> Matrix | None:
    """system.geometric_stiffness for the forces of the step before: K_g, symmetric; None where it gives none."""
    where, nv = _called("geometric_stiffness", time), problem.nv
    try:
        given = system.geometric_stiffness(time, q.copy(), tuple(part.copy() for part in forces))
    except Exception as error:
        _explain(error, where)
        raise
    if given is None:
        return None
    expected = f"{where} must return K_g as ({nv},) or ({nv}, {nv}) finite numbers, dense or sparse, or None"
    if is_sparse(given):
        from scipy.sparse import csr_array

        stiffness: Matrix = csr_array(given, dtype=float)
        finite = np.all(np.isfinite(stiffness.data))
    else:
        stiffness = _numbers(expected, given)
        finite = np.all(np.isfinite(stiffness))
    if stiffness.shape not in ((nv,), (nv, nv)):
        raise InputError(f"{expected}, got shape {stiffness.shape}")
    if not finite:
        raise InputError(f"{expected}, got one that is not finite")
    if stiffness.ndim == 2:
        skew = abs(stiffness - stiffness.T).max()
        if skew > AGREES * abs(stiffness).max():
            raise InputError(
                f"{where} must return a symmetric matrix, got one whose mirrored entries differ by up to {skew:.3g} "
                "N/m; return (K + K.T) / 2"
            )
        stiffness = 0.5 * (stiffness + stiffness.T)
    return stiffness


def check_values(system: Any, time: float, q: Array, problem: StepProblem) -> bool:
    """Raise where values() is not what the problem has at the same state; whether it knows any constraint."""
    known = values_at(system, time, q, problem)
    for constraint, phi in zip(problem.constraints, known, strict=True):
        if phi is None or not constraint.count:
            continue
        value: Array = getattr(constraint, "gap" if isinstance(constraint, Contact) else "value")
        off = np.abs(phi - value)
        size = max(float(np.abs(part).max(initial=0.0)) for part in (phi, value, q))
        i = int(np.argmax(off))
        if off[i] > AGREES * size:
            raise InputError(
                f"system.values at t = {time:.9g} s contradicts system.problem there: row {i} of {constraint.label} is "
                f"{phi[i]:.9g} in the one and {value[i]:.9g} in the other; both must be phi(t, q)"
            )
    return any(phi is not None for phi in known)


def _numbers(expected: str, data: Any) -> Array:
    """A float array of any shape, copied."""
    try:
        array = np.array(data)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"an array of type {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{expected}, got {error}") from error


def _shown(array: Array) -> str:
    bad = np.argwhere(~np.isfinite(array))
    where = f", {array[tuple(bad[0])]} at index {bad[0].tolist()}" if len(bad) else ""
    return f"shape {array.shape}{where}"
