"""`solve`: one door for every formulation; islands, warm starts, the last resorts, certificates."""

from __future__ import annotations

import time

import numpy as np

from pliant.errors import InputError, SolveError
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.problem import StepProblem
from pliant.solution import Islands, Solution, Status, WarmStart
from pliant.solvers.answer import contact_states, judge, next_stretch
from pliant.solvers.broad import LAST, REPORT, broad
from pliant.solvers.broad import STEPS as BROAD_STEPS
from pliant.solvers.carry import keys_of, start_forces
from pliant.solvers.columns import FEW
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.formulation import Formulation, exact_residual
from pliant.solvers.island import (
    FACTORIZATIONS,
    RESIDUAL,
    STEPS,
    Island,
    make_island,
)
from pliant.solvers.islands import find_islands, split
from pliant.solvers.rows import MOBILITY, START, make_rows
from pliant.solvers.symbolic import analyze
from pliant.solvers.whiten import Inertia, factor_inertia, free_gain

# Every stage aims at this residual or the tolerance, whichever is less: between the two lie answers with wrong sets,
# hidden behind forces that are far larger than what the rates call for.
GOAL, BIG_GOAL = 1e-12, 1e-10
IDLE = 6  # velocities without rows, up to which a lone island takes them along: less work than to leave them out
FEW_ROWS = 1000  # up to here rounding leaves room for the first


@np.errstate(all="ignore")  # what overflows is a status
def solve(
    problem: StepProblem,
    solver: Formulation | None = None,
    *,
    warm_start: Solution | WarmStart | None = None,
    throw: bool = True,
) -> Solution:
    """Constraint forces and velocity at the end of the step.

    problem: the step. solver: `Coulomb()`, the default, `Convex()` or `Printed()`. Returns a `Solution`: velocity
    (nv,), forces per constraint (n,) or (n, d) [N], contact states, and residuals: how far the answer is from the laws.
    warm_start: an earlier Solution; rows are matched by the name (or position) of their constraint and their ids. It
    changes the work, never the answer beyond the tolerance. throw: raise SolveError when the tolerance is not met.
    """
    solver = Coulomb() if solver is None else solver
    if not isinstance(problem, StepProblem):
        raise InputError(f"problem must be a pliant.StepProblem, got {type(problem).__name__}")
    if not isinstance(solver, Formulation):
        raise InputError(f"solver must be pliant.Coulomb(), pliant.Convex() or pliant.Printed(), got {solver!r}")
    solver._check(problem)
    begin = time.perf_counter()
    flat = problem.flat()
    force = start_forces(problem, warm_start)
    solution = _broadly(problem, flat, solver, force, begin)
    if solution is None:
        solution = _generally(problem, flat, solver, force, begin)
    if throw and not solution.status.solved:
        raise SolveError(f"{solver.explain(solution.status)} (residual {solution.residual:.1e})", problem, solution)
    return solution


def _broadly(problem: StepProblem, flat: Flat, solver: Formulation, start: Array, begin: float) -> Solution | None:
    """The answer in one compiled call, where there are only scalar rows, on few velocities."""
    m, nv = len(start), len(flat.velocity)
    enough = solver.linearizes and solver.max_iterations >= BROAD_STEPS + LAST
    if m == 0 or nv > FEW or len(flat.block_ptr) != m + 1 or not enough:
        return None
    force, velocity, impulse, report = np.empty(m), np.empty(nv), np.empty(nv), np.empty(REPORT)
    goal = min(exact_residual(m), float(solver.tolerance))
    if not broad(flat, start, goal, force, velocity, impulse, report):
        return None
    residual, law, momentum, iterations, factorizations = report.tolist()
    count, factors = int(iterations), int(factorizations)
    none = (None,) * len(problem.constraints)
    return Solution(
        velocity=velocity,
        forces=problem.split(force + 0.0),  # no negative zeros
        impulse=impulse,
        states=none,
        stretch=none,
        status=Status.SOLVED,
        residual=residual,
        law_residual=law,
        momentum_residual=momentum,
        iterations=count,
        factorizations=factors,
        solve_time=time.perf_counter() - begin,
        islands=Islands(np.zeros(m, np.int64), report[:1], np.array([count]), np.array([factors]), (Status.SOLVED,)),
        keys=tuple(keys_of(problem)),
    )


