"""Compiled, at addresses: contacts, and what could close within the step, as `Reach.cover` and `outrun` see it."""

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems import mujoco_layout as layout
from pliant.systems import mujoco_site as site
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import floats, folded, ints, longs
from pliant.systems.mujoco_arrays import copy
from pliant.systems.mujoco_flat import Touch
from pliant.systems.mujoco_reach import outruns, widen, widen_limits
from pliant.systems.mujoco_site import Fixed, limits_at, numbers, tree_at, vectors, wholes
from pliant.systems.mujoco_surfaces import Spots


@kernel
def look_ahead(fixed: Fixed, table: Ints, again: bool) -> None:
    """Gaps and margins that cover the way of the step at the speeds of its start, or again, also at those found."""
    qvel, speed, v = numbers(table, site.QVEL), numbers(table, site.SPEED), numbers(table, site.VELOCITY)
    faster = numbers(table, site.AVERAGE)  # to work with
    for j in range(v.size):
        faster[j] = max(abs(qvel[j]), abs(v[j])) if again else qvel[j]
    if not again:
        for g in range(speed.size):
            speed[g] = 0.0
    widen(
        fixed.step,
        tree_at(table),
        vectors(table, site.CDOF, 6),
        vectors(table, site.COM, 3),
        vectors(table, site.XPOS, 3),
        v if again else qvel,
        numbers(table, site.MOVING),
        fixed.fall,
        numbers(table, site.USER_GAP),
        numbers(table, site.GEOM_MARGIN),
        numbers(table, site.USER_PAIR),
        fixed.stiff_gaps,
        speed,
        numbers(table, site.GEOM_GAP),
        numbers(table, site.PAIR_GAP),
        numbers(table, site.BODY_MARGIN),
        numbers(table, site.WAY),
        vectors(table, site.BODY_RATE, 6),
    )
    widen_limits(
        fixed.step, limits_at(table), faster, numbers(table, site.USER_JOINT), numbers(table, site.JOINT_MARGIN)
    )


@kernel
def open_at(table: Ints, base: int, where: Ints) -> None:
    """Note which contacts are beyond their margin, and let them have rows."""
    contact, open_ = longs(base + where[layout.CONTACTS], 1)[0], wholes(table, site.OPEN)
    for c in range(ints(base + where[layout.NCON], 1)[0]):
        exclude = ints(contact + c * where[layout.SIZE] + where[layout.EXCLUDE], 1)
        open_[c] = 0
        if exclude[0] == 1:
            open_[c], exclude[0] = 1, 0


@kernel
def goes_further(table: Ints, h: float, v: Array) -> bool:
    return outruns(
        h,
        tree_at(table),
        limits_at(table),
        vectors(table, site.CDOF, 6),
        vectors(table, site.COM, 3),
        vectors(table, site.XPOS, 3),
        numbers(table, site.QPOS),
        v,
        numbers(table, site.MOVING),
        numbers(table, site.WAY),
        numbers(table, site.JOINT_MARGIN),
        vectors(table, site.BODY_RATE, 6),
        numbers(table, site.GEOM_RATE),
    )


@kernel(inline=True)
def touching(base: int, where: Ints, desk: int) -> Touch:
    """What contacts add, in the memory at desk, TOUCH_WORDS to a contact."""
    n = ints(base + where[layout.NCON], 1)[0]
    friction, adhesion = folded(floats(desk + 8 * n, 5 * n), n, 5), floats(desk + 48 * n, n)
    _touch(base, where, ints(desk, n), friction, adhesion)
    return Touch(ints(desk, n), friction, adhesion)


@kernel
def _touch(base: int, where: Ints, dim: np.ndarray, friction: Array, adhesion: Array) -> None:
    contact = longs(base + where[layout.CONTACTS], 1)[0]
    for c in range(dim.size):
        at = contact + c * where[layout.SIZE]
        dim[c] = ints(at + where[layout.DIM], 1)[0]
        adhesion[c] = floats(at + where[layout.ADHESION], 1)[0]
        mu = floats(at + where[layout.FRICTION], 5)
        for k in range(5):
            friction[c, k] = mu[k]


@kernel(inline=True)
def spots_at(base: int, where: Ints, shaped: bool, desk: int) -> tuple[Spots, np.ndarray]:
    """Where contacts are, and their first rows, (ncon,), in the memory at desk, SPOT_WORDS to a contact. shaped: also
    points and frames, which only some laws need."""
    n = ints(base + where[layout.NCON], 1)[0]
    pair, head = folded(ints(desk, 2 * n), n, 2), ints(desk + 8 * n, n)
    pos, frame = folded(floats(desk + 16 * n, 3 * n), n, 3), folded(floats(desk + 40 * n, 9 * n), n, 9)
    _spot(base, where, shaped, pair, head, pos, frame)
    return Spots(pair, pos, frame), head


@kernel
def _spot(base: int, where: Ints, shaped: bool, pair: np.ndarray, head: np.ndarray, pos: Array, frame: Array) -> None:
    contact = longs(base + where[layout.CONTACTS], 1)[0]
    for c in range(head.size):
        at = contact + c * where[layout.SIZE]
        geom, head[c] = ints(at + where[layout.GEOM], 2), ints(at + where[layout.HEAD], 1)[0]
        pair[c, 0], pair[c, 1] = geom[0], geom[1]
        if shaped:
            copy(floats(at + where[layout.PLACE], 3), pos[c])
            copy(floats(at + where[layout.FRAME], 9), frame[c])
