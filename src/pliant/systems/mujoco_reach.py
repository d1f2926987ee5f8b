"""Which contacts and limits could close within the step, and which only seem to.

The gap within which contacts are found, and the margin of limits, follow the speeds, rotation included. A contact that
is found that way has the normal of the start of the step, along which bodies seem to meet that in truth pass each
other, or meet sooner or later than they seem to: where a step is long for its geoms, an open contact that receives a
force is followed along the way without it, by conservative advancement.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from pliant.inputs import Array
from pliant.systems._compile import kernel
from pliant.systems.mujoco_aside import Aside
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_surfaces import PLANE, SPHERE

SPARE: Final = 1.1  # on the way that a geom can go
SKIN: Final = 0.02  # of its radius that is covered in any case
FURTHEST: Final = 1e6  # [m] that is looked ahead at most: MuJoCo counts the cells of a height field on the way
LEAST: Final = 1e-4  # [m, rad] within which limits have rows
TOUCHING: Final = 1e-4  # of the way of the step
ROUNDS: Final = 100  # of advancement; it slows down where bodies graze each other, and then counts as a touch
SPUN: Final = 1.0  # [rad] within a step, about a contact that need not be where it was at its start
SHORT: Final = 0.2  # of its radius that a geom may go in a step for its contacts to be taken as they seem
BENT: Final = 0.01  # of a gap, by which the way to a touch may differ from a straight one
BALL: Final = 1  # mjJNT_BALL


class Tree(NamedTuple):
    """Bodies, geoms and pairs of geoms of a model."""

    parent: np.ndarray  # (nbody,)
    dofadr: np.ndarray
    dofnum: np.ndarray
    root: np.ndarray
    body: np.ndarray  # (ngeom,)
    rbound: Array
    first: np.ndarray  # (npair,)
    second: np.ndarray


class Limits(NamedTuple):
    """Joints of a model, and which of them have a range."""

    limited: np.ndarray
    type: np.ndarray  # (njnt,)
    dof: np.ndarray
    qpos: np.ndarray
    range: Array  # (njnt, 2)


class Reach:
    """The gaps and margins of a twin, as the user set them and as the step needs them."""

    def __init__(self, model: Any, aside: Aside, *, limits: bool) -> None:
        """limits: False leaves their margins alone, on which MuJoCo's references depend."""
        self._twin, self._aside, self._wide = aside.twin, aside, limits
        self.geom_gap, self.pair_gap = model.geom_gap.copy(), model.pair_gap.copy()
        self.joint_margin, self.tendon_margin = model.jnt_margin.copy(), model.tendon_margin.copy()
        self._h = float(model.opt.timestep)
        self._moving = (model.body_weldid[model.geom_bodyid] != 0).astype(float)
        self.tree = Tree(
            *(getattr(model, name).copy() for name in (
                "body_parentid", "body_dofadr", "body_dofnum", "body_rootid", "geom_bodyid", "geom_rbound",
                "pair_geom1", "pair_geom2",
            ))
        )  # fmt: skip
        joints = ("jnt_type", "jnt_dofadr", "jnt_qposadr", "jnt_range")
        limited = np.flatnonzero(model.jnt_limited) if limits else np.zeros(0, np.int64)
        self.limits = Limits(limited, *(getattr(model, name).copy() for name in joints))
        self._strings = np.flatnonzero(model.tendon_limited)
        # Adhesion actuators count the contacts within the gap: theirs stays as it is.
        self.fixed = bool(np.any(model.actuator_trntype == mujoco().mjtTrn.mjTRN_BODY))
        self.fall = self._h * float(np.linalg.norm(model.opt.gravity))
        self._radius = np.where(model.geom_rbound > 0.0, model.geom_rbound, np.inf)
        self._type = model.geom_type.copy()
        self._speed = np.zeros(model.ngeom)
        self.way = np.zeros(model.ngeom)  # how far any point of a geom can go in the step
        self.cvel, self.rate = np.zeros((model.nbody, 6)), np.zeros(model.ngeom)  # to work with

    @property
    def special(self) -> list[str]:
        """What compiled steps are not for: they look after joints and geoms only, unless laws are MuJoCo's."""
        found = {"limits of tendons": len(self._strings), "contact pairs": len(self.pair_gap)}
        return [name for name, there in found.items() if there]

    @property
    def arrays(self) -> tuple[Array, ...]:
        """In the order of `mujoco_site`."""
        return (
            self._moving, self.geom_gap, self.pair_gap, self.joint_margin, self.tendon_margin, self._radius,
            self._speed, self.way, self.cvel, self.rate,
        )  # fmt: skip

    def cover(self, model: Any, data: Any, v: Array | None = None) -> None:
        """Gaps and margins that cover the way of the step at the speeds of its start; with v, (nv,), at those too."""
        mj, s = mujoco(), self._twin
        if v is None:
            mj.mj_kinematics(s, data)
            mj.mj_comPos(s, data)
            self._speed[:] = 0.0
        faster = data.qvel if v is None else np.maximum(np.abs(data.qvel), np.abs(v))
        widen(
            self._h, self.tree, data.cdof, data.subtree_com, data.geom_xpos, data.qvel if v is None else v,
            self._moving, self.fall, self.geom_gap, model.geom_margin, self.pair_gap, self.fixed,
            self._speed, s.geom_gap, s.pair_gap, s.body_margin, self.way, self.cvel,
        )  # fmt: skip
        if not self._wide:
            return
        widen_limits(self._h, self.limits, faster, self.joint_margin, s.jnt_margin)
        if not len(self._strings):
            return
        ways = SPARE * self._h * np.abs(faster) + LEAST
        mj.mj_tendon(s, data)
        for i in self._strings:
            part = slice(model.ten_J_rowadr[i], model.ten_J_rowadr[i] + model.ten_J_rownnz[i])
            way = float(np.abs(data.ten_J[part]) @ ways[model.ten_J_colind[part]])
            s.tendon_margin[i] = self.tendon_margin[i] + way

    def restore(self) -> None:
        """The margins of limits as the user set them."""
        self._twin.jnt_margin[:], self._twin.tendon_margin[:] = self.joint_margin, self.tendon_margin

    def outrun(self, data: Any, v: Array) -> bool:
        """Whether a step with v goes further than is covered, to a limit or with a geom: thrown by an impact, say."""
        return bool(
            outruns(
                self._h, self.tree, self.limits, data.cdof, data.subtree_com, data.geom_xpos, data.qpos, v,
                self._moving, self.way, self._twin.jnt_margin, self.cvel, self.rate,
            )
        )  # fmt: skip

    def bends(self, data: Any, pair: tuple[int, int]) -> bool:
        """Whether the way of the step is long for two geoms, and they need not touch as it seems."""
        cvel = body_velocities(self.tree, data.cdof, data.qvel)
        seen = touches_as_seen(
            self._h, self.tree, self._type, cvel, data.subtree_com, data.geom_xpos, pair[0], pair[1]
        )  # fmt: skip
        return self.bent(*pair) and not seen

    def turns(self, data: Any, v: Array) -> Array:
        """How far each body turns within the step at the velocity v [rad], (nbody,)."""
        return self._h * body_spins(self.tree, data.cdof, v)

    def bent(self, a: int, b: int) -> bool:
        """Whether the way of the step is long for one of two geoms."""
        return bool(is_long(self._h, self._speed, self._radius, a, b))

    def approach(self, data: Any, v: Array, pair: tuple[int, int]) -> float:
        """A bound on how fast two geoms come nearer to each other at the velocity v."""
        cvel = body_velocities(self.tree, data.cdof, v)
        return float(approach(self._h, self.tree, cvel, data.subtree_com, data.geom_xpos, *pair))

    def touch_time(self, data: Any, v: Array, pair: tuple[int, int], margin: float, speed: float) -> float:
        """When two geoms that move with v, (nv,), touch within the step [s]; inf if they do not.

        speed: a bound on how fast they approach.
        """
        mj, s, scratch = mujoco(), self._twin, self._aside.of(data)
        h = s.opt.timestep
        t, way = 0.0, h * speed
        for _ in range(ROUNDS):
            scratch.qpos[:] = data.qpos
            mj.mj_integratePos(s, scratch.qpos, v, t)
            mj.mj_kinematics(s, scratch)
            distance = mj.mj_geomDistance(s, scratch, *pair, way + margin, None) - margin
            if distance <= TOUCHING * way:
                break
            t += distance / speed
            if t >= h:
                return np.inf
        return t


