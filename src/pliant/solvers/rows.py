"""The rows of a step as the solvers see them, and the force law of one row.

    linear law   lambda = c - S p,                     S = h K + B
    power law    lambda = g(p) = k d^q (1 + alpha r) + b r,  d = max(0, -(phi0 + h p)),  r = (d - d0) / h
    tangent      0 = p + R lambda + bias inside the cone,  R = 1 / S (0: no tangential compliance)

p is the rate at the end of the step. Bounds and cones are applied by the solvers.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import folded, long_room, room
from pliant.flat import NORMAL, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array, Ints
from pliant.solvers.compensated import add_product, two_product, two_sum
from pliant.solvers.whiten import Inertia, whiten_rows

# Columns of Rows.law.
(
    MOBILITY,  # a, diagonal of G inv(M) G'
    SLOPE,  # S of linear laws and tangents; 0: no force
    START,  # c of linear laws
    COMPLIANCE,  # R on tangents
    BIAS,  # K phi0 / S on tangents
    POWER,  # 1: power law
    VALUE,  # phi0
    STIFFNESS,
    DAMPING,
    EXPONENT,
    DISSIPATION,
    LOWER,
    UPPER,
    FRICTION,  # mu; 0 on tangents that carry no force
    REACH,  # on a contact's normal row: max_k mu_k^2 (a_k + R_k / h) of its tangents, never 0
    PROX,  # h a: the compliance that the inertia itself has
    OFFSET,  # e
    SLOPE_TAIL,  # what rounding took from S
    START_TAIL,  # and from c: stiff springs at rest are small differences of large numbers
) = range(19)
LAW_COLUMNS = 19
HERTZ = 1.5  # an exponent that has a root
CLOSE = 1e-9  # of a force, from which one step of Newton leads to its last digit


class Rows(NamedTuple):
    """m rows in nb blocks over nv whitened velocities. Few arrays: every one costs compile time in every kernel."""

    step: float  # h
    block_ptr: Ints  # (nb+1,)
    square_ptr: Ints  # (nb+1,) start of the d x d entries of a block
    ptr: Ints  # (m+1,) Z in CSR
    idx: Ints
    val: Array
    jac_ptr: Ints  # (m+1,) G in CSR
    jac_idx: Ints
    jac_val: Array
    law: Array  # (m, LAW_COLUMNS), columns as named above


@kernel
def make_rows(flat: Flat, inertia: Inertia) -> Rows:
    """Lower a step to whitened coordinates."""
    h, m = flat.step, flat.kind.size
    ptr, idx, val = whiten_rows(inertia, flat.jac_ptr, flat.jac_idx, flat.jac_val)
    rows = Rows(
        h,
        flat.block_ptr,
        np.zeros(flat.block_ptr.size, np.int64),
        ptr,
        idx,
        val,
        flat.jac_ptr,
        flat.jac_idx,
        flat.jac_val,
        np.zeros((m, LAW_COLUMNS)),
    )
    for i in range(m):
        for e in range(ptr[i], ptr[i + 1]):
            rows.law[i, MOBILITY] += val[e] ** 2
    fill_rows(flat, rows)
    return rows


@kernel
def fill_rows(flat: Flat, rows: Rows) -> None:
    """Laws, and where squares of blocks are; mobilities are there, all else is zero."""
    for b in range(rows.block_ptr.size - 1):
        d = rows.block_ptr[b + 1] - rows.block_ptr[b]
        rows.square_ptr[b + 1] = rows.square_ptr[b] + d * d
    _fill_laws(flat, rows)
    _fill_scales(rows)


@kernel(inline=True)
def bare_rows(flat: Flat, A: Array) -> Rows:
    """The rows without Z, on the caller's stack, where A = G inv(M) G' is known instead."""
    m = flat.kind.size
    square_ptr, none = long_room(flat.block_ptr.size), long_room(m + 1)
    rows = Rows(
        flat.step, flat.block_ptr, square_ptr, none, none, room(1), flat.jac_ptr, flat.jac_idx, flat.jac_val,
        folded(room(m * LAW_COLUMNS), m, LAW_COLUMNS),
    )  # fmt: skip
    bare(rows, A)
    fill_rows(flat, rows)
    return rows


@kernel
def bare(rows: Rows, A: Array) -> None:
    """Nothing but mobilities."""
    for b in range(rows.block_ptr.size):
        rows.square_ptr[b] = 0
    for i in range(rows.law.shape[0]):
        for k in range(LAW_COLUMNS):
            rows.law[i, k] = 0.0
        rows.law[i, MOBILITY] = A[i, i]


@kernel
def _fill_laws(flat: Flat, rows: Rows) -> None:
    law, h = rows.law, flat.step
    for i in range(law.shape[0]):
        K, B, phi = flat.stiffness[i], flat.damping[i], flat.value[i]
        law[i, VALUE], law[i, STIFFNESS], law[i, DAMPING] = phi, K, B
        law[i, SLOPE] = K  # infinite on tangents without compliance
        if K < np.inf:
            product, tail = two_product(h, K)
            law[i, SLOPE], more = two_sum(product, B)
            law[i, SLOPE_TAIL] = tail + more
        law[i, EXPONENT], law[i, DISSIPATION] = flat.exponent[i], flat.dissipation[i]
        law[i, OFFSET] = flat.offset[i]
        law[i, LOWER], law[i, UPPER] = flat.lower[i], flat.upper[i]
        if flat.kind[i] == TANGENT:
            if law[i, SLOPE] > 0.0:
                law[i, FRICTION] = flat.friction[i]
            if 0.0 < law[i, SLOPE] < np.inf:
                law[i, COMPLIANCE] = 1.0 / law[i, SLOPE]
                law[i, BIAS] = K * phi / law[i, SLOPE]
            continue
        law[i, START], law[i, START_TAIL] = two_product(-K, phi)
        if flat.kind[i] == UNILATERAL or flat.kind[i] == NORMAL:
            if phi > 0.0 and B > 0.0:  # the damper does not act before touch
                product, tail = two_product(B, phi)
                ratio = product / h
                back, under = two_product(ratio, h)
                law[i, START], more = two_sum(law[i, START], -ratio)
                law[i, START_TAIL] += more - ((product - back) - under + tail) / h
            if (flat.exponent[i] != 1.0 or flat.dissipation[i] != 0.0) and K > 0.0:
                law[i, POWER] = 1.0


@kernel
def _fill_scales(rows: Rows) -> None:
    """Natural scales of each block: 1 / (h a) turns a rate into a force."""
    law, h = rows.law, rows.step
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        widest = 0.0
        for i in range(lo, hi):
            law[i, PROX] = h * law[i, MOBILITY]
            widest = max(widest, law[i, FRICTION] ** 2 * (law[i, MOBILITY] + law[i, COMPLIANCE] / h))
        if hi - lo < 2:
            continue
        law[lo, REACH] = widest if widest > 0.0 else 1e-30
        for i in range(lo + 1, hi):
            if law[i, FRICTION] > 0.0:
                law[i, PROX] = h * law[lo, REACH] / law[i, FRICTION] ** 2


@kernel
def power_force(law: Array, h: float, i: int, rate: float) -> tuple[float, float]:
    """g and its slope -dg/dp at the rate r of penetration, d = d0 + h r: in r, not in d, nothing is lost as h -> 0."""
    q, alpha = law[i, EXPONENT], law[i, DISSIPATION]
    d = max(0.0, max(0.0, -law[i, VALUE]) + h * rate)
    bent = np.sqrt(d) if q == HERTZ else d ** (q - 1.0) if d > 0.0 or q == 1.0 else 0.0
    steep = law[i, STIFFNESS] * bent
    spring, steep = steep * d, steep * q
    grown = 1.0 + alpha * rate
    force = spring * grown + law[i, DAMPING] * rate
    return force, h * steep * grown + spring * alpha + law[i, DAMPING]


@kernel
def power_rate(law: Array, h: float, i: int, p: float) -> float:
    """The rate of penetration r = (d1 - d0) / h that follows from p; also p from r, since d is not negative."""
    phi = law[i, VALUE]
    return max(-max(0.0, -phi) / h, -p - max(phi, 0.0) / h)


@kernel
def power_rate_at(law: Array, h: float, i: int, force: float, near: float) -> float:
    """The r at which g = force >= 0: g grows with r wherever it is positive. near: where it may be."""
    d0, q = max(0.0, -law[i, VALUE]), law[i, EXPONENT]
    ratio = force / law[i, STIFFNESS]
    depth = np.cbrt(ratio) ** 2 if q == HERTZ else ratio ** (1.0 / q)
    if law[i, DAMPING] == 0.0 and law[i, DISSIPATION] == 0.0:
        return (depth - d0) / h
    low, high = -d0 / h, max(0.0, (depth - d0) / h)  # where r >= 0 the spring alone reaches the force at this depth
    r = clip(near, low, high)
    for _ in range(300):
        g, slope = power_force(law, h, i, r)
        if g < force:
            low = r
        else:
            high = r
        new = r - (g - force) / slope if slope > 0.0 else low
        if slope > 0.0 and abs(g - force) <= CLOSE * force:  # squared, that is what rounding leaves, also at the ends
            return clip(new, low, high)
        if not (low < new < high):
            new = 0.5 * (low + high)
        if new in (low, high) or abs(new - r) <= 1e-16 * abs(r):
            return new
        r = new
    return r


@kernel
def spring_residual(law: Array, h: float, i: int, force: float, p: float) -> float:
    """S p + lambda - c of a linear law, in twofold precision."""
    product, tail = two_product(law[i, SLOPE], p)
    s, more = two_sum(product, -law[i, START])
    tail += more + law[i, SLOPE_TAIL] * p - law[i, START_TAIL]
    s, more = two_sum(s, force)
    return s + (tail + more)


@kernel
def linearise(law: Array, h: float, i: int, force: float, p: float) -> tuple[float, float]:
    """(S, rho) of the law at (force, p): to first order lambda + S p changes as -rho + ...; rho = 0 on the law.

    On a power law the tangent is taken where the penetration is deeper, at p or where g = force: there it is steeper,
    and the slope does not vanish at touch.
    """
    if law[i, POWER] == 0:
        return law[i, SLOPE], spring_residual(law, h, i, force, p)
    rate = power_rate(law, h, i, p)
    g, slope = power_force(law, h, i, rate)
    if g < force or force <= 0.0:  # else g = force lies before: g grows
        at_force = power_rate_at(law, h, i, max(force, 0.0), rate)
        if at_force > rate:
            slope = power_force(law, h, i, at_force)[1]
            return slope, slope * (p + at_force + max(law[i, VALUE], 0.0) / h) + min(force, 0.0)
    return slope, force - g


@kernel
def rate_at(law: Array, h: float, i: int, force: float) -> tuple[float, float]:
    """(q, R): the rate at which the law gives `force`, and the compliance -dq/dforce there; S > 0."""
    if law[i, POWER] == 0:
        return (law[i, START] - force) / law[i, SLOPE], 1.0 / law[i, SLOPE]
    rate = power_rate_at(law, h, i, force, np.inf)
    slope = power_force(law, h, i, rate)[1]
    return -rate - max(law[i, VALUE], 0.0) / h, 1.0 / slope if slope > 0.0 else np.inf


@kernel
def is_fixed(law: Array, h: float, i: int) -> bool:
    """Whether the force does not depend on the motion: no stiffness, equal bounds."""
    return (law[i, SLOPE] == 0.0 and law[i, POWER] == 0) or law[i, LOWER] == law[i, UPPER]


@kernel
def clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


@kernel
def project(rows: Rows, force: Array) -> None:
    """Move forces into their bounds and cones, in place: tangents are scaled back, normals only clipped."""
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        if hi - lo < 1:
            continue
        force[lo] = clip(force[lo], rows.law[lo, LOWER], rows.law[lo, UPPER])
        if is_fixed(rows.law, rows.step, lo):
            force[lo] = clip(rows.law[lo, START], rows.law[lo, LOWER], rows.law[lo, UPPER])
        size = 0.0
        for i in range(lo + 1, hi):
            if rows.law[i, FRICTION] > 0.0:
                size += (force[i] / rows.law[i, FRICTION]) ** 2
            else:
                force[i] = 0.0
        size = np.sqrt(size)
        if size > force[lo] and hi > lo + 1:
            shrink = force[lo] / size
            for i in range(lo + 1, hi):
                force[i] *= shrink


@kernel
def whitened_impulse(rows: Rows, force: Array, x: Array) -> None:
    """x := h Z' lambda."""
    for j in range(x.size):
        x[j] = 0.0
    add_impulse(rows, force, x)


@kernel
def add_impulse(rows: Rows, force: Array, x: Array) -> None:
    """x += h Z' lambda."""
    for i in range(force.size):
        f = rows.step * force[i]
        if f != 0.0:
            for e in range(rows.ptr[i], rows.ptr[i + 1]):
                x[rows.idx[e]] += rows.val[e] * f


@kernel
def rates(rows: Rows, x: Array, p: Array) -> None:
    """p := Z x."""
    for i in range(p.size):
        s = 0.0
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            s += rows.val[e] * x[rows.idx[e]]
        p[i] = s


@kernel
def free_rates(rows: Rows, v0: Array, push: Array, p: Array) -> None:
    """p = G v0 + e + G push, summed in twofold precision; v0 + push need not be representable."""
    for i in range(p.size):
        hi, lo = rows.law[i, OFFSET], 0.0
        for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
            hi, lo = add_product(hi, lo, rows.jac_val[e], v0[rows.jac_idx[e]])
            hi, lo = add_product(hi, lo, rows.jac_val[e], push[rows.jac_idx[e]])
        p[i] = hi + lo
