"""Servos, and other actuators whose force falls with their length or velocity: a row each, with its range as bounds.

The row carries F0 - K h p1 - B (p1 - p0), which is the offset e = -(F0 + B p0) / (h K + B) of a spring without stretch;
what MuJoCo has put into the forces for it is taken out.
"""

from typing import Final, NamedTuple

import numpy as np

from pliant.flat import BILATERAL, CLIPPED
from pliant.inputs import Array, Ints
from pliant.systems import mujoco_site as site
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import floats, folded, longs
from pliant.systems.mujoco_arrays import clear
from pliant.systems.mujoco_flat import (
    EXTRA_COLUMNS,
    EXTRA_DAMPING,
    EXTRA_KIND,
    EXTRA_LOWER,
    EXTRA_OFFSET,
    EXTRA_STIFFNESS,
    EXTRA_UPPER,
    Extra,
)
from pliant.systems.mujoco_native import fwd_actuation
from pliant.systems.mujoco_site import Fixed, indices, numbers, vectors, wholes

DIFFERENCE: Final = 1e-4  # [m or rad, m/s or rad/s] of actuator lengths and velocities, for their slopes


class Servos(NamedTuple):
    """Outputs of a model's actuators, and what joints set to their forces, by velocity."""

    feels: Ints  # (nout,) whether the force may depend on the motion
    lower: Array  # (nout,) range of the force
    upper: Array
    limited: Ints  # (nv,) whether the joint has a range for the forces of actuators
    range: Array  # (nv, 2)
    weighs: Ints  # (nv,) whether gravity compensation counts with them
    springs: Array  # (nout,) K, where it does not depend on the state of any; else empty
    dampers: Array  # (nout,) B


class Pull(NamedTuple):
    """What MuJoCo has found for the outputs."""

    force: Array  # (nout,)
    velocity: Array  # (nout,)
    total: Array  # (nv,) qfrc_actuator
    weight: Array  # (nv,) qfrc_gravcomp
    rownnz: np.ndarray  # moments, by rows
    rowadr: np.ndarray
    colind: np.ndarray
    moment: Array


@kernel
def servo_rows(
    h: float, servos: Servos, pull: Pull, free: Array, K: Array, B: Array, f: Array
) -> tuple[Extra, Ints, Array]:
    """(rows, which outputs have them, the forces that they replace, which are taken out of f).

    free: (nout,) forces without their ranges; K, B: (nout,) how they fall with length and velocity.
    """
    n = free.size
    which, taken, table = np.empty(n, np.int64), np.empty(n), np.empty((n, EXTRA_COLUMNS))
    ptr, idx, val = np.empty(n + 1, np.int64), np.empty(pull.colind.size, np.int64), np.empty(pull.colind.size)
    count = _fill_rows(h, servos, pull, free, K, B, f, Extra(ptr, idx, val, table), which, taken)
    end = ptr[count]
    return (
        Extra(ptr[: count + 1].copy(), idx[:end].copy(), val[:end].copy(), table[:count].copy()),
        which[:count].copy(),
        taken[:count].copy(),
    )


@kernel
def _fill_rows(
    h: float, servos: Servos, pull: Pull, free: Array, K: Array, B: Array, f: Array, extra: Extra, which: Ints,
    taken: Array,
) -> int:  # fmt: skip
    """The same, filled in; returns how many there are."""
    ptr, idx, val = extra.ptr, extra.idx, extra.val
    ptr[0] = count = end = 0
    for a in range(free.size):
        S = h * K[a] + B[a]
        if not servos.feels[a] or not S > 0.0 or pull.rownnz[a] == 0:
            continue
        possible, low, high, there = _bounds(servos, pull, a)
        if not possible:
            continue
        for e in range(pull.rowadr[a], pull.rowadr[a] + pull.rownnz[a]):
            idx[end], val[end] = pull.colind[e], pull.moment[e]
            f[idx[end]] -= val[end] * there
            end += 1
        which[count], taken[count], ptr[count + 1] = a, there, end
        row = extra.table[count]
        clear(row)
        row[EXTRA_KIND] = CLIPPED if low > -np.inf or high < np.inf else BILATERAL
        row[EXTRA_STIFFNESS], row[EXTRA_DAMPING], row[EXTRA_LOWER], row[EXTRA_UPPER] = K[a], B[a], low, high
        row[EXTRA_OFFSET] = -(free[a] + B[a] * pull.velocity[a]) / S
        count += 1
    return count


@kernel
def _bounds(servos: Servos, pull: Pull, a: int) -> tuple[bool, float, float, float]:
    """(whether it can have a row, the range of an output's force, that of its joint included, and its force in
    qfrc_actuator, which is within that of the joint). It cannot where other outputs share the joint's range, or the
    ranges have nothing in common."""
    low, high, there = servos.lower[a], servos.upper[a], pull.force[a]
    for e in range(pull.rowadr[a], pull.rowadr[a] + pull.rownnz[a]):
        dof, gear = pull.colind[e], pull.moment[e]
        if not servos.limited[dof] or gear == 0.0:
            continue
        sharing = 0
        for o in range(pull.rowadr[0], pull.colind.size):
            sharing += pull.colind[o] == dof
        if pull.rownnz[a] > 1 or sharing > 1:
            return False, low, high, there
        weight = pull.weight[dof] if servos.weighs[dof] else 0.0
        one, two = (servos.range[dof, 0] - weight) / gear, (servos.range[dof, 1] - weight) / gear
        low, high = max(low, min(one, two)), min(high, max(one, two))
        there = (pull.total[dof] - weight) / gear
    return low <= high, low, high, there


