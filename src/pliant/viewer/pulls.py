"""What limits of joints and tendons, and equalities, pull with: numbers by name, and where to draw them.

limit of a hinge     one torque about its axis [N m]; of a slide: one force along it [N]; of a ball: torques [N m] in
                     the frame of the body
limit of a tendon    one force along it [N]
connect              force on the first body [N] in the world; weld: and the torque [N m]
joint                force or torque on the first joint, along or about its axis
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_kinds import EQUALITY, LIMIT_JOINT, LIMIT_TENDON
from pliant.systems.mujoco_laws import names

Pulls = dict[str, Array]  # "joint:knee", "equality:loop", "tendon:rope" and their numbers


class Arrows(NamedTuple):
    """Where they begin, (n, 3), and what they show, (n, 3)."""

    place: Array
    vector: Array


def read_pulls(model: Any, data: Any) -> Pulls:
    """Of the rows and forces that the last step left in data; those that push alone."""
    found: Pulls = {}
    acts = np.asarray(data.efc_force) != 0.0
    kind, which = np.asarray(data.efc_type), np.asarray(data.efc_id)
    limits = acts & (kind == LIMIT_JOINT)
    if limits.any():
        force, label = _generalized(model, data, limits), names(model, "joint")
        for j in np.unique(which[limits]):
            found[_key("joint", label, j)] = force[_dofs(model, int(j))]
    for i in np.flatnonzero(acts & (kind == LIMIT_TENDON)):
        found[_key("tendon", names(model, "tendon"), which[i])] = -np.array([data.efc_force[i]])
    for e in np.unique(which[acts & (kind == EQUALITY)]):
        rows = np.flatnonzero((kind == EQUALITY) & (which == e))
        found[_key("equality", names(model, "equality"), e)] = _equality(model, data, int(e), rows)
    return found


def draw_pulls(model: Any, data: Any, pulls: Pulls) -> tuple[Arrows, Arrows]:
    """Forces [N] and torques [N m] to be drawn, where data has the bodies now; tendons are only told."""
    forces: list[tuple[Array, Array]] = []
    torques: list[tuple[Array, Array]] = []
    known = {kind: names(model, kind) for kind in ("joint", "equality")}
    for label, numbers in pulls.items():
        kind, _, name = label.partition(":")
        if kind not in known:
            continue
        i = int(name[1:]) if name.startswith("#") else known[kind].index(name)
        if kind == "joint" or _type(model, i) == "JOINT":
            _along_joint(model, data, i if kind == "joint" else int(model.eq_obj1id[i]), numbers, forces, torques)
        elif _type(model, i) in ("CONNECT", "WELD"):
            place = _anchor(model, data, i)
            forces.append((place, numbers[:3]))
            torques += [(place, numbers[3:6])] if len(numbers) > 3 else []
    return _arrows(forces), _arrows(torques)


def in_words(model: Any, label: str, numbers: Array) -> str:
    """'joint:knee 3.2 N m'."""
    kind, _, name = label.partition(":")
    if kind == "tendon":
        return f"{label} {np.linalg.norm(numbers):.4g} N"
    i = int(name[1:]) if name.startswith("#") else names(model, kind).index(name)
    joint = i if kind == "joint" else int(model.eq_obj1id[i]) if _type(model, i) == "JOINT" else None
    if joint is not None:
        unit = "N" if model.jnt_type[joint] == mujoco().mjtJoint.mjJNT_SLIDE else "N m"
        return f"{label} {np.linalg.norm(numbers):.4g} {unit}"
    twist = f", {np.linalg.norm(numbers[3:6]):.4g} N m" if len(numbers) > 3 else ""
    return f"{label} {np.linalg.norm(numbers[:3]):.4g} N{twist}"


def _key(kind: str, known: list[str], i: Any) -> str:
    return f"{kind}:{known[int(i)] or f'#{int(i)}'}"


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
