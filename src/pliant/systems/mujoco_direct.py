"""The usual step in one compiled call: `forward_at`, and `mj_Euler` after it.

It does what `Stepper.evaluate`, `assemble`, `solve` and `_write` do, with the same kernels and the same functions of
MuJoCo, and reads and writes MuJoCo's memory where it lies. Whatever is not usual is left to those.
"""

from typing import Final

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import floats, ints, longs, octets
from pliant.inputs import Array, Ints
from pliant.systems import mujoco_stats as stats
from pliant.systems.mujoco_kinds import LIMIT_JOINT
from pliant.systems.mujoco_laws import row_laws
from pliant.systems.mujoco_layout import (
    ADHESION,
    ARENA,
    COLIND,
    CONTACTS,
    DIM,
    DIST,
    ENERGY_DONE,
    EXCLUDE,
    FORCE,
    FRICTION,
    GEOM,
    HEAD,
    ID,
    INCLUDE,
    JACOBIAN,
    LOSS,
    MARGIN,
    NCON,
    NEFC,
    POS,
    POST_DONE,
    ROWADR,
    ROWNNZ,
    SIZE,
    STATE,
    TYPE,
    USED,
)
from pliant.systems.mujoco_native import (
    collision,
    euler,
    factor_m,
    fwd_acceleration,
    fwd_actuation,
    fwd_kinematics,
    fwd_velocity,
    island,
    make_constraint,
    make_m,
    mul_jac_t_vec,
    project,
    reference,
    sensor_acc,
    sensor_pos,
    sensor_vel,
    solve_m,
    transmission,
)
from pliant.systems.mujoco_reach import SPUN, body_spins, is_long, outruns, widen, widen_limits
from pliant.systems.mujoco_rows import EXTRA_COLUMNS, Efc, Extra, Touch
from pliant.systems.mujoco_site import (
    APPLIED,
    BASE,
    BIAS,
    BODY_MARGIN,
    CDOF,
    COM,
    CONSTRAINT,
    CTRL,
    DAMPER,
    DAMPING,
    ENERGY,
    GEOM_GAP,
    JOINT_MARGIN,
    LAWS,
    MODEL,
    MOVING,
    NUMBER,
    OLD_FORCE,
    OLD_ID,
    OLD_MARGIN,
    OLD_POS,
    OLD_TYPE,
    OPEN,
    PAIR_GAP,
    PASSIVE,
    PUSH,
    PUSHED,
    QACC,
    QACC_SMOOTH,
    QPOS,
    QVEL,
    RADIUS,
    ROOM,
    SHIFT,
    SMOOTH,
    SPEED,
    SPRING,
    STIFFNESS,
    TALLY,
    TENDON_MARGIN,
    TOTALS,
    USER_GAP,
    USER_JOINT,
    USER_PAIR,
    USER_TENDON,
    VELOCITY,
    WARM,
    WAY,
    XMAT,
    XPOS,
    Fixed,
    bodies_at,
    fixed_at,
    indices,
    limits_at,
    mass_at,
    numbers,
    tree_at,
    vectors,
    wholes,
)
from pliant.systems.mujoco_solve import attempt
from pliant.systems.mujoco_spin import spin
from pliant.systems.mujoco_twin import are_same
from pliant.systems.mujoco_write import transfer

# What `forward_at` returns: it is not for this step; it found no answer; one; one, and bodies turn. The last is for
# `solve_at` alone: with this answer the step goes further than is covered.
OTHERWISE, UNUSUAL, SOLVED, TURNED, OUTRUN = range(5)
LOOKS: Final = 2  # for contacts and limits that only come within reach by what the step does


