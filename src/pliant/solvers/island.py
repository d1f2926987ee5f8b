"""One island at work: what its stages share, and what follows from forces.

Every stage leaves the best forces found so far in `best` and its work in `tally`; the formulation decides what comes
next.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import folded, room
from pliant.inputs import Array
from pliant.solvers.certificate import free_rates, law_residual
from pliant.solvers.compensated import add_product, two_product
from pliant.solvers.linear import System, make_system
from pliant.solvers.rows import (
    FRICTION,
    LOWER,
    MOBILITY,
    OFFSET,
    POWER,
    REACH,
    SLOPE,
    SLOPE_TAIL,
    START,
    START_TAIL,
    UPPER,
    Rows,
    project,
    whitened_impulse,
)
from pliant.solvers.symbolic import Pattern
from pliant.solvers.whiten import Inertia, from_force, is_diagonal, to_velocity, velocity_gain

POLISHED = 1e-15  # a residual below which no step is worth taking
RIGID = 1e7  # h a S above which the sparse factorization cannot tell the forces of redundant rows apart
SEARCHED_ROWS = 100  # up to here a long search is no matter of seconds
DENSE_UNKNOWNS = 300  # up to here a dense factorization costs next to nothing

# Entries of Motion.tally. ITERATIONS, INSIDE and EXACT count the steps of Newton, of the interior path and of the dense
# Newton; each may take as many as BUDGET. ELSEWHERE counts those taken on other laws, FACTORIZATIONS all.
ITERATIONS, FACTORIZATIONS, RESIDUAL, BUDGET, TOLERANCE, PRECISE, INSIDE, EXACT, LINEAR, ELSEWHERE = range(10)
STEPS = [ITERATIONS, INSIDE, EXACT, ELSEWHERE]
TALLY, WORK = 10, 9
TWOFOLD, PLAIN = 1.0, 2.0  # values of PRECISE; else by Z


class Motion(NamedTuple):
    """The present forces' consequences, and the best forces so far."""

    free: Array  # (nv,) v* = v0 + h inv(M) f
    x: Array  # (nv,) whitened impulse
    v: Array  # (nv,)
    per_row: Array  # (WORK, m): rate without constraint forces, p, |G||v| + |e|, and six to work with
    best: Array  # (m,)
    tally: Array  # (TALLY,)


class Island(NamedTuple):
    """All that the stages of one island share. Inner kernels take only the parts they need: every array passed on costs
    compile time."""

    inertia: Inertia
    rows: Rows
    pattern: Pattern
    system: System
    motion: Motion
    lift: float  # 1: the associated cone of Convex


@kernel
def make_island(
    inertia: Inertia,
    rows: Rows,
    pattern: Pattern,
    v0: Array,
    push: Array,
    lift: float,
    budget: float,
    tolerance: float,
) -> Island:
    """v0: the velocity at the start; push = h inv(M) f, what it gains without constraints."""
    motion = make_motion(rows, v0, push, budget, tolerance)
    return Island(inertia, rows, pattern, make_system(rows, pattern), motion, lift)


@kernel
def make_motion(rows: Rows, v0: Array, push: Array, budget: float, tolerance: float) -> Motion:
    """Before anything has been tried."""
    nv, m = v0.size, rows.law.shape[0]
    motion = Motion(np.empty(nv), np.empty(nv), np.empty(nv), np.empty((WORK, m)), np.empty(m), np.empty(TALLY))
    rest(rows, motion, v0, push, budget, tolerance)
    return motion


@kernel(inline=True)
def brief_motion(rows: Rows, v0: Array, push: Array, budget: float, tolerance: float) -> Motion:
    """The same on the caller's stack."""
    nv, m = v0.size, rows.law.shape[0]
    motion = Motion(room(nv), room(nv), room(nv), folded(room(WORK * m), WORK, m), room(m), room(TALLY))
    rest(rows, motion, v0, push, budget, tolerance)
    return motion


@kernel
def rest(rows: Rows, motion: Motion, v0: Array, push: Array, budget: float, tolerance: float) -> None:
    """Nothing has been tried."""
    for j in range(v0.size):
        motion.free[j], motion.x[j], motion.v[j] = v0[j] + push[j], 0.0, 0.0
    clear(motion.best)
    for k in range(WORK):
        clear(motion.per_row[k])
    tally = motion.tally
    clear(tally)
    free_rates(rows, v0, push, motion.per_row[0])
    tally[RESIDUAL], tally[BUDGET], tally[TOLERANCE] = np.inf, budget, tolerance
    tally[LINEAR] = 1.0 if is_linear(rows) else 0.0


@kernel
def is_linear(rows: Rows) -> bool:
    """Whether every row is a spring without bounds: one linear solve gives the answer."""
    m = rows.law.shape[0]
    for i in range(m):
        if rows.law[i, LOWER] != -np.inf or rows.law[i, UPPER] != np.inf:
            return False
    return rows.block_ptr.size == m + 1


def is_rigid(island: Island) -> bool:
    """Whether rows are too stiff for the sparse factorization to tell apart, and few enough for a dense one."""
    law = island.rows.law
    springs = (law[:, FRICTION] == 0.0) & (law[:, SLOPE] < np.inf)
    stiffest = np.max(law[:, MOBILITY] * law[:, SLOPE], where=springs, initial=0.0) * island.rows.step
    return bool(is_small(island) and stiffest > RIGID)


def is_small(island: Island) -> bool:
    """Few enough rows and velocities for a dense factorization."""
    return len(island.motion.best) + len(island.motion.v) <= DENSE_UNKNOWNS


