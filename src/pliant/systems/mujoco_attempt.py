"""The usual step in one compiled call, `attempt`.

It makes no array: each costs as much as ten rows, and its references would be counted. What it works with lies in
memory that its caller has, `attempt_room` words of it.
"""

from typing import Final

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import floats, folded, longs
from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solvers.apart import solve_apart
from pliant.solvers.island import clear, copy
from pliant.solvers.quick import FEW_ROWS, MOST
from pliant.solvers.whiten import GAINED, Inertia, factor_again, find_gain
from pliant.systems.mujoco_flat import (
    WORD,
    Efc,
    Extra,
    Mass,
    Touch,
    fill_mass,
    part_at,
    row_gap,
    row_rates,
)
from pliant.systems.mujoco_kinds import ELLIPTIC, FRICTIONLESS, LIMIT_JOINT, LIMIT_TENDON

GAIN: Final = 1.01  # of all the energy that a step begins with, which no answer should exceed
WIDER: Final = 2  # times that rows are left out
WAVE, FEW_TREES = 4, 40  # and where there are more trees, which may close one contact after the other
TIGHT = 0.1  # of how far these would go from rest, by which contacts may be open that do close when others push


@kernel
def attempt_room(nv: int, m: int, mass: int, factor: int, entries: int) -> int:
    """Words of memory for m rows with so many entries in their Jacobian, in M and in its factor."""
    return (GAINED + 3) * nv + mass + factor + 19 * m + 2 * entries + 8


@kernel
def attempt(
    h: float, mass: Mass, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra,
    guess: Array, start: Array, lift: float, goal: float, rough: float, tally: Array, known: Ints,
    velocity: Array, force: Array, desk: int,
) -> bool:  # fmt: skip
    """Whether this is the answer, velocity, (nv,), and force, (m,), which are filled. start: forces near the answer's,
    (m,), if there are some. rough, tally, known: as of `solve_apart`; if this is not the answer it may be near one.
    desk: where there is room to work.

    Rows that are open and far from closing are left out at first; those that do close take part then, in the end all.
    """
    m, nv = force.size, v0.size
    near, held, stopped = longs(desk, m), longs(desk + WORD * m, m), longs(desk + WORD * 2 * m, nv)
    at = desk + WORD * (2 * m + nv)
    mass_val, factor = floats(at, mass.idx.size), floats(at + WORD * mass.idx.size, mass.factor_idx.size)
    at += WORD * (mass.idx.size + mass.factor_idx.size)
    push, later = floats(at, nv), floats(at + WORD * nv, nv)
    work = folded(floats(at + WORD * 2 * nv, GAINED * nv), GAINED, nv)
    at += WORD * (GAINED + 2) * nv
    fill_mass(mass, mass_val)
    inertia = Inertia(mass.factor_ptr, mass.factor_idx, factor, mass.parent, mass.ptr, mass.idx, mass_val)
    factor_again(inertia, mass.source)
    find_gain(inertia, h, f, work, push)
    wave = _trees(inertia) > FEW_TREES
    _find_near(h, efc, touch, v0, shift, push, guess, TIGHT if wave else 0.0, work, near)
    count = _count(near)
    if not wave and count > FEW_ROWS:
        clear(later)
        _find_near(h, efc, touch, v0, shift, later, guess, 0.0, work, held)
        if 2 * _count(held) < count:  # in a long step all would fall far, but for what they lie on
            for i in range(m):
                near[i] = held[i]
    for i in range(m):
        force[i] = start[i] if near[i] and i < start.size else 0.0
    rounds = WAVE if wave else WIDER
    if wave and count < m:
        for j in range(nv):
            later[j] = v0[j] + push[j]
        _pass_on(h, efc, touch, shift, later, work[0], stopped, near)
    for again in range(rounds + 1):
        if again == rounds or (again == 0 and not wave and m > MOST and 2 * _count(near) > m):
            for i in range(m):
                near[i] = 1  # to solve again would take longer
        n = _count(near)
        some = floats(at, n)
        flat = part_at(h, mass, mass_val, v0, f, shift, efc, touch, extra, near, n, at + WORD * n)
        _gather(force, near, some)
        good = solve_apart(flat, inertia, push, guess, lift, goal, rough, some, velocity, tally, known)
        _scatter(some, near, force)
        if good and n < m and _closes(h, efc, touch, shift, velocity, near):
            if wave:
                copy(velocity, later)
                guess = later
                _pass_on(h, efc, touch, shift, velocity, work[0], stopped, near)
            continue
        if good and gains(flat, velocity, some):
            good, tally[1] = False, 0.0  # of no use
        return good
    return False


@kernel
def _count(chosen: Ints) -> int:
    count = 0
    for i in range(chosen.size):
        count += chosen[i]
    return count


@kernel
def _gather(force: Array, near: Ints, some: Array) -> None:
    """Of rows that are near: what they had in the round before."""
    r = 0
    for i in range(force.size):
        if near[i]:
            some[r] = force[i]
            r += 1


@kernel
def _scatter(some: Array, near: Ints, force: Array) -> None:
    """And back."""
    r = 0
    for i in range(force.size):
        if near[i]:
            force[i] = some[r]
            r += 1


@kernel
def _trees(inertia: Inertia) -> int:
    """How many groups of velocities M couples; a sphere may be six."""
    count = 0
    for up in inertia.parent:
        if up < 0:
            count += 1
    return count


