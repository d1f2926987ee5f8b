"""One step of a system: evaluate, solve, advance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.drift import Start, Taken, take
from pliant.evaluate import check_system, knows_turning, moment, problem_at, span, state, stiffness_at
from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.solution import Solution, WarmStart

if TYPE_CHECKING:
    from pliant.systems import System


def step(
    system: System,
    time: float,
    q: Any,
    v: Any,
    step: float,
    *,
    solver: Formulation | None = None,
    drift: str = "auto",
    warm_start: Solution | WarmStart | None = None,
) -> tuple[Array, Array, Solution]:
    """From (q, v) at `time` [s] to the end of a step of `step` [s]: (q1, v1, Solution).

    system: a `pliant.System`. solver: `Coulomb()`, the default, or another. drift: how the curvature of constraints is
    met: "auto" ("lookahead" where system.values gives phi, else "tangent"), "tangent", "lookahead" or "paper".
    Printed() has no derivative: there "lookahead" solves again in every round. Printed(compensate_drift=True) uses
    curvature by itself with "tangent" and "paper", never twice, and not with "lookahead".
    warm_start: the Solution of the step before, with whose forces system.geometric_stiffness is asked. A step that ends
    at its iteration limit is not an error: look at Solution.status.
    """
    check_system(system)
    taken = take_step(
        system, moment(time), state("q", q), state("v", v), span("step", step), solver, drift, warm_start, first=True
    )
    return taken.q, taken.solution.velocity, taken.solution


def take_step(
    system: System,
    time: float,
    q: Array,
    v: Array,
    step: float,
    solver: Formulation | None,
    drift: str,
    warm_start: Solution | WarmStart | None,
    *,
    first: bool,
) -> Taken:
    """`step`, and what a simulation counts; first: of a run."""
    problem = problem_at(system, time, q, v, step)
    start = Start(system, time, q, problem, solver, warm_start)
    if warm_start is not None and knows_turning(system):
        from pliant.turning import turned

        stiffness = stiffness_at(system, time, q, warm_start.forces, problem)
        start = start if stiffness is None else turned(start, stiffness)
    return take(drift, start, first=first)
