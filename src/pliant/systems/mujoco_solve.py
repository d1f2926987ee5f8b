"""A step of a model, solved without the objects around it, and never to more energy than there is."""

from __future__ import annotations

import functools
from typing import Final, NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solution import Status
from pliant.solvers.convex import Convex
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.driver import solve_islands, takes_quick
from pliant.solvers.formulation import Formulation
from pliant.solvers.quick import QUICK, quick
from pliant.solvers.whiten import factor_inertia, free_gain
from pliant.systems.mujoco_rows import Efc, Extra, Mass, Touch, make_flat

GAIN: Final = 1.01  # of all the energy that a step begins with, which no answer should exceed
SEVERITY: Final = (Status.NON_FINITE, Status.ITERATION_LIMIT, Status.SOLVED_BY_FALLBACK)
DEFAULT: Final = Coulomb()


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

    def solve(self, solver: Formulation, guess: Array) -> Answer:
        """guess: (nv,), a velocity near that of the end of the step."""
        if takes_quick(solver):
            tally = np.zeros(3)
            good, velocity, force = attempt(*self.parts, guess, solver.lift, QUICK * solver.tolerance, tally)
            if good:
                return Answer(velocity, force, Status.SOLVED, tally[0], int(tally[1]), int(tally[2]))
        return solve_flat(self.flat, solver, guess)


def solve_flat(flat: Flat, solver: Formulation, guess: Array) -> Answer:
    """The same, with all that the solvers have.

    Coulomb's law can have several answers where bodies jam, and some of them throw the bodies with forces out of
    nothing (Painleve). An answer with more energy than motion and springs hold is not taken: the convex program's is,
    which should not gain any, and the step counts as solved by the fallback. If it does gain some, Coulomb's is kept.
    """
    answer = _solve(flat, solver, guess)
    if isinstance(solver, Convex) or not gains(flat, answer.velocity, answer.force):
        return answer
    other = _solve(flat, Convex(), guess)
    if gains(flat, other.velocity, other.force):
        return answer
    return other._replace(status=Status.SOLVED_BY_FALLBACK) if other.status is Status.SOLVED else other


@np.errstate(all="ignore")
def _solve(flat: Flat, solver: Formulation, guess: Array) -> Answer:
    force = np.zeros(len(flat.kind))
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    velocity = flat.velocity + free_gain(inertia, flat.step, flat.force)
    islands = solve_islands(flat, inertia, solver, force, velocity, guess)
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
    guess: Array, lift: float, goal: float, tally: Array,
) -> tuple[bool, Array, Array]:  # fmt: skip
    """(whether this is the answer, velocity, force): the usual step in one compiled call.

    Rows that are open and far from closing are left out at first; if one does close, all take part.
    """
    flat = make_flat(h, mass, v0, f, shift, efc, touch, extra)
    velocity, force = np.empty(v0.size), np.zeros(flat.kind.size)
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    push = free_gain(inertia, h, f)
    kept = _near(flat, push, guess)
    if kept.size < flat.kind.size:
        part = _selected(flat, kept)
        some = np.zeros(kept.size)
        if quick(part, inertia, push, guess, lift, goal, some, velocity, tally):
            for i in range(kept.size):
                force[kept[i]] = some[i]
            if not _closes(flat, velocity, force):
                return not gains(flat, velocity, force), velocity, force
        for i in range(force.size):
            force[i] = 0.0
    good = quick(flat, inertia, push, guess, lift, goal, force, velocity, tally)
    return good and not gains(flat, velocity, force), velocity, force


@kernel
def _near(flat: Flat, push: Array, guess: Array) -> Ints:
    """The rows that are not open, or could be closed by a motion not unlike one of three: that of the start, with or
    without what it gains without constraints, and the guess."""
    kept = np.empty(flat.kind.size, np.int64)
    count = 0
    for b in range(flat.block_ptr.size - 1):
        lo, hi = flat.block_ptr[b], flat.block_ptr[b + 1]
        near = True
        if flat.value[lo] > 0.0 and flat.lower[lo] == 0.0:
            before = free = after = flat.offset[lo]
            for e in range(flat.jac_ptr[lo], flat.jac_ptr[lo + 1]):
                j = flat.jac_idx[e]
                before += flat.jac_val[e] * flat.velocity[j]
                free += flat.jac_val[e] * (flat.velocity[j] + push[j])
                after += flat.jac_val[e] * guess[j]
            near = flat.value[lo] + 2.0 * flat.step * min(before, free, after) < 0.0
        if near:
            for i in range(lo, hi):
                kept[count] = i
                count += 1
    return kept[:count].copy()


@kernel
def _closes(flat: Flat, v: Array, force: Array) -> bool:
    """Whether a row that carries no force is pressed in at the end of the step."""
    for b in range(flat.block_ptr.size - 1):
        lo = flat.block_ptr[b]
        if flat.value[lo] > 0.0 and flat.lower[lo] == 0.0 and force[lo] == 0.0:
            p = flat.offset[lo]
            for e in range(flat.jac_ptr[lo], flat.jac_ptr[lo + 1]):
                p += flat.jac_val[e] * v[flat.jac_idx[e]]
            if flat.value[lo] + flat.step * p < 0.0:
                return True
    return False


@kernel
def _selected(flat: Flat, kept: Ints) -> Flat:
    """The step with these rows alone, whole blocks of them."""
    n, entries = kept.size, 0
    for i in kept:
        entries += flat.jac_ptr[i + 1] - flat.jac_ptr[i]
    jac_ptr, jac_idx, jac_val = np.zeros(n + 1, np.int64), np.empty(entries, np.int64), np.empty(entries)
    block_ptr = np.zeros(n + 1, np.int64)
    at, blocks, b = 0, 0, 0
    for k in range(n):
        i = kept[k]
        while flat.block_ptr[b + 1] <= i:
            b += 1
        for e in range(flat.jac_ptr[i], flat.jac_ptr[i + 1]):
            jac_idx[at], jac_val[at] = flat.jac_idx[e], flat.jac_val[e]
            at += 1
        jac_ptr[k + 1] = at
        if i + 1 == flat.block_ptr[b + 1]:
            blocks += 1
            block_ptr[blocks] = k + 1
    return Flat(
        flat.step, flat.mass_ptr, flat.mass_idx, flat.mass_val, flat.velocity, flat.force, jac_ptr, jac_idx, jac_val,
        block_ptr[: blocks + 1].copy(), _ints(flat.kind, kept), _floats(flat.value, kept), _floats(flat.offset, kept),
        _floats(flat.stiffness, kept), _floats(flat.damping, kept), _floats(flat.exponent, kept),
        _floats(flat.dissipation, kept), _floats(flat.lower, kept), _floats(flat.upper, kept),
        _floats(flat.friction, kept), _floats(flat.curvature, kept), _ints(flat.constraint, kept),
        _ints(flat.ids, kept),
    )  # fmt: skip


@kernel
def _floats(x: Array, kept: Ints) -> Array:
    out = np.empty(kept.size)
    for i in range(kept.size):
        out[i] = x[kept[i]]
    return out


@kernel
def _ints(x: Ints, kept: Ints) -> Ints:
    out = np.empty(kept.size, np.int64)
    for i in range(kept.size):
        out[i] = x[kept[i]]
    return out


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
