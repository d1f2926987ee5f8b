"""The compiled stages: Newton, the interior path, and the dense Newton of the last digits."""

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
    EXACT,
    FACTORIZATIONS,
    INSIDE,
    ITERATIONS,
    LINEAR,
    POLISHED,
    PRECISE,
    RESIDUAL,
    TOLERANCE,
    TWOFOLD,
    Island,
    clear,
    copy,
    finish,
    is_rigid,
    settle,
)
from pliant.solvers.linear import (
    Dense,
    dense_direction,
    direction,
    eliminate_forces,
    factorize,
    make_dense,
    push_forces,
)
from pliant.solvers.newton import linearise_blocks, natural_map
from pliant.solvers.rows import MOBILITY, Rows, project, rates, whitened_impulse

SETTLED = 1e-13  # one below which no factorization is
# Least compliance of a row, relative to h a, in a factorization: for Newton, whose rows may have none of their own,
# and on the interior path, where the distance from the rim is one.
LEAST = 1e-8
LEAST_INSIDE = 1e-14
SHORT = 0.3  # a step of the interior path that is too short to be worth taking
STUCK, PATIENCE = 0.1, 5  # and steps of which so many end it
FEW_UNKNOWNS = 60  # linear islands up to here go straight to the dense factorization


@kernel
def newton(island: Island, force: Array, most: float, search: float, polish: float) -> None:
    """At most `most` Newton steps from `force`, in place, with line search or boldly without. Below the tolerance, with
    `polish`: one step more, and further ones on the same factors while they gain a digit."""
    rows, system, motion, lift = island.rows, island.system, island.motion, island.lift
    tally, x = motion.tally, motion.x
    p, r, df, dp = motion.per_row[1], motion.per_row[3], motion.per_row[4], motion.per_row[5]
    residual, chord, gained = settle(rows, island.inertia, motion, lift, force), False, True
    done, lost = False, 0
    for k in range(int(most) + 12):
        done = done or residual < tally[TOLERANCE]
        if (done and polish == 0.0) or (not done and (k >= most or tally[ITERATIONS] >= tally[BUDGET])):
            break
        linearise_blocks(rows, force, p, lift, system)
        merit = natural_map(rows, force, p, lift, r)
        anew = not (done and chord and gained)
        if anew:
            tally[FACTORIZATIONS] += 1
            tally[ITERATIONS] += 1
        if not anew:
            eliminate_forces(rows, system, LEAST)
        elif not factorize(rows, island.pattern, system, LEAST):
            break
        clear(x)
        direction(rows, island.pattern, system, x, df)
        step = 1.0
        if not done and search != 0.0:
            whitened_impulse(rows, df, x)
            rates(rows, x, dp)
            step = line_search(rows, lift, motion.per_row, force, merit)
        for i in range(force.size):
            force[i] += step * df[i]
        new = settle(rows, island.inertia, motion, lift, force)
        if not np.isfinite(new):
            break
        chord = step == 1.0  # the factors at hand are those of this piece of the laws
        if done:
            gained = new < 0.3 * residual
            if not gained:  # a step may change the pieces and lose digits that the next one wins back
                lost += 1
                if tally[LINEAR] != 0.0 or tally[RESIDUAL] < SETTLED or lost > 3:
                    break
            if new <= POLISHED:
                break
        residual = new


@kernel
def line_search(rows: Rows, lift: float, per_row: Array, force: Array, merit: float) -> float:
    """Backtrack along df until the natural map shrinks."""
    m = force.size
    p, r, df, dp, trial, ahead = per_row[1], per_row[3], per_row[4], per_row[5], per_row[6], per_row[8]
    step = 1.0
    while True:
        for i in range(m):
            trial[i] = force[i] + step * df[i]
            ahead[i] = p[i] + step * dp[i]
        if natural_map(rows, trial, ahead, lift, r) <= (1.0 - 0.1 * step) * merit or step < 2e-3:
            return step
        step *= 0.5


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
    first, stuck = 0.0, 0
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
        mean = total / pairs
        step = _aim(island, path, x, dx, cone, 0.0, 0.0, True)
        tally[INSIDE] += 1
        tally[FACTORIZATIONS] += 1
        if step < 0.0:
            return
        ratio = max(product_after(rows, path, min(1.0, step)) / total, 0.0)  # Mehrotra: predict, then correct
        step = _aim(island, path, x, dx, cone, min(max(ratio**3, 1e-4), 1.0) * mean, 1.0, False)
        for back in (1.0, 10.0):  # near the rim: to the middle first
            if step < SHORT:
                step = _aim(island, path, x, dx, cone, back * mean, 0.0, False)
        stuck = stuck + 1 if step < STUCK else 0
        if (stuck >= PATIENCE and cone > 0.0) or not step > 1e-12:  # the convex path leads out again
            return
        step = min(1.0, 0.99 * step)
        advance(rows, path, step)
        for j in range(dx.size):
            x[j] += step * dx[j]


@kernel
def _aim(
    island: Island, path: Path, x: Array, dx: Array, cone: float, target: float, corrected: float, anew: bool
) -> float:
    """The direction towards lambda o u = target, into path and dx, on new factors or those at hand; returns the longest
    step along it, -1 if there are no factors."""
    rows, system = island.rows, island.system
    if anew:
        central_blocks(rows, path, system, cone)
    central_goals(rows, path, system, target, corrected)
    if not anew:
        push_forces(rows, system)
    elif not factorize(rows, island.pattern, system, LEAST_INSIDE):
        return -1.0
    whitened_impulse(rows, path.force, dx)
    for j in range(dx.size):
        dx[j] -= x[j]
    direction(rows, island.pattern, system, dx, path.d_force)
    dual_directions(rows, path, system.flow, cone, target)
    return longest_step(rows, path, system.small[2])


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
    tally[PRECISE], tally[RESIDUAL] = TWOFOLD, np.inf
    copy(motion.best, force)
    residual, stalls = settle(rows, island.inertia, motion, island.lift, force), 0
    for k in range(int(most)):
        linear = tally[LINEAR] != 0.0
        # a residual of 0 may hide forces of redundant rows that differ in their last digits: refine, it costs nothing
        if (residual == 0.0 and not (linear and k < 3)) or stalls > 3 or tally[EXACT] >= tally[BUDGET]:
            return
        linearise_blocks(rows, force, p, island.lift, system)
        merit = natural_map(rows, force, p, island.lift, motion.per_row[3])
        anew = k == 0 or not linear
        if anew:
            tally[EXACT] += 1
            tally[FACTORIZATIONS] += 1
        if not dense_direction(rows, system, dense, anew, df):
            return
        whitened_impulse(rows, df, motion.x)
        rates(rows, motion.x, dp)
        step = line_search(rows, island.lift, motion.per_row, force, merit) if search != 0.0 else 1.0
        for i in range(force.size):
            force[i] += step * df[i]
        new = settle(rows, island.inertia, motion, island.lift, force)
        if not np.isfinite(new):
            return
        stalls = 0 if new < 0.5 * residual else stalls + 1
        residual = new


def solve_linear(island: Island, force: Array) -> None:
    """One linear solve, refined on its factors: dense where they are few, or too stiff for the sparse ones."""
    if len(force) + len(island.motion.v) <= FEW_UNKNOWNS or is_rigid(island):
        exact_newton(island, force, 12, False)
    else:
        newton(island, force, 5.0, 0.0, 1.0)
    finish(island, force)
