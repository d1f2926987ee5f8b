"""Piles of boxes and spheres dropped into a tray; MuJoCo finds the contacts and nothing else.

The velocities of a body are MuJoCo's: linear in world axes, angular in its own.
"""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np
from scipy.sparse import csr_array

import pliant
from benchmarks.scenes.manifold import Contacts, Frames, Manifold
from benchmarks.scenes.stepping import GRAVITY, Array, cross

SHAPES = ("box", "sphere", "both")
MARGIN = 0.3  # the largest distance at which contacts are ever looked for [m]
SLACK = 2.0  # of the distance that gravity alone closes in a step from rest
# Narrow, so that spheres come to lie on and between each other: one with the floor to itself rolls for good.
HALF_WIDTH = 0.32  # of the tray, inside [m]
WALL = 0.05  # half of the thickness of the rim [m]
APART = 0.14  # of the first places from the axis, in x and y: more than the largest body needs [m]


def tray_with_bodies(shape: str, count: int, seed: int) -> str:
    """MJCF of a tray and `count` bodies of 1 kg above it, none touching; the seed draws sizes and turns."""
    rng = np.random.default_rng(seed)
    out, long = HALF_WIDTH + WALL, HALF_WIDTH + 2.0 * WALL
    rim = [(out, 0.0, WALL, long), (-out, 0.0, WALL, long), (0.0, out, long, WALL), (0.0, -out, long, WALL)]
    parts = [
        f'<mujoco><default><geom margin="{MARGIN}"/></default>',
        '<worldbody><geom type="plane" size="2 2 1"/>',
    ]
    parts += [f'<geom type="box" pos="{x} {y} 1" size="{a} {b} 1"/>' for x, y, a, b in rim]
    for i in range(count):
        # two to a layer, in opposite corners, and in the other two corners above
        layer, side = i // 2, 1.0 if i % 2 else -1.0
        place = [side * APART, side * APART * (-1.0) ** layer, 0.24 + 0.22 * layer]
        quat = rng.normal(size=4)
        quat /= np.linalg.norm(quat)
        kind = ("sphere", "box")[i % 2] if shape == "both" else shape
        size = rng.uniform(0.06, 0.1, 3) if kind == "box" else rng.uniform(0.1, 0.16, 1)
        parts.append(
            f'<body pos="{_numbers(place)}" quat="{_numbers(quat)}"><freejoint/>'
            f'<geom type="{kind}" size="{_numbers(size)}" mass="1"/></body>'
        )
    return "".join([*parts, "</worldbody></mujoco>"])


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


