"""Our forces in MuJoCo's fields: its layout, its cone, its contacts."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Final

import numpy as np

from pliant.inputs import Array
from pliant.systems._compile import kernel
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_flat import Efc
from pliant.systems.mujoco_kinds import ELLIPTIC, FRICTIONLESS, LIMIT_JOINT, LIMIT_TENDON, PYRAMIDAL
from pliant.systems.mujoco_reach import Reach
from pliant.systems.mujoco_smooth import Smooth

NO_GAPS: Final = np.zeros(0)


@kernel
def transfer(
    old_type: np.ndarray, old_id: np.ndarray, old_pos: Array, old_margin: Array, old: Array, number: np.ndarray,
    type: np.ndarray, id: np.ndarray, pos: Array, dim: np.ndarray, friction: Array,
    margin: Array, state: np.ndarray, force: Array,
) -> None:  # fmt: skip
    """Forces of rows with elliptic cones into rows of the user's layout, which are some of them in the same order.

    number: (contacts before,) their number now, -1 if dropped. A pyramid's edges carry the normal force in equal
    shares, and half of +-f_k / mu_k: unclipped, so that they add up to the force whatever it is.
    """
    i = j = 0
    while j < type.size:
        t, k = type[j], id[j]
        while i < old_type.size and not _same(old_type[i], old_id[i], old_pos[i], number, t, k, pos[j]):
            i += 1
        if i == old_type.size:
            return
        margin[j] = old_margin[i]
        rows = edges = 1
        if t == PYRAMIDAL:
            rows, edges = dim[k], 2 * (dim[k] - 1)
            for a in range(1, rows):
                share, edge = old[i] / (rows - 1), old[i + a] / friction[k, a - 1]
                force[j + 2 * a - 2] = 0.5 * (share + edge)
                force[j + 2 * a - 1] = 0.5 * (share - edge)
        else:
            rows = edges = dim[k] if t == ELLIPTIC else 1
            for a in range(rows):
                force[j + a] = old[i + a]
        for a in range(edges):
            state[j + a] = 1 if force[j + a] != 0.0 else 0  # mjCNSTRSTATE_QUADRATIC, _SATISFIED
            if t == PYRAMIDAL:
                margin[j + a] = old_margin[i]
        i += rows
        j += edges


@kernel(inline=True)
def _same(type: int, id: int, pos: float, number: np.ndarray, t: int, k: int, p: float) -> bool:
    if t in (FRICTIONLESS, PYRAMIDAL, ELLIPTIC):
        return (type in (FRICTIONLESS, ELLIPTIC)) and number[id] == k
    return type == t and id == k and (pos == p or (t != LIMIT_JOINT and t != LIMIT_TENDON))


def write_smooth(data: Any, h: float, found: Smooth, v1: Array, extra: Array) -> bool:
    """Springs, dampers, servos and drag as they were at the end of the step; False: there were none.

    extra: (k,) forces of the extra rows.
    """
    if not (found.implicit or len(extra)):
        return False
    gain, loss = -h * found.stiffness * v1, -found.damping * (v1 - data.qvel)
    data.qfrc_spring += gain
    data.qfrc_damper += loss
    passive, actuator = gain + loss, np.zeros(len(v1))
    rows = found.extra
    tendons, actuators = len(found.tendons), len(found.actuators)
    for e in range(len(rows.table)):
        idx, val = (part[rows.ptr[e] : rows.ptr[e + 1]] for part in (rows.idx, rows.val))
        if e < tendons:
            more = val * (extra[e] - found.tendons[e])
            data.qfrc_spring[idx] += more
            passive[idx] += more
        elif e < tendons + actuators:
            a = found.actuators[e - tendons]
            actuator[idx] += val * (extra[e] - found.taken[e - tendons])
            data.actuator_force[a] = extra[e]
        else:
            data.qfrc_fluid[idx] += val * extra[e]
            passive[idx] += val * extra[e]
    data.qfrc_passive += passive
    data.qfrc_actuator += actuator
    data.qfrc_smooth += passive
    data.qfrc_smooth += actuator
    return True


def write_rows(model: Any, twin: Any, data: Any, efc: Efc, force: Array, open_: np.ndarray, reach: Reach) -> None:
    """Forces in the user's layout: only contacts and limits that are within their margins, or push.

    efc: rows, of which the first len(force) are MuJoCo's.
    """
    data.qfrc_constraint[:] = 0.0
    if not len(force):
        return
    mj, m = mujoco(), len(force)
    efc = efc._replace(type=efc.type[:m], id=efc.id[:m], pos=efc.pos[:m], margin=efc.margin[:m])
    number = _keep(model, data, force, open_, reach)
    reach.restore()
    beyond = np.flatnonzero((efc.pos >= efc.margin) & (force != 0.0))
    for i in beyond[(efc.type[beyond] == LIMIT_JOINT) | (efc.type[beyond] == LIMIT_TENDON)]:
        margin = twin.jnt_margin if efc.type[i] == LIMIT_JOINT else twin.tendon_margin
        margin[efc.id[i]] = np.nextafter(efc.pos[i], np.inf)
    twin.opt.cone = model.opt.cone
    mj.mj_makeConstraint(twin, data)
    twin.opt.cone = mj.mjtCone.mjCONE_ELLIPTIC
    mj.mj_island(model, data)
    mj.mj_projectConstraint(model, data)
    mj.mj_referenceConstraint(model, data)
    if not data.nefc:
        return
    transfer(
        efc.type, efc.id, efc.pos, efc.margin, force, number, data.efc_type, data.efc_id, data.efc_pos,
        data.contact.dim.copy(), data.contact.friction.copy(), data.efc_margin, data.efc_state, data.efc_force,
    )  # fmt: skip
    mj.mj_mulJacTVec(model, data, data.qfrc_constraint, data.efc_force)


def _keep(model: Any, data: Any, force: Array, open_: np.ndarray, reach: Reach) -> np.ndarray:
    """Drop contacts that are out of the user's reach and carry nothing; returns the number of each now, or -1."""
    number = np.arange(len(open_))
    if not open_.any():
        return number
    contacts = data.contact
    dist, geom = contacts.dist, contacts.geom
    pairs = _pair_gaps(model, geom, reach) if model.npair else NO_GAPS
    count = _number(
        open_, contacts.efc_address, force, dist, contacts.includemargin, geom, reach.geom_gap, pairs, contacts.exclude,
        number,
    )  # fmt: skip
    if count < len(number):
        memory = _structs(dist.__array_interface__["data"][0], dist.strides[0], len(number))  # dist is the first field
        memory[:count] = memory[number >= 0]
        data.ncon = count
    return number


