"""Many scalar rows on few velocities, in one compiled call: a foundation under a body, limits and motors of a machine.

First in the velocities: v1 is the least of a strictly convex function, quadratic in pieces,

    1/2 |v - v*|_M^2 + h sum_i psi_i(G_i v + e_i),      psi_i' = -lambda_i,

which Newton with a line search always finds; near it the pieces, who touches and who does not, stand still. Then in the
forces, whose last digits the velocity does not tell: stiff springs turn its rounding into newtons. The answer is judged
from the forces alone, as everywhere; whatever is not exact to rounding here is left to the other ways.
"""

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solvers.broad_judge import distance, judge_columns
from pliant.solvers.column_algebra import (
    along,
    factor,
    impulse_of,
    rates_of,
    sizes_of,
    solve_factored,
    whitened_impulse,
)
from pliant.solvers.columns import (
    DP,
    FIRST,
    FIT,
    FORCE,
    FREE,
    MISS,
    PUSH,
    RATE,
    SHARE,
    SIZE,
    SLOPE,
    START,
    WEIGHT,
    Columns,
    make_columns,
    suits,
)
from pliant.solvers.formulation import CANCELLATION
from pliant.solvers.loops import dot
from pliant.solvers.whiten import Inertia, factor_inertia, free_gain, velocity_gain

STEPS = 40  # of Newton in the velocities
LAST = 12  # and in the forces
NEARLY = 1e-12  # a residual below which these go on only while they gain
GAINING = 0.3  # of a residual, of which a step must leave less to be followed by another
POLISHED = 1e-14  # a residual below which no step is worth taking
CLOSE = 0.1  # of the slope along a direction, that a line search leaves
TRIALS = 30
HUGE = 1e150

# What `broad` reports.
RESIDUAL, LAW, MOMENTUM, ITERATIONS, FACTORIZATIONS = range(5)
REPORT = 5


@kernel
def broad(flat: Flat, start: Array, goal: float, force: Array, velocity: Array, impulse: Array, report: Array) -> bool:
    """Fill force, (m,), velocity and impulse, (nv,), and report from the forces `start`, (m,); False: this step is not
    one of these, or there is no answer here whose residual is below the goal and whose forces do not cancel."""
    if not suits(flat):
        return False
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    columns = make_columns(flat, inertia)
    push = free_gain(inertia, flat.step, flat.force)
    rates_of(columns, flat.velocity, push, columns.per_row[FREE])
    nv = velocity.size
    x, P = np.empty(nv), np.empty((nv, nv))
    for k in range(REPORT):
        report[k] = 0.0
    whitened_impulse(columns, start, x)
    if not _by_velocity(columns, x, P, report):
        return False
    if not _by_forces(flat, columns, inertia, push, x, P, force, velocity, report):
        return False
    law, momentum, cancels = judge_columns(flat, columns, inertia, force, velocity, impulse)
    report[LAW], report[MOMENTUM] = law, momentum
    sane = _is_sane(force) and _is_sane(velocity) and _is_sane(columns.per_row[START])
    return bool(sane and report[RESIDUAL] < goal and law < np.inf and not cancels > CANCELLATION)


@kernel
def _is_sane(numbers: Array) -> bool:
    """Whether they are finite, and their squares too, of which residuals are made."""
    wild = 0
    for x in numbers:
        wild += not abs(x) < HUGE
    return wild == 0


@kernel
def _by_velocity(columns: Columns, x: Array, P: Array, report: Array) -> bool:
    """Newton from the whitened impulse x, in place; leaves rates and forces in per_row. False: the pieces keep
    changing, or there are no factors."""
    per_row, nv = columns.per_row, x.size
    p, force, dp = per_row[RATE], per_row[FORCE], per_row[DP]
    along(columns, x, p)
    for i in range(p.size):
        p[i] += per_row[FREE, i]
        per_row[WEIGHT, i] = -1.0
    _take_pieces(columns, p, force)
    dx, missed = np.empty(nv), np.empty(nv)
    for _ in range(STEPS):
        report[ITERATIONS] += 1.0
        report[FACTORIZATIONS] += 1.0
        if not factor(columns, per_row[WEIGHT], P):
            return False
        whitened_impulse(columns, force, missed)
        for j in range(nv):
            missed[j] -= x[j]
            dx[j] = missed[j]
        solve_factored(P, dx)
        along(columns, dx, dp)
        step = _line_search(columns, x, dx, -dot(missed, dx))
        for j in range(nv):
            x[j] += step * dx[j]
        for i in range(p.size):
            p[i] += step * dp[i]
        if _take_pieces(columns, p, force) == 0 and step == 1.0:
            return True
    return False


@kernel
def _take_pieces(columns: Columns, p: Array, force: Array) -> int:
    """The forces at the rates p, and the weights of the pieces they are on; returns how many of these changed."""
    per_row, changed = columns.per_row, 0
    S, c, share, weight = per_row[SLOPE], per_row[START], per_row[SHARE], per_row[WEIGHT]
    for i in range(p.size):
        free = c[i] - S[i] * p[i]
        low, high = columns.lower[i], columns.upper[i]
        new = S[i] * share[i] if low < free < high else 0.0
        force[i] = min(max(free, low), high)
        changed += new != weight[i]
        weight[i] = new
    return changed


