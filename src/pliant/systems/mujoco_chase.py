"""Compiled, at addresses: open contacts that receive a force, followed on their way as `follow_open` does."""

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems import mujoco_layout as layout
from pliant.systems import mujoco_site as site
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import floats, longs
from pliant.systems.mujoco_arrays import copy
from pliant.systems.mujoco_engine import LIMIT, SOLVED, Options, solve_rows
from pliant.systems.mujoco_flat import Efc, Extra, Touch
from pliant.systems.mujoco_follow import LEAST, NEVER, stretch
from pliant.systems.mujoco_native import geom_distance, integrate_pos, kinematics
from pliant.systems.mujoco_reach import (
    ROUNDS,
    TOUCHING,
    approach,
    body_velocities,
    find_velocities,
    is_long,
    touches_as_seen,
)
from pliant.systems.mujoco_site import Fixed, indices, mass_at, numbers, tree_at, vectors, wholes


@kernel
def bent_pairs(table: Ints, h: float, pair: np.ndarray, head: np.ndarray, force: Array, found: Ints) -> int:
    """Of each pair of geoms with an open contact that receives a force, and which need not touch as it seems, one such
    contact, into found, (ncon,); returns how many there are."""
    open_, speed, radius, far = wholes(table, site.OPEN), numbers(table, site.SPEED), numbers(table, site.RADIUS), 0
    for c in range(head.size):
        if open_[c] and head[c] >= 0 and force[head[c]] > 0.0 and is_long(h, speed, radius, pair[c, 0], pair[c, 1]):
            found[far] = c
            far += 1
    return _bent_of(table, h, pair, found, far) if far > 0 else 0


@kernel
def _bent_of(table: Ints, h: float, pair: np.ndarray, found: Ints, far: int) -> int:
    """Leave of the first of these contacts those that count."""
    tree, cdof, qvel = tree_at(table), vectors(table, site.CDOF, 6), numbers(table, site.QVEL)
    com, xpos, type = vectors(table, site.COM, 3), vectors(table, site.XPOS, 3), indices(table, site.GEOM_TYPE)
    cvel, count = vectors(table, site.BODY_RATE, 6), 0
    find_velocities(tree, cdof, qvel, cvel)
    for i in range(far):
        c, known = found[i], False
        a, b = pair[c, 0], pair[c, 1]
        for k in found[:count]:
            known = known or (pair[k, 0] == a and pair[k, 1] == b)
        if not known and not touches_as_seen(h, tree, type, cvel, com, xpos, a, b):
            found[count] = c
            count += 1
    return count


@kernel
def chase(
    fixed: Fixed, table: Ints, base: int, contacts: Ints, many: int, pair: np.ndarray, head: np.ndarray, f: Array,
    efc: Efc, touch: Touch, extra: Extra, v: Array, force: Array, status: int, options: Options, desk: int,
) -> int:  # fmt: skip
    """The status of the answer with gaps as the geoms close them. contacts: of `bent_pairs`, so many; v, force, status:
    the answer with gaps as they seem, in whose place it is put. desk: as of `solve_rows`."""
    copy(numbers(table, site.MOCAP_POS), numbers(table, site.MOCAP_POS_THERE))
    copy(numbers(table, site.MOCAP_QUAT), numbers(table, site.MOCAP_QUAT_THERE))
    pos, late, qvel, shift = efc.pos.copy(), contacts[:many], numbers(table, site.QVEL), numbers(table, site.SHIFT)
    other = Efc(
        efc.type, efc.id, efc.J, efc.rownnz, efc.rowadr, efc.colind, pos, efc.margin, efc.friction, efc.offset, efc.law
    )
    mass, tally, way = mass_at(table), numbers(table, site.TALLY), qvel
    near, push, found, count = v.copy(), force.copy(), status, tally.copy()
    for again in range(2):
        missed, changed = late[:0], False
        for c in late:
            if not _follow(fixed, table, base, c, pair, head, efc, touch, way, pos):
                missed = np.append(missed, c)
        for i in range(pos.size):
            changed = changed or pos[i] != efc.pos[i]
        if not changed:
            return status
        if again == 1 and missed.size == late.size:
            break
        guess, start = near.copy(), push.copy()
        found = solve_rows(
            fixed.step, mass, qvel, f, shift, other, touch, extra, guess, start, options, near, push, count, desk
        )
        if missed.size == 0 or not SOLVED <= found <= LIMIT:
            break
        late, way = missed, near
    copy(near, v)
    copy(push, force)
    copy(count, tally)
    return found


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
