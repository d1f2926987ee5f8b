"""Planar linkages in absolute coordinates: rigid bodies (x, y, theta) held together, and to the ground, by pins.

r = R(theta) a is the arm of a pin in a body, x + r where it is;  phi = x_i + r_i - x_j - r_j, or x_i + r_i - a point
G rows = [I, (-r_y, r_x)] of i less that of j,   Gdot v = -omega_i^2 r_i + omega_j^2 r_j
K_g of theta_i: the sum of lambda . r_i, of theta_j of -lambda . r_j, over the pins of a body
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pliant.constraints import Bilateral
from pliant.inputs import Array
from pliant.laws import Law
from pliant.problem import StepProblem

GROUND: Final = -1
Side = tuple[int, tuple[float, float]]  # a body and the arm in it, or GROUND and a point [m]


class Linkage:
    """masses [kg], inertias [kg m^2] of the bodies. pins: what meets what, the first of the two a body. copies: how
    often each pin is there. turning: whether the step is told how the forces turn with the bodies."""

    def __init__(
        self, masses: Any, inertias: Any, pins: Sequence[tuple[Side, Side]], law: Law, *, gravity: float,
        copies: int = 1, turning: bool = True,
    ) -> None:  # fmt: skip
        self.mass = np.column_stack([masses, masses, inertias]).ravel()
        self.weight = np.tile([0.0, -gravity, 0.0], len(masses)) * self.mass
        self.law, self.copies, self.turning = law, copies, turning
        self._bodies = np.array([[side[0] for side in pin] for pin in pins])  # (pins, 2)
        self._arms = np.array([[side[1] for side in pin] for pin in pins], dtype=float)  # (pins, 2, 2)
        self._held = self._bodies != GROUND

    def problem(self, time: float, q: Array, v: Array, step: float) -> StepProblem:
        """Two bilateral rows a pin, and as many for each copy."""
        _, r = self._places(q)
        omega = np.where(self._held, v[2::3][self._bodies], 0.0)
        curvature = (omega[:, 1] ** 2)[:, None] * r[:, 1] - (omega[:, 0] ** 2)[:, None] * r[:, 0]
        rows = np.tile(self._jacobian(r, len(q)), (self.copies, 1))
        pins = Bilateral(rows, self.values(time, q)[0], self.law, curvature=np.tile(curvature.ravel(), self.copies))
        return StepProblem(self.mass, v, self.weight, step, [pins])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        """q + h v."""
        return q + step * v

    def values(self, time: float, q: Array) -> list[Array]:
        """phi, two entries a pin [m]."""
        places, _ = self._places(q)
        return [np.tile((places[:, 0] - places[:, 1]).ravel(), self.copies)]

    def geometric_stiffness(self, time: float, q: Array, forces: tuple[Array, ...]) -> Array | None:
        """The positive part of K_g, (nv,)."""
        return np.maximum(self.stiffness(q, forces[0]), 0.0) if self.turning else None

    def stiffness(self, q: Array, force: Array) -> Array:
        """-d(G' lambda)/dq, (nv,): it is diagonal, as every arm turns with one body."""
        _, r = self._places(q)
        total = force.reshape(self.copies, -1, 1, 2).sum(axis=0)
        share = np.array([1.0, -1.0]) * (total * r).sum(axis=2)  # (pins, 2)
        K = np.zeros(len(q))
        np.add.at(K, 3 * self._bodies[self._held] + 2, share[self._held])
        return K

    def energy(self, time: float, q: Array, v: Array) -> dict[str, float]:
        """[J], heights from 0."""
        return {"kinetic": float(0.5 * v @ (self.mass * v)), "gravitational": float(-self.weight @ q)}

    def point(self, q: Array, body: int, arm: Sequence[float]) -> Array:
        """Where an arm of a body ends, (2,) [m]."""
        c, s = np.cos(q[3 * body + 2]), np.sin(q[3 * body + 2])
        return q[3 * body : 3 * body + 2] + np.array([[c, -s], [s, c]]) @ np.asarray(arm)

    def _places(self, q: Array) -> tuple[Array, Array]:
        """Of both sides of every pin: where it is, and the arm, 0 on the ground; (pins, 2, 2)."""
        c, s = np.cos(q[2::3])[self._bodies], np.sin(q[2::3])[self._bodies]
        a, b = self._arms[..., 0], self._arms[..., 1]
        held = self._held[..., None]
        arms = np.where(held, np.stack([c * a - s * b, s * a + c * b], axis=2), 0.0)
        return np.where(held, q.reshape(-1, 3)[:, :2][self._bodies] + arms, self._arms), arms

    def _jacobian(self, r: Array, nv: int) -> Array:
        G = np.zeros((2 * len(r), nv))
        for side, sign in ((0, 1.0), (1, -1.0)):
            pins = np.flatnonzero(self._held[:, side])
            row, column, arm = 2 * pins, 3 * self._bodies[pins, side], sign * r[pins, side]
            G[row, column] = G[row + 1, column + 1] = sign
            G[row, column + 2], G[row + 1, column + 2] = -arm[:, 1], arm[:, 0]
        return G
