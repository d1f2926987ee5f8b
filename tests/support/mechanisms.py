"""Small mechanisms written by hand: systems for the tests of stepping."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
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


class SpatialChain:
    """Six links of 10 g and 5 cm under 10 kg: (position, quaternion) of each body, held at its upper end."""

    LINKS, LENGTH, MASS, END = 6, 0.05, 0.01, 10.0

    def __init__(self, *, turning: bool = True) -> None:
        self.turning, self.law = turning, pliant.Law(1e8, 1.0)
        across = self.MASS * self.LENGTH**2 / 12.0
        self.masses = np.append(np.full(self.LINKS, self.MASS), self.END)
        self.inertia = np.vstack([np.tile([across, across, 0.1 * across], (self.LINKS, 1)), np.full(3, 0.01)])
        self.half = np.append(np.full(self.LINKS, 0.5 * self.LENGTH), 0.0)  # from the centre to either end

    def circling(self, angle: float, rate: float) -> tuple[Array, Array]:
        """Straight, at this angle off plumb, as a whole turning about the vertical at this rate [rad/s]."""
        turn = Rotation.from_rotvec([0.0, -angle, 0.0])
        far = 2.0 * np.cumsum(self.half) - self.half
        place = far[:, None] * turn.apply([0.0, 0.0, -1.0])
        spin = np.tile([0.0, 0.0, rate], (len(far), 1))
        q = np.hstack([place, np.tile(turn.as_quat(), (len(far), 1))])
        return q.ravel(), np.hstack([np.cross(spin, place), spin]).ravel()

    def parts(self, q: Array) -> tuple[Array, Array, Array]:
        """Centres, rotations, arms to the upper ends; the lower ones are opposite."""
        bodies = q.reshape(-1, 7)
        R = Rotation.from_quat(bodies[:, 3:]).as_matrix()
        return bodies[:, :3], R, self.half[:, None] * R[:, :, 2]

    def values(self, time: float, q: Array) -> list[Array]:
        place, _, up = self.parts(q)
        return [(place + up - np.vstack([np.zeros(3), (place - up)[:-1]])).ravel()]

    def problem(self, time: float, q: Array, v: Array, step: float) -> pliant.StepProblem:
        _, R, up = self.parts(q)
        spins, blocks, force = v.reshape(-1, 6)[:, 3:], [], []
        rows = np.zeros((len(up), 3, len(v)))
        for k, (m, I, turn, spin) in enumerate(zip(self.masses, self.inertia, R, spins, strict=True)):
            blocks += [m * np.eye(3), turn @ np.diag(I) @ turn.T]
            force.append(np.append([0.0, 0.0, -GRAVITY * m], pliant.gyroscopic_torque(I, turn, spin, step)))
            own = slice(6 * k, 6 * k + 6)
            rows[k, :, own] = np.hstack([np.eye(3), np.cross(up[k], np.eye(3))])
            if k + 1 < len(up):
                rows[k + 1, :, own] = -np.hstack([np.eye(3), np.cross(-up[k], np.eye(3))])
        joints = pliant.Bilateral(rows.reshape(-1, len(v)), self.values(time, q)[0], self.law)
        mass = sparse.block_diag(blocks, format="csr")
        return pliant.StepProblem(mass, v, np.concatenate(force), step, [joints])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        bodies, rates = q.reshape(-1, 7), v.reshape(-1, 6)
        turned = Rotation.from_rotvec(step * rates[:, 3:]) * Rotation.from_quat(bodies[:, 3:])
        return np.hstack([bodies[:, :3] + step * rates[:, :3], turned.as_quat()]).ravel()

    def geometric_stiffness(self, time: float, q: Array, forces: tuple[Array, ...]) -> object:
        """(lambda . r) 1 - (lambda r' + r lambda')/2 on each rotation, of both ends."""
        if not self.turning:
            return None
        pull, (_, _, up) = forces[0].reshape(-1, 3), self.parts(q)
        both = pull + np.vstack([pull[1:], np.zeros(3)])  # at the lower ends force and arm are opposite
        turns = [(f @ r) * np.eye(3) - 0.5 * (np.outer(f, r) + np.outer(r, f)) for f, r in zip(both, up, strict=True)]
        return sparse.block_diag([block for K in turns for block in (np.zeros((3, 3)), K)], format="csr")

    def energy(self, time: float, q: Array, v: Array) -> dict[str, float]:
        place, R, _ = self.parts(q)
        rates = v.reshape(-1, 6)
        spins = np.einsum("kji,kj->ki", R, rates[:, 3:])
        kinetic = 0.5 * float(self.masses @ (rates[:, :3] ** 2).sum(axis=1) + (self.inertia * spins**2).sum())
        return {"kinetic": kinetic, "gravitational": float(GRAVITY * self.masses @ place[:, 2])}


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
