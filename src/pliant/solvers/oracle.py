"""The convex program of `Convex` through Clarabel: the check of the tests, the last resort at run time.

    minimise    1/2 |x|^2 + sum_i (1/2 R_i lambda_i^2 + (free_i + d_i) lambda_i)
    subject to  x = sqrt(h) Z' lambda,  low <= lambda <= high on scalar rows,  |l| <= lambda_n on contacts

free = G v* + e, R = 1 / S, d = -c / S on linear laws and the bias on tangents, l_k = lambda_k / mu_k. At the
solution p + R lambda + d lies in the dual cone: the laws row by row, with the cone of friction associated.
Power laws are linearised about the last forces, again and again until they stay.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from pliant._compile import kernel
from pliant.inputs import Array, Ints
from pliant.solvers.island import (
    BUDGET,
    ITERATIONS,
    RESIDUAL,
    Island,
    finish,
    has_few_rows,
    solved,
)
from pliant.solvers.newton import slip_speed
from pliant.solvers.rows import (
    BIAS,
    COMPLIANCE,
    FRICTION,
    LOWER,
    MOBILITY,
    POWER,
    SLOPE,
    START,
    UPPER,
    Rows,
    is_fixed,
    linearise,
    project,
)
from pliant.solvers.stages import (
    newton,
)

_log = logging.getLogger(__name__)

ROUNDS = 40  # of linearisation: Newton's method, which needs a handful
SLIP_ROUNDS, PATIENCE = 10, 2  # and those of many rows that may bring nothing
SETTLED, NOISE = 1e-7, 1e-10  # changes after which one round more would change only rounding
CUTS = 1e3, 1e6, np.inf  # largest slopes, in the scale of the forces
FAR = 1e6  # bounds that need not be given, in the same scale: Clarabel would take them for infeasible
# Asked of Clarabel, which stops where rounding ends its progress. Its residuals grow a little on the last steps:
# held to less, it gives up at 1e-5. Steps shorter than its own 0.99 stay near the central path: two digits more.
GAP, FEASIBILITY, STEP_FRACTION = 1e-16, 1e-9, 0.7


class Program(NamedTuple):
    """The k rows whose force is to be found, lambda = scale y: the Hessian has a unit diagonal in y."""

    row: Ints  # (k,)
    scale: Array  # (k,)
    compliance: Array  # (k,) R in y
    slope: Array  # (k,) free + d in y, with the rates that forces already known make
    Z: Any  # (k, nv) sqrt(h) scale Z, sparse
    low: Array  # (k,) bounds of y
    high: Array
    cones: list[Ints]  # places in `row`, normal first, of the contacts


@np.errstate(all="ignore")  # what overflows is found out in the end
def fall_back(island: Island, force: Array, tolerance: float, patient: bool) -> bool:
    """Newton from the answer of Clarabel, in place; whether the residual is below the tolerance then.

    Coulomb's law is the convex program with the slip speeds of its own answer added to the rates of the
    normals (de Saxce): a few rounds of that.
    """
    rows, tally, rate = island.rows, island.motion.tally, island.motion.per_row[0]
    tally[BUDGET] += tally[ITERATIONS]  # a stage of its own, with steps of its own
    slip, found = np.zeros(len(rate)), force
    residuals = [tally[RESIDUAL]]
    for _ in range(1 if island.lift else SLIP_ROUNDS):
        answer = cone_program(rows, rate + slip, found)
        if answer is None:
            break
        force[:] = found = answer
        newton(island, force, 10.0, 1.0, 1.0)
        residuals.append(tally[RESIDUAL])
        if solved(island) or (not (patient or has_few_rows(island)) and _is_enough(residuals, tolerance)):
            break
        slip = _slip_speeds(rows, rate, found)
    finish(island, force)
    return bool(tally[RESIDUAL] < tolerance)


def _is_enough(residuals: list[float], tolerance: float) -> bool:
    """Of many rows: solved, or the last rounds have not brought the least residual down by half."""
    stands = len(residuals) > PATIENCE and not residuals[-1] < 0.5 * residuals[-1 - PATIENCE]
    return stands or residuals[-1] < tolerance


def _slip_speeds(rows: Rows, free: Array, force: Array) -> Array:
    """|w| of each contact on its normal row, 0 elsewhere; w_k = mu_k (p_k + R_k lambda_k + bias_k)."""
    law = rows.law
    Z = _whitened(rows)
    p = free + rows.step * (Z @ (Z.T @ force))
    w = law[:, FRICTION] * (p + law[:, COMPLIANCE] * force + law[:, BIAS])
    head = np.repeat(rows.block_ptr[:-1], np.diff(rows.block_ptr))
    return np.asarray(np.sqrt(np.bincount(head, weights=w * w, minlength=len(force))))


def _whitened(rows: Rows) -> Any:
    """Z, sparse; columns that no row touches may be left out."""
    shape = len(rows.law), int(rows.idx.max(initial=0)) + 1
    return sparse.csr_array((rows.val, rows.idx, rows.ptr), shape=shape)


@np.errstate(all="ignore")
def cone_program(rows: Rows, free: Array, start: Array | None = None) -> Array | None:
    """Forces (m,) of the convex program, inside bounds and cones; None (and a line in the log) if it fails.

    free   (m,) rates G v* + e, without constraint forces [m/s]
    start  (m,) forces about which power laws are linearised first, 0 if None
    """
    force = np.zeros(len(free)) if start is None else start.copy()
    _move_inside(rows, force)
    if not (np.all(np.isfinite(free)) and np.all(np.isfinite(force))):
        return None
    Z = _whitened(rows)
    for _ in range(ROUNDS if rows.law[:, POWER].any() else 1):
        last = force.copy()
        program = _linearised(rows, Z, free, force)
        y = _solve(program)
        if y is None:
            return None
        force[program.row] = program.scale * y
        _move_inside(rows, force)
        if _settled(rows, force, last):
            break
    return force


def _settled(rows: Rows, force: Array, last: Array) -> bool:
    """Whether no force has changed by more than a little of itself, or very little of the largest impulse."""
    reach = np.sqrt(rows.law[:, MOBILITY])
    largest = (reach * np.abs(force)).max(initial=0.0)
    little = np.divide(NOISE * largest, reach, out=np.zeros(len(force)), where=reach > 0.0)
    return bool(np.all(np.abs(force - last) <= SETTLED * np.abs(force) + little))


@kernel
def _move_inside(rows: Rows, force: Array) -> None:
    project(rows, force)


@kernel
def _laws(rows: Rows, force: Array, p: Array, R: Array, d: Array) -> None:
    """R and d of every row, about (force, p). R < 0: the force is known, and put into `force`."""
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        if hi <= lo:
            continue
        R[lo], d[lo] = -1.0, 0.0
        if rows.law[lo, POWER] != 0.0:
            rate = p[lo] - slip_speed(
                rows.law, rows.step, lo, hi, force, p
            )  # what the associated cone gives to the law
            S, rho = linearise(rows.law, rows.step, lo, force[lo], rate)
            if S > 0.0:
                R[lo], d[lo] = 1.0 / S, (rho - force[lo]) / S - rate
            else:
                force[lo] = 0.0  # out of touch
        elif not is_fixed(rows.law, rows.step, lo):
            R[lo], d[lo] = 1.0 / rows.law[lo, SLOPE], -rows.law[lo, START] / rows.law[lo, SLOPE]
        for i in range(lo + 1, hi):
            R[i], d[i] = rows.law[i, COMPLIANCE], rows.law[i, BIAS]
            if R[lo] < 0.0 or rows.law[i, FRICTION] == 0.0:
                R[i], force[i] = -1.0, 0.0


def _linearised(rows: Rows, Z: Any, free: Array, force: Array) -> Program:
    """The program about `force`, in which forces that are known are filled in."""
    R, d = np.zeros(len(free)), np.zeros(len(free))
    _laws(rows, force, free + rows.step * (Z @ (Z.T @ force)), R, d)
    pushed = free + rows.step * (Z @ (Z.T @ np.where(R < 0.0, force, 0.0)))
    row = np.flatnonzero(R >= 0.0)
    scale, cones = _scale(rows, row, rows.step * rows.law[row, MOBILITY] + R[row])
    low, high = rows.law[row, LOWER] / scale, rows.law[row, UPPER] / scale
    for cone in cones:
        low[cone] = -np.inf
    scaled = _diagonal(np.sqrt(rows.step) * scale) @ Z[row]
    return Program(row, scale, R[row] * scale**2, (pushed + d)[row] * scale, scaled, low, high, cones)


def _scale(rows: Rows, row: Ints, weight: Array) -> tuple[Array, list[Ints]]:
    """1 / sqrt(weight), in a contact mu_k times a common one, so that its cone stays round; and the contacts."""
    block = np.repeat(np.arange(len(rows.block_ptr) - 1), np.diff(rows.block_ptr))[row]
    mu = np.where(rows.law[row, FRICTION] > 0.0, rows.law[row, FRICTION], 1.0)
    widest = np.zeros(len(rows.block_ptr) - 1)
    np.maximum.at(widest, block, mu**2 * weight)
    groups = np.split(np.arange(len(row)), np.flatnonzero(np.diff(block)) + 1)
    return mu / np.sqrt(widest[block]), [group for group in groups if len(group) > 1]


def _diagonal(entries: Array) -> Any:
    n = len(entries)
    return sparse.csr_array((entries, np.arange(n), np.arange(n + 1)), shape=(n, n))


def _solve(program: Program) -> Array | None:
    """y (k,) by Clarabel; None where it fails.

    Springs far out of touch and limits far exceeded have slopes in which the digits of all others drown. They
    are cut down: a force that stays on its bound does so all the more with the slope that it had.
    """
    low = program.low.copy()
    low[[cone[0] for cone in program.cones]] = 0.0
    alone = np.clip(-program.slope, low, program.high)  # what each row would carry alone
    size = float(np.abs(alone).max(initial=0.0)) or 1.0
    y: Array | None = np.zeros(len(alone))
    for most in CUTS if len(alone) else ():
        highest = np.where(low > -np.inf, most * size, np.inf)
        lowest = np.where(program.high < np.inf, -most * size, -np.inf)
        slope = np.clip(program.slope, lowest, highest)
        y = _guarded(program._replace(slope=slope), size)
        if y is None or np.all((slope == program.slope) | (np.abs(y - alone) <= 1e-6 * size)):
            break
    return y


def _guarded(program: Program, size: float) -> Array | None:
    try:
        return size * _clarabel(program, size)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Clarabel's is no Exception
        _log.info("the cone solver failed on %d rows: %r", len(program.row), error)
        return None


def _clarabel(program: Program, size: float) -> Array:
    """y / size, from Clarabel's form: minimise 1/2 z' P z + q' z over A z + s = b, s in cones; z = (x, y)."""
    import clarabel

    k, nv = program.Z.shape
    one = _diagonal(np.ones(k))
    low, high = np.flatnonzero(program.low > -FAR * size), np.flatnonzero(program.high < FAR * size)
    inside = np.concatenate([np.zeros(0, np.int64), *program.cones])
    of_y = sparse.vstack([program.Z.T, -one[low], one[high], -one[inside]])
    of_x = sparse.vstack([_diagonal(-np.ones(nv)), sparse.csr_array((of_y.shape[0] - nv, nv))])
    A = sparse.csc_matrix(sparse.hstack([of_x, of_y]))
    b = [np.zeros(nv), -program.low[low] / size, program.high[high] / size, np.zeros(len(inside))]
    cones = [clarabel.ZeroConeT(nv), clarabel.NonnegativeConeT(len(low) + len(high))]
    cones += [clarabel.SecondOrderConeT(len(cone)) for cone in program.cones]
    P = sparse.csc_matrix(_diagonal(np.concatenate([np.ones(nv), program.compliance])))
    q = np.concatenate([np.zeros(nv), program.slope / size])
    if not all(np.all(np.isfinite(part)) for part in (P.data, q, A.data, *b)):
        raise ArithmeticError("numbers too large for double precision")
    answer = clarabel.DefaultSolver(P, q, A, np.concatenate(b), cones, clarabel_settings(clarabel)).solve()
    y = np.array(answer.x)[nv:]
    if not np.all(np.isfinite(y)) or "Infeasible" in str(answer.status):
        raise ArithmeticError(f"Clarabel says {answer.status}")
    return y


def clarabel_settings(clarabel: Any) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = GAP
    settings.tol_feas = FEASIBILITY
    settings.max_step_fraction = STEP_FRACTION
    settings.static_regularization_constant = 1e-12
    settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = 1e-16
    settings.iterative_refinement_max_iter = 30
    if hasattr(settings, "max_threads"):  # older ones know only one
        settings.max_threads = 1
    return settings