@kernel
def body_velocities(tree: Tree, cdof: Array, v: Array) -> Array:
    """MuJoCo's cvel at v, (nbody, 6), angular first."""
    cvel = np.empty((tree.parent.size, 6))
    find_velocities(tree, cdof, v, cvel)
    return cvel


@kernel
def find_velocities(tree: Tree, cdof: Array, v: Array, cvel: Array) -> None:
    """The same, filled in; bodies come after their parents."""
    for k in range(6):
        cvel[0, k] = 0.0
    for b in range(1, tree.parent.size):
        for k in range(6):
            cvel[b, k] = cvel[tree.parent[b], k]
        for i in range(tree.dofadr[b], tree.dofadr[b] + tree.dofnum[b]):
            for k in range(6):
                cvel[b, k] += cdof[i, k] * v[i]


@kernel
def geom_speeds(tree: Tree, cdof: Array, com: Array, xpos: Array, v: Array, cvel: Array, out: Array) -> None:
    """|velocity of the centre| + |angular velocity| times the radius. cvel: (nbody, 6), to work with."""
    find_velocities(tree, cdof, v, cvel)
    for g in range(tree.body.size):
        b = tree.body[g]
        x, y, z = centre_velocity(tree, cvel, com, xpos, g)
        out[g] = max(out[g], np.sqrt(x * x + y * y + z * z) + _spin(cvel[b]) * tree.rbound[g])


