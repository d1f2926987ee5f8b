"""Compiled, at addresses: what inertia alone does within the step, as `Swing.follow` finds it."""

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems import mujoco_site as site
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import floats
from pliant.systems.mujoco_arrays import copy
from pliant.systems.mujoco_native import (
    com_pos,
    com_vel,
    differentiate_pos,
    factor_m,
    integrate_pos,
    kinematics,
    make_m,
    mul_m,
    rne,
    solve_m,
)
from pliant.systems.mujoco_site import Fixed, indices, mass_at, numbers, vectors, wholes
from pliant.systems.mujoco_swing import FAITHFUL, MOST, PARTS, TURN, WEIGHTS, kicks, moves, own_force

HERE, SLOPE, RATES, SLOPES, BIAS, MOMENTUM, SCALE = range(site.WORKED)  # vectors of velocities in WORK


@kernel
def swings(fixed: Fixed, table: Ints, data: int) -> bool:
    """Whether trees swing; then the push and the shift of that are left in the table, else zeros."""
    dofs, c, x, v = wholes(table, site.DOFS), numbers(table, site.PUSH), numbers(table, site.AVERAGE), _qvel(table)
    push, shift = numbers(table, site.SWING_PUSH), numbers(table, site.SWING_SHIFT)
    for j in range(push.size):
        push[j] = shift[j] = 0.0
    if not moves(fixed.step, dofs, v):
        return False
    own_force(
        dofs,
        numbers(table, site.HEAVY),
        wholes(table, site.DOF_BODY),
        wholes(table, site.ROOT),
        numbers(table, site.GRAVITY),
        vectors(table, site.CDOF, 6),
        vectors(table, site.COM, 3),
        numbers(table, site.BIAS),
        c,
    )
    solve_m(fixed.own, data, table[2 * site.AVERAGE], table[2 * site.PUSH], np.int32(1))
    if not kicks(fixed.step, mass_at(table), dofs, v, c, x):
        return False
    for j in dofs:
        push[j] = c[j]
    weight = numbers(table, site.WEIGHT)
    gx, gy, gz = weight[0], weight[1], weight[2]
    weight[0] = weight[1] = weight[2] = 0.0
    followed = _flow(fixed, table, data)
    weight[0], weight[1], weight[2] = gx, gy, gz
    if followed:
        _enter(fixed, table, data, dofs)
    return True


@kernel
def _enter(fixed: Fixed, table: Ints, data: int, dofs: Ints) -> None:
    """Push and shift, from where the flow has led."""
    h, v, gain, average = fixed.step, _vector(table, HERE), _vector(table, MOMENTUM), _vector(table, RATES)
    change, qvel = _vector(table, SLOPE), _qvel(table)
    push, shift = numbers(table, site.SWING_PUSH), numbers(table, site.SWING_SHIFT)
    for j in range(v.size):
        change[j] = v[j] - qvel[j]
    mul_m(fixed.own, data, _at(table, MOMENTUM), _at(table, SLOPE))
    differentiate_pos(fixed.own, _at(table, RATES), h, table[2 * site.QPOS], table[2 * site.WORK])
    for j in dofs:
        push[j] += gain[j] / h
        shift[j] += average[j] - v[j]


@kernel
def _flow(fixed: Fixed, table: Ints, data: int) -> bool:
    """Where inertia alone leads within the step: positions at the start of WORK, velocities HERE. False: it is too
    fast."""
    h, twin, cvel = fixed.step, fixed.own, vectors(table, site.CVEL, 6)
    fastest = 0.0
    for b in range(cvel.shape[0]):
        for k in range(3):
            fastest = max(fastest, abs(cvel[b, k]))
            if np.isnan(cvel[b, k]):
                return False
    n = np.ceil(h * fastest / TURN)
    if not n <= MOST:
        return False
    n = max(n, 1.0)
    copy(numbers(table, site.MOCAP_POS), numbers(table, site.MOCAP_POS_THERE))
    copy(numbers(table, site.MOCAP_QUAT), numbers(table, site.MOCAP_QUAT_THERE))
    v = _vector(table, HERE)
    copy(numbers(table, site.QPOS), _positions(table))
    copy(_qvel(table), v)
    for _ in range(int(n)):
        _short(twin, table, h / n)
    total = 0.0
    for x in v:
        total += 0.0 * (x * x)
    if total != 0.0:
        return False
    copy(_positions(table), numbers(table, site.THERE))
    _place(twin, table[site.BESIDE])
    return _same_energy(fixed, table, data)


