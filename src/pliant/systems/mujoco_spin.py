"""Free bodies turn as Euler's equations say, not as their torque at the start of the step does.

    I dw/dt = -w x I w,   dR/dt = R [w]x        over the step, alone, in short steps of the classical Runge-Kutta

The torque -w x I w taken once per step feeds energy into a body that tumbles. What inertia alone does within the step
is integrated instead. It enters as the force `push` in place of the torque; and as `shift`, by which the average
velocity of the step differs from the one at its end: positions and the rates of constraints follow the average.
"""

from typing import Any, NamedTuple

import numpy as np

from pliant.inputs import Array
from pliant.systems._compile import kernel
from pliant.systems.mujoco_door import mujoco

TURN = 0.05  # radians of a short step
MOST = 2000  # short steps; of a body that needs more, only the turn is followed
Vector = tuple[float, float, float]  # not arrays: each would be allocated
Quaternion = tuple[float, float, float, float]
EVEN = 1e-12  # of all moments of inertia, by which they differ where rounding alone makes them


class Bodies(NamedTuple):
    """n bodies that are free and carry no others but those that are fixed to them, with which they are one."""

    body: np.ndarray  # (n,)
    dof: np.ndarray  # (n,) the first of six
    mass: Array  # (n,)
    inertia: Array  # (n, 3, 3) about the centre of mass, in the frame of the body
    inverse: Array  # (n, 3, 3)
    offset: Array  # (n, 3) of the centre of mass from the origin


def free_bodies(model: Any) -> Bodies:
    """Bodies on a free joint that carry no joint, have no armature, and do not turn alike about every axis."""
    found = []
    parts, moves = np.bincount(model.body_weldid), np.bincount(model.dof_treeid) if model.nv else np.zeros(0, np.int64)
    even = (np.ptp(model.body_inertia, axis=1) == 0.0) & ~model.body_ipos.any(axis=1)
    for j in np.flatnonzero(model.jnt_type == mujoco().mjtJoint.mjJNT_FREE):
        dof, body = int(model.jnt_dofadr[j]), int(model.jnt_bodyid[j])
        alone = moves[model.dof_treeid[dof]] == 6
        if alone and not (parts[body] == 1 and even[body]) and not model.dof_armature[dof : dof + 6].any():
            whole = _whole(model, body)
            if np.ptp(np.linalg.eigvalsh(whole.inertia)) > EVEN * np.trace(whole.inertia) or whole.offset.any():
                found.append((body, dof, whole.mass, whole.inertia, np.linalg.inv(whole.inertia), whole.offset))
    shapes = (), (), (), (3, 3), (3, 3), (3,)
    kinds = np.int64, np.int64, float, float, float, float
    return Bodies(
        *(
            np.array([one[k] for one in found], kind).reshape(len(found), *shape)
            for k, (kind, shape) in enumerate(zip(kinds, shapes, strict=True))
        )
    )


class _Whole(NamedTuple):
    """A rigid body: mass, inertia about the centre of mass and offset of that, in the frame of its first part."""

    mass: float
    inertia: Array
    offset: Array


def _whole(model: Any, body: int) -> _Whole:
    """A body and all that is fixed to it."""
    place: dict[int, Array] = {body: np.zeros(3)}
    turn: dict[int, Array] = {body: np.eye(3)}
    masses, centres, inertias = [], [], []
    for part in map(int, np.flatnonzero(model.body_weldid == body)):  # parents first
        if part != body:
            up = int(model.body_parentid[part])
            place[part] = place[up] + turn[up] @ model.body_pos[part]
            turn[part] = turn[up] @ _matrix(model.body_quat[part])
        R = turn[part] @ _matrix(model.body_iquat[part])
        masses.append(float(model.body_mass[part]))
        centres.append(place[part] + turn[part] @ model.body_ipos[part])
        inertias.append(R * model.body_inertia[part] @ R.T)
    mass = sum(masses)
    centre = centres[0] if len(masses) == 1 else np.average(centres, axis=0, weights=masses)
    inertia = np.zeros((3, 3))
    for m, c, I in zip(masses, centres, inertias, strict=True):
        d = c - centre
        inertia += I + m * ((d @ d) * np.eye(3) - np.outer(d, d))
    return _Whole(mass, inertia, centre)


def _matrix(quaternion: Array) -> Array:
    R = np.zeros(9)
    mujoco().mju_quat2Mat(R, quaternion)
    return R.reshape(3, 3)


def inertial(bodies: Bodies, xmat: Array, qvel: Array) -> Array:
    """What inertia alone does to the bodies at the start of a step, (nv,): what `push` takes out of -qfrc_bias."""
    force = np.zeros(len(qvel))
    for body, d, m, I, c in zip(bodies.body, bodies.dof, bodies.mass, bodies.inertia, bodies.offset, strict=True):
        w = qvel[d + 3 : d + 6]
        swing = np.cross(w, np.cross(w, c))
        force[d : d + 3] = -m * xmat[body].reshape(3, 3) @ swing
        force[d + 3 : d + 6] = -np.cross(c, m * swing) - np.cross(w, I @ w)
    return force


