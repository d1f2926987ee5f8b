"""Compiled, at addresses: the rows of a step and its answer, as `read_rows` and `Stepper.solve` have them."""

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems import mujoco_layout as layout
from pliant.systems import mujoco_site as site
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import floats, folded, ints, longs
from pliant.systems.mujoco_ahead import goes_further, spots_at, touching
from pliant.systems.mujoco_arrays import copy
from pliant.systems.mujoco_chase import bent_pairs, chase
from pliant.systems.mujoco_engine import LIMIT, STATUS, Options, solve_rows
from pliant.systems.mujoco_engine import SOLVED as FULLY
from pliant.systems.mujoco_flat import SPOT_WORDS, TOUCH_WORDS, Efc, row_rates
from pliant.systems.mujoco_laws import row_laws
from pliant.systems.mujoco_memory import FEW_ROWS, Marks, recall, remember
from pliant.systems.mujoco_native import clock
from pliant.systems.mujoco_reach import SPUN, body_spins, is_long
from pliant.systems.mujoco_servos import extra_at, extra_words
from pliant.systems.mujoco_site import (
    Fixed,
    bodies_at,
    indices,
    mass_at,
    memory_at,
    numbers,
    surfaces_at,
    tree_at,
    vectors,
)
from pliant.systems.mujoco_spin import spin
from pliant.systems.mujoco_stats import ASSEMBLY, CLOCKED, SOLVE
from pliant.systems.mujoco_surfaces import BOUNCE, FAST, Spots, Surfaces, has_shapes

# What `solve_at` returns: it is not for this step; no answer; one; one, and bodies turn; one with which the step goes
# further than is covered.
OTHERWISE, UNUSUAL, SOLVED, TURNED, OUTRUN = range(5)


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
    fixed: Fixed, table: Ints, base: int, swung: bool, last: bool, keep: bool, options: Options, since: float
) -> tuple[int, float]:
    """Solve the step; velocity and forces are left in the table. swung: trees swing. last: of the looks for rows. keep:
    remember the forces, for the next step.

    since: when the last lap was; that of this one is returned as well.
    """
    h, where = fixed.step, fixed.where
    m, contacts = ints(base + where[layout.NEFC], 1)[0], ints(base + where[layout.NCON], 1)[0]
    entries = _entries(base, where, m) if fixed.sparse else 0
    if entries > table[site.JACOBIAN_ROOM]:
        return OTHERWISE, since
    qvel, shift, at = numbers(table, site.QVEL), numbers(table, site.SHIFT), table[2 * site.DESK]
    nv = qvel.size  # what follows lies in memory in this order; `desk_room` counts the words
    f, guess, v = floats(at, nv), floats(at + 8 * nv, nv), floats(at + 16 * nv, nv)
    at += 24 * nv
    turns = _begin(fixed, table, swung, f, guess)
    geoms = surfaces_at(table)
    touch = touching(base, where, at)
    at += 8 * TOUCH_WORDS * contacts
    many = m + table[2 * site.ACT_FORCE + 1] > FEW_ROWS
    spots, head = spots_at(base, where, many or has_shapes(geoms.material), at)
    at += 8 * SPOT_WORDS * contacts
    bent = longs(at, contacts)
    at += 8 * contacts
    efc = _rows_at(table, base, where, m, entries if fixed.sparse else m * nv, fixed.sparse, geoms, spots, at)
    at += 48 * m
    extra = extra_at(fixed, table, base, f, at)
    at += 8 * extra_words(table)
    extras = extra.table.shape[0]
    found, start = floats(at, m + extras), floats(at + 8 * (m + extras), m + extras)
    at += 16 * (m + extras)
    memory, qpos = memory_at(table), numbers(table, site.QPOS)
    marks = Marks(
        efc.type, efc.id, extras, spots.pair, spots.pos, spots.frame, head, touch.dim, geoms.xpos, geoms.xmat
    )  # fmt: skip
    if not (many and recall(memory, qpos, qvel, marks, start)):
        start = start[:0]
    since, tally = lap(numbers(table, site.TIMES), ASSEMBLY, since), numbers(table, site.TALLY)
    status = solve_rows(
        h, mass_at(table), qvel, f, shift, efc, touch, extra, guess, start, options, v, found, tally, at
    )
    usual = _is_answer(status, v) and _usual(table, h, spots.pair, head, v, found)
    if usual:
        pairs = bent_pairs(table, h, spots.pair, head, found, bent)
        if pairs > 0:
            status = chase(
                fixed, table, base, bent, pairs, spots.pair, head, f, efc, touch, extra, v, found, status, options, at
            )
    tally[STATUS] = status
    since = lap(numbers(table, site.TIMES), SOLVE, since)
    copy(v, numbers(table, site.VELOCITY))
    force, servo = numbers(table, site.OLD_FORCE), numbers(table, site.SERVO_FORCE)
    for i in range(m):
        force[i] = found[i]
    for k in range(extras):
        servo[k] = found[m + k]
    if not usual or not _is_answer(status, v):
        return UNUSUAL, since
    if _bounces(geoms.material, efc, spots.pair, head, qvel, shift, found):
        return UNUSUAL, since
    if not last and goes_further(table, h, v):
        return OUTRUN, since
    if keep:
        remember(memory, qpos.size, nv, marks, found)
    return (TURNED if turns else SOLVED), since


