"""How the curvature of constraints enters a step: the treatments of `drift`.

tangent    phi1 = phi0 + h (G v1 + e): nothing is added
lookahead  e = (phi(t1, q1) - phi0)/h - G v1, so that phi1 is phi at the configuration reached; iterated
paper      e + h Gdot v0, and the force - Mhat Gdot v0, Mhat = inv(G inv(M) G') (least squares if redundant)

Printed(compensate_drift=True) adds the terms of `paper` by itself: then it alone does, and not where looking ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pliant import _engine
from pliant.errors import InputError
from pliant.evaluate import check_values, knows_values, reached, values_at
from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.linearize import ROW_DATA
from pliant.problem import StepProblem
from pliant.solution import Solution, Status, WarmStart
from pliant.solve import DEFAULT, solve, solve_by_engine

if TYPE_CHECKING:
    from pliant.systems import System

TREATMENTS: Final = ("auto", "tangent", "lookahead", "paper")
ROUNDS = 40  # of lookahead; a body that turns by a tenth of a radian in the step needs 16
EXACT = 1e-15  # of the longest way of a row, where deformations are right to rounding
SETTLED = 1e-10  # of the way, below which rounds that no longer gain have reached rounding
ROUNDING = 1e-15  # of the largest coordinate, which phi cannot be known to
CONTRACTING = 0.8  # each round at least; else the step is too large to look ahead


class Taken(NamedTuple):
    """A step: where it ends, what carried it, and whether looking ahead was given up."""

    problem: StepProblem
    q: Array
    solution: Solution
    gave_up: bool = False


class Start(NamedTuple):
    """What every treatment begins with."""

    system: System
    time: float
    q: Array
    problem: StepProblem
    solver: Formulation | None
    warm_start: Solution | WarmStart | None

    def solve(self, problem: StepProblem, warm_start: Solution | WarmStart | None = None) -> Solution:
        return solve(problem, self.solver, warm_start=warm_start or self.warm_start, throw=False)

    def reach(self, velocity: Array) -> Array:
        return reached(self.system, self.time, self.q, velocity, self.problem.step)


def take(drift: str, start: Start, *, first: bool) -> Taken:
    """One step with the treatment of this name; first: of a run, where the system is looked at more closely."""
    if drift not in TREATMENTS:
        raise InputError(f"drift must be one of {', '.join(TREATMENTS)}, got {drift!r}")
    if first:
        _check(drift, start)
    if drift == "paper":
        return _paper(start)
    return _lookahead(start) if knows_values(start.system) and drift != "tangent" else _tangent(start)


def _check(drift: str, start: Start) -> None:
    """Raise where a treatment has nothing to work with, or values() is not what problem() has."""
    constraints, known = start.problem.constraints, False
    if drift in ("auto", "lookahead") and knows_values(start.system):
        known = check_values(start.system, start.time, start.q, start.problem) or not constraints
    if drift == "lookahead" and not known:
        what = "gives None for every constraint" if knows_values(start.system) else "is not there"
        raise InputError(
            f"drift='lookahead' needs system.values(time, q), phi of the constraints, which {what}; use 'tangent', "
            "or 'auto' for either"
        )
    if drift == "paper" and constraints and all(constraint.curvature is None for constraint in constraints):
        raise InputError(
            "drift='paper' needs the curvature, Gdot v0, of constraints, and none has one; give curvature=..., or use "
            "'tangent'"
        )


def _tangent(start: Start) -> Taken:
    solution = start.solve(start.problem)
    return Taken(start.problem, start.reach(solution.velocity), solution)


def _paper(start: Start) -> Taken:
    if start.solver is not None and start.solver is not _without_drift(start.solver):
        return _tangent(start)  # the solver has the terms
    problem, h = start.problem, start.problem.step
    parts = (np.zeros(c.rows) if c.curvature is None else np.ravel(c.curvature) for c in problem.constraints)
    curvature = np.concatenate([np.zeros(0), *parts])
    G = jacobian(problem).toarray()
    mobility = G @ np.linalg.solve(dense_mass(problem), G.T)
    extra = -np.linalg.lstsq(mobility, curvature, rcond=None)[0]
    solution = start.solve(problem.shifted(problem.flat().offset + h * curvature, G.T @ extra))
    whole = solution.with_more_force(problem.split(extra), h * (G.T @ extra))
    return Taken(problem, start.reach(solution.velocity), whole)


def _lookahead(start: Start) -> Taken:
    """Rounds until e is that of the configuration reached; a last solve confirms it."""
    given, start = start, start._replace(solver=_without_drift(start.solver))
    first = start.solve(start.problem)
    tangent = Taken(start.problem, start.reach(first.velocity), first)
    look = _Look(start)
    phi = look.at(tangent.q if first.status.solved else start.q)
    if np.isnan(phi).all():
        return tangent if start.solver is given.solver else _tangent(given)
    if not first.status.solved:
        return tangent
    record, follow = start.problem.record, _follow(start, first)
    v, force, e, last = first.velocity, None, record.offset(), np.inf
    place = ROUNDING / SETTLED * float(np.abs(start.q).max(initial=0.0))
    for _ in range(ROUNDS):
        target, miss = _engine.look_ahead(record, phi, v, e, place)
        if miss <= EXACT or (miss < SETTLED and not miss < CONTRACTING * last):
            solution = _solve_with(start, e, first, force)
            return Taken(start.problem, start.reach(solution.velocity), solution)
        if not miss < CONTRACTING * last:
            break
        v, force = follow(target, e)
        phi = look.at(start.reach(v))
        e, last = target, miss
    return tangent._replace(gave_up=True)


def _without_drift(solver: Formulation | None) -> Formulation | None:
    """Curvature beside a look ahead would count twice."""
    return solver if solver is None else solver.without_drift()


def _linearizes(start: Start) -> bool:
    return start.solver is None or start.solver.linearizes


Follow = Callable[[Array, Array], tuple[Array, Array | None]]


def _follow(start: Start, first: Solution) -> Follow:
    """How v1 and the forces follow e: (e, the e before) -> (v1, lambda). On the factors at the first answer, else by
    solving again."""
    derivative = _derivative_at(start, first)
    if derivative is None:
        return lambda e, before: (_solve_with(start, e, first).velocity, None)
    nv, m = start.problem.nv, start.problem.rows
    data, result = (
        np.zeros(2 * nv + len(ROW_DATA) * m),
        np.concatenate([first.velocity, first.__dict__["answer"].force]),
    )
    offset = data[2 * nv + m : 2 * (nv + m)]

    def follow(e: Array, before: Array) -> tuple[Array, Array]:
        nonlocal result
        np.subtract(e, before, out=offset)
        result = result + derivative.forward(data)
        return result[:nv], result[nv:]

    return follow


def _derivative_at(start: Start, first: Solution) -> _engine.Derivative | None:
    """None: the formulation, or this answer, has none."""
    if not _linearizes(start):
        return None
    convex = first.status is Status.SOLVED_BY_FALLBACK or (start.solver is not None and start.solver.convex)
    return _engine.linearize(start.problem.record, first.__dict__["answer"].force, convex)


def _solve_with(start: Start, offset: Array, first: Solution, force: Array | None = None) -> Solution:
    """The step with these rate offsets, from its first answer or from these forces."""
    problem = start.problem
    if not _linearizes(start):
        return start.solve(problem.shifted(offset), first)
    near = first.__dict__["answer"].force if force is None else force
    record = problem.record.shifted(offset, np.zeros(problem.nv))
    return solve_by_engine(problem, record, start.solver or DEFAULT, near, None, perf_counter())


class _Look:
    """phi(t1, q) of every row, NaN where it is not known."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.phi, self.places, row = np.full(start.problem.rows, np.nan), [], 0
        for constraint in start.problem.constraints:  # of a contact only the normal has one
            self.places.append(self.phi[row : row + constraint.rows : constraint.dimension])
            row += constraint.rows

    def at(self, q: Array) -> Array:
        problem = self.start.problem
        found = values_at(self.start.system, self.start.time + problem.step, q, problem)
        for place, value in zip(self.places, found, strict=True):
            place[:] = np.nan if value is None else value
        return self.phi


def jacobian(problem: StepProblem) -> Any:
    """G of all rows, (rows, nv), sparse."""
    from scipy.sparse import csr_array

    flat = problem.flat()
    return csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=(problem.rows, problem.nv))


def dense_mass(problem: StepProblem) -> Array:
    """M, (nv, nv), with what a stiffness adds."""
    from scipy.sparse import csr_array

    flat = problem.flat()
    mass = csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(problem.nv, problem.nv))
    return np.asarray(mass.toarray())
