"""One step of a model: evaluate with MuJoCo, solve, write the forces back, let MuJoCo advance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.laws import Law
from pliant.solvers.formulation import Formulation
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import Laws, row_laws
from pliant.systems.mujoco_reach import SPARE, speeds, touch_time
from pliant.systems.mujoco_rows import LIMIT_JOINT, LIMIT_TENDON, Efc, Mass, Touch, make_flat
from pliant.systems.mujoco_smooth import NOTHING, Passive, Smooth, smooth
from pliant.systems.mujoco_solve import Answer, solve_flat
from pliant.systems.mujoco_spin import Bodies, spin
from pliant.systems.mujoco_support import check, say_ignored
from pliant.systems.mujoco_twin import Twin
from pliant.systems.mujoco_write import keep_contacts, states, transfer, write_smooth

NO_INTS: Final = np.zeros(0, np.int32)
NEVER: Final = 1e30  # [m] a gap that does not close
BENT: Final = 0.01  # of a gap, by which the way to a touch may differ from a straight one


class Stepper:
    """What belongs to a model, kept from step to step, and its steps."""

    def __init__(self, model: Any, materials: Mapping[str, Law] | None, compliance: str) -> None:
        check(model)
        self.ignored = say_ignored(model, compliance)
        self._materials, self._compliance = dict(materials or {}), compliance
        self._twin = Twin(model)
        self._scratch: Any = None
        self._derive(model)

    def _derive(self, model: Any) -> None:
        """All that follows from the model alone."""
        self.laws = Laws(model, self._materials, self._compliance)
        self.passive = Passive(model)
        self.bodies = free_bodies(model)
        self._place = tuple(np.ascontiguousarray(getattr(model, n)) for n in ("D_rownnz", "D_rowadr", "D_colind", "mapM2D"))
        moving = model.body_weldid[model.geom_bodyid] != 0
        self._moving = np.where(moving, 1.0, 0.0)
        self._geom_gap, self._pair_gap = model.geom_gap.copy(), model.pair_gap.copy()
        self._joint_margin, self._tendon_margin = model.jnt_margin.copy(), model.tendon_margin.copy()
        self._limited = np.flatnonzero(model.jnt_limited)
        self._body_transmission = np.any(model.actuator_trntype == mujoco().mjtTrn.mjTRN_BODY)

    def refresh(self, model: Any, data: Any) -> None:
        """Take over what the user has written; refuse what cannot be stepped."""
        if self._twin.follow():
            check(model)
            self._derive(model)
        if data.signature != model.signature or len(data.qpos) != model.nq:
            raise InputError(
                "data belongs to another model: make it with mujoco.MjData(model) from the model that you step"
            )
        for name in ("qpos", "qvel", "ctrl"):
            array = getattr(data, name)
            if not np.isfinite(array).all():
                where = int(np.argmax(~np.isfinite(array)))
                raise InputError(
                    f"data.{name} must be finite, got {array[where]} at {where}, t = {data.time:.9g} s: "
                    "mujoco.mj_resetData starts afresh"
                )

    # The stages of mj_forward.

    def forward(self, model: Any, data: Any, solver: Formulation | None, *, control: bool = True) -> Answer:
        """Forces and accelerations at the present state; what mujoco.mj_forward does, with our forces."""
        mj = mujoco()
        energy = bool(int(model.opt.enableflags) & mj.mjtEnableBit.mjENBL_ENERGY)
        self._reach(model, data)
        mj.mj_fwdPosition(self._twin.model, data)
        open_ = self._open_contacts(data)
        mj.mj_sensorPos(model, data)
        if energy:
            mj.mj_energyPos(model, data)
        else:
            data.energy[:] = 0.0
        mj.mj_fwdVelocity(model, data)
        mj.mj_sensorVel(model, data)
        if energy:
            mj.mj_energyVel(model, data)
        callback = mj.get_mjcb_control() if control else None
        if callback is not None and not int(model.opt.disableflags) & mj.mjtDisableBit.mjDSBL_ACTUATION:
            callback(model, data)
        mj.mj_fwdActuation(model, data)
        mj.mj_fwdAcceleration(model, data)
        answer = self._constrain(model, data, solver, open_)
        data.flg_rnepost = 0
        mj.mj_sensorAcc(model, data)
        return answer

    def advance(self, model: Any, data: Any, answer: Answer) -> None:
        """To the end of the step; bodies that turn freely go where their average velocity leads."""
        mj, s = mujoco(), self._twin.model
        before = data.qpos.copy() if answer.shift is not None else None
        mj.mj_Euler(s, data)
        if before is not None:
            mj.mj_integratePos(s, before, data.qvel + answer.shift, model.opt.timestep)
            for dof in self.bodies.dof:
                at = model.jnt_qposadr[model.dof_jntid[dof]]
                data.qpos[at : at + 7] = before[at : at + 7]

    def _reach(self, model: Any, data: Any) -> None:
        """Gaps and margins of the twin that cover the way of the step."""
        mj, s, h = mujoco(), self._twin.model, model.opt.timestep
        mj.mj_kinematics(s, data)
        mj.mj_comPos(s, data)
        mj.mj_comVel(s, data)
        self.speed = np.zeros(model.ngeom)
        speeds(data.cvel, data.subtree_com, model.body_rootid, model.geom_bodyid, data.geom_xpos, model.geom_rbound, self.speed)
        fall = h * float(np.linalg.norm(model.opt.gravity))
        way = SPARE * h * (self.speed + fall) * self._moving
        if not self._body_transmission:
            s.geom_gap[:] = self._geom_gap + way
            s.pair_gap[:] = self._pair_gap + way[model.pair_geom1] + way[model.pair_geom2]
            s.body_margin[:] = 0.0
            np.maximum.at(s.body_margin, model.geom_bodyid, s.geom_gap + s.geom_margin)
        s.jnt_margin[:] = self._joint_margin
        for j in self._limited:
            size = 3 if model.jnt_type[j] == 1 else 1
            v = data.qvel[model.jnt_dofadr[j] : model.jnt_dofadr[j] + size]
            s.jnt_margin[j] += 2.0 * h * float(np.abs(v).sum()) + 1e-3
        if model.ntendon:
            mj.mj_tendon(s, data)
            for i in np.flatnonzero(model.tendon_limited):
                part = slice(model.ten_J_rowadr[i], model.ten_J_rowadr[i] + model.ten_J_rownnz[i])
                rate = float(data.ten_J[part] @ data.qvel[model.ten_J_colind[part]])
                s.tendon_margin[i] = self._tendon_margin[i] + 2.0 * h * abs(rate) + 1e-3

    def _open_contacts(self, data: Any) -> np.ndarray:
        """Rows also for contacts that are open; returns which they are, (ncon,) of bool."""
        contacts = data.contact
        exclude = contacts.exclude
        open_ = exclude == 1
        if open_.any():
            exclude[open_] = 0
            mujoco().mj_makeConstraint(self._twin.model, data)
        return np.asarray(open_)

    def _constrain(self, model: Any, data: Any, solver: Formulation | None, open_: np.ndarray) -> Answer:
        """Solve, drop what only seemed to touch, and write everything back."""
        h, v0 = model.opt.timestep, data.qvel.copy()
        found = smooth(self.passive, model, self._twin.model, data)
        push, shift = self._turning(model, data)
        efc, touch = self._rows(model, data)
        mass = Mass(data.M, *self._place, found.more)
        force = found.force if push is None else found.force + push
        still = np.zeros(model.nv) if shift is None else shift
        flat = make_flat(h, mass, v0, force, still, efc, touch, found.extra)
        answer = solve_flat(flat, solver)
        m = len(efc.type)
        if open_.any():
            answer = self._follow_open(model, data, solver, flat, answer, open_, still)
        if push is not None:
            data.qfrc_bias -= push
            data.qfrc_smooth += push
        data.qfrc_smooth -= data.qfrc_passive + data.qfrc_actuator
        write_smooth(data, model, h, found, answer.velocity, answer.force[m:])
        data.qfrc_smooth += data.qfrc_passive + data.qfrc_actuator
        self._write(model, data, efc, answer.force[:m], open_)
        if len(answer.force) or found.more.any() or push is not None:
            mujoco().mj_solveM(model, data, data.qacc_smooth[None], data.qfrc_smooth[None])
            data.qacc[:] = (answer.velocity - v0) / h
        else:
            data.qacc[:] = data.qacc_smooth
        return answer._replace(shift=shift)

    def _turning(self, model: Any, data: Any) -> tuple[Array | None, Array | None]:
        if not len(self.bodies.dof) or not data.qvel[np.add.outer(self.bodies.dof, [3, 4, 5])].any():
            return None, None
        push, shift = np.zeros(model.nv), np.zeros(model.nv)
        spin(model.opt.timestep, self.bodies, data.xmat, data.qvel, push, shift)
        return push, shift

    def _rows(self, model: Any, data: Any) -> tuple[Efc, Touch]:
        """MuJoCo's rows with our laws."""
        m, laws, contacts = data.nefc, self.laws, data.contact
        type, id = data.efc_type.copy(), data.efc_id.copy()
        law = np.zeros((m, 4))
        left = row_laws(type, id, contacts.geom, laws.geom, laws.joint, laws.tendon, laws.equality, law)
        sparse = mujoco().mj_isSparse(self._twin.model)
        margin = data.efc_margin.copy()
        for t, own in ((LIMIT_JOINT, self._joint_margin), (LIMIT_TENDON, self._tendon_margin)):
            mine = type == t
            margin[mine] = own[id[mine]]
        J = data.efc_J.reshape(-1)
        offset = np.zeros(m)
        if m and getattr(model, "flg_surfacevel", 0):
            offset = np.zeros(m)
            mujoco().mj_mulJacVec(self._twin.model, data, offset, data.qvel)
            offset = data.efc_vel - offset
        efc = Efc(
            type, id, J, *((data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind) if sparse else (NO_INTS,) * 3),
            data.efc_pos.copy(), margin, data.efc_frictionloss, offset, law,
        )  # fmt: skip
        if left or laws.by_reference:
            self._by_reference(data, efc)
        adhesion = getattr(contacts, "adhesion", None)
        adhesion = np.zeros(len(contacts.dim)) if adhesion is None else np.ascontiguousarray(adhesion)
        return efc, Touch(np.ascontiguousarray(contacts.dim), np.ascontiguousarray(contacts.friction), adhesion)

    def _by_reference(self, data: Any, efc: Efc) -> None:
        """The spring that MuJoCo's reference stands for: k d^2 / a and b d / a, a the row's G inv(M) G'."""
        mj, s = mujoco(), self._twin.model
        unit, row, half = np.zeros(data.nefc), np.zeros(s.nv), np.zeros(s.nv)
        for i in range(data.nefc):
            if not (self.laws.by_reference or np.isnan(efc.law[i, 0])):
                continue
            unit[:] = 0.0
            unit[i] = 1.0
            mj.mj_mulJacTVec(s, data, row, unit)
            mj.mj_solveM(s, data, half[None], row[None])
            a = float(row @ half)
            k, b, d, _ = data.efc_KBIP[i]
            if a > 0.0:
                efc.law[i, 0], efc.law[i, 1] = k * d * d / a, b * d / a

    def _follow_open(
        self, model: Any, data: Any, solver: Any, flat: Any, answer: Answer, open_: np.ndarray, shift: Array
    ) -> Answer:
        """Solve again where open contacts that receive a force do not touch, or touch at another time than they seem to.

        Geoms are followed on their way without these contacts; gaps shrink or grow as the time of their touch does.
        """
        pairs = _open_pairs(data, open_, answer.force)
        if not pairs:
            return answer
        heads = {pair: data.contact.efc_address[contacts] for pair, contacts in pairs.items()}
        value = flat.value.copy()
        value[np.concatenate(list(heads.values()))] = NEVER
        loose = solve_flat(flat._replace(value=value), solver)
        top = self._bound(model, data, loose.velocity)
        for (a, b), rows in heads.items():
            margin = float(data.contact.includemargin[pairs[a, b][0]])
            speed = float(top[a] + top[b]) + 1e-12
            way = loose.velocity + shift
            time = touch_time(self._twin.model, self._scratch, data.qpos, way, (a, b), margin, speed)
            if np.isfinite(time):
                seeming = min(flat.value[i] / max(-_rate(flat, i, loose.velocity), 1e-300) for i in rows)
                ratio = time / seeming if seeming > 0.0 else 1.0
                value[rows] = flat.value[rows] * (ratio if abs(ratio - 1.0) > BENT else 1.0)
        return answer if np.array_equal(value, flat.value) else solve_flat(flat._replace(value=value), solver)

    def _bound(self, model: Any, data: Any, v: Array) -> Array:
        """Speeds of geoms that move with v."""
        mj, s = mujoco(), self._twin.model
        if self._scratch is None:
            self._scratch = mj.MjData(s)
        scratch = self._scratch
        scratch.mocap_pos[:], scratch.mocap_quat[:] = data.mocap_pos, data.mocap_quat
        scratch.qpos[:], scratch.qvel[:] = data.qpos, v
        mj.mj_kinematics(s, scratch)
        mj.mj_comPos(s, scratch)
        mj.mj_comVel(s, scratch)
        top = np.zeros(model.ngeom)
        speeds(scratch.cvel, scratch.subtree_com, model.body_rootid, model.geom_bodyid, scratch.geom_xpos, model.geom_rbound, top)
        return top

    def _write(self, model: Any, data: Any, efc: Efc, force: Array, open_: np.ndarray) -> None:
        """Forces in the user's layout: only contacts and limits that are within their margins, or push."""
        mj, s = mujoco(), self._twin.model
        contacts, head = data.contact, data.contact.efc_address
        dead = head < 0
        pushes = np.array([not dead[c] and force[head[c]] != 0.0 for c in range(len(head))], bool)
        inside = contacts.dist < contacts.includemargin + self._user_gap(model, contacts)
        kept = ~open_ | pushes | inside
        contacts.exclude[open_ & ~pushes] = 1
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        keep_contacts(data, kept)
        s.jnt_margin[:], s.tendon_margin[:] = self._joint_margin, self._tendon_margin
        for t, margin in ((LIMIT_JOINT, s.jnt_margin), (LIMIT_TENDON, s.tendon_margin)):
            for i in np.flatnonzero((efc.type == t) & (force != 0.0) & (efc.pos >= efc.margin)):
                margin[efc.id[i]] = np.nextafter(efc.pos[i], np.inf)
        s.opt.cone = model.opt.cone
        mj.mj_makeConstraint(s, data)
        s.opt.cone = mj.mjtCone.mjCONE_ELLIPTIC
        mj.mj_island(model, data)
        mj.mj_projectConstraint(model, data)
        mj.mj_referenceConstraint(model, data)
        contacts = data.contact
        transfer(
            efc.type, efc.id, efc.pos, force, number, data.efc_type, data.efc_id, data.efc_pos, contacts.dim,
            contacts.friction, data.efc_force,
        )  # fmt: skip
        for t, own in ((LIMIT_JOINT, self._joint_margin), (LIMIT_TENDON, self._tendon_margin)):
            mine = data.efc_type == t
            data.efc_margin[mine] = own[data.efc_id[mine]]
        states(data.efc_type, data.efc_force, data.efc_state)
        data.qfrc_constraint[:] = 0.0
        if data.nefc:
            mj.mj_mulJacTVec(model, data, data.qfrc_constraint, data.efc_force)

    def _user_gap(self, model: Any, contacts: Any) -> Array:
        geom = contacts.geom
        gap = self._geom_gap[geom[:, 0]] + self._geom_gap[geom[:, 1]]
        if model.npair:
            for c, (a, b) in enumerate(geom):
                pair = np.flatnonzero(
                    ((model.pair_geom1 == a) & (model.pair_geom2 == b))
                    | ((model.pair_geom1 == b) & (model.pair_geom2 == a))
                )
                if len(pair):
                    gap[c] = self._pair_gap[pair[0]]
        return gap