def has_few_rows(island: Island) -> bool:
    """Few enough for a long search; that of many seldom finds."""
    return len(island.motion.best) <= SEARCHED_ROWS


def solved(island: Island) -> bool:
    return bool(island.motion.tally[RESIDUAL] < island.motion.tally[TOLERANCE])


def take_best(island: Island, force: Array) -> None:
    """Go on from the best forces found so far."""
    force[:] = island.motion.best


def rescaled(island: Island, factor: float) -> Island:
    """The island with every mobility times `factor` in its laws.

    The answers are the same; on the way to them 1 / (h a) decides who is active. Forces that come from stiffness, not
    from inertia, are far larger than that scale, and a smaller mobility tells their sets apart.
    """
    law = island.rows.law.copy()
    law[:, [MOBILITY, REACH]] *= factor
    return _other(island, law)


def softened(island: Island, compliance: float) -> Island:
    """The island with so much more compliance on its linear laws, relative to h a."""
    law = island.rows.law.copy()
    linear = (law[:, FRICTION] == 0.0) & (law[:, POWER] == 0.0) & np.isfinite(law[:, SLOPE])
    fit = 1.0 / (1.0 + compliance * island.rows.step * law[linear, MOBILITY] * law[linear, SLOPE])
    for column in (SLOPE, SLOPE_TAIL, START, START_TAIL):
        law[linear, column] *= fit
    return _other(island, law)


def slippery(island: Island, share: float) -> Island:
    """The island with this share of its friction."""
    law = island.rows.law.copy()
    law[:, FRICTION] *= share
    law[:, REACH] *= share * share
    return _other(island, law)


def _other(island: Island, law: Array) -> Island:
    """The same with other laws, and nothing tried yet."""
    motion = Motion(*(part.copy() for part in island.motion))
    motion.tally[[*STEPS, FACTORIZATIONS, PRECISE]] = 0.0
    motion.tally[RESIDUAL] = np.inf
    return island._replace(rows=island.rows._replace(law=law), motion=motion)


def adopt(island: Island, other: Island) -> None:
    """Take over the best forces of another, if they are better: one with the same laws."""
    if other.motion.tally[RESIDUAL] < island.motion.tally[RESIDUAL]:
        island.motion.tally[RESIDUAL] = other.motion.tally[RESIDUAL]
        island.motion.best[:] = other.motion.best


def count(island: Island, *others: Island) -> None:
    """Book the work done on others as done elsewhere."""
    for other in others:
        island.motion.tally[ELSEWHERE] += other.motion.tally[STEPS].sum()
        island.motion.tally[FACTORIZATIONS] += other.motion.tally[FACTORIZATIONS]


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
    if motion.tally[PRECISE] == TWOFOLD:
        _precise_gain(rows, inertia, force, v)
    elif motion.tally[PRECISE] == PLAIN:
        plain_gain(rows, inertia, force, motion.x, v)
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
    residual = law_residual(rows, force, p, size, lift)
    if residual < max(motion.tally[RESIDUAL], POLISHED):  # among answers at rounding the last is the most refined
        motion.tally[RESIDUAL] = residual
        copy(force, motion.best)
    return residual


@kernel
def _precise_gain(rows: Rows, inertia: Inertia, force: Array, v: Array) -> None:
    """v = inv(M) h G' lambda, summed in twofold precision: opposing forces of redundant rows cancel."""
    nv = v.size
    hi, lo = np.zeros(nv), np.zeros(nv)
    for i in range(force.size):
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            j = rows.jac_idx[e]
            hi[j], lo[j] = add_product(hi[j], lo[j], rows.jac_val[e], force[i])
    for j in range(nv):
        hi[j], tail = two_product(rows.step, hi[j])
        lo[j] = tail + rows.step * lo[j]
    copy(velocity_gain(inertia, hi, lo), v)


@kernel
def plain_gain(rows: Rows, inertia: Inertia, force: Array, x: Array, v: Array) -> None:
    """The same in working precision, without Z."""
    for j in range(v.size):
        v[j] = 0.0
    for i in range(force.size):
        f = rows.step * force[i]
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            v[rows.jac_idx[e]] += rows.jac_val[e] * f
    if is_diagonal(inertia):
        for j in range(v.size):
            v[j] /= inertia.mass_val[j]
        return
    from_force(inertia, v, x)
    to_velocity(inertia, x, v)


@kernel
def finish(island: Island, force: Array) -> None:
    """The best forces, moved into bounds and cones, and the velocity and residual that follow from them."""
    conclude(island.rows, island.inertia, island.motion, island.lift, TWOFOLD, force)


@kernel
def conclude(rows: Rows, inertia: Inertia, motion: Motion, lift: float, precision: float, force: Array) -> None:
    """`finish`, of the parts of an island."""
    copy(motion.best, force)
    project(rows, force)
    motion.tally[PRECISE], motion.tally[RESIDUAL] = precision, np.inf
    settle(rows, inertia, motion, lift, force)


@kernel
def cancellation(rows: Rows, force: Array, net: Array, gross: Array) -> float:
    """How many times larger the forces are than what they do: max |G|'|lambda| over max |G' lambda|. net, gross: (nv,),
    to work with."""
    clear(net)
    clear(gross)
    for i in range(force.size):
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            f = rows.jac_val[e] * force[i]
            net[rows.jac_idx[e]] += f
            gross[rows.jac_idx[e]] += abs(f)
    largest, left = 0.0, 1e-300
    for j in range(net.size):
        largest, left = max(largest, gross[j]), max(left, abs(net[j]))
    return largest / left