@kernel
def forward_at(table: Ints, lift: float, goal: float, advance: bool) -> int:
    """Forces and accelerations at the present state. advance: also the step, unless bodies turn."""
    fixed, data, room = fixed_at(table), table[BASE], table[ROOM]
    where, model, twin = fixed.where, fixed.user, fixed.own
    used, arena = longs(data + where[USED], 1)[0], longs(data + where[ARENA], 1)[0]
    if used == 0 or 2 * used > arena or _has_callbacks(fixed.callbacks):
        return OTHERWISE
    if not are_same(fixed.pairs) or not is_finite(table):
        return OTHERWISE
    octets(data + where[ENERGY_DONE], 1)[0] = 0
    energy = numbers(table, ENERGY)
    energy[0] = energy[1] = 0.0
    fwd_kinematics(twin, data)
    look_ahead(fixed, table, False)
    make_m(twin, data)
    factor_m(twin, data)
    collision(twin, data)
    if ints(data + where[NCON], 1)[0] > room:
        return OTHERWISE
    open_at(table, data, where)
    make_constraint(twin, data)
    transmission(twin, data)
    if fixed.sensors:
        sensor_pos(model, data)
    fwd_velocity(model, data)
    if fixed.sensors:
        sensor_vel(model, data)
    fwd_actuation(model, data)
    fwd_acceleration(model, data)
    found = _find(fixed, table, data, lift, goal)
    if found < SOLVED:
        return found
    octets(data + where[POST_DONE], 1)[0] = 0
    if fixed.sensors:
        sensor_acc(model, data)
    if advance:
        _count(table)
        if found == SOLVED:
            euler(twin, data)
    return found


@kernel
def _count(table: Ints) -> None:
    """The step, in the data's statistics."""
    totals, tally = numbers(table, TOTALS), numbers(table, TALLY)
    totals[stats.SOLVED] += 1.0
    totals[stats.ITERATIONS] += tally[1]
    totals[stats.FACTORIZATIONS] += tally[2]
    totals[stats.WORST] = max(totals[stats.WORST], tally[0])


@kernel(inline=True)
def _find(fixed: Fixed, table: Ints, data: int, lift: float, goal: float) -> int:
    """Solve, look again for what the answer brings within reach, and write it."""
    where, model, twin = fixed.where, fixed.user, fixed.own
    rows, found = 0, OUTRUN
    for look in range(LOOKS + 1):
        if look > 0:
            look_ahead(fixed, table, True)
            collision(twin, data)
            if ints(data + where[NCON], 1)[0] > table[ROOM]:
                return OTHERWISE
            open_at(table, data, where)
            make_constraint(twin, data)
        rows = ints(data + where[NEFC], 1)[0]
        if rows > table[ROOM]:
            return OTHERWISE
        found = solve_at(fixed, table, data, look == LOOKS, lift, goal)
        if found != OUTRUN:
            break
    if found == UNUSUAL:
        return UNUSUAL
    cone = ints(fixed.cone_at, 1)
    elliptic, cone[0] = cone[0], fixed.cone
    make_constraint(twin, data)
    cone[0] = elliptic
    island(model, data)
    project(model, data)
    reference(model, data)
    write_at(table, data, where, fixed.step, rows, fixed.implicit, found == TURNED)
    if rows and ints(data + where[NEFC], 1)[0]:
        mul_jac_t_vec(model, data, table[2 * CONSTRAINT], longs(data + where[FORCE], 1)[0])
    if fixed.implicit or found == TURNED:
        solve_m(model, data, table[2 * QACC_SMOOTH], table[2 * SMOOTH], np.int32(1))
    return found


@kernel
def _has_callbacks(callbacks: Ints) -> bool:
    others = 0
    for k in range(callbacks.shape[1]):
        others += longs(callbacks[0, k], 1)[0] != callbacks[1, k]
    return others > 0


@kernel
def is_finite(table: Ints) -> bool:
    """The state, the controls and the applied forces."""
    total = 0.0
    for k in (QPOS, QVEL, CTRL, APPLIED, PUSHED):
        for x in numbers(table, k):
            total += 0.0 * x
    return total == 0.0


