"""Residuals, computed from the problem and the answer alone, the same way for every solver."""

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solvers.rows import (
    BIAS,
    COMPLIANCE,
    FRICTION,
    LOWER,
    MOBILITY,
    OFFSET,
    POWER,
    REACH,
    SLOPE,
    START,
    UPPER,
    VALUE,
    clip,
    is_fixed,
    power_depth,
    power_force,
    Rows,
)


@kernel
def momentum_residual(flat: Flat, velocity: Array, force: Array) -> float:
    """max_j |M (v1 - v0) - h (f + G' lambda)|_j / (|M||v1 - v0| + h |f| + h |G|'|lambda|)_j."""
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
            s = flat.mass_val[e] * (velocity[flat.mass_idx[e]] - flat.velocity[flat.mass_idx[e]])
            miss[j] += s
            size[j] += abs(s)
        if size[j] > 0.0:
            worst = max(worst, abs(miss[j]) / size[j])
        elif not np.isfinite(miss[j]):
            worst = np.inf
    return worst


@kernel
def rates_and_sizes(rows: Rows, v: Array, p: Array, size: Array) -> None:
    """p = G v + e and |G||v| + |e|."""
    for i in range(p.size):
        s, t = rows.law[i, OFFSET], abs(rows.law[i, OFFSET])
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            g = rows.jac_val[e] * v[rows.jac_idx[e]]
            s += g
            t += abs(g)
        p[i], size[i] = s, t


@kernel
def law_residual(rows: Rows, force: Array, p: Array, size: Array, lift: float) -> float:
    """max |r_i| / F of one island; lift = 1: the natural map of the cone instead of Coulomb's law."""
    worst, scale = np.zeros(1), np.zeros(1)
    _measure(rows, force, p, size, lift, np.zeros(force.size, np.int64), worst, scale)
    return _ratio(worst[0], scale[0])


@kernel
def island_residuals(rows: Rows, force: Array, p: Array, size: Array, island: Ints, count: int) -> Array:
    """max |r_i| / F of every island, by Coulomb's law."""
    worst, scale = np.zeros(count), np.zeros(count)
    _measure(rows, force, p, size, 0.0, island, worst, scale)
    for k in range(count):
        worst[k] = _ratio(worst[k], scale[k])
    return worst


@kernel
def _ratio(worst: float, scale: float) -> float:
    if worst == 0.0:
        return 0.0
    return worst / scale if scale > 0.0 else 1.0  # nothing moves and nothing pushes, yet a law is broken


@kernel
def _measure(
    rows: Rows, force: Array, p: Array, size: Array, lift: float, island: Ints, worst: Array, scale: Array
) -> None:
    """Largest |r| and F of every island."""
    r = np.empty(8)
    slope = np.empty(8)
    for b in range(rows.block_ptr.size - 1):
        lo, n = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b]
        if n < 1:
            continue
        k = island[lo]
        y = _scalar_distance(rows, lo, force[lo], p[lo], slope)
        if n > 1:
            _contact_residual(rows, lo, n, force, p, y, lift, r, slope)
        else:
            r[0] = force[lo] - clip(force[lo] - y, rows.law[lo, LOWER], rows.law[lo, UPPER])
        for i in range(n):
            f = abs(force[lo + i])
            if not np.isfinite(r[i]):
                worst[k] = np.inf
            elif f != 0.0 or r[i] != 0.0:
                a = rows.step * rows.law[lo + i, MOBILITY]
                S = slope[i]
                reach = size[lo + i] / a if S == np.inf else S * size[lo + i] / (1.0 + a * S)
                scale[k] = max(scale[k], f, reach if reach < np.inf else 0.0)
                worst[k] = max(worst[k], abs(r[i]))


@kernel
def _scalar_distance(rows: Rows, i: int, force: float, p: float, slope: Array) -> float:
    """y of a scalar row, and its S in slope[0]."""
    slope[0] = rows.law[i, SLOPE]
    if rows.law[i, POWER] == 0:
        miss = rows.law[i, SLOPE] * p + force - rows.law[i, START]
    else:
        d1 = max(0.0, -(rows.law[i, VALUE] + rows.step * p))
        miss = force - power_force(rows, i, d1)[0]
        slope[0] = power_force(rows, i, max(d1, power_depth(rows, i, max(force, 0.0))))[1]
    return miss / (1.0 + rows.step * rows.law[i, MOBILITY] * slope[0])


@kernel
def _contact_residual(
    rows: Rows, lo: int, n: int, force: Array, p: Array, y: float, lift: float, r: Array, slope: Array
) -> None:
    """r of a contact: normal and tangents projected apart (Coulomb) or together (the cone)."""
    normal = force[lo] - y
    scale = 1.0 / (rows.step * rows.law[lo, REACH])
    size = 0.0
    for j in range(1, n):
        i, mu = lo + j, rows.law[lo + j, FRICTION]
        slope[j] = rows.law[i, SLOPE]
        r[j] = 0.0
        if mu > 0.0:
            r[j] = force[i] / mu - scale * mu * (p[i] + rows.law[i, COMPLIANCE] * force[i] + rows.law[i, BIAS])
            size += r[j] * r[j]
    size = np.sqrt(size)
    if lift != 0.0 and not is_fixed(rows, lo):
        # projection in the metric of the two scales: stiff normals and tangents give way to each other
        tn = slope[0] / (1.0 + rows.step * rows.law[lo, MOBILITY] * slope[0])
        radius = normal
        if size > normal:
            radius = max(0.0, (normal * scale + size * tn) / (tn + scale))
        r[0] = force[lo] - radius
    else:
        radius = max(0.0, force[lo])
        r[0] = force[lo] - max(0.0, normal)
    shrink = radius / size if size > radius else 1.0
    for j in range(1, n):
        mu = rows.law[lo + j, FRICTION]
        r[j] = force[lo + j] - mu * shrink * r[j] if mu > 0.0 else force[lo + j]