@kernel
def body_spins(tree: Tree, cdof: Array, v: Array) -> Array:
    """|angular velocity| of each body at v."""
    cvel, out = body_velocities(tree, cdof, v), np.empty(tree.parent.size)
    for b in range(out.size):
        out[b] = _spin(cvel[b])
    return out


@kernel
def is_long(h: float, speed: Array, radius: Array, a: int, b: int) -> bool:
    return h * (speed[a] + speed[b]) > SHORT * min(radius[a], radius[b])


@kernel
def touches_as_seen(
    h: float, tree: Tree, type: np.ndarray, cvel: Array, com: Array, xpos: Array, a: int, b: int
) -> bool:
    """Whether two geoms touch along the normal and at the time that the start of the step tells, or nearly so: a
    sphere and a plane do, and two spheres that come head on. A way s aside changes a gap g by s^2 / 2 (r_a + r_b)."""
    if type[a] == PLANE or type[b] == PLANE:
        return type[a] == SPHERE or type[b] == SPHERE
    if type[a] != SPHERE or type[b] != SPHERE:
        return False
    ax, ay, az = centre_velocity(tree, cvel, com, xpos, a)
    bx, by, bz = centre_velocity(tree, cvel, com, xpos, b)
    x, y, z = bx - ax, by - ay, bz - az
    nx, ny, nz = xpos[b, 0] - xpos[a, 0], xpos[b, 1] - xpos[a, 1], xpos[b, 2] - xpos[a, 2]
    far = np.sqrt(nx * nx + ny * ny + nz * nz)
    along, reach = (x * nx + y * ny + z * nz) / far, tree.rbound[a] + tree.rbound[b]
    aside = max(x * x + y * y + z * z - along * along, 0.0)
    return h * h * aside <= 2.0 * BENT * reach * (far - reach)


