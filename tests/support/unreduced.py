"""The paper's program before anything is taken out of it, read off the constraints: the check of `Printed`.

Unknowns: the acceleration, and for every row lambda, phi1, phidot1, for tangents beta as well. Every line of the
appendix's first program is a line of the matrix; nothing is substituted, so no formula of the reduction is shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
import scipy.linalg
import scipy.sparse as sparse

import pliant

Array = np.ndarray


@dataclass
class Rows:
    """All rows of a problem in the order of its constraints; `letter` is one of b, u, n, r, s."""

    letter: Array
    G: Array
    phi0: Array
    e: Array
    K: Array
    B: Array
    curvature: Array
    contacts: list[tuple[list[int], Array]]  # rows (normal first) and mu of every contact


def read_rows(problem: pliant.StepProblem) -> Rows:
    """From the constraints themselves, one row after another."""
    rows: dict[str, list[Any]] = {name: [] for name in ("letter", "G", "phi0", "e", "K", "B", "curvature")}
    contacts: list[tuple[list[int], Array]] = []
    for c in problem.constraints:
        d, n = c.dimension, c.count
        G = c.jacobian.toarray() if sparse.issparse(c.jacobian) else np.asarray(c.jacobian)
        e, bend = c.rate_offset.reshape(n, d), np.zeros((n, d))
        if c.curvature is not None:
            bend[:] = c.curvature.reshape(n, d)
        for i in range(n):
            if isinstance(c, pliant.Contact):
                first = len(rows["letter"])
                contacts.append((list(range(first, first + d)), c.friction[i]))
            for j in range(d):
                K, B = _pick(c.law.stiffness, i), _pick(c.law.damping, i)
                if isinstance(c, pliant.Contact):
                    letter, phi = "nrs"[j], c.gap[i] if j == 0 else c.stretch[i, j - 1]
                    if j > 0 and c.tangent_law is None:
                        K, B = 0.0, 1e6 / problem.step
                    elif j > 0 and c.tangent_law is not None:
                        K, B = _pick(c.tangent_law.stiffness, i, j - 1), _pick(c.tangent_law.damping, i, j - 1)
                else:
                    assert isinstance(c, pliant.Bilateral | pliant.Unilateral)
                    letter, phi = "b" if isinstance(c, pliant.Bilateral) else "u", c.value[i]
                row = letter, G.reshape(n, d, -1)[i, j], phi, e[i, j], K, B, bend[i, j]
                for name, part in zip(rows, row, strict=True):
                    rows[name].append(part)
    made = {name: np.array(parts) for name, parts in rows.items()}
    return Rows(**made, contacts=contacts)


def _pick(value: Any, *place: int) -> float:
    value = np.asarray(value)
    return float(value[place[: value.ndim]])


def unreduced_forces(
    problem: pliant.StepProblem, *, zeta: float | None = None, compensate_drift: bool = True
) -> tuple[Array, ...]:
    """Forces per constraint, as `Solution.forces`."""
    rows, h = read_rows(problem), problem.step
    zeta = 1.0 / h if zeta is None else zeta
    m, nv = rows.G.shape
    M = np.asarray(problem.mass.toarray() if sparse.issparse(problem.mass) else problem.mass)
    M = np.diag(M) if M.ndim == 1 else M
    bend = rows.curvature if compensate_drift else np.zeros(m)
    inertial = np.zeros(m)
    for letter in "bunrs":
        at = np.flatnonzero(rows.letter == letter)
        if len(at):
            inertial[at] = np.linalg.pinv(rows.G[at] @ np.linalg.solve(M, rows.G[at].T), rcond=1e-10) @ bend[at]

    # unknowns, in this order: vdot, lambda, phi1, phidot1, beta
    one, none = np.eye(m), np.zeros((m, m))
    t = np.flatnonzero(np.isin(rows.letter, ["r", "s"]))
    columns = nv + 3 * m + len(t)

    def line(vdot: Array, force: Array, phi: Array, rate: Array, beta: Array | None = None) -> Array:
        return np.hstack([vdot, force, phi, rate, np.zeros((len(vdot), len(t))) if beta is None else beta])

    flat = np.zeros((m, nv))
    law = line(flat, one, np.diag(rows.K), np.diag(rows.B))  # lambda + K phi1 + B phidot1 = -Mhat Gdot v0 ...
    law[t, nv + 3 * m + np.arange(len(t))] = -1.0  # ... + beta
    springs = np.isin(rows.letter, ["u", "n"])
    wide = np.zeros((nv, m))
    equations = [
        (line(M, -rows.G.T, wide, wide), problem.force),
        (line(flat, none, one, -h * one), rows.phi0),
        (line(-h * rows.G, none, none, one), rows.G @ problem.velocity + rows.e + h * bend),
        (law[~springs], -inertial[~springs]),
    ]
    at_least = [(law[springs], -inertial[springs]), (line(flat, one, none, none)[springs], np.zeros(springs.sum()))]
    cones = [clarabel.NonnegativeConeT(2 * int(springs.sum()))]
    discs = []
    for own, mu in rows.contacts:  # (lambda_n, lambda_t / mu)
        disc = np.zeros((len(own), columns))
        disc[np.arange(len(own)), nv + np.array(own)] = 1.0 / np.concatenate([[1.0], mu])
        discs.append((disc, np.zeros(len(own))))
        cones.append(clarabel.SecondOrderConeT(len(own)))
    weight = np.zeros(columns)
    weight[nv : nv + m] = np.select([springs, rows.letter == "b"], [zeta, 0.0], 1.0)
    weight[nv + 3 * m :] = 1.0
    sizes = np.repeat([1.0, 1.0, h, 1.0, 1.0], [nv, m, m, m, len(t)])
    return problem.split(_solve(weight, equations, [*at_least, *discs], cones, sizes)[nv : nv + m])


Lines = list[tuple[Array, Array]]


def _solve(weight: Array, equations: Lines, inside: Lines, cones: list[Any], sizes: Array) -> Array:
    """minimise 1/2 sum weight x^2 over E x = e and C x - c in cones; sizes: of the unknowns.

    What solves the equations is x = x0 + N y with an orthonormal N: the cone solver sees y, since it stumbles over
    stiff equations.
    """
    E, C = (np.vstack([lines for lines, _ in part]) * sizes for part in (equations, inside))
    e, c = (np.concatenate([right for _, right in part]) for part in (equations, inside))
    norm = np.linalg.norm(E, axis=1)
    Q, R = scipy.linalg.qr((E / norm[:, None]).T)
    known = len(e)
    x0 = Q[:, :known] @ scipy.linalg.solve_triangular(R[:known], e / norm, trans="T")
    N = Q[:, known:]
    if N.shape[1]:  # else bilateral rows only
        W = weight * sizes**2
        size = max(float(np.abs(x0).max()), 1e-300)
        x0 = x0 + size * N @ _clarabel(N.T * W @ N, N.T @ (W * x0) / size, C @ N, (c - C @ x0) / size, cones)
    return sizes * x0


def _clarabel(P: Array, q: Array, C: Array, c: Array, cones: list[Any]) -> Array:
    """minimise 1/2 y' P y + q' y over C y - c in cones."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = 1e-15
    settings.tol_feas = 1e-12
    settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = 1e-15
    scale = float(np.abs(P).max())
    parts = sparse.csc_matrix(np.triu(P / scale)), q / scale, sparse.csc_matrix(-C), -c, cones
    answer = clarabel.DefaultSolver(*parts, settings).solve()
    if "Infeasible" in str(answer.status) or "Error" in str(answer.status):
        raise ArithmeticError(f"Clarabel says {answer.status}")
    return np.array(answer.x)
