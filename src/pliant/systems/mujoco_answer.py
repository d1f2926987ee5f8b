"""Compiled, at addresses: the rows of a step and its answer, as `read_rows` and `Stepper.solve` have them."""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import floats, folded, ints, longs
from pliant.inputs import Array, Ints
from pliant.solvers.island import copy
from pliant.systems import mujoco_layout as layout
from pliant.systems import mujoco_site as site
from pliant.systems.mujoco_ahead import goes_further, spots_at, touching
from pliant.systems.mujoco_chase import bent_pairs, chase
from pliant.systems.mujoco_laws import row_laws
from pliant.systems.mujoco_native import clock
from pliant.systems.mujoco_reach import SPUN, body_spins, is_long
from pliant.systems.mujoco_rows import EXTRA_COLUMNS, Efc, Extra, row_rates
from pliant.systems.mujoco_servos import servos_at
from pliant.systems.mujoco_site import (
    Fixed,
    bodies_at,
    indices,
    mass_at,
    numbers,
    surfaces_at,
    tree_at,
    vectors,
    wholes,
)
from pliant.systems.mujoco_solve import attempt
from pliant.systems.mujoco_spin import spin
from pliant.systems.mujoco_stats import ASSEMBLY, CLOCKED, SOLVE
from pliant.systems.mujoco_surfaces import BOUNCE, FAST, Spots, Surfaces, has_shapes

# What `solve_at` returns: no answer; one; one, and bodies turn; one with which the step goes further than is covered.
UNUSUAL, SOLVED, TURNED, OUTRUN = range(1, 5)


@kernel
def lap(times: Array, part: int, last: float) -> float:
    """Count the time since the last lap for a part of the step, if times are wanted; returns when this one was."""
    if times[CLOCKED] == 0.0:
        return 0.0
    now = clock()
    if part != CLOCKED:
        times[part] += now - last
    return now


@kernel(inline=True)
def solve_at(
    fixed: Fixed, table: Ints, base: int, swung: bool, first: bool, last: bool, lift: float, goal: float, since: float
) -> tuple[int, float]:
    """Solve the step; velocity and forces are left in the table. swung: trees swing. first, last: of the looks for
    rows; what is found at the first is noted as such, for whom this is not the end. last: do not look further.

    since: when the last lap was; that of this one is returned as well.
    """
    h, where, implicit = fixed.step, fixed.where, fixed.implicit
    velocity, force, f = (
        numbers(table, site.VELOCITY),
        numbers(table, site.OLD_FORCE),
        numbers(table, site.SMOOTH).copy(),
    )
    qvel, warm, K = numbers(table, site.QVEL), numbers(table, site.WARM), numbers(table, site.STIFFNESS)
    push, shift = numbers(table, site.PUSH), numbers(table, site.SHIFT)
    swing_push, swing_shift = numbers(table, site.SWING_PUSH), numbers(table, site.SWING_SHIFT)
    guess = np.empty(qvel.size)
    for j in range(qvel.size):
        push[j], shift[j], guess[j] = swing_push[j], swing_shift[j], qvel[j] + h * warm[j]
        if implicit:
            f[j] -= h * K[j] * qvel[j]
    turns = spin(h, bodies_at(table), vectors(table, site.XMAT, 9), qvel, push, shift) or swung
    if turns:
        for j in range(qvel.size):
            f[j] += push[j]
    geoms = surfaces_at(table)
    touch, (spots, head) = touching(base, where), spots_at(base, where, has_shapes(geoms.material))
    efc = _rows(table, base, where, fixed.sparse, qvel.size, geoms, spots)
    if fixed.servos:
        extra = servos_at(fixed, table, base, h, f)
    else:
        extra = Extra(longs(base, 0), longs(base, 0), floats(base, 0), folded(floats(base, 0), 0, EXTRA_COLUMNS))
    since = lap(numbers(table, site.TIMES), ASSEMBLY, since)
    good, v, found = attempt(
        h, mass_at(table), qvel, f, shift, efc, touch, extra, guess, floats(base, 0), lift, goal, 0.0,
        numbers(table, site.TALLY), wholes(table, site.KNOWN),
    )  # fmt: skip
    if first:
        numbers(table, site.TALLY)[site.FOUND] = 1.0 if good else -1.0
    usual = good and _is_sane(v) and _usual(table, h, spots.pair, head, v, found)
    if usual:
        bent = bent_pairs(table, h, spots.pair, head, found)
        if bent.size:
            tally = numbers(table, site.TALLY)
            before = tally.copy()
            usual, followed = chase(
                fixed, table, base, bent, spots.pair, head, f, efc, touch, extra, v, found, lift, goal
            )  # fmt: skip
            if usual:
                (v, found), tally[site.FOUND] = followed, 0.0
            else:
                copy(before, tally)  # of what was found before, which is handed on
    since = lap(numbers(table, site.TIMES), SOLVE, since)
    for j in range(v.size):
        velocity[j] = v[j]
    m, servo = efc.type.size, numbers(table, site.SERVO_FORCE)
    for i in range(m):
        force[i] = found[i]
    for k in range(found.size - m):
        servo[k] = found[m + k]
    if not usual or not _is_sane(v):
        return UNUSUAL, since
    if _bounces(geoms.material, efc, spots.pair, head, qvel, shift, found):
        return UNUSUAL, since
    if not last and goes_further(table, h, v):
        return OUTRUN, since
    return (TURNED if turns else SOLVED), since


