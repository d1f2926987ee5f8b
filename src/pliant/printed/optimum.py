"""The optimum of a reduced program: Clarabel, then Newton's method on its conditions for the last digits.

    weight l + T' nu - A' mu in the normal cone of bounds and friction cones at l,   T l - nu / tau^2 = d
    mu >= 0,  A l >= q,  one of them an equality

nu = tau beta, not beta, is the unknown: h B_r of 1e6 kg enters the objective squared, and these lines only as 1e-12.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from pliant.inputs import Array, Ints
from pliant.printed.program import Program

_log = logging.getLogger(__name__)

POLISH, STALLS = 20, 3  # Newton steps, and how many of them may go by without gain
ENOUGH = 1e-13  # a residual below which no other way is tried
# Asked of Clarabel, which stops where rounding ends its progress. Its residuals grow a little on the last steps:
# held to less, it gives up at 1e-5. Steps shorter than its own 0.99 stay near the central path: two digits more.
GAP, FEASIBILITY, STEP_FRACTION = 1e-16, 1e-9, 0.7


class Optimum(NamedTuple):
    force: Array  # (k,) l
    nu: Array  # (t,)
    mu: Array  # (n,)
    steps: int


def optimum(program: Program, most: int, judge: Callable[[Optimum], float]) -> tuple[Optimum, float]:
    """The best by `judge`, and what it says; `most`: steps of Clarabel each time."""
    size = max(np.abs(part).max(initial=0.0) for part in (program.d, program.q)) or 1.0
    unit = program._replace(d=program.d / size, q=program.q / size)
    best, least, steps = _nothing(program), np.inf, 0
    for start in _starts(unit, most):
        steps += start.steps
        for w in _scales(unit, start):
            found = _polish(unit, start, w)
            steps += found.steps
            whole = Optimum(size * found.force, size * found.nu, size * found.mu, steps)
            residual = judge(whole)
            if residual < least:
                best, least = whole, residual
            if least < ENOUGH:
                return best, least
    return best._replace(steps=steps), least


def _starts(program: Program, most: int) -> Iterator[Optimum]:
    """Clarabel's answers, the objective divided by the weight of the normals, and by that of beta.

    Which is right shows only in the end: beta vanishes where friction can be bought, and rules where it cannot.
    """
    light = _heaviest(program)
    heavy = float((program.tau**2).max(initial=0.0))
    for cost in (light, heavy, np.sqrt(light * heavy)) if heavy > light else (light,):
        yield _guarded(program, cost, most)


def _scales(program: Program, start: Optimum) -> list[float]:
    """What turns gradients into forces where the natural map decides who is active.

    The weight of the normals, or what nu comes to; and that of friction itself, for the last digits of nu where
    normals are so dear that its terms are rounding to theirs.
    """
    light = _heaviest(program)
    heavy = float(np.abs(start.nu).max(initial=0.0))
    lightest = float(program.weight.min(initial=light))
    return [light, *([heavy] if heavy > light else []), *([lightest] if lightest < light else [])]


def _heaviest(program: Program) -> float:
    return max(1.0, float(program.weight.max(initial=0.0)))


def _nothing(program: Program) -> Optimum:
    return Optimum(np.zeros(len(program.row)), np.zeros(len(program.d)), np.zeros(len(program.q)), 0)


def _guarded(program: Program, cost: float, most: int) -> Optimum:
    try:
        return _clarabel(program, cost, most)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Clarabel's is no Exception
        _log.info("the cone solver failed on %d rows: %r", len(program.row), error)
        return _nothing(program)


def _clarabel(program: Program, cost: float, most: int) -> Optimum:
    """Clarabel's form: minimise 1/2 x' P x over A x + s = b, s in cones; x = (l, beta / sqrt(cost))."""
    import clarabel

    k, t, n = len(program.row), len(program.d), len(program.q)
    inside = np.concatenate([np.zeros(0, np.int64), *program.cones])
    lines = [
        np.hstack([program.T, -np.diag(np.sqrt(cost) / program.tau)]),
        np.hstack([-program.A, np.zeros((n, t))]),
        -np.eye(k + t)[inside],
    ]
    b = np.concatenate([program.d, -program.q, np.zeros(len(inside))])
    cones = [clarabel.ZeroConeT(t), clarabel.NonnegativeConeT(n)]
    cones += [clarabel.SecondOrderConeT(len(c)) if len(c) > 1 else clarabel.NonnegativeConeT(1) for c in program.cones]
    P = sparse.csc_matrix(np.diag(np.concatenate([program.weight / cost, np.ones(t)])))
    A = sparse.csc_matrix(np.vstack(lines))
    settings = clarabel_settings(clarabel)
    settings.max_iter = most
    answer = clarabel.DefaultSolver(P, np.zeros(k + t), A, b, cones, settings).solve()
    x, z = np.array(answer.x), cost * np.array(answer.z)
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(z))) or "Infeasible" in str(answer.status):
        raise ArithmeticError(f"Clarabel says {answer.status}")
    return Optimum(x[:k], z[:t], z[t : t + n], answer.iterations)


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


def _polish(program: Program, start: Optimum, w: float) -> Optimum:
    """Newton on the natural map; the best point, moved into its cones.

    l  = proj(l - (weight l + T' nu - A' mu) / w)
    mu = max(0, mu - w (A l - q))
    """
    k, t = len(program.row), len(program.d)
    best, least, stalls = start._replace(steps=0), np.inf, 0
    x = np.concatenate([start.force, start.nu / w, np.maximum(start.mu, 0.0) / w])
    for step in range(POLISH):
        miss, slope = _natural_map(program, w, x)
        worst = np.abs(miss).max(initial=0.0)
        stalls = 0 if worst < 0.5 * least else stalls + 1
        if worst < least:
            # where the map leads, not where it starts: exact zeros, forces exactly on the rim
            inside, mu = x[:k] - miss[:k], x[k + t :] - miss[k + t :]
            least, best = worst, Optimum(inside, w * x[k : k + t], w * np.maximum(mu, 0.0), step)
        if worst == 0.0 or stalls > STALLS:
            break
        try:
            x = x - np.linalg.solve(slope, miss)
        except np.linalg.LinAlgError:
            break
    return best


def _natural_map(program: Program, w: float, x: Array) -> tuple[Array, Array]:
    """Its value and derivative at x = (l, nu / w, mu / w)."""
    k, t, n = len(program.row), len(program.d), len(program.q)
    T, A = program.T, program.A
    l, nu, mu = x[:k], x[k : k + t], x[k + t :]
    pull = np.hstack([np.diag(program.weight / w), T.T, -A.T])  # the gradient, over w
    inside, D = projection(program.cones, l - pull @ x)
    spare = A @ l - program.q
    active = mu - spare > 0.0
    miss = np.concatenate([l - inside, T @ l - w * nu / program.tau**2 - program.d, np.where(active, spare, mu)])
    slope = np.zeros((k + t + n, k + t + n))
    slope[:k] = D @ pull
    slope[:k, :k] += np.eye(k) - D
    slope[k : k + t, :k] = T
    slope[k : k + t, k : k + t] = np.diag(-w / program.tau**2)
    slope[k + t :, :k] = np.where(active[:, None], A, 0.0)
    slope[k + t :, k + t :] = np.diag(np.where(active, 0.0, 1.0))
    return miss, slope


def projection(cones: list[Ints], l: Array) -> tuple[Array, Array]:
    """The projection onto |l_t| <= l_n of contacts and l >= 0 of single rows, and its derivative."""
    inside, D = l.copy(), np.eye(len(l))
    for cone in cones:
        n, length = l[cone[0]], math.hypot(*l[cone[1:]])  # whose squares do not underflow
        if n >= length:
            continue
        grid = np.ix_(cone, cone)
        if n <= -length:
            inside[cone], D[grid] = 0.0, 0.0
            continue
        u = l[cone[1:]] / length
        rim = np.concatenate([[1.0], u])
        inside[cone] = 0.5 * (n + length) * rim
        D[grid] = 0.5 * np.outer(rim, rim)
        across = np.eye(len(u)) - np.outer(u, u)
        D[np.ix_(cone[1:], cone[1:])] += 0.5 * (1.0 + n / length) * across
    return inside, D
