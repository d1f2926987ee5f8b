"""`solve`: one step through the engine, or through the paper's own programs."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pliant import _engine
from pliant.errors import InputError, SolveError
from pliant.formulation import Coulomb, Formulation
from pliant.inputs import Array, vector
from pliant.problem import StepProblem, read_problem
from pliant.solution import STATUSES, Answer, Solution, WarmStart, identity

if TYPE_CHECKING:
    from pliant.constraints import Constraint
    from pliant.inputs import Ints

DEFAULT: Final = Coulomb()


def solve(
    problem: StepProblem,
    solver: Formulation | None = None,
    *,
    warm_start: Solution | WarmStart | None = None,
    guess: Any = None,
    throw: bool = True,
) -> Solution:
    """Constraint forces and velocity at the end of the step.

    problem: the step. solver: `Coulomb()`, the default, `Convex()` or `Printed()`. Returns a `Solution`: velocity
    (nv,), forces per constraint (n,) or (n, d) [N], contact states, and residuals: how far the answer is from the laws.
    warm_start: an earlier Solution; rows are matched by the name (or position) of their constraint and their ids.
    guess: (nv,), a velocity near v1, from which the active pieces of the laws are predicted. Both change the work,
    never the answer beyond the tolerance. throw: raise SolveError when the tolerance is not met.
    """
    begin = perf_counter()
    if solver is None:
        solver = DEFAULT
    elif not isinstance(solver, Formulation):
        raise InputError(f"solver must be pliant.Coulomb(), pliant.Convex() or pliant.Printed(), got {solver!r}")
    read_problem(problem)
    start = None if warm_start is None else start_forces(problem, warm_start)
    near = None if guess is None else vector("guess", guess, problem.nv, f"one per velocity ({problem.nv},)")
    if solver.linearizes:
        solution = solve_by_engine(problem, problem.record, solver, start, near, begin)
    else:
        from pliant.printed import solve_printed

        solution = solve_printed(problem, solver, begin)
    if throw and not solution.status.solved:
        raise SolveError(f"{solver.explain(solution.status)} (residual {solution.residual:.1e})", problem, solution)
    return solution


def solve_by_engine(
    problem: StepProblem,
    record: _engine.Record,
    solver: Formulation,
    start: Array | None,
    guess: Array | None,
    begin: float,
) -> Solution:
    """record: of the problem, or one that differs from it in rate offsets and forces only."""
    velocity, force, impulse, state, report, islands = _engine.solve(
        record, guess, start, solver.convex, solver.tolerance, solver.max_iterations
    )
    status, residual, law_residual, momentum_residual, iterations, factorizations = report
    return Solution.of(
        Answer(problem, force, state, islands),
        velocity=velocity,
        impulse=impulse,
        status=STATUSES[status],
        residual=residual,
        law_residual=law_residual,
        momentum_residual=momentum_residual,
        iterations=iterations,
        factorizations=factorizations,
        solve_time=perf_counter() - begin,
    )


def start_forces(problem: StepProblem, warm_start: Solution | WarmStart) -> Array:
    """Forces of an earlier solution on the rows that it shares with this problem, else 0."""
    if not isinstance(warm_start, Solution | WarmStart):
        raise InputError(f"warm_start must be an earlier pliant.Solution, got {type(warm_start).__name__}")
    answer: Answer | None = warm_start.__dict__.get("answer") if isinstance(warm_start, Solution) else None
    if answer is not None and _has_rows_of(problem, answer.problem):
        return answer.force
    known = {key: (ids, f) for (key, ids), f in zip(warm_start.keys, warm_start.forces, strict=True)}
    parts = [
        _carried_over(constraint, *known.get(key, (None, None)))
        for constraint, (key, _) in zip(problem.constraints, identity(problem), strict=True)
    ]
    force = np.concatenate([np.zeros(0), *parts])
    return np.where(np.isfinite(force), force, 0.0)


def _has_rows_of(problem: StepProblem, other: StepProblem) -> bool:
    """Whether the same rows stand at the same places, as far as a glance tells."""
    if problem.layout != other.layout:
        return False
    for mine, theirs in zip(problem.constraints, other.constraints, strict=True):
        if mine.ids is not theirs.ids or mine.kind != theirs.kind:
            return False
    return True


def _carried_over(constraint: Constraint, ids: Ints | None, forces: Array | None) -> Array:
    """Forces of an earlier solution on the rows of one constraint, (rows,)."""
    part = np.zeros(constraint.rows)
    if ids is None or forces is None:
        return part
    _, here, there = np.intersect1d(constraint.ids, ids, assume_unique=True, return_indices=True)
    d = constraint.dimension
    part.reshape(constraint.count, d)[here] = forces.reshape(len(ids), d)[there]
    return part