@kernel
def _line_search(columns: Columns, x: Array, dx: Array, downhill: float) -> float:
    """Along dx until the slope has fallen to a fraction: it grows with the step, so its zero can be enclosed."""
    low, high, below = 0.0, 1.0, downhill
    step, above = 1.0, _slope(columns, x, dx, 1.0)
    if not above > -CLOSE * downhill:
        return 1.0
    for _ in range(TRIALS):
        step = low + (high - low) * below / (below - above)
        step = min(max(step, low + 0.1 * (high - low)), high - 0.1 * (high - low))
        here = _slope(columns, x, dx, step)
        if abs(here) <= -CLOSE * downhill:
            break
        if here > 0.0:
            high, above = step, here
        else:
            low, below = step, here
    return step


@kernel
def _slope(columns: Columns, x: Array, dx: Array, step: float) -> float:
    """Of the convex function, along dx at x + step dx."""
    per_row = columns.per_row
    S, c, p, dp, force = per_row[SLOPE], per_row[START], per_row[RATE], per_row[DP], per_row[FIRST]
    for i in range(p.size):
        free = c[i] - S[i] * (p[i] + step * dp[i])
        force[i] = min(max(free, columns.lower[i]), columns.upper[i])
    slope = -columns.step * dot(force, dp)
    for j in range(x.size):
        slope += (x[j] + step * dx[j]) * dx[j]
    return slope


@kernel
def _by_forces(
    flat: Flat, columns: Columns, inertia: Inertia, push: Array, x: Array, P: Array,
    force: Array, velocity: Array, report: Array,
) -> bool:  # fmt: skip
    """Newton in the forces, from those that the velocity gave; the best forces, and their velocity, are left in force
    and velocity. The pieces are those of the velocity, and so are the factors: forces that are still noisy would choose
    worse ones. Only where that leads nowhere may the forces choose."""
    per_row = columns.per_row
    now, found, v = per_row[FORCE], per_row[PUSH], np.empty(velocity.size)
    best, last, held = np.inf, np.inf, True
    for k in range(LAST):
        residual = _settle(flat, columns, inertia, push, now, v)
        if residual < max(best, POLISHED):  # among answers at rounding the last is the most refined
            best = residual
            for i in range(now.size):
                force[i] = now[i]
            for j in range(v.size):
                velocity[j] = v[j]
        gains = residual < GAINING * last
        if residual <= POLISHED or (best < NEARLY and not gains) or k == LAST - 1:
            break
        held, last = held and gains, residual
        if _push(columns, now, held) > 0:
            report[ITERATIONS] += 1.0
            report[FACTORIZATIONS] += 1.0
            if not factor(columns, per_row[WEIGHT], P):
                return False
        whitened_impulse(columns, found, x)
        solve_factored(P, x)
        along(columns, x, per_row[DP])
        for i in range(now.size):
            free = now[i] + found[i] - per_row[WEIGHT, i] * per_row[DP, i]
            now[i] = min(max(free, columns.lower[i]), columns.upper[i])
    report[RESIDUAL] = best
    return best < np.inf


@kernel
def _settle(flat: Flat, columns: Columns, inertia: Inertia, push: Array, force: Array, v: Array) -> float:
    """Velocity and rates that follow from the forces; returns the residual."""
    per_row, nv = columns.per_row, v.size
    hi, lo = np.empty(nv), np.empty(nv)
    impulse_of(columns, force, hi, lo)
    gain = velocity_gain(inertia, hi, lo)
    p = per_row[RATE]
    for i in range(p.size):
        p[i] = per_row[FREE, i]
    for j in columns.used:
        g, speed = columns.G[j], gain[j]
        for i in range(p.size):
            p[i] += g[i] * speed
    for j in range(nv):
        v[j] = flat.velocity[j] + push[j] + gain[j]
    sizes_of(columns, v, per_row[SIZE])
    return distance(columns, force)


@kernel
def _push(columns: Columns, force: Array, held: bool) -> int:
    """How far each row would go by itself, and the weight of its piece, as it is if `held`; returns how many pieces
    changed. The distance from the laws is there."""
    per_row, changed = columns.per_row, 0
    S, fit, share, miss = per_row[SLOPE], per_row[FIT], per_row[SHARE], per_row[MISS]
    weight, found = per_row[WEIGHT], per_row[PUSH]
    for i in range(force.size):
        trial, low, high = force[i] - miss[i] * fit[i], columns.lower[i], columns.upper[i]
        new = S[i] * share[i] if low < trial < high else 0.0
        bound = force[i] if held else min(max(trial, low), high)
        new = weight[i] if held else new
        found[i] = -miss[i] * share[i] if new != 0.0 else bound - force[i]
        changed += new != weight[i]
        weight[i] = new
    return changed
