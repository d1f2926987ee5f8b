"""A start from a velocity: the forces that the laws and momentum call for near it.

    P du = u* - u + h Z' lambda + h Z' push,      lambda the law's at p = G v + e, u = L' v

The velocity of the step before, carried on, tells who sticks and who lets go; the forces it cannot tell, since stiff
springs turn its last digits into newtons, nor whether a stiff contact at rest is open by a hair. So it chooses the
pieces of the laws, together with the rates that there would be without any constraint force, and one Newton step on
these pieces gives the forces.
"""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.island import FACTORIZATIONS, ITERATIONS, Island, clear
from pliant.solvers.linear import direction, factorize
from pliant.solvers.newton import linearise_blocks
from pliant.solvers.rows import (
    BIAS,
    FRICTION,
    LOWER,
    MOBILITY,
    OFFSET,
    POWER,
    SLOPE,
    START,
    UPPER,
    VALUE,
    Rows,
    add_impulse,
    clip,
    linearise,
    power_force,
    power_rate,
)
from pliant.solvers.stages import LEAST
from pliant.solvers.whiten import Inertia

OPENING = 0.5  # of the rate at which it would close, up to which a row counts as closed
LESS, MORE = 0.2, 2.0  # of what would stop it alone
# A contact slides if it does so at v and at v0 by more than the first, of the largest change of a rate in the step, and
# the second, of the fastest slip, and at v by more than the third of what it does at v0: one that sticks has moved on
# with the bodies, and its slip at v0 is not at v.
SLIDING, SLOW, STILL = 1e-8, 0.01, 0.2
RIM = 1.0 + 1e-6  # times the normal force, where friction starts that is to slide


@kernel
def predict(island: Island, v0: Array, guess: Array, force: Array) -> None:
    """Fill force, (m,), from the velocity `guess`, (nv,), at the end of the step, and v0 at its start."""
    rows, system, motion = island.rows, island.system, island.motion
    df, x = motion.per_row[4], motion.x
    law_forces(rows, v0, guess, motion.per_row[0], motion.per_row[1], force)
    linearise_blocks(rows, force, motion.per_row[1], island.lift, system)
    motion.tally[FACTORIZATIONS] += 1
    motion.tally[ITERATIONS] += 1
    if not factorize(rows, island.pattern, system, LEAST):
        clear(force)
        return
    momentum_missed(rows, island.inertia, motion.free, guess, force, x)
    direction(rows, island.pattern, system, x, df)
    for i in range(force.size):
        force[i] += df[i]
        if not np.isfinite(force[i]):
            clear(force)
            return


@kernel
def law_forces(rows: Rows, v0: Array, v: Array, free: Array, p: Array, force: Array) -> None:
    """p = G v + e, and forces near those of the laws there. free: (m,), p without constraint forces.

    A row that would close without force, and hardly opens at v, is taken to push with about what stops it alone; not
    one that is open and stays so at v.
    """
    law, h, changed, fastest = rows.law, rows.step, 0.0, 0.0
    for i in range(force.size):
        force[i], p[i] = 0.0, law[i, OFFSET]
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            p[i] += rows.jac_val[e] * v[rows.jac_idx[e]]
        changed = max(changed, abs(free[i] - p[i]))
        fastest = max(fastest, law[i, FRICTION] * abs(p[i] + law[i, BIAS]))
    for b in range(rows.block_ptr.size - 1):
        i = rows.block_ptr[b]
        if i < rows.block_ptr[b + 1]:
            g = law[i, START] - law[i, SLOPE] * p[i]
            if law[i, POWER] != 0.0:
                g = power_force(law, h, i, power_rate(law, h, i, p[i]))[0]
            closing, stays_open = -(free[i] + max(law[i, VALUE], 0.0) / h), law[i, VALUE] > 0.0 and p[i] > 0.0
            closes = closing > 0.0 and p[i] < OPENING * closing and not stays_open
            if law[i, LOWER] == 0.0 and closes and law[i, MOBILITY] > 0.0:
                alone = closing / (h * law[i, MOBILITY])
                g = min(g, MORE * alone) if g > 0.0 else LESS * alone
            force[i] = clip(g, law[i, LOWER], law[i, UPPER])
            if i + 1 < rows.block_ptr[b + 1] and force[i] > 0.0:
                _rub(rows, b, v0, p, max(SLIDING * changed, SLOW * fastest), force)


@kernel
def _rub(rows: Rows, b: int, v0: Array, p: Array, least: float, force: Array) -> None:
    """Friction on the rim of its cone where a contact slides at a speed that is no mere error of the prediction."""
    law, h, lo, hi = rows.law, rows.step, rows.block_ptr[b], rows.block_ptr[b + 1]
    now = before = along = 0.0
    for i in range(lo + 1, hi):
        w, old = p[i] + law[i, BIAS], law[i, OFFSET] + law[i, BIAS]
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            old += rows.jac_val[e] * v0[rows.jac_idx[e]]
        square = law[i, FRICTION] ** 2
        now += square * w * w
        before += square * old * old
        along += square * w * old
    if min(now, before) > least * least and along > STILL * before:
        S, miss = linearise(law, h, lo, force[lo], p[lo])
        radius = max(force[lo], force[lo] - miss / (1.0 + h * law[lo, MOBILITY] * S))
        for i in range(lo + 1, hi):
            force[i] = -RIM * radius * law[i, FRICTION] ** 2 * (p[i] + law[i, BIAS]) / np.sqrt(now)


@kernel
def momentum_missed(rows: Rows, inertia: Inertia, free: Array, v: Array, force: Array, x: Array) -> None:
    """x := L' (v* - v) + h Z' lambda."""
    nv = v.size
    for j in range(nv):
        x[j] = (free[nv - 1 - j] - v[nv - 1 - j]) / inertia.val[inertia.ptr[j]]
        for e in range(inertia.ptr[j] + 1, inertia.ptr[j + 1]):
            k = nv - 1 - inertia.idx[e]
            x[j] += inertia.val[e] * (free[k] - v[k])
    add_impulse(rows, force, x)
