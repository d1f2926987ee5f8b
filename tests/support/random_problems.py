"""Random steps: all kinds of rows mixed, sixteen decades of stiffness, redundant and contradictory rows.

Jacobian entries and rate offsets are multiples of 1/64, and redundant rows are combinations of earlier ones
with coefficients that keep them exact: were rigid rows redundant only up to rounding, the exact solution
would hang on that rounding, and no double answer could follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import pliant

Array = np.ndarray
Rng = np.random.Generator

KINDS = ("bilateral", "unilateral", "clipped", "contact")
SIZES = {"small": (1, 10, 0, 20), "large": (20, 60, 60, 200)}  # velocities from, to, rows from, to
DIMENSIONS = (2, 3, 3, 3, 4, 6)
COEFFICIENTS = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
GRID = 64.0


@dataclass
class _Pool:
    """Rows made so far, with their values and offsets, for redundant rows to be built from."""

    rng: Rng
    mass: Array
    step: float
    redundant: float  # share of redundant rows
    contradictory: float  # share of those that contradict
    moving: bool  # rate offsets
    weight: float  # a typical force [N]
    rows: list[Array] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    offsets: list[float] = field(default_factory=list)

    def row(self, stiffness: float) -> tuple[Array, float, float]:
        """Jacobian row, value and rate offset of one more row."""
        if self.rows and self.rng.random() < self.redundant:
            made = self._combination(stiffness)
        else:
            offset = _on_grid(self.rng.normal()) if self.moving and self.rng.random() < 0.5 else 0.0
            made = self._sparse_row(), self.deflection(stiffness), offset
        for kept, new in zip((self.rows, self.values, self.offsets), made, strict=True):
            kept.append(new)  # type: ignore[attr-defined]
        return made

    def deflection(self, stiffness: float) -> float:
        """phi0 of either sign: about the static deflection, or what a step covers, or clearly too much."""
        static = self.weight / max(stiffness, 1e-3)
        size = self.rng.choice([static, self.step, 1e-3], p=[0.5, 0.35, 0.15])
        return float(np.clip(self.rng.normal() * size * 10.0 ** self.rng.uniform(-1, 1), -0.3, 0.3))

    def _sparse_row(self) -> Array:
        nv = len(self.mass)
        row = np.zeros(nv)
        count = nv if self.rng.random() < 0.2 else self.rng.integers(1, min(nv, 6) + 1)
        places = self.rng.choice(nv, size=count, replace=False)
        row[places] = np.clip(np.round(self.rng.normal(size=count) * GRID) / GRID, -4, 4)
        if not row.any():
            row[places[0]] = 1.0
        return row

    def _combination(self, stiffness: float) -> tuple[Array, float, float]:
        count = 1 if self.rng.random() < 0.5 else int(self.rng.integers(1, 4))
        chosen = self.rng.integers(0, len(self.rows), size=count)
        weights = self.rng.choice(COEFFICIENTS, size=count)
        row = sum((w * self.rows[i] for w, i in zip(weights, chosen, strict=True)), np.zeros(len(self.mass)))
        if not row.any() or np.abs(row).max() > 64.0 or np.any(row * GRID * 8 % 1.0):
            weights, chosen, row = (
                np.ones(1),
                chosen[:1],
                self.rows[chosen[0]],
            )  # a copy keeps the numbers short
        value = float(sum(w * self.values[i] for w, i in zip(weights, chosen, strict=True)))
        offset = float(sum(w * self.offsets[i] for w, i in zip(weights, chosen, strict=True)))
        if self.rng.random() < self.contradictory:
            value += self.deflection(stiffness)
        return row, value, offset


def random_problem(
    rng: Rng,
    *,
    size: str = "small",
    kinds: Sequence[str] = KINDS,
    redundant: bool | None = None,
    contradictory: bool | None = None,
    strong: float = 0.1,
) -> pliant.StepProblem:
    """A step of 1-10 velocities and 0-20 rows ("small"), or of 20-60 and 60-200 ("large").

    redundant      None: half of the problems; contradictory: None: a third of those
    strong         share of contacts whose friction may exceed A_nn / |A_nt|, where the normal force can jam
    """
    low_v, high_v, low_m, high_m = SIZES[size]
    nv, m = int(rng.integers(low_v, high_v + 1)), int(rng.integers(low_m, high_m + 1))
    mass = random_mass(rng, nv)
    step = 10.0 ** rng.uniform(-8, 0)
    redundant = bool(rng.random() < 0.5) if redundant is None else redundant
    contradictory = bool(rng.random() < 1 / 3) if contradictory is None else contradictory
    force = _gravity(rng, mass) if rng.random() < 0.9 else np.zeros(nv)
    velocity = rng.normal(size=nv) * 10.0 ** rng.uniform(-3, 1) if rng.random() < 0.9 else np.zeros(nv)
    weight = float(np.abs(force).max()) or 1.0
    pool = _Pool(rng, mass, step, 0.4 * redundant, 0.5 * contradictory, bool(rng.random() < 0.2), weight)
    constraints: list[Any] = []
    left = m
    while left > 0:
        made = _constraint(pool, str(rng.choice(list(kinds))), left, strong)
        constraints.append(made)
        left -= made.rows
    order = rng.permutation(len(constraints))
    diagonal = np.diagonal(mass).copy() if np.count_nonzero(mass) == nv and rng.random() < 0.5 else mass
    return pliant.StepProblem(diagonal, velocity, force, step, [constraints[i] for i in order])


def _on_grid(number: float) -> float:
    return round(float(number) * GRID) / GRID


def random_mass(rng: Rng, nv: int) -> Array:
    """(nv, nv) positive definite: diagonal, in blocks of up to six, or full; eigenvalues to 1e6 apart."""
    eigenvalues = 10.0 ** (rng.uniform(0, 6) * rng.uniform(-0.5, 0.5, size=nv))
    size = int(rng.choice([1, min(6, nv), nv]))
    mass = np.zeros((nv, nv))
    for start in range(0, nv, size):
        part = slice(start, min(start + size, nv))
        Q = np.linalg.qr(rng.normal(size=(part.stop - start,) * 2))[0] if size > 1 else np.eye(1)
        block = Q * eigenvalues[part] @ Q.T
        mass[part, part] = (block + block.T) / 2
    return mass


def _gravity(rng: Rng, mass: Array) -> Array:
    """Weights, or forces that know nothing of the masses [N]."""
    if rng.random() < 0.5:
        return np.asarray(mass @ (9.81 * rng.normal(size=len(mass))))
    return np.asarray(rng.normal(size=len(mass)) * 10.0 ** rng.uniform(-2, 3))


def _stiffness(rng: Rng, n: int) -> Array:
    """[N/m] from 1 to 1e15, alike in half of the constraints; sometimes 0."""
    decades = rng.uniform(0, 15, size=n) if rng.random() < 0.5 else np.full(n, rng.uniform(0, 15))
    return np.where(rng.random(n) < 0.07, 0.0, 10.0**decades)


def _damping(rng: Rng, n: int) -> Array:
    """[N s/m]: none, or from 1e-3 to 1e9."""
    if rng.random() < 0.5:
        return np.zeros(n)
    return np.asarray(10.0 ** (rng.uniform(-3, 4, size=n) + (rng.uniform(0, 5) if rng.random() < 0.3 else 0.0)))


def _law(rng: Rng, n: int, *, power: bool = False) -> pliant.Law:
    K, B = _stiffness(rng, n), _damping(rng, n)
    if not power or rng.random() < 0.6:
        return pliant.Law(K, B)
    exponent = rng.choice([1.0, 1.5, 2.0, rng.uniform(1, 3)])
    dissipation = 0.0 if rng.random() < 0.5 else 10.0 ** rng.uniform(-2, 1)
    return pliant.Law(K, B, exponent=exponent, dissipation=dissipation)


def _scalar_rows(pool: _Pool, law: pliant.Law, n: int) -> tuple[Array, Array, Array]:
    made = [pool.row(float(K)) for K in np.broadcast_to(law.stiffness, n)]
    rows, values, offsets = zip(*made, strict=True)
    jacobian = np.array(rows)
    jacobian[pool.rng.random(n) < 0.01] = 0.0  # rows that move nothing
    return jacobian, np.array(values), np.array(offsets)


def _maybe_sparse(rng: Rng, jacobian: Array) -> Any:
    """The rows stacked in a sparse matrix, one time in ten."""
    return csr_array(jacobian.reshape(-1, jacobian.shape[-1])) if rng.random() < 0.1 else jacobian


def _constraint(pool: _Pool, kind: str, left: int, strong: float) -> Any:
    """One constraint of at most `left` rows (contacts that do not fit become unilateral)."""
    rng = pool.rng
    if kind == "contact":
        fitting = [d for d in DIMENSIONS if d <= left]
        if fitting:
            return _contact(pool, int(rng.choice(fitting)), left, strong)
        kind = "unilateral"
    n = int(rng.integers(1, min(5, left) + 1))
    law = _law(rng, n, power=kind == "unilateral")
    rows, values, offsets = _scalar_rows(pool, law, n)
    rows = _maybe_sparse(rng, rows)
    if kind == "clipped":
        lower, upper = _bounds(rng, n, pool.weight)
        return pliant.Clipped(rows, values, law, lower, upper, rate_offset=offsets)
    make: Callable[..., Any] = pliant.Bilateral if kind == "bilateral" else pliant.Unilateral
    return make(rows, values, law, rate_offset=offsets)


def _bounds(rng: Rng, n: int, weight: float) -> tuple[Array, Array]:
    """Both signs, infinite on either side, equal, or away from 0."""
    size = weight * 10.0 ** rng.uniform(-1, 1, size=n)
    lower, upper = -size * rng.uniform(0.1, 1, size=n), size
    away = rng.random(n) < 0.2
    lower = np.where(away, 0.5 * upper, lower)
    upper = np.where(rng.random(n) < 0.05, lower, upper)
    flip = rng.random(n) < 0.5
    lower, upper = np.where(flip, -upper, lower), np.where(flip, -lower, upper)
    return np.where(rng.random(n) < 0.2, -np.inf, lower), np.where(rng.random(n) < 0.2, np.inf, upper)


def _contact(pool: _Pool, d: int, left: int, strong: float) -> pliant.Contact:
    rng = pool.rng
    n = int(rng.integers(1, max(1, min(4, left // d)) + 1))
    law = _law(rng, n, power=True)
    jacobian, gaps, offsets = np.zeros((n, d, len(pool.mass))), np.zeros(n), np.zeros((n, d))
    for i, K in enumerate(np.broadcast_to(law.stiffness, n)):
        made = [pool.row(float(K)) for _ in range(d)]
        jacobian[i], gaps[i], offsets[i] = (
            np.array([row for row, _, _ in made]),
            made[0][1],
            [e for _, _, e in made],
        )
    friction = _friction(pool, jacobian, strong)
    tangent, stretch = None, np.zeros((n, d - 1))
    if rng.random() < 0.25:
        tangent = pliant.Law(10.0 ** rng.uniform(0, 15), 10.0 ** rng.uniform(-3, 4) if rng.random() < 0.5 else 0.0)
        stretch = rng.normal(size=(n, d - 1)) * pool.weight / tangent.stiffness
    G = _maybe_sparse(rng, jacobian)
    return pliant.Contact(G, gaps, law, friction, tangent_law=tangent, stretch=stretch, rate_offset=offsets)


def _friction(pool: _Pool, jacobian: Array, strong: float) -> Array:
    """(n, d-1) mu: sliding up to 1.5, torsion and rolling smaller; isotropic or not, sometimes 0."""
    rng = pool.rng
    n, d, _ = jacobian.shape
    mu = np.repeat(rng.uniform(0.05, 1.5, size=(n, 1)), d - 1, axis=1)
    if rng.random() < 0.3:
        mu *= rng.uniform(0.3, 1.0, size=(n, d - 1))
    mu[:, 2:] *= 10.0 ** rng.uniform(-3, 0)
    for i in range(n):
        A = jacobian[i] @ np.linalg.solve(pool.mass, jacobian[i].T)
        coupling = float(np.linalg.norm(mu[i] * A[0, 1:]))
        if coupling > 0.8 * A[0, 0] and rng.random() > strong:
            mu[i] *= rng.uniform(0.1, 0.8) * A[0, 0] / coupling
    return np.where(rng.random((n, 1)) < 0.05, 0.0, mu)
