"""Compiled, at addresses: open contacts that receive a force, followed on their way as `follow_open` does."""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import floats, longs
from pliant.inputs import Array, Ints
from pliant.solvers.formulation import ROUGH
from pliant.solvers.island import copy
from pliant.systems import mujoco_layout as layout
from pliant.systems import mujoco_site as site
from pliant.systems.mujoco_follow import LEAST, NEVER, stretch
from pliant.systems.mujoco_native import geom_distance, integrate_pos, kinematics
from pliant.systems.mujoco_reach import ROUNDS, TOUCHING, approach, body_velocities, is_long, touches_as_seen
from pliant.systems.mujoco_rows import Efc, Extra, Touch
from pliant.systems.mujoco_site import Fixed, indices, mass_at, numbers, tree_at, vectors, wholes
from pliant.systems.mujoco_solve import attempt


@kernel
def bent_pairs(table: Ints, h: float, pair: np.ndarray, head: np.ndarray, force: Array) -> Ints:
    """Of each pair of geoms with an open contact that receives a force, and which need not touch as it seems, one such
    contact."""
    open_, speed, radius = wholes(table, site.OPEN), numbers(table, site.SPEED), numbers(table, site.RADIUS)
    tree, cdof, qvel = tree_at(table), vectors(table, site.CDOF, 6), numbers(table, site.QVEL)
    com, xpos, type = vectors(table, site.COM, 3), vectors(table, site.XPOS, 3), indices(table, site.GEOM_TYPE)
    found, cvel = np.empty(0, np.int64), np.zeros((0, 6))
    for c in range(head.size):
        a, b = pair[c, 0], pair[c, 1]
        if not (open_[c] and head[c] >= 0 and force[head[c]] > 0.0 and is_long(h, speed, radius, a, b)):
            continue
        if cvel.size == 0:
            cvel = body_velocities(tree, cdof, qvel)
        known = False
        for k in found:
            known = known or (pair[k, 0] == a and pair[k, 1] == b)
        if not known and not touches_as_seen(h, tree, type, cvel, com, xpos, a, b):
            found = np.append(found, c)
    return found


@kernel
def chase(
    fixed: Fixed, table: Ints, base: int, contacts: Ints, pair: np.ndarray, head: np.ndarray, f: Array, efc: Efc,
    touch: Touch, extra: Extra, v: Array, force: Array, lift: float, goal: float,
) -> tuple[bool, tuple[Array, Array]]:  # fmt: skip
    """Whether this is the answer; velocity and force, with gaps as the geoms close them. contacts: `bent_pairs`;
    v, force: the answer with gaps as they seem."""
    copy(numbers(table, site.MOCAP_POS), numbers(table, site.MOCAP_POS_THERE))
    copy(numbers(table, site.MOCAP_QUAT), numbers(table, site.MOCAP_QUAT_THERE))
    pos, late, qvel, shift = efc.pos.copy(), contacts, numbers(table, site.QVEL), numbers(table, site.SHIFT)
    other = Efc(
        efc.type, efc.id, efc.J, efc.rownnz, efc.rowadr, efc.colind, pos, efc.margin, efc.friction, efc.offset, efc.law
    )
    mass, tally, known = mass_at(table), numbers(table, site.TALLY), wholes(table, site.KNOWN)
    way, seen, good = qvel, (v, force), True
    for again in range(2):
        missed, changed = late[:0], False
        for c in late:
            if not _follow(fixed, table, base, c, pair, head, efc, touch, way, pos):
                missed = np.append(missed, c)
        for i in range(pos.size):
            changed = changed or pos[i] != efc.pos[i]
        if not changed:
            return True, seen
        if again == 1 and missed.size == late.size:
            break
        good, v, force = attempt(
            fixed.step, mass, qvel, f, shift, other, touch, extra, v, force, lift, goal, ROUGH, tally, known
        )
        if not good and not tally[0] <= ROUGH:
            return False, seen
        if missed.size == 0:
            break
        late, way = missed, v
    if not good:
        good, v, force = attempt(
            fixed.step, mass, qvel, f, shift, other, touch, extra, v, force, lift, goal, 0.0, tally, known
        )
    return good, (v, force)


@kernel
def _follow(
    fixed: Fixed, table: Ints, base: int, c: int, pair: np.ndarray, head: np.ndarray, efc: Efc, touch: Touch, v: Array,
    pos: Array,
) -> bool:  # fmt: skip
    """`stretch`, of the contacts between the two geoms of one that move with v; whether they meet."""
    h, where, open_, shift = fixed.step, fixed.where, wholes(table, site.OPEN), numbers(table, site.SHIFT)
    a, b, tree = pair[c, 0], pair[c, 1], tree_at(table)
    cvel = body_velocities(tree, vectors(table, site.CDOF, 6), v)
    speed = approach(h, tree, cvel, vectors(table, site.COM, 3), vectors(table, site.XPOS, 3), a, b) + LEAST
    contact = longs(base + where[layout.CONTACTS], 1)[0] + c * where[layout.SIZE]
    time = _touch_time(fixed, table, v, a, b, floats(contact + where[layout.INCLUDE], 1)[0], speed)
    rows = head[:0]
    for k in range(head.size):
        if open_[k] and head[k] >= 0 and pair[k, 0] == a and pair[k, 1] == b:
            rows = np.append(rows, head[k])
    return bool(stretch(efc, touch, rows, v, shift, time, NEVER * h * speed, pos))


@kernel
def _touch_time(fixed: Fixed, table: Ints, v: Array, a: int, b: int, margin: float, speed: float) -> float:
    """As `Reach.touch_time`."""
    h, twin, beside, shift = fixed.step, fixed.own, table[site.BESIDE], numbers(table, site.SHIFT)
    q, there, rate = numbers(table, site.QPOS), numbers(table, site.THERE), numbers(table, site.RATE)
    for j in range(v.size):
        rate[j] = v[j] + shift[j]
    t, way = 0.0, h * speed
    for _ in range(ROUNDS):
        copy(q, there)
        integrate_pos(twin, table[2 * site.THERE], table[2 * site.RATE], t)
        kinematics(twin, beside)
        distance = geom_distance(twin, beside, np.int32(a), np.int32(b), way + margin, 0) - margin
        if distance <= TOUCHING * way:
            break
        t += distance / speed
        if t >= h:
            return np.inf
    return t