@kernel
def look_ahead(fixed: Fixed, table: Ints, again: bool) -> None:
    """Gaps and margins that cover the way of the step at the speeds of its start, or again, also at those found."""
    qvel, speed, v = numbers(table, QVEL), numbers(table, SPEED), numbers(table, VELOCITY)
    faster = np.empty(v.size)
    for j in range(v.size):
        faster[j] = max(abs(qvel[j]), abs(v[j])) if again else qvel[j]
    if not again:
        for g in range(speed.size):
            speed[g] = 0.0
    widen(
        fixed.step, tree_at(table), vectors(table, CDOF, 6), vectors(table, COM, 3), vectors(table, XPOS, 3),
        v if again else qvel, numbers(table, MOVING), fixed.fall, numbers(table, USER_GAP), numbers(table, MODEL),
        numbers(table, USER_PAIR), fixed.stiff_gaps, speed, numbers(table, GEOM_GAP), numbers(table, PAIR_GAP),
        numbers(table, BODY_MARGIN), numbers(table, WAY),
    )  # fmt: skip
    widen_limits(fixed.step, limits_at(table), faster, numbers(table, USER_JOINT), numbers(table, JOINT_MARGIN))


@kernel
def open_at(table: Ints, base: int, where: Ints) -> int:
    """Note which contacts are beyond their margin, and let them have rows; returns how many they are."""
    contact, total = longs(base + where[CONTACTS], 1)[0], 0
    open_ = wholes(table, OPEN)
    for c in range(ints(base + where[NCON], 1)[0]):
        exclude = ints(contact + c * where[SIZE] + where[EXCLUDE], 1)
        open_[c] = 0
        if exclude[0] == 1:
            open_[c], exclude[0] = 1, 0
            total += 1
    return total


@kernel(inline=True)
def solve_at(fixed: Fixed, table: Ints, base: int, last: bool, lift: float, goal: float) -> int:
    """Solve the step; then drop contacts that do nothing, and set the margins of limits for the user's rows. last: do
    not look further."""
    h, where, implicit = fixed.step, fixed.where, fixed.implicit
    velocity, force, f = numbers(table, VELOCITY), numbers(table, OLD_FORCE), numbers(table, SMOOTH).copy()
    qvel, warm, K = numbers(table, QVEL), numbers(table, WARM), numbers(table, STIFFNESS)
    push, shift = numbers(table, PUSH), numbers(table, SHIFT)
    guess = np.empty(qvel.size)
    for j in range(qvel.size):
        push[j], shift[j], guess[j] = 0.0, 0.0, qvel[j] + h * warm[j]
        if implicit:
            f[j] -= h * K[j] * qvel[j]
    turns = spin(h, bodies_at(table), vectors(table, XMAT, 9), qvel, push, shift)
    if turns:
        for j in range(qvel.size):
            f[j] += push[j]
    touch, pair, head = _touching(base, where)
    efc = _rows(table, base, where, fixed.sparse, qvel.size, pair)
    none = np.zeros(0, np.int64)
    extra = Extra(np.zeros(1, np.int64), none, np.zeros(0), np.zeros((0, EXTRA_COLUMNS)))
    good, v, found = attempt(
        h, mass_at(table), qvel, f, shift, efc, touch, extra, guess, lift, goal, numbers(table, TALLY)
    )
    if not good or not _usual(table, h, pair, head, v, found):
        return UNUSUAL
    for j in range(v.size):
        velocity[j] = v[j]
    if not last and _goes_further(table, h, v):
        return OUTRUN
    for i in range(found.size):
        force[i] = found[i]
    _drop(table, base, where, found)
    _narrow(table, found.size)
    return TURNED if turns else SOLVED


