"""The paper's program of one island, the bilateral forces taken out of it as in the appendix.

    p      = G v* + e + h Gdot v0 + h A lambda           rates, A = G inv(M) G' = Z Z', v* = v0 + h inv(M) f
    g      = lambda + S p + K phi0 + Mhat Gdot v0        what each row is short of its spring and damper
    minimise    1/2 (zeta |lambda_n|^2 + zeta |lambda_u|^2 + |lambda_r|^2 + |lambda_s|^2 + |beta_r|^2 + |beta_s|^2)
    subject to  g_b = 0,  g_u >= 0,  g_n >= 0,  beta = g_r, g_s,  lambda_u >= 0,  |lambda_t / mu| <= lambda_n

Everything that multiplies lambda is J = I + h S A. With g_b = 0 solved for lambda_b the same holds for the other rows
with P = I + h Z_b' S_b Z_b in place of the identity: J = I + h S Z inv(P) Z', the Lambda of the appendix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from pliant.flat import BILATERAL, TANGENT
from pliant.inputs import Array, Ints

NOTHING = 1e-150  # [m/s], [N]: what has no square in double precision; sticking shrinks a slip by 1e6 in every step
MASS = 1e6  # [kg] h B of tangents that have no law of their own: the paper's B_r = B_s = 1e6 / h


class Terms(NamedTuple):
    """The m rows of an island as the program sees them."""

    step: float  # h
    kind: Ints  # (m,)
    block: Ints  # (m,) contacts share one
    Z: Array  # (m, nv) G inv(L'), M = L L'
    mobility: Array  # (m,) a, diagonal of A
    slope: Array  # (m,) S = h K + B
    drift: Array  # (m,) Gdot v0, 0 if it is not to be compensated
    inertial: Array  # (m,) Mhat Gdot v0
    start: Array  # (m,) -K phi0 - Mhat Gdot v0
    rate: Array  # (m,) p at lambda = 0
    weight: Array  # (m,) of lambda^2 in the objective: zeta, 1 on tangents, 0 on bilateral rows
    friction: Array  # (m,) mu on tangents, 1 elsewhere: lambda = mu l makes cones round


class Program(NamedTuple):
    """The reduced program in k forces l = lambda / mu, t of beta and n springs, each line of J divided by its norm.

    minimise    1/2 sum weight l^2 + 1/2 |beta|^2
    subject to  T l - beta / tau = d,  A l >= q,  l_u >= 0,  |l_t| <= l_n
    """

    row: Ints  # (k,) rows of Terms: all but bilateral ones, and tangents with mu = 0, whose force is 0
    weight: Array  # (k,)
    tangent: Ints  # (t,) rows of Terms, those with mu = 0 among them
    T: Array  # (t, k)
    tau: Array  # (t,)
    d: Array  # (t,)
    spring: Ints  # (n,) rows of Terms: unilateral rows and normals
    A: Array  # (n, k)
    norm: Array  # (n,)
    q: Array  # (n,)
    cones: list[Ints]  # places in `row`: (normal, tangents ...) of a contact, or one unilateral row


class Part(NamedTuple):
    """The rows of an island and the velocities that they share."""

    step: float  # h
    mass: Array  # (nv, nv)
    velocity: Array  # (nv,) v0
    force: Array  # (nv,) f
    jacobian: Array  # (m, nv)
    block: Ints  # (m,) contacts share one
    columns: dict[str, Array]  # (m,) each, of the flat record


def make_terms(part: Part, zeta: float, compensate_drift: bool) -> Terms:
    h, column, block = part.step, part.columns, part.block
    kind = column["kind"].astype(np.int64)
    m, tangent = len(kind), kind == TANGENT
    root, Z = np.linalg.cholesky(part.mass), whitened(part.jacobian, part.mass)
    gain = scipy.linalg.solve_triangular(root, h * part.force, lower=True)
    bare = np.isinf(column["stiffness"])  # tangents without a law
    K = np.where(bare, 0.0, column["stiffness"])
    B = np.where(bare, MASS / h, column["damping"])
    drift = column["curvature"] if compensate_drift else np.zeros(m)
    first = np.searchsorted(block, block)
    inertial = inertial_forces(Z, drift, kind, np.arange(m) - first)
    weight = np.select([kind == BILATERAL, tangent], [0.0, 1.0], zeta)
    return Terms(
        step=h,
        kind=kind,
        block=block,
        Z=Z,
        mobility=np.einsum("ij,ij->i", Z, Z),
        slope=h * K + B,
        drift=drift,
        inertial=inertial,
        start=_felt(-K * column["value"] - inertial),
        rate=_felt(part.jacobian @ part.velocity + Z @ gain + column["offset"] + h * drift),
        weight=weight,
        friction=np.where(tangent, column["friction"], 1.0),
    )


def whitened(jacobian: Array, mass: Array) -> Array:
    """Z = G inv(L'), M = L L'."""
    root = np.linalg.cholesky(mass)
    return np.ascontiguousarray(scipy.linalg.solve_triangular(root, jacobian.T, lower=True).T)


def _felt(numbers: Array) -> Array:
    return np.where(np.abs(numbers) < NOTHING, 0.0, numbers)


def inertial_forces(Z: Array, drift: Array, kind: Ints, place: Ints) -> Array:
    """Mhat Gdot v0 of b, u, n, r and s for themselves, Mhat = inv(G inv(M) G'), by least squares if rows are redundant.

    inv(Z Z') as inv(Z') inv(Z): the product would square the condition.
    """
    force = np.zeros(len(drift))
    group = np.where(kind == TANGENT, TANGENT + place, kind)
    for which in np.unique(group[drift != 0.0]):
        rows = np.flatnonzero(group == which)
        x = np.linalg.lstsq(Z[rows], drift[rows], rcond=None)[0]
        force[rows] = np.linalg.lstsq(Z[rows].T, x, rcond=None)[0]
    return force


class Bilateral:
    """g_b = 0 solved for lambda_b, and what is left of the mobilities of other rows.

    With y = h |z| lambda_b, x the whitened gain of velocity and theta = h S a / (1 + h S a):

        x - sum_b z/|z| y           = push
        theta z/|z| x + (1-theta) y = h |z| c / (1 + h S a)

    A dense factorization with pivoting of both together: C = I + h S_b A_bb alone loses forces of redundant rows.
    """

    def __init__(self, terms: Terms) -> None:
        row = np.flatnonzero(terms.kind == BILATERAL)
        Z, a, S = terms.Z[row], terms.mobility[row], terms.slope[row]
        length = np.where(a > 0.0, np.sqrt(a), 1.0)
        stiff = 1.0 + terms.step * S * a
        unit = Z / length[:, None]
        nv = Z.shape[1]
        both = np.eye(nv + len(row))
        both[:nv, nv:] = -unit.T
        both[nv:, :nv] = (terms.step * S * a / stiff)[:, None] * unit
        both[nv:, nv:] = np.diag(1.0 / stiff)
        self.row, self._scale, self._stiff = row, terms.step * length, stiff
        self._factors = scipy.linalg.lu_factor(both)
        self._root = _root(np.sqrt(terms.step * S)[:, None] * Z)

    def forces(self, start: Array, push: Array) -> tuple[Array, Array]:
        """lambda_b + S_b Z_b x = start with x = push + h Z_b' lambda_b: (lambda_b, x)."""
        nv = len(push)
        both = scipy.linalg.lu_solve(self._factors, np.concatenate([push, self._scale * start / self._stiff]))
        return both[nv:] / self._scale, both[:nv]

    def whiten(self, Z: Array) -> Array:
        """Rows with P as their inertia: Z inv(P) Z' is a sum of squares, which keeps the digits of rows that bilateral
        ones all but lock."""
        R, order = self._root
        return np.ascontiguousarray(scipy.linalg.solve_triangular(R, Z[:, order].T, trans="T").T)


def _root(rows: Array) -> tuple[Array, Ints]:
    """R and the order of columns with R' R = I + rows' rows; sorted rows and pivoting bear any spread of stiffness."""
    stack = np.vstack([rows, np.eye(rows.shape[1])])
    stack = stack[np.argsort(-np.abs(stack).max(axis=1), kind="stable")]
    R, order = scipy.linalg.qr(stack, mode="r", pivoting=True)
    return R[: rows.shape[1]], order


def reduce(terms: Terms, bilateral: Bilateral) -> Program:
    """Take out lambda_b."""
    b = bilateral.row
    rest = np.flatnonzero(terms.kind != BILATERAL)
    Z, S, mu = bilateral.whiten(terms.Z[rest]), terms.slope[rest], terms.friction[rest]
    _, gain = bilateral.forces(terms.start[b] - terms.slope[b] * terms.rate[b], np.zeros(terms.Z.shape[1]))
    short = terms.start[rest] - S * (terms.rate[rest] + terms.Z[rest] @ gain)  # -g at lambda = 0
    J = np.eye(len(rest)) + (terms.step * S)[:, None] * (Z @ Z.T)
    norm = np.linalg.norm(J, axis=1)
    free = mu > 0.0
    J, short = (J / norm[:, None] * mu)[:, free], short / norm
    tangent = terms.kind[rest] == TANGENT
    row = rest[free]
    heads = np.flatnonzero(np.diff(terms.block[row], prepend=-1))
    return Program(
        row=row,
        weight=terms.weight[row] * mu[free] ** 2,
        tangent=rest[tangent],
        T=J[tangent],
        tau=norm[tangent],
        d=short[tangent],
        spring=rest[~tangent],
        A=J[~tangent],
        norm=norm[~tangent],
        q=short[~tangent],
        cones=np.split(np.arange(len(row)), heads[1:]) if len(row) else [],
    )