@kernel
def _find_near(
    h: float, efc: Efc, touch: Touch, v0: Array, shift: Array, push: Array, guess: Array, tight: float, work: Array,
    near: Ints,
) -> None:  # fmt: skip
    """near := 1 for rows that are not open, or could be closed by a motion not unlike one of three: that of the start,
    with or without what it gains without constraints, and the guess; or by `tight` of what push does to their bodies.
    Else 0. (m,)"""
    start, without, end = work[0], work[1], work[2]
    for j in range(v0.size):
        start[j], end[j] = v0[j] + shift[j], guess[j] + shift[j]
        without[j] = start[j] + push[j]
    for i in range(near.size):
        near[i] = 1
    i = 0
    while i < efc.type.size:
        size = touch.dim[efc.id[i]] if efc.type[i] == ELLIPTIC else 1
        gap = row_gap(efc, touch, i) if _is_one_sided(efc.type[i]) else 0.0
        if gap > 0.0:
            before, free, after = row_rates(efc, i, start, without, end)
            far = gap + 2.0 * h * (min(before, free, after) + efc.offset[i]) >= 0.0
            if far and (tight == 0.0 or gap > tight * h * _most_rate(efc, i, push)):
                for j in range(i, i + size):
                    near[j] = 0
        i += size


@kernel
def _most_rate(efc: Efc, i: int, push: Array) -> float:
    """|J_i| |push|, of the velocities that row i has: its rate, if all of them went its way."""
    sparse, nv, square, size = efc.rownnz.size > 0, push.size, 0.0, 0.0
    start, count = (efc.rowadr[i], efc.rownnz[i]) if sparse else (i * nv, nv)
    for e in range(start, start + count):
        if efc.J[e] != 0.0:
            square += efc.J[e] ** 2
            size += push[efc.colind[e] if sparse else e - start] ** 2
    return float(np.sqrt(square * size))


@kernel(inline=True)
def _is_one_sided(type: int) -> bool:
    return type in (LIMIT_JOINT, LIMIT_TENDON, FRICTIONLESS, ELLIPTIC)


@kernel
def _closes(h: float, efc: Efc, touch: Touch, shift: Array, v: Array, near: Ints) -> bool:
    """Whether a row that was left out is pressed in at the end of the step; it is near then, too."""
    found, i = False, 0
    while i < efc.type.size:
        size = touch.dim[efc.id[i]] if efc.type[i] == ELLIPTIC else 1
        if not near[i]:
            p, more, _ = row_rates(efc, i, v, shift, shift)
            if row_gap(efc, touch, i) + h * (p + more + efc.offset[i]) < 0.0:
                found = True
                for j in range(i, i + size):
                    near[j] = 1
        i += size
    return found


@kernel
def _pass_on(h: float, efc: Efc, touch: Touch, shift: Array, v: Array, w: Array, held: Ints, near: Ints) -> None:
    """Rows are near that close when near ones stop what they hit at v, and so on: impacts run through many bodies in a
    step, and otherwise each would be found by a solve of its own. What a row stops, others do not move. w, held: (nv,),
    to work with."""
    for j in range(v.size):
        w[j], held[j] = v[j] + shift[j], 0
    found = True
    while found:
        found, i = False, 0
        while i < efc.type.size:
            size = touch.dim[efc.id[i]] if efc.type[i] == ELLIPTIC else 1
            if _is_one_sided(efc.type[i]):
                rate = row_rates(efc, i, w, w, w)[0] + efc.offset[i]
                ahead = row_gap(efc, touch, i) + h * rate
                if ahead < 0.0 and _hold(efc, i, -ahead / h, w, held):
                    found = True
                    for j in range(i, i + size):
                        near[j] = 1
            i += size


@kernel
def _hold(efc: Efc, i: int, rate: float, w: Array, held: Ints) -> bool:
    """Give row i so much more of a rate by velocities that no row holds; whether there are any."""
    sparse, nv, square = efc.rownnz.size > 0, w.size, 0.0
    start, count = (efc.rowadr[i], efc.rownnz[i]) if sparse else (i * nv, nv)
    for e in range(start, start + count):
        j = efc.colind[e] if sparse else e - start
        if held[j] == 0:
            square += efc.J[e] ** 2
    if square == 0.0:
        return False
    for e in range(start, start + count):
        j = efc.colind[e] if sparse else e - start
        if held[j] == 0 and efc.J[e] != 0.0:
            w[j] += efc.J[e] * rate / square
            held[j] = 1
    return True


@kernel
def gains(flat: Flat, v: Array, force: Array) -> bool:
    """Whether v has more kinetic energy than the step begins with, in motion and springs, and what servos add."""
    h = flat.step
    before = after = 0.0
    for i in range(v.size):
        p0 = p1 = 0.0
        for e in range(flat.mass_ptr[i], flat.mass_ptr[i + 1]):
            j = flat.mass_idx[e]
            p0 += flat.mass_val[e] * flat.velocity[j]
            p1 += flat.mass_val[e] * v[j]
        before += 0.5 * flat.velocity[i] * p0 + h * abs(flat.force[i]) * (abs(v[i]) + h * abs(flat.velocity[i]))
        after += 0.5 * v[i] * p1
    for i in range(force.size):
        if flat.stiffness[i] < np.inf:
            before += 0.5 * flat.stiffness[i] * abs(min(flat.value[i], 0.0)) ** (flat.exponent[i] + 1.0)
            if flat.value[i] > 0.0 and flat.lower[i] < 0.0:
                before += 0.5 * flat.stiffness[i] * flat.value[i] ** 2
        before += h * abs(force[i] * flat.offset[i])
    return after > GAIN * before