def _generally(problem: StepProblem, flat: Flat, solver: Formulation, force: Array, begin: float) -> Solution:
    """The answer island by island, from `force`, with every way there is."""
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    velocity = flat.velocity + free_gain(inertia, flat.step, flat.force)
    islands = solve_islands(flat, inertia, solver, force, velocity)
    return _conclude(problem, flat, inertia, force, velocity, islands, begin)


def solve_islands(
    flat: Flat,
    inertia: Inertia,
    solver: Formulation,
    force: Array,
    velocity: Array,
) -> Islands:
    """Fill force and velocity in place, island by island."""
    if len(flat.kind) == 0:
        none = np.zeros(0, np.int64)
        return Islands(none, np.zeros(0), none, none, ())
    velocity_island, row_island, count = find_islands(flat)
    if count == 1 and np.count_nonzero(velocity_island) <= IDLE:
        reports = [_solve_island(flat, inertia, solver, force, velocity)]
    else:
        reports = []
        for part, v, r in split(flat, velocity_island, row_island, count):
            part_inertia = factor_inertia(part.mass_ptr, part.mass_idx, part.mass_val)
            part_force = force[r]
            part_velocity = velocity[v] if len(v) else np.zeros(1)
            reports.append(_solve_island(part, part_inertia, solver, part_force, part_velocity))
            force[r] = part_force
            velocity[v] = part_velocity[: len(v)]
    tally = np.array([t for t, _ in reports])
    return Islands(
        row_island,
        tally[:, RESIDUAL],
        tally[:, STEPS].sum(axis=1).astype(np.int64),
        tally[:, FACTORIZATIONS].astype(np.int64),
        tuple(status for _, status in reports),
    )


def _solve_island(
    flat: Flat, inertia: Inertia, solver: Formulation, force: Array, velocity: Array
) -> tuple[Array, Status]:
    """One island; force (a start on entry) and velocity are filled in place."""
    island = prepare(flat, inertia, solver)
    status = solver._solve(flat, island, force, patient=True)
    if not all(is_sane(part) for part in (force, island.motion.v, island.rows.law[:, [MOBILITY, START]])):
        status = Status.NON_FINITE
        island.motion.tally[RESIDUAL] = np.inf
    velocity[:] = island.motion.v
    return island.motion.tally, status


def is_sane(numbers: Array) -> bool:
    """Whether they are finite, and their squares too, of which residuals are made."""
    return bool(np.all(np.abs(numbers) < 1e150))


def prepare(flat: Flat, inertia: Inertia, solver: Formulation, goal: float = GOAL) -> Island:
    rows = make_rows(flat, inertia)
    diagonal = np.arange(len(flat.velocity) + 1)
    pattern = analyze(diagonal, diagonal[:-1], rows.ptr, rows.idx, rows.block_ptr)
    return make_island(
        inertia,
        rows,
        pattern,
        flat.velocity,
        free_gain(inertia, flat.step, flat.force),
        solver.lift,
        float(solver.max_iterations),
        min(goal if len(flat.kind) <= FEW_ROWS else max(goal, BIG_GOAL), float(solver.tolerance)),
    )


def _conclude(
    problem: StepProblem,
    flat: Flat,
    inertia: Inertia,
    force: Array,
    velocity: Array,
    islands: Islands,
    begin: float,
) -> Solution:
    momentum, law, impulse, rates = judge(flat, inertia, force, velocity, islands.row_island)
    order = (Status.NON_FINITE, Status.ITERATION_LIMIT, Status.SOLVED_BY_FALLBACK)
    status = next((s for s in order if s in islands.status), Status.SOLVED)
    if not is_sane(velocity):
        status = Status.NON_FINITE
    return Solution(
        velocity=velocity,
        forces=problem.split(force + 0.0),  # no negative zeros
        impulse=impulse,
        states=contact_states(problem, flat, force, rates),
        stretch=next_stretch(problem, flat, force),
        status=status,
        residual=float(islands.residual.max(initial=0.0)),
        law_residual=law,
        momentum_residual=momentum,
        iterations=int(islands.iterations.sum()),
        factorizations=int(islands.factorizations.sum()),
        solve_time=time.perf_counter() - begin,
        islands=islands,
        keys=tuple(keys_of(problem)),
    )
