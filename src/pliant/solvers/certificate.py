"""Residuals, computed from the problem and the answer alone, the same way for every solver."""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import few
from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solvers.compensated import add_product
from pliant.solvers.newton import slip_speed, tangent_residual
from pliant.solvers.rows import (
    COMPLIANCE,
    FRICTION,
    LOWER,
    MOBILITY,
    OFFSET,
    SLOPE,
    UPPER,
    Rows,
    clip,
    linearise,
)

LAST_DIGITS = 1e-15  # of a number, relative


NOTHING = 1e-150  # [N] below which squares underflow, and nobody pushes


@kernel
def momentum_residual(flat: Flat, velocity: Array, force: Array) -> float:
    """max_j |M (v1 - v0) - h (f + G' lambda)|_j / (|M|(|v0| + |v1|) + h |f| + h |G|'|lambda|)_j.

    |v0| + |v1|, not |v1 - v0|: forces may be too small to change v0 in its last digit, and v1 = v0 is then right.
    """
    h, nv = flat.step, flat.velocity.size
    miss, size = np.zeros(nv), np.zeros(nv)
    for j in range(nv):
        miss[j], size[j] = -h * flat.force[j], h * abs(flat.force[j])
    for i in range(force.size):
        for e in range(flat.jac_ptr[i], flat.jac_ptr[i + 1]):
            s = h * flat.jac_val[e] * force[i]
            miss[flat.jac_idx[e]] -= s
            size[flat.jac_idx[e]] += abs(s)
    worst = 0.0
    for j in range(nv):
        for e in range(flat.mass_ptr[j], flat.mass_ptr[j + 1]):
            v0, v1 = flat.velocity[flat.mass_idx[e]], velocity[flat.mass_idx[e]]
            miss[j] += flat.mass_val[e] * (v1 - v0)
            size[j] += abs(flat.mass_val[e]) * (abs(v0) + abs(v1))
        if size[j] > 0.0:
            worst = max(worst, abs(miss[j]) / size[j])
        elif not np.isfinite(miss[j]):
            worst = np.inf
    return worst


@kernel
def free_rates(rows: Rows, v0: Array, push: Array, p: Array) -> None:
    """p = G v0 + e + G push, summed in twofold precision."""
    for i in range(p.size):
        hi, lo = rows.law[i, OFFSET], 0.0
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            hi, lo = add_product(hi, lo, rows.jac_val[e], v0[rows.jac_idx[e]])
            hi, lo = add_product(hi, lo, rows.jac_val[e], push[rows.jac_idx[e]])
        p[i] = hi + lo


@kernel
def rates_and_sizes(rows: Rows, v0: Array, gain: Array, p: Array, size: Array) -> None:
    """p = G v + e and |G||v| + |e| for v = v0 + gain, whose sum need not be representable."""
    free_rates(rows, v0, gain, p)
    for i in range(p.size):
        size[i] = abs(rows.law[i, OFFSET])
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            j = rows.jac_idx[e]
            size[i] += abs(rows.jac_val[e] * (v0[j] + gain[j]))


@kernel
def law_residual(rows: Rows, force: Array, p: Array, size: Array, lift: float) -> float:
    """max |r_i| / F of one island; lift = 1: with p_n - |w| for p_n, the associated cone."""
    worst = scale = 0.0
    for b in range(rows.block_ptr.size - 1):
        off, reach = _measure(rows, b, force, p, size, lift)
        worst, scale = max(worst, off), max(scale, reach)
    return _ratio(worst, scale)


@kernel
def island_residuals(rows: Rows, force: Array, p: Array, size: Array, island: Ints, count: int) -> Array:
    """max |r_i| / F of every island, by Coulomb's law."""
    worst, scale = np.zeros(count), np.zeros(count)
    for b in range(rows.block_ptr.size - 1):
        if rows.block_ptr[b] < rows.block_ptr[b + 1]:
            k, (off, reach) = island[rows.block_ptr[b]], _measure(rows, b, force, p, size, 0.0)
            worst[k], scale[k] = max(worst[k], off), max(scale[k], reach)
    for k in range(count):
        worst[k] = _ratio(worst[k], scale[k])
    return worst


@kernel
def _ratio(worst: float, scale: float) -> float:
    if worst < NOTHING:
        return 0.0
    return worst / scale if scale > 0.0 else 1.0  # nothing moves and nothing pushes, yet a law is broken


@kernel(inline=True)
def _measure(rows: Rows, b: int, force: Array, p: Array, size: Array, lift: float) -> tuple[float, float]:
    """Largest |r| and F of one block."""
    r, slope, worst, scale = few(), few(), 0.0, 0.0
    lo, n = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b]
    if n < 1:
        return worst, scale
    slip = slip_speed(rows.law, rows.step, lo, lo + n, force, p) if lift != 0.0 else 0.0
    slope[0], y = _scalar_distance(rows.law, rows.step, lo, force[lo], p[lo] - lift * slip)
    if lift != 0.0 and n > 1:
        y = _sharp(rows.law, rows.step, lo, n, force, slope[0], y)
    r[0] = force[lo] - clip(force[lo] - y, rows.law[lo, LOWER], rows.law[lo, UPPER])
    if n > 1:
        tangent_residual(rows.law, rows.step, lo, lo + n, force, p, r)
        for i in range(1, n):
            slope[i] = rows.law[lo + i, SLOPE]
    for i in range(n):
        f = abs(force[lo + i])
        if not np.isfinite(r[i]):
            worst = np.inf
        elif f != 0.0 or r[i] != 0.0:
            a = rows.step * rows.law[lo + i, MOBILITY]
            S = slope[i]
            reach = size[lo + i] / a if S == np.inf else S * size[lo + i] / (1.0 + a * S)
            scale = max(scale, f, reach if reach < np.inf else 0.0)
            worst = max(worst, abs(r[i]))
    return worst, scale


@kernel
def _sharp(law: Array, h: float, lo: int, n: int, force: Array, S: float, y: float) -> float:
    """What is left of y, taken at p_n - |w|, when the last digits of the tangential forces are left out of it.

    On soft tangential springs they move |w| = |mu (p + R lambda + bias)| by more than any normal rate.
    """
    a, blur = h * law[lo, MOBILITY], 0.0
    for i in range(lo + 1, lo + n):
        blur += (LAST_DIGITS * law[i, FRICTION] * law[i, COMPLIANCE] * force[i]) ** 2
    blur = np.sqrt(blur)
    if blur > 0.0 and S > 0.0:
        blur /= a + 1.0 / S
    return max(0.0, y - blur) if y > 0.0 else min(0.0, y + blur)


@kernel
def _scalar_distance(law: Array, h: float, i: int, force: float, p: float) -> tuple[float, float]:
    """(S, y) of a scalar row.

    On a power law the distance is measured along the tangent at the deeper of the two points, p and where g = force:
    against g(p) a force held by a row that is wide open would hardly count, g = 0 there however fast it opens.
    """
    S, miss = linearise(law, h, i, force, p)
    return S, miss / (1.0 + h * law[i, MOBILITY] * S)
