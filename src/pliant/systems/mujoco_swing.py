"""Trees whose own inertia changes much of their motion within a step: what it does alone is followed.

    M(q) dv/dt = -c(q, v),   dq/dt = v        over the step, in short steps of the classical Runge-Kutta; each tree is
                                              then given the energy that it had

The forces c, of Coriolis and of what turns, do no work; taken once, at the start of a step, they add the energy
h^2 c' inv(M) c / 2. Where that is little beside the energy of motion they are taken so, as MuJoCo's Euler does. Where
it is not, they enter as `mujoco_spin` has them for free bodies: as a force `push` in their place, and as the `shift` of
the average velocity of the step from the one at its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems._compile import kernel
from pliant.systems.mujoco_aside import Aside
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_flat import Mass

LITTLE = 1e-5  # radians, or metres, of all joints together in a step: what moves less kicks nothing
KICK = 0.02  # of the energy of motion, twice what a step may add
TURN = 0.1  # radians of a short step
MOST = 60  # short steps; what is faster than they can follow keeps its velocities
PARTS, WEIGHTS = (0.0, 0.5, 0.5, 1.0), (1.0 / 6.0, 2.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0)  # of the classical Runge-Kutta
FAITHFUL = 1.5  # times the energy, or less of it, within which they have followed


class Swing:
    """arrays: the velocities of trees with several of them, but for free bodies, which `mujoco_spin` turns, (k,); mass
    of what hangs on a body, (nbody,); body of a velocity, (nv,); root of a body, (nbody,); gravity, (3,).
    taken: (nv,) the forces c that the last `follow` took out."""

    def __init__(self, model: Any, aside: Aside) -> None:
        self._twin, self._aside, self._own = aside.twin, aside, _of_trees(model)
        weightless = int(model.opt.disableflags) & mujoco().mjtDisableBit.mjDSBL_GRAVITY
        self.arrays = (
            np.flatnonzero(self._own),
            np.array(model.body_subtreemass),
            model.dof_bodyid.astype(np.int64),
            model.body_rootid.astype(np.int64),
            np.zeros(3) if weightless else np.array(model.opt.gravity),
        )
        self.taken = np.zeros(model.nv)

    def follow(self, data: Any, h: float, mass: Mass, push: Array, shift: Array) -> bool:
        """Add to push and shift, (nv,), where it is needed; False: it is not."""
        self.taken[:] = 0.0
        if not moves(h, self.arrays[0], data.qvel):
            return False
        c, x = np.zeros(len(push)), np.zeros((1, len(push)))
        own_force(*self.arrays, data.cdof, data.subtree_com, data.qfrc_bias, c)
        mujoco().mj_solveM(self._twin, data, x, c[None])
        if not kicks(h, mass, self.arrays[0], data.qvel, c, x[0]):
            return False
        self.taken[:] = c
        push += c
        gravity = self._twin.opt.gravity.copy()
        try:
            self._twin.opt.gravity[:] = 0.0
            end = self._flow(data, h)
        finally:
            self._twin.opt.gravity[:] = gravity
        if end is not None:
            q, v = end
            gain, average = np.zeros(len(push)), np.zeros(len(push))
            mujoco().mj_mulM(self._twin, data, gain, v - data.qvel)
            mujoco().mj_differentiatePos(self._twin, average, h, data.qpos, q)
            push[self._own] += gain[self._own] / h
            shift[self._own] += (average - v)[self._own]
        return True

    @np.errstate(over="ignore", invalid="ignore")
    def _flow(self, data: Any, h: float) -> tuple[Array, Array] | None:
        """Where inertia alone leads within the step; None: it is too fast."""
        model, aside = self._twin, self._aside.of(data)
        n = np.ceil(h * np.abs(data.cvel[:, :3]).max() / TURN)
        if not n <= MOST:
            return None
        q, v, dt = np.array(data.qpos), np.array(data.qvel), h / max(n, 1.0)
        for _ in range(int(max(n, 1.0))):
            rate, slope, rates, slopes = v, np.zeros(len(v)), np.zeros(len(v)), np.zeros(len(v))
            for part, weight in zip(PARTS, WEIGHTS, strict=True):
                there = q.copy()
                if part:
                    mujoco().mj_integratePos(model, there, rate, part * dt)
                rate = v + part * dt * slope
                slope = _slope(model, aside, there, rate)
                rates += weight * rate
                slopes += weight * slope
            mujoco().mj_integratePos(model, q, rates, dt)
            v = v + dt * slopes
        if not np.isfinite(np.square(v)).all():
            return None
        _place(model, aside, q)
        before, after = self._energies(self._twin, data, data.qvel), self._energies(model, aside, v)
        if not np.all((after > before / FAITHFUL) & (after < before * FAITHFUL) | (before == after)):
            return None
        return q, v * np.sqrt(np.divide(before, after, out=np.ones(len(before)), where=after > 0.0))

    def _energies(self, model: Any, data: Any, v: Array) -> Array:
        """Twice the energy of motion of the tree of each velocity, (nv,)."""
        momentum = np.zeros(len(v))
        mujoco().mj_mulM(model, data, momentum, v)
        return np.bincount(model.dof_treeid, v * momentum)[model.dof_treeid]


def _place(model: Any, data: Any, q: Array) -> None:
    """Where bodies are, and M."""
    mj = mujoco()
    data.qpos[:] = q
    mj.mj_kinematics(model, data)
    mj.mj_comPos(model, data)
    mj.mj_makeM(model, data)


def _slope(model: Any, data: Any, q: Array, v: Array) -> Array:
    """-inv(M) c, of a model without weight."""
    mj = mujoco()
    _place(model, data, q)
    data.qvel[:] = v
    mj.mj_factorM(model, data)
    mj.mj_comVel(model, data)
    c, x = np.zeros(len(v)), np.zeros((1, len(v)))
    mj.mj_rne(model, data, 0, c)
    mj.mj_solveM(model, data, x, -c[None])
    return x[0]


def _of_trees(model: Any) -> np.ndarray:
    """(nv,) of bool."""
    if not model.nv:
        return np.zeros(0, bool)
    size = np.bincount(model.dof_treeid)[model.dof_treeid]
    free = model.jnt_type[model.dof_jntid] == mujoco().mjtJoint.mjJNT_FREE
    return (size > 1) & ~(free & (size == 6) & (model.dof_armature == 0.0))


@kernel
def moves(h: float, dofs: Ints, v: Array) -> bool:
    """Whether these velocities are worth a look at what they kick."""
    way = 0.0
    for j in dofs:
        way += h * abs(v[j])
    return way > LITTLE


@kernel
def own_force(
    dofs: Ints, heavy: Array, body: Ints, root: Ints, gravity: Array, cdof: Array, com: Array, bias: Array, c: Array
) -> None:
    """c := the bias without weight, (nv,); 0 on other velocities than dofs. heavy: (nbody,), see `Swing`."""
    for j in range(c.size):
        c[j] = 0.0
    for j in dofs:
        b = body[j]
        top = root[b]
        x, y, z = com[b, 0] - com[top, 0], com[b, 1] - com[top, 1], com[b, 2] - com[top, 2]
        along = gravity[0] * (cdof[j, 3] + cdof[j, 1] * z - cdof[j, 2] * y)
        along += gravity[1] * (cdof[j, 4] + cdof[j, 2] * x - cdof[j, 0] * z)
        along += gravity[2] * (cdof[j, 5] + cdof[j, 0] * y - cdof[j, 1] * x)
        c[j] = bias[j] + heavy[b] * along


@kernel
def kicks(h: float, mass: Mass, dofs: Ints, v: Array, c: Array, x: Array) -> bool:
    """Whether c, taken once, adds much to the energy of motion. x: inv(M) c."""
    gain = motion = 0.0
    for j in dofs:
        gain += c[j] * x[j]
        for e in range(mass.ptr[j], mass.ptr[j + 1]):
            motion += v[j] * mass.M[mass.place[e]] * v[mass.idx[e]]
    return h * h * gain > KICK * motion
