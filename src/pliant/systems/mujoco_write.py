"""Our forces in MuJoCo's fields: its layout, its cone, its contacts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_rows import ELLIPTIC, FRICTIONLESS, LIMIT_JOINT, LIMIT_TENDON, PYRAMIDAL

CONTACT_FIELDS: Final = (
    "dist", "pos", "frame", "includemargin", "friction", "solref", "solreffriction", "solimp", "adhesion",
    "surfacevel", "mu", "H", "dim", "geom1", "geom2", "geom", "flex", "elem", "vert", "exclude", "efc_address",
)  # fmt: skip


def keep_contacts(data: Any, kept: np.ndarray) -> None:
    """Only these contacts, (ncon,) of bool."""
    if kept.all():
        return
    count = int(kept.sum())
    contacts = data.contact
    for name in CONTACT_FIELDS:
        column = getattr(contacts, name, None)
        if column is not None:
            column[:count] = column[kept]
    data.ncon = count


@kernel
def transfer(
    old_type: np.ndarray, old_id: np.ndarray, old_pos: Array, old: Array, number: np.ndarray,
    new_type: np.ndarray, new_id: np.ndarray, new_pos: Array, dim: np.ndarray, friction: Array, force: Array,
) -> int:  # fmt: skip
    """Forces of rows with elliptic cones into rows of the user's layout; returns how many rows found none: 0.

    number: (contacts before,) their number now, -1 if dropped. A pyramid's edges carry the normal force in equal shares,
    and half of +-f_k / mu_k: unclipped, so that they add up to the force whatever it is.
    """
    i, missing = 0, 0
    j = 0
    while j < new_type.size:
        t, k = new_type[j], new_id[j]
        contact = t == FRICTIONLESS or t == PYRAMIDAL or t == ELLIPTIC
        while i < old_type.size and not _same(old_type[i], old_id[i], old_pos[i], number, contact, t, k, new_pos[j]):
            i += 1
        if i == old_type.size:
            return missing + new_type.size - j
        if t == PYRAMIDAL:
            d = dim[k]
            for a in range(1, d):
                share, edge = old[i] / (d - 1), old[i + a] / friction[k, a - 1]
                force[j + 2 * a - 2] = 0.5 * (share + edge)
                force[j + 2 * a - 1] = 0.5 * (share - edge)
            i += d
            j += 2 * (d - 1)
        else:
            d = dim[k] if t == ELLIPTIC else 1
            for a in range(d):
                force[j + a] = old[i + a]
            i += d
            j += d
    return missing


@kernel(inline=True)
def _same(type: int, id: int, pos: float, number: np.ndarray, contact: bool, t: int, k: int, p: float) -> bool:
    if contact:
        return (type == FRICTIONLESS or type == ELLIPTIC) and number[id] == k
    if t == LIMIT_JOINT or t == LIMIT_TENDON:
        return type == t and id == k and pos == p
    return type == t and id == k


@kernel
def states(type: np.ndarray, force: Array, out: np.ndarray) -> None:
    """mjCNSTRSTATE: 0 without force, 1 with."""
    for i in range(type.size):
        out[i] = 1 if force[i] != 0.0 else 0


def write_smooth(data: Any, model: Any, h: float, found: Any, v1: Array, extra: Array) -> None:
    """Springs, dampers, servos and drag as they were at the end of the step. extra: (k,) forces of the extra rows."""
    gain = -h * found.stiffness * v1
    data.qfrc_spring += gain
    loss = -found.damping * (v1 - data.qvel)
    data.qfrc_damper += loss
    data.qfrc_passive += gain
    data.qfrc_passive += loss
    rows = found.extra
    tendons, actuators = len(found.tendons), len(found.actuators)
    for e in range(len(rows.table)):
        idx, val = (part[rows.ptr[e] : rows.ptr[e + 1]] for part in (rows.idx, rows.val))
        if e < tendons:
            more = val * (extra[e] - found.tendons[e][1])
            np.add.at(data.qfrc_spring, idx, more)
            np.add.at(data.qfrc_passive, idx, more)
        elif e < tendons + actuators:
            a = found.actuators[e - tendons]
            np.add.at(data.qfrc_actuator, idx, val * (extra[e] - data.actuator_force[a]))
            data.actuator_force[a] = extra[e]
        else:
            np.add.at(data.qfrc_fluid, idx, val * extra[e])
            np.add.at(data.qfrc_passive, idx, val * extra[e])