@kernel
def approach(h: float, tree: Tree, cvel: Array, com: Array, xpos: Array, a: int, b: int) -> float:
    """A bound on how fast two geoms come nearer to each other. Of two that fall together it is small; centres that go
    in circles turn their velocities on the way."""
    ax, ay, az = centre_velocity(tree, cvel, com, xpos, a)
    bx, by, bz = centre_velocity(tree, cvel, com, xpos, b)
    spin_a, spin_b = _spin(cvel[tree.body[a]]), _spin(cvel[tree.body[b]])
    spin = spin_a * (tree.rbound[a] + h * np.sqrt(ax * ax + ay * ay + az * az))
    spin += spin_b * (tree.rbound[b] + h * np.sqrt(bx * bx + by * by + bz * bz))
    return np.sqrt((ax - bx) ** 2 + (ay - by) ** 2 + (az - bz) ** 2) + spin


@kernel
def _spin(cvel: Array) -> float:
    return np.sqrt(cvel[0] ** 2 + cvel[1] ** 2 + cvel[2] ** 2)


@kernel
def centre_velocity(tree: Tree, cvel: Array, com: Array, xpos: Array, g: int) -> tuple[float, float, float]:
    b = tree.body[g]
    c = tree.root[b]
    r0, r1, r2 = xpos[g, 0] - com[c, 0], xpos[g, 1] - com[c, 1], xpos[g, 2] - com[c, 2]
    w0, w1, w2 = cvel[b, 0], cvel[b, 1], cvel[b, 2]
    return cvel[b, 3] + w1 * r2 - w2 * r1, cvel[b, 4] + w2 * r0 - w0 * r2, cvel[b, 5] + w0 * r1 - w1 * r0


@kernel
def outruns(
    h: float, tree: Tree, limits: Limits, cdof: Array, com: Array, xpos: Array, q: Array, v: Array,
    moving: Array, way: Array, margin: Array, cvel: Array, speed: Array,
) -> bool:  # fmt: skip
    """Whether a hinge or slide goes past an end of its range that has no row, or a geom further than its way. cvel,
    (nbody, 6), and speed, (ngeom,): to work with."""
    for j in limits.limited:
        if limits.type[j] != BALL:
            here, on = q[limits.qpos[j]], h * v[limits.dof[j]]
            below, above = here - limits.range[j, 0], limits.range[j, 1] - here
            if (below >= margin[j] and below + on < 0.0) or (above >= margin[j] and above - on < 0.0):
                return True
    for g in range(speed.size):
        speed[g] = 0.0
    geom_speeds(tree, cdof, com, xpos, v, cvel, speed)
    worst = 0.0
    for g in range(speed.size):
        worst = max(worst, h * speed[g] * moving[g] - way[g])
    return worst > 0.0


@kernel
def widen(
    h: float, tree: Tree, cdof: Array, com: Array, xpos: Array, v: Array, moving: Array, fall: float,
    user_gap: Array, margin: Array, user_pair: Array, fixed: bool,
    speed: Array, gap: Array, pair: Array, body_margin: Array, way: Array, cvel: Array,
) -> None:  # fmt: skip
    """gap = user's + the way of the geom; body_margin covers the widest geom of a body. speed only grows. cvel:
    (nbody, 6), to work with."""
    geom_speeds(tree, cdof, com, xpos, v, cvel, speed)
    for b in range(body_margin.size):
        body_margin[b] = 0.0
    for g in range(gap.size):
        way[g] = min(FURTHEST, moving[g] * (SPARE * h * (speed[g] + fall) + SKIN * tree.rbound[g]))
        gap[g] = user_gap[g] + (0.0 if fixed else way[g])
        b = tree.body[g]
        body_margin[b] = max(body_margin[b], gap[g] + margin[g])
    for p in range(pair.size):
        pair[p] = user_pair[p] + (0.0 if fixed else way[tree.first[p]] + way[tree.second[p]])


@kernel
def widen_limits(h: float, limits: Limits, v: Array, user: Array, margin: Array) -> None:
    for j in limits.limited:
        dof = limits.dof[j]
        way = abs(v[dof])
        if limits.type[j] == BALL:
            way += abs(v[dof + 1]) + abs(v[dof + 2])
        margin[j] = user[j] + SPARE * h * way + LEAST