@kernel
def _touching(base: int, where: Ints) -> tuple[Touch, np.ndarray, np.ndarray]:
    """What contacts add, their geoms, (ncon, 2), and their first rows, (ncon,)."""
    n, contact = ints(base + where[NCON], 1)[0], longs(base + where[CONTACTS], 1)[0]
    touch = Touch(np.empty(n, np.int32), np.empty((n, 5)), np.empty(n))
    pair, head = np.empty((n, 2), np.int32), np.empty(n, np.int32)
    for c in range(n):
        at = contact + c * where[SIZE]
        touch.dim[c], head[c] = ints(at + where[DIM], 1)[0], ints(at + where[HEAD], 1)[0]
        touch.adhesion[c] = floats(at + where[ADHESION], 1)[0]
        geom, mu = ints(at + where[GEOM], 2), floats(at + where[FRICTION], 5)
        pair[c, 0], pair[c, 1] = geom[0], geom[1]
        for k in range(5):
            touch.friction[c, k] = mu[k]
    return touch, pair, head


@kernel
def _rows(table: Ints, base: int, where: Ints, sparse: bool, nv: int, pair: np.ndarray) -> Efc:
    """MuJoCo's rows with our laws, and copies of what `write_at` needs of them."""
    m = ints(base + where[NEFC], 1)[0]
    type, id = ints(longs(base + where[TYPE], 1)[0], m), ints(longs(base + where[ID], 1)[0], m)
    pos, loss = floats(longs(base + where[POS], 1)[0], m), floats(longs(base + where[LOSS], 1)[0], m)
    margin, law = floats(longs(base + where[MARGIN], 1)[0], m).copy(), np.zeros((m, 4))
    row_laws(
        type, id, pair, vectors(table, LAWS, 4), vectors(table, LAWS + 1, 4), vectors(table, LAWS + 2, 4),
        vectors(table, LAWS + 3, 4), numbers(table, USER_JOINT), numbers(table, USER_TENDON), margin, law,
    )  # fmt: skip
    old_type, old_id = indices(table, OLD_TYPE), indices(table, OLD_ID)
    old_pos, old_margin = numbers(table, OLD_POS), numbers(table, OLD_MARGIN)
    for i in range(m):
        old_type[i], old_id[i], old_pos[i], old_margin[i] = type[i], id[i], pos[i], margin[i]
    size, count = m * nv, 0
    if sparse:
        count, size = m, 0
    rownnz = ints(longs(base + where[ROWNNZ], 1)[0], count)
    rowadr = ints(longs(base + where[ROWADR], 1)[0], count)
    for i in range(count):
        size = max(size, rowadr[i] + rownnz[i])
    colind = ints(longs(base + where[COLIND], 1)[0], size if sparse else 0)
    J = floats(longs(base + where[JACOBIAN], 1)[0], size)
    return Efc(type, id, J, rownnz, rowadr, colind, pos, margin, loss, np.zeros(m), law)


@kernel
def _usual(table: Ints, h: float, pair: np.ndarray, head: np.ndarray, v: Array, force: Array) -> bool:
    """Whether velocities are numbers, and contacts that push are near, or closed and do not spin a body."""
    total, far = 0.0, False
    for x in v:
        total += 0.0 * x
    if total != 0.0:
        return False
    open_, speed, radius = wholes(table, OPEN), numbers(table, SPEED), numbers(table, RADIUS)
    for c in range(head.size):
        if head[c] >= 0 and force[head[c]] > 0.0 and is_long(h, speed, radius, pair[c, 0], pair[c, 1]):
            far = True
            if open_[c]:
                return False
    if far:
        change, qvel = np.empty(v.size), numbers(table, QVEL)
        for j in range(v.size):
            change[j] = v[j] - qvel[j]
        for spin in body_spins(tree_at(table), vectors(table, CDOF, 6), change):
            if h * spin > SPUN:
                return False
    return True


@kernel
def _goes_further(table: Ints, h: float, v: Array) -> bool:
    return outruns(
        h, tree_at(table), limits_at(table), vectors(table, CDOF, 6), vectors(table, COM, 3), vectors(table, XPOS, 3),
        numbers(table, QPOS), v, numbers(table, MOVING), numbers(table, WAY), numbers(table, JOINT_MARGIN),
    )  # fmt: skip


