"""A vertical chain of spheres on the ground, each touching the next: 6 velocities and 3 rows a sphere."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

import pliant
from benchmarks.scenes.stepping import GRAVITY, Array, cross

RADIUS = 0.1  # [m]
TURNING = 0.4 * RADIUS**2  # inertia of 1 kg [kg m^2]


class Chain:
    """`count` spheres of 1 kg, `spacing` [m] apart, aligned unless `jitter` [m] moves them sideways.

    Contact i is between sphere i and the one below, contact 0 with the ground; all of them always take part.
    The velocities of a sphere are (linear, angular) in world axes.
    """

    def __init__(
        self,
        count: int,
        *,
        spacing: float = 1e-3,
        jitter: float = 0.0,
        friction: float = 0.5,
        law: pliant.Law | None = None,
        step: float = 0.01,
        seed: int = 0,
    ) -> None:
        self.count, self.friction, self.step = count, friction, step
        self.law = pliant.Law(1e10, 1.0) if law is None else law
        self.centre = np.zeros((count, 3))  # [m]
        self.centre[:, 2] = RADIUS + spacing + (2.0 * RADIUS + spacing) * np.arange(count)
        self.centre[:, :2] += jitter * np.random.default_rng(seed).normal(size=(count, 2))
        self.turn: Array = np.zeros((count, 3))  # angles turned about the world axes, added up [rad]
        self.velocity = np.zeros(6 * count)
        self._mass = np.tile([1.0, 1.0, 1.0, TURNING, TURNING, TURNING], count)
        self._weight = np.tile([0.0, 0.0, -GRAVITY, 0.0, 0.0, 0.0], count)
        self._ptr, self._idx = _pattern(count)

    def gaps_and_axes(self) -> tuple[Array, Array]:
        """Distance from the neighbour below (n,) [m]; normal and two tangents of each contact, (n, 3, 3)."""
        below = np.vstack([[0.0, 0.0, -RADIUS], self.centre[:-1]])
        below[0, :2] = self.centre[0, :2]  # the ground is a sphere that follows
        between = self.centre - below
        length = np.sqrt(np.sum(between**2, axis=1))
        axes = np.empty((self.count, 3, 3))
        axes[:, 0] = between / length[:, None]
        side = np.array([1.0, 0.0, 0.0]) - axes[:, 0] * axes[:, 0, :1]
        axes[:, 1] = side / np.sqrt(np.sum(side**2, axis=1))[:, None]
        axes[:, 2] = cross(axes[:, 0], axes[:, 1])
        return length - 2.0 * RADIUS, axes

    def problem(self) -> pliant.StepProblem:
        """The step from the present state."""
        gap, axes = self.gaps_and_axes()
        turning = cross(-RADIUS * axes[:, :1], axes)  # lever from the centre of the upper sphere x axis
        # (n, 3, 12): the sphere below, with lever +r n, then the sphere itself
        rows = np.concatenate([-axes, turning, axes, turning], axis=2)
        data = np.concatenate([rows[0, :, 6:].ravel(), rows[1:].ravel()])  # the ground has no velocities
        jacobian = csr_array((data, self._idx, self._ptr), shape=(3 * self.count, 6 * self.count))
        contact = pliant.Contact(jacobian, gap, self.law, self.friction, name="chain")
        return pliant.StepProblem(self._mass, self.velocity, self._weight, self.step, [contact])

    def advance(self, velocity: Array) -> None:
        """q1 = q0 + h v1."""
        self.velocity = velocity
        move = self.step * velocity.reshape(self.count, 6)
        self.centre = self.centre + move[:, :3]
        self.turn = self.turn + move[:, 3:]

    def loads(self) -> Array:
        """Weight above each contact, (n,) [N]."""
        loads: Array = GRAVITY * np.arange(self.count, 0.0, -1.0)
        return loads


def _pattern(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Row pointers and columns of the Jacobian."""
    length = np.full(3 * count, 12)
    length[:3] = 6
    first = np.repeat(6 * np.arange(-1, count - 1), 3)
    first[:3] = 0
    ptr = np.concatenate([[0], np.cumsum(length)])
    columns = np.repeat(first - ptr[:-1], length) + np.arange(ptr[-1])
    return ptr, columns
