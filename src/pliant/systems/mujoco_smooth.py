"""Springs, dampers, servos and drag, implicit: what would bring stiffness back if it were taken at the start.

    joint springs and dampers   into the inertia: M + h D + h^2 K, and -h K v0 into the force
    tendons, actuators          rows of their own, bilateral, or clipped where their force has a range
    drag of a tree              one row along its force f: B = 1 / P, P = -f v0 its power; it can never reverse a motion

An actuator's slopes K = -dF/dlength and B = -dF/dvelocity are differences of MuJoCo's own forces, whatever its type.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from pliant.flat import BILATERAL, UNILATERAL
from pliant.inputs import Array, Ints
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_flat import (
    EXTRA_COLUMNS,
    EXTRA_DAMPING,
    EXTRA_KIND,
    EXTRA_LOWER,
    EXTRA_OFFSET,
    EXTRA_STIFFNESS,
    EXTRA_UPPER,
    EXTRA_VALUE,
    Extra,
)
from pliant.systems.mujoco_servos import DIFFERENCE, Pull, Servos, has_ranges, servo_rows


class Passive:
    """What of the model's springs, dampers and actuators does not depend on the state."""

    def __init__(self, model: Any) -> None:
        mj = mujoco()
        off, flags = mj.mjtDisableBit, int(model.opt.disableflags)
        self.springs = not flags & off.mjDSBL_SPRING
        self.dampers = not flags & off.mjDSBL_DAMPER
        self.damping, self.damping_poly = model.dof_damping.copy(), model.dof_dampingpoly.copy()
        self.tendon_damping, self.tendon_poly = model.tendon_damping.copy(), model.tendon_dampingpoly.copy()
        self._inherit(model)
        self.joint_springs = np.flatnonzero((model.jnt_stiffness != 0.0) | model.jnt_stiffnesspoly.any(axis=1))
        springy = (model.tendon_stiffness != 0.0) | model.tendon_stiffnesspoly.any(axis=1)
        damped = (self.tendon_damping != 0.0) | self.tendon_poly.any(axis=1)
        self.tendons = np.flatnonzero((springy & self.springs) | (damped & self.dampers))
        feels = (model.actuator_gaintype != mj.mjtGain.mjGAIN_FIXED) | (
            model.actuator_biastype != mj.mjtBias.mjBIAS_NONE
        )
        self.actuated = bool(feels.any()) and not flags & off.mjDSBL_ACTUATION
        self.owner = np.repeat(np.arange(model.nactuator), model.actuator_outnum)  # of every output
        self.feels = feels[self.owner]
        limited = model.actuator_forcelimited[self.owner].astype(bool)
        self.lower = np.where(limited, model.actuator_forcerange[self.owner, 0], -np.inf)
        self.upper = np.where(limited, model.actuator_forcerange[self.owner, 1], np.inf)
        self._tendon_ranges(model)
        joint = model.dof_jntid
        self.servos = Servos(
            self.feels.astype(np.int64),
            self.lower,
            self.upper,
            model.jnt_actfrclimited[joint].astype(np.int64),
            model.jnt_actfrcrange[joint],
            model.jnt_actgravcomp[joint].astype(np.int64),
            *self._steady_slopes(model, feels),
        )
        self.drag = bool(model.opt.density > 0.0 or model.opt.viscosity > 0.0)
        # Most springs and dampers are linear: their slopes are known once and for all.
        self.curved = bool(self.damping_poly.any() or model.jnt_stiffnesspoly.any())
        self._slopes = self._joint_slopes(model, model.qpos0, np.zeros(model.nv))
        h = model.opt.timestep
        self.more = h * self._slopes[1] + h * h * self._slopes[0]
        self.implicit = bool(self.curved or self.more.any())

    @property
    def special(self) -> list[str]:
        """What compiled steps are not for: they know servos, and linear springs and dampers of joints."""
        found = {
            "springs or dampers of tendons": len(self.tendons), "fluid drag": self.drag,
            "springs or dampers that are not linear": self.curved,
        }  # fmt: skip
        return [name for name, there in found.items() if there]

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """More on the diagonal of M, K and D of joints, (nv,), as long as they are linear."""
        return self.more, *self._slopes

    def joints(self, model: Any, data: Any) -> tuple[Array, Array]:
        """K and D of joints, (nv,)."""
        return self._joint_slopes(model, data.qpos, data.qvel) if self.curved else self._slopes

    def _joint_slopes(self, model: Any, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        K, D = np.zeros(model.nv), np.zeros(model.nv)
        for j in self.joint_springs if self.springs else ():
            size = {0: 6, 1: 3}.get(int(model.jnt_type[j]), 1)  # free, ball
            at = model.jnt_qposadr[j]
            x = qpos[at] - model.qpos_spring[at] if size == 1 else 0.0  # balls as about their rest
            k = _slope(model.jnt_stiffness[j], model.jnt_stiffnesspoly[j], x)
            K[model.jnt_dofadr[j] : model.jnt_dofadr[j] + size] = k
        if self.dampers:
            D[:] = _slope(self.damping, self.damping_poly, np.abs(qvel))
        return K, D

    def _steady_slopes(self, model: Any, feels: np.ndarray) -> tuple[Array, Array]:
        """K and B of every output, if none depends on more than the model: forces u + b0 + b1 length + b2 velocity."""
        mj = mujoco()
        fixed = model.actuator_gaintype == mj.mjtGain.mjGAIN_FIXED
        bias = model.actuator_biastype
        affine = (bias == mj.mjtBias.mjBIAS_NONE) | (bias == mj.mjtBias.mjBIAS_AFFINE)
        if np.any(feels & ~(fixed & affine)) or np.any(model.actuator_outnum != 1):
            return NO_FORCE, NO_FORCE
        slopes = np.where(bias == mj.mjtBias.mjBIAS_AFFINE, -model.actuator_biasprm[:, 1:3].T, 0.0)
        return np.maximum(slopes[0], 0.0), np.maximum(slopes[1], 0.0)

    def _tendon_ranges(self, model: Any) -> None:
        """The range that a tendon sets to its actuator's force; actuators that share one keep MuJoCo's forces."""
        on = model.actuator_trntype == mujoco().mjtTrn.mjTRN_TENDON
        for a in np.flatnonzero(on):
            tendon, out = model.actuator_trnid[a, 0], model.actuator_outadr[a]
            if not model.tendon_actfrclimited[tendon]:
                continue
            if np.count_nonzero(on & (model.actuator_trnid[:, 0] == tendon)) > 1:
                self.feels[out] = False
            low, high = model.tendon_actfrcrange[tendon]
            self.lower[out], self.upper[out] = max(self.lower[out], low), min(self.upper[out], high)

    def _inherit(self, model: Any) -> None:
        """Dampers of actuators, which act on their joint or tendon."""
        mj = mujoco()
        joint = (int(mj.mjtTrn.mjTRN_JOINT), int(mj.mjtTrn.mjTRN_JOINTINPARENT))
        tendon = int(mj.mjtTrn.mjTRN_TENDON)
        for a in np.flatnonzero((model.actuator_damping != 0.0) | model.actuator_dampingpoly.any(axis=1)):
            kind, target = int(model.actuator_trntype[a]), int(model.actuator_trnid[a, 0])
            gear2 = model.actuator_gear[model.actuator_outadr[a], 0] ** 2
            if kind in joint:
                dofs = np.flatnonzero(model.dof_jntid == target)
                self.damping[dofs] += gear2 * model.actuator_damping[a]
                self.damping_poly[dofs] += gear2 * model.actuator_dampingpoly[a]
            elif kind == tendon:
                self.tendon_damping[target] += gear2 * model.actuator_damping[a]
                self.tendon_poly[target] += gear2 * model.actuator_dampingpoly[a]


class Smooth(NamedTuple):
    """more: (nv,) on the diagonal of M. force: (nv,). Then what the write-back needs."""

    more: Array
    force: Array
    extra: Extra
    stiffness: Array  # (nv,) K of joints
    damping: Array  # (nv,) D of joints
    tendons: list[float]  # per extra row from the first on, the force of the tendon that was taken out
    actuators: Ints  # outputs of the extra rows after those
    taken: Array  # their forces that were taken out
    implicit: bool  # whether joints have springs or dampers


def smooth(passive: Passive, model: Any, twin: Any, data: Any) -> Smooth:
    """After velocities and actuator forces have been computed, with the user's model."""
    h = model.opt.timestep
    K, D = passive.joints(model, data)
    force = data.qfrc_smooth - h * K * data.qvel if passive.implicit else data.qfrc_smooth.copy()
    rows = _Rows()
    tendons = _tendons(passive, model, data, rows, force) if len(passive.tendons) else []
    actuators, taken = _actuators(passive, model, twin, data, rows, force) if passive.actuated else (NONE, NO_FORCE)
    if passive.drag:
        _drag(model, data, rows)
    more = h * D + h * h * K if passive.curved else passive.more
    return Smooth(more, force, rows.extra(), K, D, tendons, actuators, taken, passive.implicit)


class _Rows:
    """Extra rows as they come."""

    def __init__(self) -> None:
        self._idx: list[Array] = []
        self._val: list[Array] = []
        self._table: list[Array] = []

    def add(self, idx: Any, val: Array, kind: int, *, K: float = 0.0, B: float = 0.0, value: float = 0.0,
            offset: float = 0.0, lower: float = -np.inf, upper: float = np.inf) -> None:  # fmt: skip
        row = np.zeros(EXTRA_COLUMNS)
        row[EXTRA_KIND], row[EXTRA_STIFFNESS], row[EXTRA_DAMPING], row[EXTRA_VALUE] = kind, K, B, value
        row[EXTRA_OFFSET], row[EXTRA_LOWER], row[EXTRA_UPPER] = offset, lower, upper
        self._idx.append(np.asarray(idx, np.int64))
        self._val.append(np.asarray(val, float))
        self._table.append(row)

    def join(self, more: Extra) -> None:
        """All of them, behind those that there are."""
        for part, column in ((more.idx, self._idx), (more.val, self._val)):
            column.extend(np.split(part, more.ptr[1:-1]) if len(more.table) else [])
        self._table.extend(more.table)

    def extra(self) -> Extra:
        if not self._table:
            return NOTHING
        ptr = np.cumsum([0, *map(len, self._idx)])
        return Extra(ptr, np.concatenate(self._idx), np.concatenate(self._val), np.array(self._table))


NONE: Final = np.zeros(0, np.int64)
NO_FORCE: Final = np.zeros(0)
NOTHING: Final = Extra(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros((0, EXTRA_COLUMNS)))


def _slope(linear: Any, poly: Array, x: Any) -> Any:
    """d(x (k + p0 x + p1 x^2))/dx, never negative."""
    return np.maximum(linear + 2.0 * poly[..., 0] * x + 3.0 * poly[..., 1] * x * x, 0.0)


def _tendons(passive: Passive, model: Any, data: Any, rows: _Rows, force: Array) -> list[float]:
    kept: list[float] = []
    for i in passive.tendons:
        part = slice(model.ten_J_rowadr[i], model.ten_J_rowadr[i] + model.ten_J_rownnz[i])
        idx, val = model.ten_J_colind[part], data.ten_J[part]
        low, high = model.tendon_lengthspring[i]
        length, speed = data.ten_length[i], data.ten_velocity[i]
        x = max(length - high, 0.0) + min(length - low, 0.0)
        k, kp = (model.tendon_stiffness[i], model.tendon_stiffnesspoly[i]) if passive.springs else (0.0, np.zeros(2))
        b, bp = (passive.tendon_damping[i], passive.tendon_poly[i]) if passive.dampers else (0.0, np.zeros(2))
        pull = -x * (k + kp[0] * x + kp[1] * x * x) - speed * (b + bp[0] * abs(speed) + bp[1] * speed**2)
        K, B = float(_slope(k, kp, x)), float(_slope(b, bp, abs(speed)))
        if high > low and x == 0.0 and k > 0.0:  # slack, and springs at both ends of its play
            rows.add(idx, -val, UNILATERAL, K=k, value=high - length, lower=0.0)
            rows.add(idx, val, UNILATERAL, K=k, value=length - low, lower=0.0)
            kept += [0.0, 0.0]
            K = 0.0
        S = model.opt.timestep * K + B
        if S > 0.0:
            rows.add(idx, val, BILATERAL, K=K, B=B, offset=-(pull + B * speed) / S)
            np.subtract.at(force, idx, val * pull)
            kept.append(float(pull))
    return kept


def _actuators(passive: Passive, model: Any, twin: Any, data: Any, rows: _Rows, force: Array) -> tuple[Ints, Array]:
    """Rows for every output whose force falls with its length or velocity; returns which, and what they replace."""
    pull = Pull(
        data.actuator_force, data.actuator_velocity, data.qfrc_actuator, data.qfrc_gravcomp, data.moment_rownnz,
        data.moment_rowadr, data.moment_colind, data.actuator_moment,
    )  # fmt: skip
    servos = passive.servos
    extra, which, taken = servo_rows(float(model.opt.timestep), servos, pull, *_slopes(servos, twin, data), force)
    rows.join(extra)
    return which, taken


def _slopes(servos: Servos, twin: Any, data: Any) -> tuple[Array, Array, Array]:
    """(forces without their ranges, K, B), each (nout,): MuJoCo's own, differenced where K and B are not known."""
    known = len(servos.springs) > 0
    if known and not has_ranges(servos):
        return data.actuator_force.copy(), servos.springs, servos.dampers
    mj = mujoco()
    given, total, rate = data.actuator_force.copy(), data.qfrc_actuator.copy(), data.act_dot.copy()

    def forces() -> Array:
        mj.mj_fwdActuation(twin, data)
        return data.actuator_force.copy()

    free = forces()
    slopes = [servos.springs, servos.dampers] if known else []
    for state in () if known else (data.actuator_length, data.actuator_velocity):
        kept = state.copy()
        state += DIFFERENCE
        slopes.append(np.maximum(-(forces() - free) / DIFFERENCE, 0.0))
        state[:] = kept
    data.actuator_force[:], data.qfrc_actuator[:], data.act_dot[:] = given, total, rate
    return free, slopes[0], slopes[1]


def _drag(model: Any, data: Any, rows: _Rows) -> None:
    for tree in range(model.ntree):
        idx = np.flatnonzero(model.dof_treeid == tree)
        f = data.qfrc_fluid[idx]
        size = float(np.abs(f).max())
        if size > 0.0:
            along = f / size
            speed = -float(along @ data.qvel[idx])
            if speed > 0.0:
                rows.add(idx, along, BILATERAL, B=size / speed, offset=speed)
