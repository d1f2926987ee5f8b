"""The printed programs of a step, island by island."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import MatrixRankWarning, spsolve

from pliant import _engine
from pliant.errors import InputError
from pliant.flat import BILATERAL, NORMAL, ROW_FIELDS, Flat
from pliant.formulation import Formulation
from pliant.inputs import Array, Ints
from pliant.printed.optimum import Optimum, optimum
from pliant.printed.options import Printed
from pliant.printed.program import Bilateral, Part, Program, Terms, inertial_forces, make_terms, reduce, whitened
from pliant.printed.residual import kkt_residual
from pliant.problem import StepProblem
from pliant.solution import STATUSES, Answer, ContactState, Solution, Status
from pliant.solve import solve_by_engine


class Found(NamedTuple):
    """Of one island."""

    force: Array
    residual: float
    iterations: int
    factorizations: int
    finite: bool = True


@np.errstate(all="ignore")  # what overflows is a status
def solve_printed(problem: StepProblem, solver: Formulation, begin: float) -> Solution:
    """The forces of the programs, and the velocity that they lead to."""
    if not isinstance(solver, Printed):
        raise InputError(f"solver must be pliant.Coulomb(), pliant.Convex() or pliant.Printed(), got {solver!r}")
    solver.check(problem)
    flat = problem.flat()
    if np.all(flat.kind == BILATERAL):
        return _linear(problem, solver, begin)
    G, M = matrices(flat)
    row_island, force = np.full(problem.rows, -1), np.zeros(problem.rows)
    found: list[Found] = []
    for rows, part in _islands(flat, G, M):
        row_island[rows] = len(found)
        found.append(_solve_island(part, solver))
        force[rows] = found[-1].force
    force += 0.0  # no negative zeros
    residual = max(one.residual for one in found)
    solved, limit, broken = (STATUSES.index(s) for s in (Status.SOLVED, Status.ITERATION_LIMIT, Status.NON_FINITE))
    status = np.array([_judged(one, solver, solved, limit, broken) for one in found])
    residuals = np.array([one.residual for one in found])
    iterations, factorizations = (np.array([one[i] for one in found], np.int64) for i in (2, 3))
    reports = (row_island, residuals, residuals, iterations, factorizations, status)
    impulse = flat.step * (G.T @ force)
    velocity = flat.velocity + sparse_solve(M, flat.step * flat.force + impulse)
    law, momentum = _engine.certify(problem.record, force, velocity)
    return Solution.of(
        Answer(problem, force, _states(flat, G, M, force, velocity), reports),
        velocity=velocity,
        impulse=impulse,
        status=STATUSES[int(status.max())],
        residual=residual,
        law_residual=law,
        momentum_residual=momentum,
        iterations=int(iterations.sum()),
        factorizations=int(factorizations.sum()),
        solve_time=perf_counter() - begin,
    )


def _judged(found: Found, solver: Printed, solved: int, limit: int, broken: int) -> int:
    if not found.finite:
        return broken
    return solved if found.residual < solver.tolerance else limit


def _linear(problem: StepProblem, solver: Printed, begin: float) -> Solution:
    """Bilateral rows only: the laws with the drift terms in them, solved as for every other solver."""
    flat, h = problem.flat(), problem.step
    if not (solver.compensate_drift and flat.curvature.any()):
        return solve_by_engine(problem, problem.record, solver, None, None, begin)
    G, M = matrices(flat)
    extra = -inertial_forces(
        whitened(G.toarray(), M.toarray()), flat.curvature, flat.kind, np.zeros(problem.rows, np.int64)
    )
    shifted = problem.shifted(flat.offset + h * flat.curvature, G.T @ extra)
    found = solve_by_engine(shifted, shifted.record, solver, None, None, begin)
    force = np.concatenate([np.zeros(0), *found.forces]) + extra
    law, momentum = _engine.certify(problem.record, force, found.velocity)
    whole = found.with_more_force(problem.split(extra), h * (G.T @ extra))
    return replace(whole, law_residual=law, momentum_residual=momentum)


def matrices(flat: Flat) -> tuple[Any, Any]:
    """G and M."""
    nv = len(flat.velocity)
    G = sparse.csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=(len(flat.kind), nv))
    return G, sparse.csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(nv, nv))


def sparse_solve(M: Any, right: Array) -> Array:
    """inv(M) right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatrixRankWarning)  # M has overflowed: a status
        return np.asarray(spsolve(sparse.csc_array(M), right)).reshape(right.shape)


