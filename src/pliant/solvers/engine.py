"""The compiled stages of one island: Newton, sweeps, the interior path, the last digits.

Every stage leaves the best forces found so far in `best` and its work in `tally`; the driver decides what comes next.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.certificate import free_rates, law_residual
from pliant.solvers.compensated import add_product
from pliant.solvers.interior import (
    advance,
    central_step,
    dual_directions,
    longest_step,
    make_path,
    measure,
    product_after,
    scale_contacts,
    start_path,
)
from pliant.solvers.linear import (
    Dense,
    System,
    dense_direction,
    direction,
    factorize,
    make_dense,
    make_system,
    push_forces,
)
from pliant.solvers.newton import linearise_blocks, natural_map
from pliant.solvers.rows import (
    EXPONENT,
    FRICTION,
    LOWER,
    MOBILITY,
    OFFSET,
    POWER,
    SLOPE,
    START,
    STIFFNESS,
    UPPER,
    VALUE,
    Rows,
    project,
    rates,
    whitened_impulse,
)
from pliant.solvers.sweeps import delassus_blocks, sweep
from pliant.solvers.symbolic import Pattern
from pliant.solvers.whiten import Inertia, from_force, refine_gain, to_velocity

POLISHED = 1e-15  # a residual below which no step is worth taking
SETTLED = 1e-13  # one below which no factorization is
# Least compliance of a row, relative to h a, in a factorization: for Newton, whose rows may have none of their own,
# and on the interior path, where the distance from the rim is one.
LEAST = 1e-8
LEAST_INSIDE = 1e-14
GROWTH = 1e4  # forces may be so many times what calls for them; beyond, they do not excuse a broken law
FEW_UNKNOWNS = 60
DENSE_UNKNOWNS = 300  # up to here a dense factorization costs next to nothing

# Entries of Motion.tally. ITERATIONS, INSIDE and EXACT count the steps of Newton, of the interior path and of the dense
# Newton; each may take as many as BUDGET.
ITERATIONS, FACTORIZATIONS, RESIDUAL, BUDGET, TOLERANCE, PRECISE, INSIDE, EXACT, CEILING, LINEAR = range(10)


class Motion(NamedTuple):
    """The present forces' consequences, and the best forces so far."""

    free: Array  # (nv,) v* = v0 + h inv(M) f
    x: Array  # (nv,) whitened impulse
    v: Array  # (nv,)
    per_row: Array  # (7, m): rate without constraint forces, p, |G||v| + |e|, and four to work with
    best: Array  # (m,)
    tally: Array  # (10,)


class Island(NamedTuple):
    """All that the stages of one island share. Inner kernels take only the parts they need: every array passed on costs
    compile time."""

    inertia: Inertia
    rows: Rows
    pattern: Pattern
    system: System
    motion: Motion
    lift: float  # 1: the associated cone of Convex


def make_island(
    inertia: Inertia,
    rows: Rows,
    pattern: Pattern,
    v0: Array,
    push: Array,
    lift: float,
    budget: int,
    tolerance: float,
) -> Island:
    """v0: the velocity at the start; push = h inv(M) f, what it gains without constraints."""
    nv, m = len(v0), len(rows.law)
    per_row = np.zeros((7, m))
    free_rates(rows, v0, push, per_row[0])
    tally = np.zeros(10)
    tally[RESIDUAL], tally[BUDGET], tally[TOLERANCE] = np.inf, budget, tolerance
    tally[CEILING] = GROWTH * largest_cause(rows, per_row[0])
    tally[LINEAR] = is_linear(rows)
    moving = Motion(v0 + push, np.zeros(nv), np.zeros(nv), per_row, np.zeros(m), tally)
    return Island(inertia, rows, pattern, make_system(rows, pattern), moving, lift)


@kernel
def copy(source: Array, target: Array) -> None:
    # a loop: slice assignment would pull two seconds of compile time into every kernel
    for i in range(source.size):
        target[i] = source[i]


@kernel
def clear(x: Array) -> None:
    for i in range(x.size):
        x[i] = 0.0