@kernel
def _begin(fixed: Fixed, table: Ints, swung: bool, f: Array, guess: Array) -> bool:
    """Fill the forces without constraints, and the velocity that Newton starts from; whether bodies turn or swing."""
    h, qvel, warm, K = fixed.step, numbers(table, site.QVEL), numbers(table, site.WARM), numbers(table, site.STIFFNESS)
    push, shift, smooth = numbers(table, site.PUSH), numbers(table, site.SHIFT), numbers(table, site.SMOOTH)
    swing_push, swing_shift = numbers(table, site.SWING_PUSH), numbers(table, site.SWING_SHIFT)
    for j in range(qvel.size):
        push[j], shift[j], guess[j] = swing_push[j], swing_shift[j], qvel[j] + h * warm[j]
        f[j] = smooth[j] - h * K[j] * qvel[j] if fixed.implicit else smooth[j]
    turns = spin(h, bodies_at(table), vectors(table, site.XMAT, 9), qvel, push, shift) or swung
    if turns:
        for j in range(qvel.size):
            f[j] += push[j]
    return turns


@kernel
def _entries(base: int, where: Ints, m: int) -> int:
    """Of a sparse Jacobian."""
    rownnz = ints(longs(base + where[layout.ROWNNZ], 1)[0], m)
    rowadr = ints(longs(base + where[layout.ROWADR], 1)[0], m)
    size = 0
    for i in range(m):
        size = max(size, rowadr[i] + rownnz[i])
    return size


@kernel(inline=True)
def _rows_at(
    table: Ints, base: int, where: Ints, m: int, entries: int, sparse: bool, geoms: Surfaces, spots: Spots, desk: int
) -> Efc:
    """MuJoCo's rows with our laws, in six words of memory each."""
    count, columns = (m, entries) if sparse else (0, 0)
    margin, law, offset = floats(desk, m), folded(floats(desk + 8 * m, 4 * m), m, 4), floats(desk + 40 * m, m)
    type, id = ints(longs(base + where[layout.TYPE], 1)[0], m), ints(longs(base + where[layout.ID], 1)[0], m)
    pos = floats(longs(base + where[layout.POS], 1)[0], m)
    _laws(table, base, where, type, id, pos, geoms, spots, margin, law, offset)
    return Efc(
        type,
        id,
        floats(longs(base + where[layout.JACOBIAN], 1)[0], entries),
        ints(longs(base + where[layout.ROWNNZ], 1)[0], count),
        ints(longs(base + where[layout.ROWADR], 1)[0], count),
        ints(longs(base + where[layout.COLIND], 1)[0], columns),
        pos,
        margin,
        floats(longs(base + where[layout.LOSS], 1)[0], m),
        offset,
        law,
    )


@kernel
def _laws(
    table: Ints, base: int, where: Ints, type: np.ndarray, id: np.ndarray, pos: Array, geoms: Surfaces, spots: Spots,
    margin: Array, law: Array, offset: Array,
) -> None:  # fmt: skip
    """Fill margins and laws, and copies of what `write_at` needs of the rows."""
    given = floats(longs(base + where[layout.MARGIN], 1)[0], type.size)
    for i in range(type.size):
        margin[i], offset[i] = given[i], 0.0
        for k in range(4):
            law[i, k] = 0.0
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
    for i in range(type.size):
        old_type[i], old_id[i], old_pos[i], old_margin[i] = type[i], id[i], pos[i], margin[i]


@kernel
def _usual(table: Ints, h: float, pair: np.ndarray, head: np.ndarray, v: Array, force: Array) -> bool:
    """Whether no contact on a long way spins a body."""
    speed, radius, far = numbers(table, site.SPEED), numbers(table, site.RADIUS), False
    for c in range(head.size):
        pushes = head[c] >= 0 and force[head[c]] > 0.0
        far = far or (pushes and is_long(h, speed, radius, pair[c, 0], pair[c, 1]))
    if not far:
        return True
    return _turns_little(table, h, v)


@kernel
def _turns_little(table: Ints, h: float, v: Array) -> bool:
    qvel = numbers(table, site.QVEL)
    change, most = np.empty(v.size), 0.0
    for j in range(v.size):
        change[j] = v[j] - qvel[j]
    for turn in body_spins(tree_at(table), vectors(table, site.CDOF, 6), change):
        most = max(most, turn)
    return bool(h * most <= SPUN)


@kernel
def _is_answer(status: int, v: Array) -> bool:
    """Whether velocities and their squares are numbers, those of the engine."""
    total = 0.0
    for x in v:
        total += 0.0 * (x * x)
    return total == 0.0 and FULLY <= status <= LIMIT


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
