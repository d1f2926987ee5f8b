"""What limits of joints and tendons, and equalities, pull with: numbers by name, and where to draw them.

limit of a hinge     one torque about its axis [N m]; of a slide: one force along it [N]; of a ball: torques [N m] in
                     the frame of the body
limit of a tendon    one force along it [N]
connect              force on the first body [N] in the world; weld: and the torque [N m]
joint                force or torque on the first joint, along or about its axis
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_kinds import EQUALITY, LIMIT_JOINT, LIMIT_TENDON
from pliant.systems.mujoco_laws import names

KINDS: Final = ("joint", "tendon", "equality")
Pulls = dict[str, Array]  # "joint:knee", "equality:loop", "tendon:rope" and their numbers


class Arrows(NamedTuple):
    """Where they begin, (n, 3), and what they show, (n, 3)."""

    place: Array
    vector: Array


class PullReader:
    """Of a model, whose names are looked up once."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._names = {kind: [name or f"#{i}" for i, name in enumerate(names(model, kind))] for kind in KINDS}
        self._place = {kind: {name: i for i, name in enumerate(known)} for kind, known in self._names.items()}

    def read(self, data: Any) -> Pulls:
        """Of the rows and forces that the last step left in data; those that push alone."""
        found: Pulls = {}
        kind = np.asarray(data.efc_type)
        wanted = (kind == LIMIT_JOINT) | (kind == LIMIT_TENDON) | (kind == EQUALITY)
        acts = wanted & (np.asarray(data.efc_force) != 0.0)
        if not acts.any():
            return found
        model, which = self._model, np.asarray(data.efc_id)
        limits = acts & (kind == LIMIT_JOINT)
        force = _generalized(model, data, limits)
        for j in np.unique(which[limits]):
            found[f"joint:{self._names['joint'][j]}"] = force[_dofs(model, int(j))]
        for i in np.flatnonzero(acts & (kind == LIMIT_TENDON)):
            found[f"tendon:{self._names['tendon'][which[i]]}"] = np.array([data.efc_force[i]])
        for e in np.unique(which[acts & (kind == EQUALITY)]):
            rows = np.flatnonzero((kind == EQUALITY) & (which == e))
            found[f"equality:{self._names['equality'][e]}"] = _equality(model, data, int(e), rows)
        return found

    def arrows(self, data: Any, pulls: Pulls) -> tuple[Arrows, Arrows]:
        """Forces [N] and torques [N m] to be drawn, where data has the bodies now; tendons are only told."""
        model = self._model
        forces: list[tuple[Array, Array]] = []
        torques: list[tuple[Array, Array]] = []
        for label, numbers in pulls.items():
            joint, equality = self._what(label)
            if not self._fits(joint, equality, numbers):
                continue
            if joint is not None:
                _along_joint(model, data, joint, numbers, forces, torques)
            elif equality is not None:
                place = _anchor(model, data, equality)
                forces.append((place, numbers[:3]))
                torques += [(place, numbers[3:6])] if len(numbers) > 3 else []
        return _arrows(forces), _arrows(torques)

    def _fits(self, joint: int | None, equality: int | None, numbers: Array) -> bool:
        """Whether there are as many as there must be, which a file may have otherwise."""
        if joint is not None:
            dofs = _dofs(self._model, joint)
            expected = dofs.stop - dofs.start
        else:
            expected = 6 if equality is not None and _type(self._model, equality) == "WELD" else 3
        return numbers.shape == (expected,) and bool(np.isfinite(numbers).all())

    def words(self, label: str, numbers: Array) -> str:
        """'joint:knee 3.2 N m'."""
        joint, equality = self._what(label)
        if joint is not None and self._model.jnt_type[joint] != mujoco().mjtJoint.mjJNT_SLIDE:
            return f"{label} {np.linalg.norm(numbers):.4g} N m"
        if equality is not None and len(numbers) > 3:
            return f"{label} {np.linalg.norm(numbers[:3]):.4g} N, {np.linalg.norm(numbers[3:6]):.4g} N m"
        return f"{label} {np.linalg.norm(numbers):.4g} N"

    def _what(self, label: str) -> tuple[int | None, int | None]:
        """(the joint along which it is, the connect or weld that it is); neither for tendons, and for names that the
        model does not have."""
        kind, _, name = label.partition(":")
        i = self._place.get(kind, {}).get(name)
        if i is None or kind == "tendon":
            return None, None
        if kind == "joint":
            return i, None
        if _type(self._model, i) == "JOINT":
            return int(self._model.eq_obj1id[i]), None
        return None, i if _type(self._model, i) in ("CONNECT", "WELD") else None