@kernel
def settle(rows: Rows, inertia: Inertia, motion: Motion, lift: float, force: Array) -> float:
    """Velocity and rates that follow from the forces; keeps the best; returns the residual.

    p = free rate + G (v - v*): the free rate is summed in twofold precision, so that rates far below |G||v| keep
    their digits.
    """
    p, size, v = motion.per_row[1], motion.per_row[2], motion.v
    if motion.tally[PRECISE] != 0.0:
        _precise_gain(rows, inertia, force, motion.x, v)
    else:
        whitened_impulse(rows, force, motion.x)
        to_velocity(inertia, motion.x, v)
    for i in range(force.size):
        s, t = motion.per_row[0, i], abs(rows.law[i, OFFSET])
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            g, j = rows.jac_val[e], rows.jac_idx[e]
            s += g * v[j]
            t += abs(g) * abs(v[j] + motion.free[j])
        p[i], size[i] = s, t
    for j in range(v.size):
        v[j] += motion.free[j]
    residual = law_residual(rows, force, p, size, lift, motion.tally[CEILING])
    if residual < motion.tally[RESIDUAL]:
        motion.tally[RESIDUAL] = residual
        copy(force, motion.best)
    return residual


@kernel
def _precise_gain(rows: Rows, inertia: Inertia, force: Array, x: Array, v: Array) -> None:
    """v = inv(M) h G' lambda, summed in twofold precision: opposing forces of redundant rows cancel."""
    nv = v.size
    hi, lo = np.zeros(nv), np.zeros(nv)
    for i in range(force.size):
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            j = rows.jac_idx[e]
            hi[j], lo[j] = add_product(hi[j], lo[j], rows.jac_val[e], force[i])
    for j in range(nv):
        hi[j] = rows.step * (hi[j] + lo[j])
    from_force(inertia, hi, x)
    to_velocity(inertia, x, v)
    refine_gain(inertia, hi, x, v)


@kernel
def newton(island: Island, force: Array, most: float, search: float, polish: float) -> None:
    """At most `most` Newton steps from `force`, in place, with line search or boldly without. Below the tolerance, with
    `polish`: one step more, and further ones on the same factors while they gain a digit."""
    rows, system, motion, lift = island.rows, island.system, island.motion, island.lift
    tally, x = motion.tally, motion.x
    p, r, df, dp = motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    residual, chord, gained = settle(rows, island.inertia, motion, lift, force), False, True
    for k in range(int(most) + 12):
        done = residual < tally[TOLERANCE]
        if (done and polish == 0.0) or (not done and (k >= most or tally[ITERATIONS] >= tally[BUDGET])):
            break
        linearise_blocks(rows, force, p, lift, system)
        merit = natural_map(rows, force, p, lift, r)
        anew = not (done and chord and gained)
        if anew:
            tally[FACTORIZATIONS] += 1
            tally[ITERATIONS] += 1
        if not anew:
            push_forces(rows, system, LEAST)
        elif not factorize(rows, island.pattern, system, LEAST):
            break
        clear(x)
        direction(rows, island.pattern, system, x, df)
        step = 1.0
        if not done and search != 0.0:
            whitened_impulse(rows, df, x)
            rates(rows, x, dp)
            step = _line_search(rows, lift, motion.per_row, force, merit)
        for i in range(force.size):
            force[i] += step * df[i]
        new = settle(rows, island.inertia, motion, lift, force)
        if not np.isfinite(new):
            break
        chord = step == 1.0  # the factors at hand are those of this piece of the laws
        if done:
            gained = new < 0.3 * residual
            if not gained:
                if anew or tally[LINEAR] != 0.0 or tally[RESIDUAL] < SETTLED:
                    break
                copy(motion.best, force)
                new = settle(rows, island.inertia, motion, lift, force)
            if new <= POLISHED:
                break
        residual = new


@kernel
def _line_search(rows: Rows, lift: float, per_row: Array, force: Array, merit: float) -> float:
    """Backtrack along df until the natural map shrinks."""
    m = force.size
    p, r, df, dp, trial = per_row[1], per_row[3], per_row[4], per_row[5], per_row[6]
    ahead = np.empty(m)
    step = 1.0
    while True:
        for i in range(m):
            trial[i] = force[i] + step * df[i]
            ahead[i] = p[i] + step * dp[i]
        if natural_map(rows, trial, ahead, lift, r) <= (1.0 - 0.1 * step) * merit or step < 2e-3:
            return step
        step *= 0.5


