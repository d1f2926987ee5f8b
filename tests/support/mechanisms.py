"""Small mechanisms written by hand: systems for the tests of stepping."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import pliant
from pliant.inputs import Array

GRAVITY = 9.8


class Pendulum:
    """A planar bob (x, y, theta) on a rigid rod of length L about the origin, in absolute coordinates."""

    def __init__(self, *, joints: int = 1, stiffness: float = 1e15, length: float = 1.0) -> None:
        self.joints, self.law, self.length = joints, pliant.Law(stiffness, 1.0), length
        self.mass = np.array([1.0, 1.0, length**2 / 12.0])

    def phi(self, q: Array) -> Array:
        """The gap of the joint, (2,)."""
        return np.array([q[0] - self.length * np.cos(q[2]), q[1] - self.length * np.sin(q[2])])

    def problem(self, time: float, q: Array, v: Array, step: float) -> pliant.StepProblem:
        s, c = self.length * np.sin(q[2]), self.length * np.cos(q[2])
        G, curvature = [[1.0, 0.0, s], [0.0, 1.0, -c]], v[2] ** 2 * np.array([c, s])
        joint = [pliant.Bilateral(G, self.phi(q), self.law, curvature=curvature) for _ in range(self.joints)]
        return pliant.StepProblem(self.mass, v, [0.0, -GRAVITY, 0.0], step, joint)

    def advance(self, q: Array, v: Array, step: float) -> Array:
        return q + step * v

    def values(self, time: float, q: Array) -> list[Array]:
        return [self.phi(q)] * self.joints

    def energy(self, time: float, q: Array, v: Array) -> dict[str, float]:
        return {"kinetic": float(0.5 * v @ (self.mass * v)), "gravitational": float(GRAVITY * q[1])}


class SpatialPendulum:
    """A body (position, quaternion) that hangs by a ball joint at the origin; explicit: the plain torque -w x I w."""

    INERTIA = np.array([0.06, 0.11, 0.15])
    ARM = np.array([0.0, 0.0, 0.1])  # from the centre of mass to the joint, in the body

    def __init__(self, *, explicit: bool) -> None:
        self.explicit = explicit

    def start(self) -> tuple[Array, Array]:
        """Level, turning at 10 rad/s about the axis of middle inertia: the one about which it tumbles."""
        turn, spin = Rotation.from_rotvec([0.0, -np.pi / 2.0, 0.0]), np.array([0.3, 10.0, 0.2])
        centre = -turn.apply(self.ARM)
        return np.concatenate([centre, turn.as_quat()]), np.concatenate([np.cross(spin, centre), spin])

    def phi(self, q: Array) -> Array:
        """The gap of the joint, (3,)."""
        return np.asarray(q[:3] + _rotation(q) @ self.ARM)

    def problem(self, time: float, q: Array, v: Array, step: float) -> pliant.StepProblem:
        R, w = _rotation(q), v[3:]
        inertia = R @ np.diag(self.INERTIA) @ R.T
        torque = -np.cross(w, inertia @ w) if self.explicit else pliant.gyroscopic_torque(self.INERTIA, R, w, step)
        mass = np.block([[np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), inertia]])
        G = np.hstack([np.eye(3), np.cross(R @ self.ARM, np.eye(3))])
        joint = pliant.Bilateral(G, self.phi(q), pliant.Law(1e12, 1e3))
        return pliant.StepProblem(mass, v, [0.0, 0.0, -GRAVITY, *torque], step, [joint])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        turned = Rotation.from_rotvec(step * v[3:]) * Rotation.from_quat(q[3:])
        return np.concatenate([q[:3] + step * v[:3], turned.as_quat()])

    def values(self, time: float, q: Array) -> list[Array]:
        return [self.phi(q)]

    def energy(self, time: float, q: Array, v: Array) -> dict[str, float]:
        w = _rotation(q).T @ v[3:]
        kinetic = 0.5 * float(v[:3] @ v[:3] + w @ (self.INERTIA * w))
        return {"kinetic": kinetic, "gravitational": float(GRAVITY * q[2])}


def _rotation(q: Array) -> Array:
    return np.asarray(Rotation.from_quat(q[3:]).as_matrix())


class Ball:
    """A ball that falls onto a floor: height and a slide along x, with friction."""

    def __init__(self, *, friction: float = 0.5, stiffness: float = 1e8) -> None:
        self.friction, self.law = friction, pliant.Law(stiffness, 10.0)

    def problem(self, time: float, q: Array, v: Array, step: float) -> pliant.StepProblem:
        reaches = [q[1]] if q[1] < 0.1 else []
        floor = pliant.Contact(
            np.tile([[[0.0, 1.0], [1.0, 0.0]]], (len(reaches), 1, 1)).reshape(-1, 2, 2),
            reaches, self.law, self.friction, name="floor",
        )  # fmt: skip
        return pliant.StepProblem([1.0, 1.0], v, [0.0, -GRAVITY], step, [floor])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        return q + step * v