@kernel
def spin(h: float, bodies: Bodies, xmat: Array, qvel: Array, push: Array, shift: Array) -> bool:
    """Fill push and shift, (nv,), on the velocities of the bodies; linear ones are in the world, angular in the body.
    False: none of them turns."""
    turns = False
    for k in range(bodies.body.size):
        d, R = bodies.dof[k], xmat[bodies.body[k]]
        w0 = qvel[d + 3], qvel[d + 4], qvel[d + 5]
        speed = np.sqrt(w0[0] ** 2 + w0[1] ** 2 + w0[2] ** 2)
        if speed == 0.0:
            continue
        turns = True
        I, inverse, m = bodies.inertia[k], bodies.inverse[k], bodies.mass[k]
        c = bodies.offset[k, 0], bodies.offset[k, 1], bodies.offset[k, 2]
        w, q = w0, (1.0, 0.0, 0.0, 0.0)
        if h * speed > MOST * TURN:
            q = _steady(h, w0, speed)
        else:
            n = int(max(1.0, np.ceil(h * speed / TURN)))
            for _ in range(n):
                w, q = _short(h / n, I, inverse, w, q)
        # All in the frame of the start. The centre of mass goes straight, with v + w0 x c.
        c1 = _turned(q, c)
        lag = _cross(w0, c)
        gain = _plus(lag, -1.0, _turned(q, _cross(w, c)))  # of the origin's velocity
        move = _plus(_plus(lag, 1.0 / h, _plus(c, -1.0, c1)), -1.0, gain)
        turn = _log(q)
        swing = _cross(w0, lag)
        dw = _plus(w, -1.0, w0)
        round_ = _cross(dw, c)
        # push = what -bias holds, taken out, and M (dv, dw) / h
        lin = _plus(swing, 1.0 / h, _plus(gain, 1.0, round_))
        lever = _cross(c, _plus(swing, 1.0 / h, gain))
        kept = _cross(w0, _times(I, w0))
        gained = _plus(_times(I, dw), m, _cross(c, round_))
        for i in range(3):
            push[d + 3 + i] = m * lever[i] + kept[i] + gained[i] / h
            shift[d + 3 + i] = turn[i] / h - w[i]
            for j in range(3):
                push[d + i] += R[3 * i + j] * m * lin[j]
                shift[d + i] += R[3 * i + j] * move[j]
    return turns


@kernel
def _steady(h: float, w: Vector, speed: float) -> Quaternion:
    """The turn of a body that is too fast for a step to follow: it keeps its axis and its energy."""
    half = 0.5 * np.fmod(h * speed, 4.0 * np.pi)
    s = np.sin(half) / speed
    return np.cos(half), s * w[0], s * w[1], s * w[2]


@kernel
def _short(h: float, I: Array, inverse: Array, w: Vector, q: Quaternion) -> tuple[Vector, Quaternion]:
    """One short step."""
    a1, b1 = _slope(I, inverse, w, q)
    a2, b2 = _slope(I, inverse, _plus(w, 0.5 * h, a1), _plus4(q, 0.5 * h, b1))
    a3, b3 = _slope(I, inverse, _plus(w, 0.5 * h, a2), _plus4(q, 0.5 * h, b2))
    a4, b4 = _slope(I, inverse, _plus(w, h, a3), _plus4(q, h, b3))
    w = _plus(w, h / 6.0, _plus(_plus(a1, 2.0, a2), 1.0, _plus(a4, 2.0, a3)))
    q = _plus4(q, h / 6.0, _plus4(_plus4(b1, 2.0, b2), 1.0, _plus4(b4, 2.0, b3)))
    size = np.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    return w, (q[0] / size, q[1] / size, q[2] / size, q[3] / size)


@kernel
def _slope(I: Array, inverse: Array, w: Vector, q: Quaternion) -> tuple[Vector, Quaternion]:
    a = _times(inverse, _cross(w, _times(I, w)))
    dq = (
        0.5 * (-q[1] * w[0] - q[2] * w[1] - q[3] * w[2]),
        0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]),
        0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]),
        0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]),
    )
    return (-a[0], -a[1], -a[2]), dq


@kernel
def _turned(q: Quaternion, x: Vector) -> Vector:
    u = q[1], q[2], q[3]
    t = _cross(u, x)
    return _plus(_plus(x, 2.0 * q[0], t), 2.0, _cross(u, t))


@kernel
def _log(q: Quaternion) -> Vector:
    """The rotation vector; of a body that turns by more than half a turn, the short way round."""
    s = np.sqrt(q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    if s < 1e-150:
        return 0.0, 0.0, 0.0
    angle = 2.0 * np.arctan2(s, q[0])
    if angle > np.pi:
        angle -= 2.0 * np.pi
    return angle / s * q[1], angle / s * q[2], angle / s * q[3]


@kernel
def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _times(A: Array, x: Vector) -> Vector:
    return (
        A[0, 0] * x[0] + A[0, 1] * x[1] + A[0, 2] * x[2],
        A[1, 0] * x[0] + A[1, 1] * x[1] + A[1, 2] * x[2],
        A[2, 0] * x[0] + A[2, 1] * x[1] + A[2, 2] * x[2],
    )


@kernel
def _plus(a: Vector, s: float, b: Vector) -> Vector:
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@kernel
def _plus4(a: Quaternion, s: float, b: Quaternion) -> Quaternion:
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2], a[3] + s * b[3]