@kernel
def _short(twin: int, table: Ints, dt: float) -> None:
    """A step of the classical Runge-Kutta."""
    q, v, there, rate = _positions(table), _vector(table, HERE), numbers(table, site.THERE), numbers(table, site.RATE)
    slope, rates, slopes = _vector(table, SLOPE), _vector(table, RATES), _vector(table, SLOPES)
    for j in range(v.size):
        rates[j] = slopes[j] = slope[j] = 0.0
        rate[j] = v[j]
    for k in range(4):
        part, weight = PARTS[k], WEIGHTS[k]
        copy(q, there)
        if k > 0:
            integrate_pos(twin, table[2 * site.THERE], table[2 * site.RATE], part * dt)
        for j in range(v.size):
            rate[j] = v[j] + part * dt * slope[j]
        _slope(twin, table)
        for j in range(v.size):
            rates[j] += weight * rate[j]
            slopes[j] += weight * slope[j]
    integrate_pos(twin, table[2 * site.WORK], _at(table, RATES), dt)
    for j in range(v.size):
        v[j] += dt * slopes[j]


@kernel
def _slope(twin: int, table: Ints) -> None:
    """-inv(M) c at the positions and velocities of the data aside, of a model without weight."""
    beside, c = table[site.BESIDE], _vector(table, BIAS)
    _place(twin, beside)
    factor_m(twin, beside)
    com_vel(twin, beside)
    rne(twin, beside, np.int32(0), _at(table, BIAS))
    for j in range(c.size):
        c[j] = -c[j]
    solve_m(twin, beside, _at(table, SLOPE), _at(table, BIAS), np.int32(1))


@kernel
def _place(twin: int, data: int) -> None:
    """Where bodies are, and M."""
    kinematics(twin, data)
    com_pos(twin, data)
    make_m(twin, data)


@kernel
def _same_energy(fixed: Fixed, table: Ints, data: int) -> bool:
    """Give each tree the energy of motion that it had; False: it has come to have another altogether."""
    v, qvel, momentum, scale = _vector(table, HERE), _qvel(table), _vector(table, MOMENTUM), _vector(table, SCALE)
    tree = indices(table, site.DOF_TREE)
    mul_m(fixed.own, data, _at(table, MOMENTUM), table[2 * site.QVEL])
    before, after = np.zeros(v.size), np.zeros(v.size)
    for j in range(v.size):
        before[tree[j]] += qvel[j] * momentum[j]
    mul_m(fixed.own, table[site.BESIDE], _at(table, MOMENTUM), _at(table, HERE))
    for j in range(v.size):
        after[tree[j]] += v[j] * momentum[j]
    for k in range(v.size):
        had, has = before[k], after[k]
        if not (has == had or (has > had / FAITHFUL and has < had * FAITHFUL)):
            return False
        scale[k] = np.sqrt(had / has) if has > 0.0 else 1.0
    for j in range(v.size):
        v[j] *= scale[tree[j]]
    return True


@kernel(inline=True)
def _qvel(table: Ints) -> Array:
    return numbers(table, site.QVEL)


@kernel(inline=True)
def _positions(table: Ints) -> Array:
    """The first of WORK, (nq,)."""
    return floats(table[2 * site.WORK], table[2 * site.QPOS + 1])


@kernel(inline=True)
def _at(table: Ints, k: int) -> int:
    """Where a vector of velocities lies in WORK."""
    return table[2 * site.WORK] + 8 * (table[2 * site.QPOS + 1] + k * table[2 * site.QVEL + 1])


@kernel(inline=True)
def _vector(table: Ints, k: int) -> Array:
    """It, (nv,)."""
    return floats(_at(table, k), table[2 * site.QVEL + 1])