@kernel(inline=True)
def extra_words(table: Ints) -> int:
    """Of memory that `extra_at` takes."""
    return 1 + (1 + EXTRA_COLUMNS) * table[2 * site.ACT_FORCE + 1] + 2 * table[2 * site.MOMENT + 1]


@kernel(inline=True)
def extra_at(fixed: Fixed, table: Ints, data: int, f: Array, desk: int) -> Extra:
    """Compiled, at addresses: the rows, in the memory at desk, and what they replace taken out of f."""
    outputs, entries, count = table[2 * site.ACT_FORCE + 1], table[2 * site.MOMENT + 1], 0
    idx, val = desk + 8 * (outputs + 1), desk + 8 * (outputs + 1 + entries)
    rows = val + 8 * entries
    longs(desk, 1)[0] = 0
    if fixed.servos:
        whole = Extra(
            longs(desk, outputs + 1), longs(idx, entries), floats(val, entries),
            folded(floats(rows, EXTRA_COLUMNS * outputs), outputs, EXTRA_COLUMNS),
        )  # fmt: skip
        _find_rows(fixed, table, data, f, whole)
        count = wholes(table, site.SERVO)[0]
    entries = longs(desk, count + 1)[count]
    return Extra(
        longs(desk, count + 1), longs(idx, entries), floats(val, entries),
        folded(floats(rows, EXTRA_COLUMNS * count), count, EXTRA_COLUMNS),
    )  # fmt: skip


@kernel
def _find_rows(fixed: Fixed, table: Ints, data: int, f: Array, extra: Extra) -> None:
    """Fill extra; how many rows there are, of whom, and what they replace, is left in the table."""
    force, total, rate = numbers(table, site.ACT_FORCE), numbers(table, site.ACT_TOTAL), numbers(table, site.ACT_DOT)
    servos = Servos(
        wholes(table, site.FEELS), numbers(table, site.LOWER), numbers(table, site.UPPER), wholes(table, site.LIMITED),
        vectors(table, site.FORCE_RANGE, 2), wholes(table, site.WEIGHS), numbers(table, site.SPRINGS),
        numbers(table, site.DAMPERS),
    )  # fmt: skip
    free, K, B = force, servos.springs, servos.dampers
    if K.size == 0 or has_ranges(servos):
        given, whole, change = force.copy(), total.copy(), rate.copy()
        fwd_actuation(fixed.own, data)
        free = force.copy()
        if K.size == 0:
            K = _slope_at(fixed, data, numbers(table, site.ACT_LENGTH), force, free)
            B = _slope_at(fixed, data, numbers(table, site.ACT_VELOCITY), force, free)
        for target, source in ((force, given), (total, whole), (rate, change)):
            for i in range(target.size):
                target[i] = source[i]
    pull = Pull(
        force, numbers(table, site.ACT_VELOCITY), total, numbers(table, site.GRAVCOMP), indices(table, site.ROWNNZ),
        indices(table, site.ROWADR), indices(table, site.COLIND), numbers(table, site.MOMENT),
    )  # fmt: skip
    outputs = wholes(table, site.SERVO)
    outputs[0] = _fill_rows(fixed.step, servos, pull, free, K, B, f, extra, outputs[1:], numbers(table, site.TAKEN))


@kernel
def has_ranges(servos: Servos) -> bool:
    """Whether forces may be other than they would be without their ranges."""
    some = False
    for a in range(servos.lower.size):
        some = some or servos.lower[a] > -np.inf or servos.upper[a] < np.inf
    for j in range(servos.limited.size):
        some = some or servos.limited[j] != 0
    return some


@kernel
def _slope_at(fixed: Fixed, data: int, state: Array, force: Array, free: Array) -> Array:
    """How forces fall with their lengths, or their velocities."""
    kept, slope = state.copy(), np.empty(free.size)
    for i in range(state.size):
        state[i] += DIFFERENCE
    fwd_actuation(fixed.own, data)
    for i in range(state.size):
        state[i] = kept[i]
        slope[i] = max(-(force[i] - free[i]) / DIFFERENCE, 0.0)
    return slope


@kernel
def write_servos(table: Ints) -> None:
    """Their forces into the data, in the place of what MuJoCo has found."""
    outputs, taken, found = wholes(table, site.SERVO), numbers(table, site.TAKEN), numbers(table, site.SERVO_FORCE)
    force, total, smooth = numbers(table, site.ACT_FORCE), numbers(table, site.ACT_TOTAL), numbers(table, site.SMOOTH)
    rownnz, rowadr = indices(table, site.ROWNNZ), indices(table, site.ROWADR)
    colind, moment = indices(table, site.COLIND), numbers(table, site.MOMENT)
    more = np.zeros(total.size)
    for k in range(outputs[0]):
        a = outputs[k + 1]
        for e in range(rowadr[a], rowadr[a] + rownnz[a]):
            more[colind[e]] += moment[e] * (found[k] - taken[k])
        force[a] = found[k]
    for j in range(more.size):
        total[j] += more[j]
        smooth[j] += more[j]