@kernel
def sweeps(island: Island, force: Array, rounds: float) -> None:
    """Gauss-Seidel sweeps from the best forces; the result is left in `force`."""
    rows, motion = island.rows, island.motion
    copy(motion.best, force)
    project(rows, force)
    whitened_impulse(rows, force, motion.x)
    sweep(rows, delassus_blocks(rows), motion.per_row[0], force, motion.x, rounds)


@kernel
def interior(island: Island, force: Array, cone: float, spread: float, most: float) -> None:
    """Follow the interior path from around `force`, in place, until the tolerance is met or its end is reached.

    cone = 0: the convex program, whose answer is a good place to start from; 1: Coulomb's law.
    """
    rows, system, motion = island.rows, island.system, island.motion
    tally = motion.tally
    p = motion.per_row[1]
    path = make_path(rows)
    scale = 0.0
    for i in range(force.size):
        scale = max(scale, abs(force[i]))
        if rows.law[i, MOBILITY] > 0.0:
            scale = max(scale, abs(motion.per_row[0, i]) / (rows.step * rows.law[i, MOBILITY]))
    start_path(rows, path, force, motion.per_row[0], spread, scale)
    # the velocity is an iterate of its own: recomputed from the forces it would carry their rounding, amplified
    x, dx = np.zeros(motion.x.size), np.zeros(motion.x.size)
    whitened_impulse(rows, path.force, x)
    first = 0.0
    for it in range(int(most)):
        copy(path.force, force)
        project(rows, force)
        if (
            settle(rows, island.inertia, motion, island.lift, force) < tally[TOLERANCE]
            or tally[INSIDE] >= tally[BUDGET]
        ):
            return
        rates(rows, x, p)
        for i in range(force.size):
            p[i] += motion.per_row[0, i]
        total, pairs = measure(rows, path, p, cone)
        if pairs == 0 or not np.isfinite(total):
            return
        if it == 0:
            first = total
        elif total < 1e-22 * first:
            return
        scale_contacts(rows, path, system.small)
        target, corrected = 0.0, 0.0
        step = 0.0
        for half in range(2):  # Mehrotra: predict, then correct on the same factors
            central_step(rows, path, system, cone, target, corrected)
            if half == 0:
                tally[INSIDE] += 1
                tally[FACTORIZATIONS] += 1
                if not factorize(rows, island.pattern, system, LEAST_INSIDE):
                    return
            else:
                push_forces(rows, system, LEAST_INSIDE)
            whitened_impulse(rows, path.force, dx)
            for j in range(dx.size):
                dx[j] -= x[j]
            direction(rows, island.pattern, system, dx, path.d_force)
            dual_directions(rows, path, system.flow, cone, target)
            step = longest_step(rows, path, system.small[2])
            ratio = max(product_after(rows, path, min(1.0, step)) / total, 0.0)
            target, corrected = min(max(ratio**3, 1e-4), 1.0) * total / pairs, 1.0
        if not step > 1e-12:
            return
        step = min(1.0, 0.99 * step)
        advance(rows, path, step)
        for j in range(dx.size):
            x[j] += step * dx[j]


def exact_newton(island: Island, force: Array, most: int, search: bool) -> None:
    """Newton by a pivoted dense factorization of velocities and forces at once, from the best forces: for rows that are
    redundant and contradict each other, whose forces no sparse elimination tells apart."""
    dense = make_dense(island.rows, len(island.motion.v))
    _exact_newton(island, dense, force, float(most), float(search))