def free_bodies(model: Any) -> Bodies:
    """Bodies on a free joint that carry no others, have no armature, and do not turn alike about every axis."""
    mj = mujoco()
    joints = np.flatnonzero(model.jnt_type == mj.mjtJoint.mjJNT_FREE)
    found = []
    for j in joints:
        dof, body = int(model.jnt_dofadr[j]), int(model.jnt_bodyid[j])
        carries = np.any((model.dof_treeid == model.dof_treeid[dof]) & (np.abs(np.arange(model.nv) - dof - 2.5) > 3.0))
        round_ = np.ptp(model.body_inertia[body]) == 0.0 and not model.body_ipos[body].any()
        if not (carries or round_ or model.dof_armature[dof : dof + 6].any()):
            found.append((body, dof))
    R = np.zeros(9)
    inertia, inverse = np.zeros((len(found), 3, 3)), np.zeros((len(found), 3, 3))
    for k, (body, _) in enumerate(found):
        mj.mju_quat2Mat(R, model.body_iquat[body])
        turn = R.reshape(3, 3)
        inertia[k] = turn @ np.diag(model.body_inertia[body]) @ turn.T
        inverse[k] = turn @ np.diag(1.0 / model.body_inertia[body]) @ turn.T
    bodies = np.array([b for b, _ in found], np.int64)
    return Bodies(
        bodies, np.array([d for _, d in found], np.int64), model.body_mass[bodies].copy(), inertia, inverse,
        model.body_ipos[bodies].copy(),
    )  # fmt: skip


def _open_pairs(data: Any, open_: np.ndarray, force: Array) -> dict[tuple[int, int], list[int]]:
    """The pairs of geoms with an open contact that receives a force, and all their open contacts that have rows."""
    head, geom = data.contact.efc_address, data.contact.geom
    pairs: dict[tuple[int, int], list[int]] = {}
    for c in np.flatnonzero(open_ & (head >= 0)):
        pairs.setdefault((int(geom[c, 0]), int(geom[c, 1])), []).append(int(c))
    return {pair: contacts for pair, contacts in pairs.items() if np.any(force[head[contacts]] > 0.0)}


def _rate(flat: Any, i: int, v: Array) -> float:
    """G v + e of a row."""
    entries = slice(flat.jac_ptr[i], flat.jac_ptr[i + 1])
    return float(flat.jac_val[entries] @ v[flat.jac_idx[entries]]) + float(flat.offset[i])
