"""The usual step, compiled: `step_at`, which `mujoco_roll` takes one after another.

It does what `Stepper.evaluate`, `assemble`, `solve` and `_write` do, with the same kernels and the same functions of
MuJoCo, and reads and writes MuJoCo's memory where it lies. Whatever is not usual is left to those.
"""

from typing import Final

import numpy as np

from pliant.inputs import Ints
from pliant.systems import mujoco_layout as layout
from pliant.systems import mujoco_site as site
from pliant.systems import mujoco_stats as stats
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import ints, longs, octets
from pliant.systems.mujoco_ahead import look_ahead, open_at
from pliant.systems.mujoco_answer import OTHERWISE, OUTRUN, SOLVED, TURNED, lap, solve_at
from pliant.systems.mujoco_arrays import copy
from pliant.systems.mujoco_engine import FACTORIZATIONS, ITERATIONS, RESIDUAL, STATUS, Options
from pliant.systems.mujoco_flow import swings
from pliant.systems.mujoco_leave import accelerate, drop, narrow, write_at
from pliant.systems.mujoco_memory import keep_state
from pliant.systems.mujoco_native import (
    collision,
    euler,
    factor_m,
    fwd_acceleration,
    fwd_actuation,
    fwd_kinematics,
    fwd_velocity,
    integrate_pos,
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
from pliant.systems.mujoco_servos import write_servos
from pliant.systems.mujoco_site import Fixed, memory_at, numbers, wholes
from pliant.systems.mujoco_sound import is_sound
from pliant.systems.mujoco_twin import are_same

LOOKS: Final = 2  # for contacts and limits that only come within reach by what the step does


@kernel
def is_known(fixed: Fixed) -> bool:
    """Whether the model is as it was, and no callback is set."""
    return not _has_callbacks(fixed.callbacks) and are_same(fixed.pairs)


@kernel
def step_at(fixed: Fixed, table: Ints, options: Options, advance: bool, whole: bool) -> int:
    """Forces and accelerations at the present state, for a model that `is_known`. advance: also the step; OUTRUN + its
    status, if that is the first of the data that is not simply solved. whole: forces are left in the data, which a next
    step does not need."""
    data, room, where, model, twin = table[site.BASE], table[site.ROOM], fixed.where, fixed.user, fixed.own
    used, arena = longs(data + where[layout.USED], 1)[0], longs(data + where[layout.ARENA], 1)[0]
    if used == 0 or 2 * used > arena or not is_sound(table):
        return OTHERWISE
    times = numbers(table, site.TIMES)
    last = lap(times, stats.CLOCKED, 0.0)
    octets(data + where[layout.ENERGY_DONE], 1)[0] = 0
    energy = numbers(table, site.ENERGY)
    energy[0] = energy[1] = 0.0
    fwd_kinematics(twin, data)
    look_ahead(fixed, table, False)
    make_m(twin, data)
    factor_m(twin, data)
    last = lap(times, stats.KINEMATICS, last)
    collision(twin, data)
    last = lap(times, stats.COLLISION, last)
    if ints(data + where[layout.NCON], 1)[0] > room:
        return OTHERWISE
    open_at(table, data, where)
    make_constraint(twin, data)
    last = lap(times, stats.ASSEMBLY, last)
    transmission(twin, data)
    if fixed.sensors:
        sensor_pos(model, data)
    fwd_velocity(model, data)
    if fixed.sensors:
        sensor_vel(model, data)
    fwd_actuation(model, data)
    fwd_acceleration(model, data)
    lap(times, stats.KINEMATICS, last)
    swung = swings(fixed, table, data)
    found = _find(fixed, table, data, swung, options, advance, whole)
    if found < SOLVED:
        return found
    last = lap(times, stats.CLOCKED, 0.0)
    octets(data + where[layout.POST_DONE], 1)[0] = 0
    if fixed.sensors:
        sensor_acc(model, data)
    if advance:
        first = _count(table)
        _advance(fixed, table, data, found == TURNED, swung)
        found = OUTRUN + first if first > 0 else found
        keep_state(memory_at(table), numbers(table, site.QPOS), numbers(table, site.QVEL))
    lap(times, stats.KINEMATICS, last)
    return found


@kernel(inline=True)
def _find(fixed: Fixed, table: Ints, data: int, swung: bool, options: Options, keep: bool, whole: bool) -> int:
    """Solve, look again for what the answer brings within reach, and write it."""
    where, model, twin = fixed.where, fixed.user, fixed.own
    rows, found, last = 0, OUTRUN, lap(numbers(table, site.TIMES), stats.CLOCKED, 0.0)
    for look in range(LOOKS + 1):
        if look > 0:
            look_ahead(fixed, table, True)
            collision(twin, data)
            last = lap(numbers(table, site.TIMES), stats.COLLISION, last)
            if ints(data + where[layout.NCON], 1)[0] > table[site.ROOM]:
                return OTHERWISE
            open_at(table, data, where)
            make_constraint(twin, data)
        rows = ints(data + where[layout.NEFC], 1)[0]
        if rows > table[site.ROOM]:
            return OTHERWISE
        found, last = solve_at(fixed, table, data, swung, look == LOOKS, keep, options, last)
        if found != OUTRUN:
            break
    if found < SOLVED:
        return found
    accelerate(table, fixed.step, rows > 0 or fixed.implicit or fixed.servos or found == TURNED)
    if not whole:
        return found
    drop(table, data, where)
    narrow(table, rows)
    cone = ints(fixed.cone_at, 1)
    elliptic, cone[0] = cone[0], fixed.cone
    make_constraint(twin, data)
    cone[0] = elliptic
    island(model, data)
    project(model, data)
    reference(model, data)
    write_at(table, data, where, fixed.step, rows, fixed.implicit, found == TURNED)
    if fixed.servos:
        write_servos(table)
    if rows and ints(data + where[layout.NEFC], 1)[0]:
        mul_jac_t_vec(model, data, table[2 * site.CONSTRAINT], longs(data + where[layout.FORCE], 1)[0])
    if fixed.implicit or fixed.servos or found == TURNED:
        solve_m(model, data, table[2 * site.QACC_SMOOTH], table[2 * site.SMOOTH], np.int32(1))
    lap(numbers(table, site.TIMES), stats.ASSEMBLY, last)
    return found


@kernel
def _advance(fixed: Fixed, table: Ints, data: int, turned: bool, swung: bool) -> None:
    """As `Stepper.advance` does; of what turns but does not swing, only the bodies that turn."""
    if not turned:
        euler(fixed.own, data)
        return
    before, average, places = numbers(table, site.BEFORE), numbers(table, site.AVERAGE), wholes(table, site.PLACES)
    qpos, qvel, shift = numbers(table, site.QPOS), numbers(table, site.QVEL), numbers(table, site.SHIFT)
    copy(qpos, before)
    euler(fixed.own, data)
    for j in range(qvel.size):
        average[j] = qvel[j] + shift[j]
    integrate_pos(fixed.own, table[2 * site.BEFORE], table[2 * site.AVERAGE], fixed.step)
    if swung:
        copy(before, qpos)
        return
    for at in places:
        for i in range(at, at + 7):
            qpos[i] = before[i]


@kernel
def _has_callbacks(callbacks: Ints) -> bool:
    others = 0
    for k in range(callbacks.shape[1]):
        others += longs(callbacks[0, k], 1)[0] != callbacks[1, k]
    return others > 0


@kernel
def _count(table: Ints) -> int:
    """The step, in the data's statistics; returns its status if it is the first of that, else 0."""
    totals, tally = numbers(table, site.TOTALS), numbers(table, site.TALLY)
    status = int(tally[STATUS])
    totals[status] += 1.0
    totals[stats.ITERATIONS] += tally[ITERATIONS]
    totals[stats.FACTORIZATIONS] += tally[FACTORIZATIONS]
    totals[stats.WORST] = max(totals[stats.WORST], tally[RESIDUAL])
    return status if totals[status] == 1.0 else 0
