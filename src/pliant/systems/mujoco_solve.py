"""A step of a model, solved without the objects around it, and never to more energy than there is."""

from __future__ import annotations

import functools
from typing import Final, NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solution import Status
from pliant.solvers.apart import solve_apart
from pliant.solvers.convex import Convex
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.driver import MANY_ROWS, is_sane, solve_islands, takes_quick
from pliant.solvers.formulation import Formulation
from pliant.solvers.known import NONE_KNOWN
from pliant.solvers.quick import FEW_ROWS, MOST, QUICK
from pliant.solvers.whiten import Inertia, factor_inertia, free_gain
from pliant.systems.mujoco_kinds import ELLIPTIC, FRICTIONLESS, LIMIT_JOINT, LIMIT_TENDON
from pliant.systems.mujoco_nearby import Nearby
from pliant.systems.mujoco_rows import (
    Efc,
    Extra,
    Mass,
    Touch,
    make_flat,
    make_part,
    row_gap,
    row_rates,
    whole_mass,
)

GAIN: Final = 1.01  # of all the energy that a step begins with, which no answer should exceed
SEVERITY: Final = (Status.NON_FINITE, Status.ITERATION_LIMIT, Status.SOLVED_BY_FALLBACK)
DEFAULT: Final = Coulomb()
WIDER: Final = 2  # times that rows are left out
NO_START: Final = np.zeros(0)
WAVE, FEW_TREES = 4, 40  # and where there are more trees, which may close one contact after the other
TIGHT = 0.1  # of how far these would go from rest, by which contacts may be open that do close when others push


class Answer(NamedTuple):
    """velocity (nv,), force per row (m,), and how it went."""

    velocity: Array
    force: Array
    status: Status
    residual: float
    iterations: int
    factorizations: int


class Step:
    """A step: M, v0, f, what free bodies turn by, and the rows. `flat` is made when somebody asks for it."""

    def __init__(
        self, h: float, mass: Mass, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra
    ) -> None:
        self.parts = (h, mass, v0, f, shift, efc, touch, extra)

    @functools.cached_property
    def flat(self) -> Flat:
        return make_flat(*self.parts)

    def at(self, pos: Array) -> Step:
        """The same with its rows at other places."""
        h, mass, v0, f, shift, efc, touch, extra = self.parts
        return Step(h, mass, v0, f, shift, efc._replace(pos=pos), touch, extra)

    def solve(self, solver: Formulation, guess: Array, start: Array = NO_START, rough: float = 0.0) -> Answer:
        """What the usual step finds, solved or not. guess: (nv,), a velocity near that of the end of the step. start:
        forces near the answer's, (m,), if there are some. rough: a residual above which a long search is worth it."""
        if takes_quick(solver):
            tally, goal = np.zeros(3), QUICK * solver.tolerance
            good, velocity, force = attempt(*self.parts, guess, start, solver.lift, goal, rough, tally, NONE_KNOWN)
            if good or (tally[1] > 0.0 and is_sane(force) and is_sane(velocity)):
                status = Status.SOLVED if good else Status.ITERATION_LIMIT
                return Answer(velocity, force, status, tally[0], int(tally[1]), int(tally[2]))
        return solve_flat(self.flat, solver, guess, start, search=False, resort=False)


@np.errstate(all="ignore")  # velocities of what is not finite
def solve_flat(
    flat: Flat,
    solver: Formulation,
    guess: Array,
    start: Array = NO_START,
    *,
    search: bool = True,
    resort: bool = True,
) -> Answer:
    """The same, with all that the solvers have. start: forces of a step not unlike this one, (m,), which tell many rows
    more than a velocity does. search: else with the usual step only. resort: else whatever that finds.

    As in `attempt`, of many rows those that are open and far from closing are left out at first, and what is no answer
    of some is none of more."""
    if len(flat.kind) <= MOST:
        return _solve_some(flat, solver, guess, NO_START, search, resort)
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    free = flat.velocity + free_gain(inertia, flat.step, flat.force)
    nearby = Nearby(flat, np.column_stack([flat.velocity, free, guess]))
    force = start.copy() if len(start) and is_sane(start) else np.zeros(len(flat.kind))
    for again in range(WIDER + 1):
        if again == WIDER:
            nearby.rows[:] = True
        answer = _solve_some(nearby.part(), solver, guess, force[nearby.rows], search, resort)
        force[:], force[nearby.rows] = 0.0, answer.force
        if not (answer.status.solved or resort) or not nearby.widen(answer.velocity):
            break
    return answer._replace(force=force)