@kernel
def _drop(table: Ints, base: int, where: Ints, force: Array) -> None:
    """As `mujoco_write.keep`, in MuJoCo's memory."""
    ncon, contact, size = ints(base + where[NCON], 1), longs(base + where[CONTACTS], 1)[0], where[SIZE]
    open_, number, gap = wholes(table, OPEN), wholes(table, NUMBER), numbers(table, USER_GAP)
    count = 0
    for c in range(ncon[0]):
        at = contact + c * size
        head, geom, number[c] = ints(at + where[HEAD], 1), ints(at + where[GEOM], 2), count
        if open_[c] and not (head[0] >= 0 and force[head[0]] != 0.0):
            ints(at + where[EXCLUDE], 1)[0] = 1
            head[0] = -1
            reach = floats(at + where[INCLUDE], 1)[0] + (gap[geom[0]] + gap[geom[1]])
            if floats(at + where[DIST], 1)[0] >= reach:
                number[c] = -1
                continue
        if count < c:
            source, target = longs(at, size // 8), longs(contact + count * size, size // 8)
            for k in range(size // 8):
                target[k] = source[k]
        count += 1
    ncon[0] = count


@kernel
def _narrow(table: Ints, rows: int) -> None:
    """The user's margins of limits, but wider for those that push from beyond."""
    joint, tendon = numbers(table, JOINT_MARGIN), numbers(table, TENDON_MARGIN)
    for source, target in ((USER_JOINT, joint), (USER_TENDON, tendon)):
        user = numbers(table, source)
        for k in range(target.size):
            target[k] = user[k]
    type, id, pos = indices(table, OLD_TYPE), indices(table, OLD_ID), numbers(table, OLD_POS)
    margin, force = numbers(table, OLD_MARGIN), numbers(table, OLD_FORCE)
    for i in range(rows):
        if type[i] == LIMIT_JOINT and pos[i] >= margin[i] and force[i] != 0.0:
            joint[id[i]] = np.nextafter(pos[i], np.inf)


@kernel
def write_at(table: Ints, base: int, where: Ints, h: float, rows: int, implicit: bool, turned: bool) -> None:
    """Forces and accelerations into the data, after MuJoCo has made the user's rows. rows: how many were solved."""
    v1, v0, push = numbers(table, VELOCITY), numbers(table, QVEL), numbers(table, PUSH)
    qacc, smooth, bias = numbers(table, QACC), numbers(table, SMOOTH), numbers(table, BIAS)
    spring, damper, passive = numbers(table, SPRING), numbers(table, DAMPER), numbers(table, PASSIVE)
    K, D, total = numbers(table, STIFFNESS), numbers(table, DAMPING), numbers(table, CONSTRAINT)
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
        qacc[j] = (v1[j] - v0[j]) / h if rows or implicit or turned else numbers(table, QACC_SMOOTH)[j]
    m = ints(base + where[NEFC], 1)[0]
    if rows == 0 or m == 0:
        return
    touch = _touching(base, where)[0]
    transfer(
        indices(table, OLD_TYPE)[:rows], indices(table, OLD_ID)[:rows], numbers(table, OLD_POS)[:rows],
        numbers(table, OLD_MARGIN)[:rows], numbers(table, OLD_FORCE)[:rows], wholes(table, NUMBER),
        ints(longs(base + where[TYPE], 1)[0], m), ints(longs(base + where[ID], 1)[0], m),
        floats(longs(base + where[POS], 1)[0], m), touch.dim, touch.friction,
        floats(longs(base + where[MARGIN], 1)[0], m), ints(longs(base + where[STATE], 1)[0], m),
        floats(longs(base + where[FORCE], 1)[0], m),
    )  # fmt: skip