@functools.lru_cache(maxsize=256)
def _structs(start: int, size: int, count: int) -> np.ndarray:
    """The memory of the contacts, (count, size) of bytes; it lies in the arena, which a data keeps for life."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * (size * count)).from_address(start)).reshape(-1, size)


@kernel
def _number(
    open_: np.ndarray, head: np.ndarray, force: Array, dist: Array, margin: Array, geom: np.ndarray, gap: Array,
    pairs: Array, exclude: np.ndarray, number: np.ndarray,
) -> int:  # fmt: skip
    """How many contacts are kept; exclude is MuJoCo's 1 on those that are open and carry nothing."""
    count = 0
    for c in range(open_.size):
        number[c] = count
        pushes = head[c] >= 0 and force[head[c]] != 0.0
        if open_[c] and not pushes:
            exclude[c] = 1
            head[c] = -1
            allowed = pairs[c] if pairs.size else gap[geom[c, 0]] + gap[geom[c, 1]]
            if dist[c] >= margin[c] + allowed:
                number[c] = -1
        if number[c] >= 0:
            count += 1
    return count


def _pair_gaps(model: Any, geom: np.ndarray, reach: Reach) -> Array:
    """The user's gap of every contact, where some come from pairs."""
    pairs = {frozenset(p): g for *p, g in zip(model.pair_geom1, model.pair_geom2, reach.pair_gap, strict=True)}
    return np.array([pairs.get(frozenset(p), reach.geom_gap[p].sum()) for p in geom])
