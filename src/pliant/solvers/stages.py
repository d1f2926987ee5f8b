"""The compiled stages: Newton, and the dense Newton of the last digits. The interior path is in `path`."""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.island import (
    BUDGET,
    EXACT,
    FACTORIZATIONS,
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
)
from pliant.solvers.newton import linearise_blocks, natural_map
from pliant.solvers.rows import Rows, rates, whitened_impulse

SETTLED = 1e-13  # one below which no factorization is
LEAST = 1e-8  # least compliance of a row, relative to h a, in a factorization: it may have none of its own
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
