"""The interior path, followed from a start inside as far as is wanted, and on from there if that was not enough.

With Coulomb's law the path may turn back, where the slip speeds in the rates of the normals outweigh all else: no step
along it is long then. Steps of a system that counts less of how the slip speeds change lead over it. They close gaps
more slowly, so the full share comes back as soon as steps are long again.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.interior import (
    Path,
    advance,
    central_blocks,
    central_goals,
    dual_directions,
    longest_step,
    make_path,
    measure,
    product_after,
    scale_contacts,
    start_path,
)
from pliant.solvers.island import (
    BUDGET,
    FACTORIZATIONS,
    INSIDE,
    TOLERANCE,
    Island,
    copy,
    settle,
)
from pliant.solvers.linear import direction, factorize, push_forces
from pliant.solvers.rows import MOBILITY, project, rates, whitened_impulse

LEAST_INSIDE = 1e-14  # least compliance of a row, relative to h a: the distance from the rim is one, too
SHORT = 0.3  # a step that is too short to be worth taking
STUCK, PATIENCE = 0.1, 5  # and steps of which so many end it
LESS = 0.8, 0.9, 0.7  # of the share of slip speeds, one after the other, where a step is short
SHARE, FIRST, HELD = range(3)  # in Way.state: that share; lambda o u at the start; short steps in a row
OVER = 1e-22  # of lambda o u at the start, where a path ends


class Way(NamedTuple):
    """Where on the path we are."""

    path: Path
    x: Array  # (nv,) an iterate of its own: recomputed from the forces it would carry their rounding, amplified
    dx: Array  # (nv,)
    state: Array  # (3,)


@kernel
def interior(island: Island, force: Array, cone: float, spread: float, most: float) -> None:
    """Follow the interior path from around `force`, in place, until the tolerance is met or its end is reached.

    cone = 0: the convex program, whose answer is a good place to start from; 1: Coulomb's law.
    """
    go_on(island, set_out(island, force, spread), force, cone, island.motion.tally[TOLERANCE], most, 0)


@kernel
def set_out(island: Island, force: Array, spread: float) -> Way:
    """A start around `force`, so far inside."""
    rows, free = island.rows, island.motion.per_row[0]
    way = Way(make_path(rows), np.zeros(island.motion.x.size), np.zeros(island.motion.x.size), np.zeros(3))
    scale = 0.0
    for i in range(force.size):
        scale = max(scale, abs(force[i]))
        if rows.law[i, MOBILITY] > 0.0:
            scale = max(scale, abs(free[i]) / (rows.step * rows.law[i, MOBILITY]))
    start_path(rows, way.path, force, free, spread, scale)
    whitened_impulse(rows, way.path.force, way.x)
    way.state[SHARE] = 1.0
    return way


@kernel
def go_on(island: Island, way: Way, force: Array, cone: float, enough: float, most: float, tries: int) -> bool:
    """At most so many steps, until the residual is below `enough`; whether it is. force: of the last. tries: how
    many shares of the slip speeds lead over turning points, at most."""
    rows, motion, path, state = island.rows, island.motion, way.path, way.state
    tally, p = motion.tally, motion.per_row[1]
    for _ in range(int(most)):
        copy(path.force, force)
        project(rows, force)
        if settle(rows, island.inertia, motion, island.lift, force) < enough:
            return True
        if tally[INSIDE] >= tally[BUDGET]:
            return False
        rates(rows, way.x, p)
        for i in range(force.size):
            p[i] += motion.per_row[0, i]
        total, pairs = measure(rows, path, p, cone)
        if state[FIRST] == 0.0:
            state[FIRST] = total
        if pairs == 0 or not (OVER * state[FIRST] <= total < np.inf):
            return False
        scale_contacts(rows, path, island.system.small)
        step = _find_step(island, way, cone, total, total / pairs, tries if cone > 0.0 else 0)
        state[HELD] = state[HELD] + 1.0 if step < STUCK else 0.0
        if (state[HELD] >= PATIENCE and cone > 0.0) or not step > 1e-12:  # the convex path leads out again
            return False
        step = min(1.0, 0.99 * step)
        advance(rows, path, step)
        for j in range(way.x.size):
            way.x[j] += step * way.dx[j]
    return False


@kernel
def _find_step(island: Island, way: Way, cone: float, total: float, mean: float, tries: int) -> float:
    """A direction, and the longest step along it; -1: there is none."""
    state, share = way.state, way.state[SHARE]
    step = _mehrotra(island, way, share * cone, total, mean)
    if step >= SHORT:
        state[SHARE] = min(1.0, 0.51 + 0.5 * share)
        return step
    for k in range(tries):
        if 0.0 <= step < SHORT:
            state[SHARE] = LESS[k] * share
            step = _mehrotra(island, way, state[SHARE] * cone, total, mean)
    for back in (1.0, 10.0):  # near the rim: to the middle first
        if 0.0 <= step < SHORT:
            step = _aim(island, way, state[SHARE] * cone, back * mean, 0.0, False)
    return step


@kernel
def _mehrotra(island: Island, way: Way, cone: float, total: float, mean: float) -> float:
    """Predict, then correct, on new factors."""
    tally = island.motion.tally
    tally[INSIDE] += 1
    tally[FACTORIZATIONS] += 1
    step = _aim(island, way, cone, 0.0, 0.0, True)
    if step < 0.0:
        return step
    ratio = max(product_after(island.rows, way.path, min(1.0, step)) / total, 0.0)
    return _aim(island, way, cone, min(max(ratio * ratio, 1e-4), 1.0) * mean, 1.0, False)


@kernel
def _aim(island: Island, way: Way, cone: float, target: float, corrected: float, anew: bool) -> float:
    """The direction towards lambda o u = target, into path and dx, on new factors or those at hand; returns the longest
    step along it, -1 if there are no factors."""
    rows, system, path, dx = island.rows, island.system, way.path, way.dx
    if anew:
        central_blocks(rows, path, system, cone)
    central_goals(rows, path, system, target, corrected)
    if not anew:
        push_forces(rows, system)
    elif not factorize(rows, island.pattern, system, LEAST_INSIDE):
        return -1.0
    whitened_impulse(rows, path.force, dx)
    for j in range(dx.size):
        dx[j] -= way.x[j]
    direction(rows, island.pattern, system, dx, path.d_force)
    dual_directions(rows, path, system.flow, cone, target)
    return longest_step(rows, path, system.small[2])