class Pile:
    """Bodies falling into a tray. shape: "box", "sphere" or "both"."""

    def __init__(
        self,
        shape: str,
        friction: float,
        *,
        count: int = 16,
        seed: int = 2,  # picked: with others a sphere may be left rolling alone on the floor, for good
        stiffness: float = 1e9,  # [N/m]
        damping: float = 1.0,  # [N s/m]
        step: float = 0.01,  # [s]
    ) -> None:
        self.model = mujoco.MjModel.from_xml_string(tray_with_bodies(shape, count, seed))
        self.data = mujoco.MjData(self.model)
        self.count, self.friction, self.step = count, friction, step
        self.law = pliant.Law(stiffness, damping)
        self._inertia = _inertia(self.model)
        self._mass = _block_diagonal(self.model.body_mass[1:], self._inertia)
        self._radius = self.model.geom_rbound[self.model.geom_bodyid > 0]  # one geom a body, in order
        self._manifold = Manifold()

    @property
    def velocity(self) -> Array:
        """(nv,)"""
        velocity: Array = self.data.qvel.copy()
        return velocity

    def kinetic_energy(self) -> float:
        """Of all bodies [J]."""
        v = self.velocity
        return 0.5 * float(v @ (self._mass @ v))

    def problem(self) -> pliant.StepProblem:
        """The step from the present state, with every contact that can close within it."""
        v = self.velocity.reshape(self.count, 6)
        force = np.zeros((self.count, 6))
        force[:, 2] = -GRAVITY * self.model.body_mass[1:]
        force[:, 3:] = -cross(v[:, 3:], np.einsum("bij,bj->bi", self._inertia, v[:, 3:]))
        ahead = v - [0.0, 0.0, self.step * GRAVITY, 0.0, 0.0, 0.0]
        contacts = self._contacts(ahead)
        return pliant.StepProblem(self._mass, v.ravel(), force.ravel(), self.step, [contacts])

    def advance(self, velocity: Array) -> None:
        """q1 = q0 (+) h v1."""
        self.data.qvel[:] = velocity
        mujoco.mj_integratePos(self.model, self.data.qpos, velocity, self.step)

    def _contacts(self, ahead: Array) -> pliant.Contact:
        """ahead: about the velocities at the end of the step, (bodies, 6), as if there were no contacts."""
        reach = self._reach(ahead)
        model, data = self.model, self.data
        # one margin for all: versions of MuJoCo differ in how they combine two of them
        model.geom_margin[:] = min(MARGIN, 2.0 * float(reach.max()))
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        frames = Frames(data.xpos, data.xmat.reshape(-1, 3, 3))
        contacts = self._manifold.update(self._found(), frames, reach)
        jacobian = self._jacobian(contacts, frames)
        return pliant.Contact(jacobian, contacts.gap, self.law, self.friction, name="contacts", ids=contacts.name)

    def _found(self) -> Contacts:
        """What MuJoCo reports, not yet named."""
        contact = self.data.contact
        geoms = np.array(contact.geom, dtype=np.int64).reshape(-1, 2)
        return Contacts(
            pair=geoms[:, 0] * self.model.ngeom + geoms[:, 1],
            bodies=self.model.geom_bodyid[geoms].astype(np.int64),
            gap=np.array(contact.dist),
            point=np.array(contact.pos).reshape(-1, 3),
            axes=np.array(contact.frame).reshape(-1, 3, 3),
            name=np.full(len(geoms), -1),
        )

    def _reach(self, ahead: Array) -> Array:
        """How far the surface of each body can come within the step, (1 + bodies,), world first [m]."""
        speed = np.linalg.norm(ahead[:, :3], axis=1) + self._radius * np.linalg.norm(ahead[:, 3:], axis=1)
        return self.step * np.concatenate([[0.0], speed]) + SLACK * 0.5 * GRAVITY * self.step**2

    def _jacobian(self, contacts: Contacts, frames: Frames) -> csr_array:
        """Sparse (3 n, nv): velocity of the second body at the point less that of the first, along axes."""
        bodies, n = contacts.bodies, len(contacts.gap)
        data, columns = np.empty((n, 3, 2, 6)), np.empty((n, 3, 2, 6), np.int64)
        for side, sign in ((0, -1.0), (1, 1.0)):
            body = bodies[:, side]
            lever = (contacts.point - frames.position[body])[:, None, :]
            data[:, :, side, :3] = sign * contacts.axes
            data[:, :, side, 3:] = sign * cross(lever, contacts.axes) @ frames.rotation[body]
            columns[:, :, side] = (6 * (body - 1))[:, None, None] + np.arange(6)
        moving = np.broadcast_to((bodies > 0)[:, None, :, None], data.shape)
        ptr = np.concatenate([[0], np.cumsum(moving.sum(axis=(2, 3)).ravel())])
        return csr_array((data[moving], columns[moving], ptr), shape=(3 * n, 6 * self.count))


def _inertia(model: mujoco.MjModel) -> Array:
    """Of each body about its centre, in its own axes, (bodies, 3, 3) [kg m^2]."""
    turn = np.empty(9)
    out = np.empty((model.nbody - 1, 3, 3))
    for b in range(1, model.nbody):
        mujoco.mju_quat2Mat(turn, model.body_iquat[b])
        R = turn.reshape(3, 3)
        inertia = R * model.body_inertia[b] @ R.T
        out[b - 1] = 0.5 * (inertia + inertia.T)
    return out


def _block_diagonal(mass: Array, inertia: Array) -> csr_array:
    blocks = np.zeros((len(mass), 6, 6))
    blocks[:, :3, :3] = mass[:, None, None] * np.eye(3)
    blocks[:, 3:, 3:] = inertia
    n = len(mass)
    columns = np.broadcast_to(6 * np.arange(n)[:, None, None] + np.arange(6), (n, 6, 6))
    return csr_array((blocks.ravel(), columns.ravel(), 6 * np.arange(6 * n + 1)), shape=(6 * n, 6 * n))
