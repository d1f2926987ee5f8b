"""Compiled, at addresses: forces and contacts as `write_smooth` and `write_rows` leave them."""

import numpy as np

from pliant.inputs import Ints
from pliant.systems import mujoco_layout as layout
from pliant.systems import mujoco_site as site
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import floats, ints, longs
from pliant.systems.mujoco_ahead import touching
from pliant.systems.mujoco_kinds import LIMIT_JOINT
from pliant.systems.mujoco_site import indices, numbers, wholes
from pliant.systems.mujoco_write import transfer


@kernel
def drop(table: Ints, base: int, where: Ints) -> None:
    """Contacts that are out of the user's reach and carry nothing, as `mujoco_write` drops them."""
    ncon, contact, size = (
        ints(base + where[layout.NCON], 1),
        longs(base + where[layout.CONTACTS], 1)[0],
        where[layout.SIZE],
    )
    open_, number, gap = wholes(table, site.OPEN), wholes(table, site.NUMBER), numbers(table, site.USER_GAP)
    force, count = numbers(table, site.OLD_FORCE), 0
    for c in range(ncon[0]):
        at = contact + c * size
        head, geom, number[c] = ints(at + where[layout.HEAD], 1), ints(at + where[layout.GEOM], 2), count
        if open_[c] and not (head[0] >= 0 and force[head[0]] != 0.0):
            ints(at + where[layout.EXCLUDE], 1)[0] = 1
            head[0] = -1
            reach = floats(at + where[layout.INCLUDE], 1)[0] + (gap[geom[0]] + gap[geom[1]])
            if floats(at + where[layout.DIST], 1)[0] >= reach:
                number[c] = -1
                continue
        if count < c:
            source, target = longs(at, size // 8), longs(contact + count * size, size // 8)
            for k in range(size // 8):
                target[k] = source[k]
        count += 1
    ncon[0] = count


@kernel
def narrow(table: Ints, rows: int) -> None:
    """The user's margins of limits, but wider for those that push from beyond."""
    joint, tendon = numbers(table, site.JOINT_MARGIN), numbers(table, site.TENDON_MARGIN)
    for source, target in ((site.USER_JOINT, joint), (site.USER_TENDON, tendon)):
        user = numbers(table, source)
        for k in range(target.size):
            target[k] = user[k]
    type, id, pos = indices(table, site.OLD_TYPE), indices(table, site.OLD_ID), numbers(table, site.OLD_POS)
    margin, force = numbers(table, site.OLD_MARGIN), numbers(table, site.OLD_FORCE)
    for i in range(rows):
        if type[i] == LIMIT_JOINT and pos[i] >= margin[i] and force[i] != 0.0:
            joint[id[i]] = np.nextafter(pos[i], np.inf)


@kernel
def accelerate(table: Ints, h: float, pushed: bool) -> None:
    """Accelerations, from the velocities found. pushed: not by smooth forces alone."""
    v1, v0 = numbers(table, site.VELOCITY), numbers(table, site.QVEL)
    qacc, smooth = numbers(table, site.QACC), numbers(table, site.QACC_SMOOTH)
    for j in range(v0.size):
        qacc[j] = (v1[j] - v0[j]) / h if pushed else smooth[j]


@kernel
def write_at(table: Ints, base: int, where: Ints, h: float, rows: int, implicit: bool, turned: bool) -> None:
    """Forces into the data, after MuJoCo has made the user's rows. rows: how many were solved."""
    v1, v0, push = numbers(table, site.VELOCITY), numbers(table, site.QVEL), numbers(table, site.PUSH)
    smooth, bias = numbers(table, site.SMOOTH), numbers(table, site.BIAS)
    spring, damper, passive = numbers(table, site.SPRING), numbers(table, site.DAMPER), numbers(table, site.PASSIVE)
    K, D, total = numbers(table, site.STIFFNESS), numbers(table, site.DAMPING), numbers(table, site.CONSTRAINT)
    for j in range(v0.size):
        total[j] = 0.0
        if turned:
            bias[j] -= push[j]
            smooth[j] += push[j]
        if implicit:
            gain, loss = -h * K[j] * v1[j], -D[j] * (v1[j] - v0[j])
            spring[j] += gain
            damper[j] += loss
            passive[j] += gain + loss
            smooth[j] += gain + loss
    m = ints(base + where[layout.NEFC], 1)[0]
    if rows == 0 or m == 0:
        return
    touch = touching(base, where, table[2 * site.DESK])
    transfer(
        indices(table, site.OLD_TYPE)[:rows],
        indices(table, site.OLD_ID)[:rows],
        numbers(table, site.OLD_POS)[:rows],
        numbers(table, site.OLD_MARGIN)[:rows],
        numbers(table, site.OLD_FORCE)[:rows],
        wholes(table, site.NUMBER),
        ints(longs(base + where[layout.TYPE], 1)[0], m),
        ints(longs(base + where[layout.ID], 1)[0], m),
        floats(longs(base + where[layout.POS], 1)[0], m),
        touch.dim,
        touch.friction,
        floats(longs(base + where[layout.MARGIN], 1)[0], m),
        ints(longs(base + where[layout.STATE], 1)[0], m),
        floats(longs(base + where[layout.FORCE], 1)[0], m),
    )