@kernel
def _exact_newton(island: Island, dense: Dense, force: Array, most: float, search: float) -> None:
    rows, system, motion = island.rows, island.system, island.motion
    tally = motion.tally
    p, df, dp = motion.per_row[1], motion.per_row[4], motion.per_row[5]
    tally[PRECISE], tally[RESIDUAL] = 1.0, np.inf
    copy(motion.best, force)
    residual, stalls = settle(rows, island.inertia, motion, island.lift, force), 0
    for k in range(int(most)):
        if residual == 0.0 or stalls > 3 or tally[EXACT] >= tally[BUDGET]:
            return
        linearise_blocks(rows, force, p, island.lift, system)
        merit = natural_map(rows, force, p, island.lift, motion.per_row[3])
        anew = k == 0 or tally[LINEAR] == 0.0
        if anew:
            tally[EXACT] += 1
            tally[FACTORIZATIONS] += 1
        if not dense_direction(rows, system, dense, anew, df):
            return
        whitened_impulse(rows, df, motion.x)
        rates(rows, motion.x, dp)
        step = _line_search(rows, island.lift, motion.per_row, force, merit) if search != 0.0 else 1.0
        for i in range(force.size):
            force[i] += step * df[i]
        new = settle(rows, island.inertia, motion, island.lift, force)
        if not np.isfinite(new):
            return
        stalls = 0 if new < 0.5 * residual else stalls + 1
        residual = new


@kernel
def finish(island: Island, force: Array) -> None:
    """The best forces, moved into bounds and cones, and the velocity and residual that follow from them."""
    rows, motion = island.rows, island.motion
    copy(motion.best, force)
    project(rows, force)
    motion.tally[PRECISE], motion.tally[RESIDUAL] = 1.0, np.inf
    settle(rows, island.inertia, motion, island.lift, force)


@kernel
def cancellation(rows: Rows, nv: int, force: Array) -> float:
    """How many times larger the forces are than what they do: max |G|'|lambda| over max |G' lambda|."""
    net, gross = np.zeros(nv), np.zeros(nv)
    for i in range(force.size):
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            f = rows.jac_val[e] * force[i]
            net[rows.jac_idx[e]] += f
            gross[rows.jac_idx[e]] += abs(f)
    largest, left = 0.0, 1e-300
    for j in range(nv):
        largest, left = max(largest, gross[j]), max(left, abs(net[j]))
    return largest / left


def solve_linear(island: Island, force: Array) -> None:
    """One linear solve, refined on its factors: dense where they are few, or too stiff for the sparse ones."""
    if len(force) + len(island.motion.v) <= FEW_UNKNOWNS or is_rigid(island):
        exact_newton(island, force, 12, False)
    else:
        newton(island, force, 5.0, 0.0, 1.0)
    finish(island, force)


def is_linear(rows: Rows) -> bool:
    """Whether every row is a spring without bounds: one linear solve gives the answer."""
    law = rows.law
    return bool(len(rows.block_ptr) == len(law) + 1 and np.all(np.isinf(law[:, LOWER]) & np.isinf(law[:, UPPER])))


def largest_cause(rows: Rows, free_rate: Array) -> float:
    """The largest force that rates and deformations at the start call for [N].

    Redundant rigid rows can carry any self-stress. One of 1e9 N where nothing asks for more than 1 N would hide every
    broken law behind its own size.
    """
    law = rows.law
    a = rows.step * law[:, MOBILITY]
    stop = np.divide(np.abs(free_rate), a, out=np.zeros(len(law)), where=a > 0.0)
    spring = np.clip(law[:, START], law[:, LOWER], law[:, UPPER])
    power = law[:, POWER] > 0.0
    spring[power] = law[power, STIFFNESS] * np.maximum(0.0, -law[power, VALUE]) ** law[power, EXPONENT]
    spring[(law[:, FRICTION] > 0.0) | ~np.isfinite(spring)] = 0.0
    return float(max(stop.max(initial=0.0), np.abs(spring).max(initial=0.0)))


def solved(island: Island) -> bool:
    return bool(island.motion.tally[RESIDUAL] < island.motion.tally[TOLERANCE])


def take_best(island: Island, force: Array) -> None:
    """Go on from the best forces found so far."""
    force[:] = island.motion.best


def is_rigid(island: Island) -> bool:
    """Whether rows are too stiff for the sparse factorization to tell apart, and few enough for a dense one."""
    m, law = len(island.motion.best), island.rows.law
    springs = (law[:, FRICTION] == 0.0) & (law[:, SLOPE] < np.inf)
    stiffest = np.max(law[:, MOBILITY] * law[:, SLOPE], where=springs, initial=0.0) * island.rows.step
    return bool(m + len(island.motion.v) <= DENSE_UNKNOWNS and stiffest > 0.1 / LEAST)