@kernel
def _rows(table: Ints, base: int, where: Ints, sparse: bool, nv: int, geoms: Surfaces, spots: Spots) -> Efc:
    """MuJoCo's rows with our laws, and copies of what `write_at` needs of them."""
    m = ints(base + where[layout.NEFC], 1)[0]
    type, id = ints(longs(base + where[layout.TYPE], 1)[0], m), ints(longs(base + where[layout.ID], 1)[0], m)
    pos, loss = floats(longs(base + where[layout.POS], 1)[0], m), floats(longs(base + where[layout.LOSS], 1)[0], m)
    margin, law = floats(longs(base + where[layout.MARGIN], 1)[0], m).copy(), np.zeros((m, 4))
    row_laws(
        type,
        id,
        geoms,
        spots,
        vectors(table, site.GEOM_LAW, 4),
        vectors(table, site.JOINT_LAW, 4),
        vectors(table, site.TENDON_LAW, 4),
        vectors(table, site.EQUALITY_LAW, 4),
        numbers(table, site.USER_JOINT),
        numbers(table, site.USER_TENDON),
        margin,
        law,
    )
    old_type, old_id = indices(table, site.OLD_TYPE), indices(table, site.OLD_ID)
    old_pos, old_margin = numbers(table, site.OLD_POS), numbers(table, site.OLD_MARGIN)
    for i in range(m):
        old_type[i], old_id[i], old_pos[i], old_margin[i] = type[i], id[i], pos[i], margin[i]
    size, count = m * nv, 0
    if sparse:
        count, size = m, 0
    rownnz = ints(longs(base + where[layout.ROWNNZ], 1)[0], count)
    rowadr = ints(longs(base + where[layout.ROWADR], 1)[0], count)
    for i in range(count):
        size = max(size, rowadr[i] + rownnz[i])
    colind = ints(longs(base + where[layout.COLIND], 1)[0], size if sparse else 0)
    J = floats(longs(base + where[layout.JACOBIAN], 1)[0], size)
    return Efc(type, id, J, rownnz, rowadr, colind, pos, margin, loss, np.zeros(m), law)


@kernel
def _usual(table: Ints, h: float, pair: np.ndarray, head: np.ndarray, v: Array, force: Array) -> bool:
    """Whether no contact on a long way spins a body."""
    speed, radius, qvel = numbers(table, site.SPEED), numbers(table, site.RADIUS), numbers(table, site.QVEL)
    far = False
    for c in range(head.size):
        pushes = head[c] >= 0 and force[head[c]] > 0.0
        far = far or (pushes and is_long(h, speed, radius, pair[c, 0], pair[c, 1]))
    if not far:
        return True
    change, most = np.empty(v.size), 0.0
    for j in range(v.size):
        change[j] = v[j] - qvel[j]
    for turn in body_spins(tree_at(table), vectors(table, site.CDOF, 6), change):
        most = max(most, turn)
    return bool(h * most <= SPUN)


@kernel
def _is_sane(v: Array) -> bool:
    """Whether velocities and their squares are numbers."""
    total = 0.0
    for x in v:
        total += 0.0 * (x * x)
    return total == 0.0


@kernel
def _bounces(
    material: Array, efc: Efc, pair: np.ndarray, head: np.ndarray, v0: Array, shift: Array, force: Array
) -> bool:
    """Whether a contact that pushes has restitution and came fast."""
    for c in range(head.size):
        if head[c] >= 0 and force[head[c]] > 0.0:
            one, two = material[pair[c, 0]], material[pair[c, 1]]
            its = one if one[BOUNCE] >= two[BOUNCE] else two
            if its[BOUNCE] > 0.0:
                before, more, _ = row_rates(efc, head[c], v0, shift, shift)
                if before + more < -its[FAST]:
                    return True
    return False