def _type(model: Any, equality: int) -> str:
    kinds = mujoco().mjtEq
    return next((n for n in ("CONNECT", "WELD", "JOINT") if model.eq_type[equality] == getattr(kinds, f"mjEQ_{n}")), "")


def _dofs(model: Any, joint: int) -> slice:
    start = int(model.jnt_dofadr[joint])
    return slice(start, start + (3 if model.jnt_type[joint] == mujoco().mjtJoint.mjJNT_BALL else 1))


def _generalized(model: Any, data: Any, rows: np.ndarray) -> Array:
    """J' f of these rows, (nv,)."""
    out = np.zeros(model.nv)
    mujoco().mj_mulJacTVec(model, data, out, np.where(rows, data.efc_force, 0.0))
    return out


def _equality(model: Any, data: Any, e: int, rows: Ints) -> Array:
    force = np.array(data.efc_force[rows])
    kind = _type(model, e)
    if kind == "CONNECT":
        return force
    if kind == "WELD":
        return np.concatenate([force[:3], _weld_torque(model, data, e, rows[3:])])
    chosen = np.zeros(data.nefc, bool)
    chosen[rows] = True
    if kind == "JOINT":
        return _generalized(model, data, chosen)[_dofs(model, int(model.eq_obj1id[e]))]
    return force


def _weld_torque(model: Any, data: Any, e: int, rows: Ints) -> Array:
    """On the first body, in the world: J of these rows is A (J1 - J2), of angular velocities, so it is A' f."""
    mj, (one, two) = mujoco(), _bodies(model, e)
    turn, other, each = np.zeros((3, model.nv)), np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mj.mj_jacBody(model, data, None, turn, one)
    mj.mj_jacBody(model, data, None, other, two)
    for k, row in enumerate(rows):
        unit = np.zeros(data.nefc)
        unit[row] = 1.0
        mj.mj_mulJacTVec(model, data, each[k], unit)
    A = np.linalg.lstsq((turn - other).T, each.T, rcond=1e-9)[0].T
    return np.asarray(A.T @ data.efc_force[rows])


def _bodies(model: Any, e: int) -> tuple[int, int]:
    ids = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    if model.eq_objtype[e] == mujoco().mjtObj.mjOBJ_SITE:
        return int(model.site_bodyid[ids[0]]), int(model.site_bodyid[ids[1]])
    return ids


def _anchor(model: Any, data: Any, e: int) -> Array:
    """Where the force on the first body acts."""
    one = int(model.eq_obj1id[e])
    if model.eq_objtype[e] == mujoco().mjtObj.mjOBJ_SITE:
        return np.array(data.site_xpos[one])
    local = model.eq_data[e, 3:6] if _type(model, e) == "WELD" else model.eq_data[e, :3]
    return np.asarray(data.xpos[one] + data.xmat[one].reshape(3, 3) @ local)


def _along_joint(model: Any, data: Any, j: int, numbers: Array, forces: list[Any], torques: list[Any]) -> None:
    place, types = np.array(data.xanchor[j]), mujoco().mjtJoint
    if model.jnt_type[j] == types.mjJNT_BALL:
        torques.append((place, data.xmat[model.jnt_bodyid[j]].reshape(3, 3) @ numbers))
    else:
        kind = forces if model.jnt_type[j] == types.mjJNT_SLIDE else torques
        kind.append((place, numbers[0] * np.array(data.xaxis[j])))


def _arrows(pairs: list[tuple[Array, Array]]) -> Arrows:
    both = np.array(pairs, dtype=float).reshape(-1, 2, 3)
    return Arrows(both[:, 0], both[:, 1])
