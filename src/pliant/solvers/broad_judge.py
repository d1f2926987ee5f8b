"""The certificate of certificate.py for rows as columns: the same residuals, from the step and the forces alone."""

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solvers.certificate import NOTHING
from pliant.solvers.column_algebra import rates_of, sizes_of
from pliant.solvers.columns import (
    FIRST,
    FIT,
    MISS,
    RATE,
    SECOND,
    SIZE,
    SLOPE,
    SLOPE_TAIL,
    START,
    START_TAIL,
    Columns,
)
from pliant.solvers.compensated import two_product, two_sum
from pliant.solvers.loops import dot
from pliant.solvers.whiten import Inertia, velocity_gain


@kernel
def distance(columns: Columns, force: Array) -> float:
    """max |r_i| / F at the rates and sizes in per_row; S p + lambda - c is left in MISS."""
    per_row = columns.per_row
    _miss(columns, force)
    miss, fit, S, size = per_row[MISS], per_row[FIT], per_row[SLOPE], per_row[SIZE]
    r, reach = per_row[FIRST], per_row[SECOND]
    for i in range(force.size):
        f = force[i]
        r[i] = abs(f - min(max(f - miss[i] * fit[i], columns.lower[i]), columns.upper[i]))
        reach[i] = max(abs(f), S[i] * size[i] * fit[i]) if f != 0.0 or r[i] != 0.0 else 0.0
    worst, scale = _largest(r), _largest(reach)
    if not worst < np.inf or not scale < np.inf:
        return np.inf
    if worst < NOTHING:
        return 0.0
    return worst / scale


@kernel
def _miss(columns: Columns, force: Array) -> None:
    """S p + lambda - c, in twofold precision."""
    per_row = columns.per_row
    S, S_tail, c, c_tail = per_row[SLOPE], per_row[SLOPE_TAIL], per_row[START], per_row[START_TAIL]
    p, miss = per_row[RATE], per_row[MISS]
    for i in range(force.size):
        product, tail = two_product(S[i], p[i])
        s, more = two_sum(product, -c[i])
        tail += more + S_tail[i] * p[i] - c_tail[i]
        s, more = two_sum(s, force[i])
        miss[i] = s + (tail + more)


@kernel
def _largest(x: Array) -> float:
    """Of numbers >= 0; inf if one is no number. Four at a time."""
    a, b, c, d, quads, sane = 0.0, 0.0, 0.0, 0.0, x.size // 4, 0.0
    for q in range(quads):
        i = 4 * q
        a, b = max(a, x[i]), max(b, x[i + 1])
        c, d = max(c, x[i + 2]), max(d, x[i + 3])
    for i in range(4 * quads, x.size):
        a = max(a, x[i])
    for i in range(x.size):
        sane += 0.0 if x[i] < np.inf else 1.0
    return max(max(a, b), max(c, d)) if sane == 0.0 else np.inf


@kernel
def judge_columns(
    flat: Flat, columns: Columns, inertia: Inertia, force: Array, velocity: Array, impulse: Array
) -> tuple[float, float, float]:
    """(law residual, momentum residual, how many times larger the forces are than what they do), and the impulse; the
    velocity of the first is recomputed from the forces."""
    nv, size, sums = velocity.size, columns.per_row[SIZE], np.zeros((3, velocity.size))
    gross, given, v = sums[0], sums[1], sums[2]
    for j in range(nv):
        impulse[j] = 0.0
    for i in range(size.size):
        size[i] = abs(force[i])
    for j in columns.used:
        impulse[j] = flat.step * dot(columns.G[j], force)
        gross[j] = flat.step * _dot_sizes(columns.G[j], size)
    for j in range(nv):
        given[j] = flat.step * flat.force[j] + impulse[j]
    gain = velocity_gain(inertia, given, np.zeros(nv))
    for j in range(nv):
        v[j] = flat.velocity[j] + gain[j]
    rates_of(columns, flat.velocity, gain, columns.per_row[RATE])
    sizes_of(columns, v, size)
    most, left = 0.0, 1e-300
    for j in range(nv):
        most, left = max(most, gross[j]), max(left, abs(impulse[j]))
    return distance(columns, force), _momentum(flat, velocity, impulse, gross), most / left


@kernel
def _momentum(flat: Flat, velocity: Array, impulse: Array, gross: Array) -> float:
    """`momentum_residual`, where h G' lambda and h |G|'|lambda| are known."""
    h, worst = flat.step, 0.0
    for j in range(velocity.size):
        miss, size = -h * flat.force[j] - impulse[j], h * abs(flat.force[j]) + gross[j]
        for e in range(flat.mass_ptr[j], flat.mass_ptr[j + 1]):
            v0, v1 = flat.velocity[flat.mass_idx[e]], velocity[flat.mass_idx[e]]
            miss += flat.mass_val[e] * (v1 - v0)
            size += abs(flat.mass_val[e]) * (abs(v0) + abs(v1))
        if size > 0.0:
            worst = max(worst, abs(miss) / size)
    return worst


@kernel
def _dot_sizes(x: Array, sizes: Array) -> float:
    """|x|'sizes, over four accumulators."""
    a, b, c, d, quads = 0.0, 0.0, 0.0, 0.0, x.size // 4
    for q in range(quads):
        i = 4 * q
        a += abs(x[i]) * sizes[i]
        b += abs(x[i + 1]) * sizes[i + 1]
        c += abs(x[i + 2]) * sizes[i + 2]
        d += abs(x[i + 3]) * sizes[i + 3]
    for i in range(4 * quads, x.size):
        a += abs(x[i]) * sizes[i]
    return (a + b) + (c + d)