def _solve_some(flat: Flat, solver: Formulation, guess: Array, start: Array, search: bool, resort: bool) -> Answer:
    """Coulomb's law can have several answers where bodies jam, and some of them throw the bodies with forces out of
    nothing (Painleve). An answer with more energy than motion and springs hold is not taken, nor one that is none: the
    convex program's is, which can always be had and should not gain any, and the step counts as solved by the fallback.
    If that does gain some, Coulomb's is kept.
    """
    if isinstance(solver, Convex):
        return _solve(flat, solver, guess, start, search or resort)
    answer = _solve(flat, solver, guess, start, search)
    if not (resort or answer.status.solved):
        return answer
    will_do = answer.status.solved or not solver.searches
    if will_do and not gains(flat, answer.velocity, answer.force):
        return answer
    other = _solve(flat, Convex(), guess, NO_START, True)
    if search and not answer.status.solved and len(flat.kind) > MANY_ROWS and other.status.solved:
        # whether a path comes through hangs on where it begins, more than on how long one searches on
        again = _solve(flat, solver, other.velocity, NO_START, True)
        if again.status.solved and not gains(flat, again.velocity, again.force):
            return again
    if not other.status.solved or gains(flat, other.velocity, other.force):
        return answer
    return other._replace(status=Status.SOLVED_BY_FALLBACK)


@np.errstate(all="ignore")
def _solve(flat: Flat, solver: Formulation, guess: Array, start: Array, search: bool) -> Answer:
    force = start.copy() if len(start) else np.zeros(len(flat.kind))
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    velocity = flat.velocity + free_gain(inertia, flat.step, flat.force)
    islands = solve_islands(flat, inertia, solver, force, velocity, guess, brief=not search)
    return Answer(
        velocity,
        force + 0.0,
        next((status for status in SEVERITY if status in islands.status), Status.SOLVED),
        float(islands.residual.max(initial=0.0)),
        int(islands.iterations.sum()),
        int(islands.factorizations.sum()),
    )


@kernel
def attempt(
    h: float, mass: Mass, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra,
    guess: Array, start: Array, lift: float, goal: float, rough: float, tally: Array, known: Ints,
) -> tuple[bool, Array, Array]:  # fmt: skip
    """(whether this is the answer, velocity, force): the usual step in one compiled call. start: forces near the
    answer's, (m,), if there are some. rough, tally, known: as of `solve_apart`; if this is not the answer it may be
    near one.

    Rows that are open and far from closing are left out at first; those that do close take part then, in the end all.
    """
    m, velocity = efc.type.size + extra.table.shape[0], np.empty(v0.size)
    force = np.zeros(m)
    mass_val = whole_mass(mass)
    inertia = factor_inertia(mass.ptr, mass.idx, mass_val)
    push = free_gain(inertia, h, f)
    wave = _trees(inertia) > FEW_TREES
    near = _near(h, efc, touch, m, v0, shift, push, guess, TIGHT if wave else 0.0)
    if not wave and near.sum() > FEW_ROWS:
        held = _near(h, efc, touch, m, v0, shift, np.zeros(v0.size), guess, 0.0)
        if 2 * held.sum() < near.sum():  # in a long step all would fall far, but for what they lie on
            near = held
    for i in range(start.size):
        force[i] = start[i] if near[i] else 0.0
    rounds = WAVE if wave else WIDER
    if wave and near.sum() < m:
        _pass_on(h, efc, touch, shift, v0 + push, near)
    for again in range(rounds + 1):
        if again == rounds or (again == 0 and not wave and m > MOST and 2 * near.sum() > m):
            near[:] = 1  # to solve again would take longer
        flat = make_part(h, mass.ptr, mass.idx, mass_val, v0, f, shift, efc, touch, extra, near)
        some = _gathered(force, near)
        good = solve_apart(flat, inertia, push, guess, lift, goal, rough, some, velocity, tally, known)
        r = 0
        for i in range(m):
            if near[i]:
                force[i] = some[r]
                r += 1
        if good and some.size < m and _closes(h, efc, touch, shift, velocity, near):
            if wave:
                guess = velocity.copy()
                _pass_on(h, efc, touch, shift, velocity, near)
            continue
        if good and gains(flat, velocity, some):
            good, tally[1] = False, 0.0  # of no use
        return good, velocity, force
    return False, velocity, force


@kernel
def _gathered(force: Array, near: Ints) -> Array:
    """Of rows that are near: what they had in the round before."""
    some, r = np.empty(near.sum()), 0
    for i in range(force.size):
        if near[i]:
            some[r] = force[i]
            r += 1
    return some


@kernel
def _trees(inertia: Inertia) -> int:
    """How many groups of velocities M couples; a sphere may be six."""
    count = 0
    for up in inertia.parent:
        if up < 0:
            count += 1
    return count


@kernel
def _near(
    h: float, efc: Efc, touch: Touch, m: int, v0: Array, shift: Array, push: Array, guess: Array, tight: float
) -> Ints:
    """1 for rows that are not open, or could be closed by a motion not unlike one of three: that of the start, with or
    without what it gains without constraints, and the guess; or by `tight` of what push does to their bodies. (m,)"""
    near, i = np.ones(m, np.int64), 0
    work = np.empty((3, v0.size))
    start, without, end = work[0], work[1], work[2]
    for j in range(v0.size):
        start[j], end[j] = v0[j] + shift[j], guess[j] + shift[j]
        without[j] = start[j] + push[j]
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
    return near


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
def _pass_on(h: float, efc: Efc, touch: Touch, shift: Array, v: Array, near: Ints) -> None:
    """Rows are near that close when near ones stop what they hit at v, and so on: impacts run through many bodies in a
    step, and otherwise each would be found by a solve of its own. What a row stops, others do not move."""
    w, held, found = v + shift, np.zeros(v.size, np.int64), True
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