def _islands(flat: Flat, G: Any, M: Any) -> Iterator[tuple[Ints, Part]]:
    """The rows of each group that shares velocities, through the rows of a block or through the inertia."""
    nv = G.shape[1]
    block = np.repeat(np.arange(len(flat.block_ptr) - 1), np.diff(flat.block_ptr))
    entries, inertia = G.tocoo(), M.tocoo()
    # nodes: the velocities, then the blocks
    one = np.concatenate([inertia.row, nv + block[entries.row]])
    other = np.concatenate([inertia.col, entries.col])
    size = nv + len(flat.block_ptr) - 1
    graph = sparse.coo_array((np.ones(len(one)), (one, other)), shape=(size, size))
    _, group = connected_components(graph, directed=False)
    of_velocity, of_row = group[:nv], group[nv + block]
    for island in dict.fromkeys(of_row.tolist()):
        rows, v = np.flatnonzero(of_row == island), np.flatnonzero(of_velocity == island)
        columns = {name: getattr(flat, name)[rows] for name in ROW_FIELDS}
        mass = M[v][:, v].toarray()
        yield (
            rows,
            Part(flat.step, mass, flat.velocity[v], flat.force[v], G[rows][:, v].toarray(), block[rows], columns),
        )


def _solve_island(part: Part, solver: Printed) -> Found:
    try:
        terms = make_terms(part, 1.0 / part.step if solver.zeta is None else solver.zeta, solver.compensate_drift)
        if _finite(terms):
            return _optimum(terms, solver)
    except ValueError:  # of SciPy and NumPy, for numbers that have overflowed on the way
        pass
    return Found(np.zeros(len(part.block)), math.inf, 0, 0, finite=False)


def _optimum(terms: Terms, solver: Printed) -> Found:
    bilateral = Bilateral(terms)
    program = reduce(terms, bilateral)
    if not len(program.row):
        force, psi, kappa = _unfold(terms, bilateral, program, Optimum(np.zeros(0), np.zeros(0), np.zeros(0), 0))
        return Found(force, kkt_residual(terms, force, psi, kappa), 1, 1)

    def judge(found: Optimum) -> float:
        return kkt_residual(terms, *_unfold(terms, bilateral, program, found))

    best, residual = optimum(program, solver.max_iterations, judge)
    return Found(_unfold(terms, bilateral, program, best)[0], residual, best.steps, 1 + best.steps)


def _unfold(terms: Terms, bilateral: Bilateral, program: Program, found: Optimum) -> tuple[Array, Array, Array]:
    """lambda, psi and kappa of all rows: bilateral forces follow from the others, and so do their multipliers."""
    h, b = terms.step, bilateral.row
    force, psi = np.zeros((2, len(terms.kind)))
    force[program.row] = terms.friction[program.row] * found.force
    force[b], _ = bilateral.forces((terms.start - terms.slope * terms.rate)[b], h * (terms.Z.T @ force))
    psi[program.tangent], psi[program.spring] = found.nu / program.tau, -found.mu / program.norm
    kappa = h * terms.slope * psi
    kappa[b], _ = bilateral.forces(np.zeros(len(b)), h * (terms.Z.T @ kappa))
    return force, psi, kappa


def _finite(terms: Terms) -> bool:
    return all(np.all(np.isfinite(part)) for part in terms)


def _states(flat: Flat, G: Any, M: Any, force: Array, velocity: Array) -> Ints:
    """On normals: OPEN without force; SLIP where the natural map leaves the disc, l - w / s; else STICK."""
    state = np.full(len(force), int(ContactState.OPEN), np.int64)
    rate = G @ velocity + flat.offset
    for head, end in zip(flat.block_ptr[:-1], flat.block_ptr[1:], strict=True):
        if flat.kind[head] != NORMAL or force[head] <= 0.0:
            continue
        t = np.arange(head + 1, end)[flat.friction[head + 1 : end] > 0.0]
        mu, K = flat.friction[t], flat.stiffness[t]
        S = flat.step * K + flat.damping[t]
        R = np.where(np.isinf(S), 0.0, 1.0 / S)
        bias = np.where(np.isinf(S), 0.0, K * flat.value[t] / S)
        rows = G[t].toarray()
        a = np.einsum("ij,ij->i", rows, sparse_solve(M, rows.T).reshape(rows.T.shape).T) if len(t) else np.zeros(0)
        w = mu * (rate[t] + R * force[t] + bias)
        reach = np.linalg.norm(force[t] / mu - w / max(float((mu**2 * (flat.step * a + R)).max(initial=0.0)), 1e-300))
        slips = len(t) == 0 or reach > force[head] * (1.0 + 1e-9)
        state[head] = ContactState.SLIP if slips else ContactState.STICK
    return state
