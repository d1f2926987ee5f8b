"""The rows of a step as the solvers see them, and the force law of one row.

    linear law   lambda = c - S p,                     S = h K + B
    power law    lambda = g(p) = k d^q (1 + alpha r) + b r,  d = max(0, -(phi0 + h p)),  r = (d - d0) / h
    tangent      0 = p + R lambda + bias inside the cone,  R = 1 / S (0: no tangential compliance)

p is the rate at the end of the step. Bounds and cones are applied by the solvers.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.flat import NORMAL, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array, Ints
from pliant.solvers.whiten import whiten_rows, Inertia

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
) = range(17)


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
    law: Array  # (m, 17), columns as named above


@kernel
def make_rows(flat: Flat, inertia: Inertia) -> Rows:
    """Lower a step to whitened coordinates."""
    h, m, nb = flat.step, flat.kind.size, flat.block_ptr.size - 1
    ptr, idx, val = whiten_rows(inertia, flat.jac_ptr, flat.jac_idx, flat.jac_val)
    square_ptr = np.zeros(nb + 1, np.int64)
    for b in range(nb):
        d = flat.block_ptr[b + 1] - flat.block_ptr[b]
        square_ptr[b + 1] = square_ptr[b] + d * d
    rows = Rows(h, flat.block_ptr, square_ptr, ptr, idx, val, flat.jac_ptr, flat.jac_idx, flat.jac_val, np.zeros((m, 17)))
    for i in range(m):
        _fill_law(flat, rows, i)
    for b in range(nb):
        _scales(rows, flat.block_ptr[b], flat.block_ptr[b + 1])
    return rows


@kernel
def _fill_law(flat: Flat, rows: Rows, i: int) -> None:
    law, h = rows.law[i], flat.step
    K, B, phi = flat.stiffness[i], flat.damping[i], flat.value[i]
    for e in range(rows.ptr[i], rows.ptr[i + 1]):
        law[MOBILITY] += rows.val[e] ** 2
    law[SLOPE], law[VALUE], law[STIFFNESS], law[DAMPING] = h * K + B, phi, K, B
    law[EXPONENT], law[DISSIPATION] = flat.exponent[i], flat.dissipation[i]
    law[OFFSET] = flat.offset[i]
    law[LOWER], law[UPPER] = flat.lower[i], flat.upper[i]
    if flat.kind[i] == TANGENT:
        if law[SLOPE] > 0.0:
            law[FRICTION] = flat.friction[i]
        if 0.0 < law[SLOPE] < np.inf:
            law[COMPLIANCE] = 1.0 / law[SLOPE]
            law[BIAS] = K * phi / law[SLOPE]
        return
    law[START] = -K * phi
    if flat.kind[i] == UNILATERAL or flat.kind[i] == NORMAL:
        law[START] -= B / h * max(phi, 0.0)  # the damper does not act before touch
        if (flat.exponent[i] != 1.0 or flat.dissipation[i] != 0.0) and K > 0.0:
            law[POWER] = 1.0


@kernel
def _scales(rows: Rows, lo: int, hi: int) -> None:
    """Natural scales of one block: 1 / (h a) turns a rate into a force."""
    law, h = rows.law, rows.step
    widest = 0.0
    for i in range(lo, hi):
        law[i, PROX] = h * law[i, MOBILITY]
        widest = max(widest, law[i, FRICTION] ** 2 * (law[i, MOBILITY] + law[i, COMPLIANCE] / h))
    if hi - lo < 2:
        return
    law[lo, REACH] = widest if widest > 0.0 else 1e-30
    for i in range(lo + 1, hi):
        if law[i, FRICTION] > 0.0:
            law[i, PROX] = h * law[lo, REACH] / law[i, FRICTION] ** 2


@kernel
def power_force(rows: Rows, i: int, d: float) -> tuple[float, float]:
    """g and its slope -dg/dp = h dg/dd at penetration d."""
    h, q, alpha = rows.step, rows.law[i, EXPONENT], rows.law[i, DISSIPATION]
    d0 = max(0.0, -rows.law[i, VALUE])
    rate = (d - d0) / h
    spring = rows.law[i, STIFFNESS] * d**q
    grown = 1.0 + alpha * rate
    steep = rows.law[i, STIFFNESS] * q * d ** (q - 1.0) if d > 0.0 or q == 1.0 else 0.0
    force = spring * grown + rows.law[i, DAMPING] * rate
    return force, h * steep * grown + spring * alpha + rows.law[i, DAMPING]


@kernel
def power_depth(rows: Rows, i: int, force: float) -> float:
    """The penetration d at which g = force > 0 or = 0: g grows with d wherever it is positive."""
    h = rows.step
    low, high = 0.0, max(0.0, -rows.law[i, VALUE])
    d = (force / rows.law[i, STIFFNESS]) ** (1.0 / rows.law[i, EXPONENT])
    high = max(high, d)  # where the rate is not negative, the spring alone reaches the force at d
    if force == 0.0 and rows.law[i, DAMPING] == 0.0 and rows.law[i, DISSIPATION] == 0.0:
        return 0.0
    d = high
    for _ in range(200):
        g, slope = power_force(rows, i, d)
        if g < force:
            low = d
        else:
            high = d
        step = (g - force) * h / slope if slope > 0.0 else 0.0
        new = d - step
        if not (low < new < high):
            new = 0.5 * (low + high)
        if abs(new - d) <= 2e-16 * high or new == low or new == high:
            return new
        d = new
    return d


@kernel
def linearise(rows: Rows, i: int, force: float, p: float) -> tuple[float, float]:
    """(S, rho) of the law at (force, p): to first order lambda + S p changes as -rho + ...; rho = 0 on the law.

    On a power law the tangent is taken where the penetration is larger, at p or where g = force: there it is steeper,
    and the slope does not vanish at touch.
    """
    if rows.law[i, POWER] == 0:
        return rows.law[i, SLOPE], rows.law[i, SLOPE] * p + force - rows.law[i, START]
    d1 = max(0.0, -(rows.law[i, VALUE] + rows.step * p))
    at_force = power_depth(rows, i, max(force, 0.0))
    if at_force > d1:
        g, slope = power_force(rows, i, at_force)
        return slope, slope * (p + (rows.law[i, VALUE] + at_force) / rows.step) + min(force, 0.0)
    g, slope = power_force(rows, i, d1)
    return slope, force - g


@kernel
def rate_at(rows: Rows, i: int, force: float) -> tuple[float, float]:
    """(q, R): the rate at which the law gives `force`, and the compliance -dq/dforce there; S > 0."""
    if rows.law[i, POWER] == 0:
        return (rows.law[i, START] - force) / rows.law[i, SLOPE], 1.0 / rows.law[i, SLOPE]
    d = power_depth(rows, i, force)
    slope = power_force(rows, i, d)[1]
    return -(rows.law[i, VALUE] + d) / rows.step, 1.0 / slope if slope > 0.0 else np.inf


@kernel
def is_fixed(rows: Rows, i: int) -> bool:
    """Whether the force does not depend on the motion: no stiffness, equal bounds."""
    return (rows.law[i, SLOPE] == 0.0 and rows.law[i, POWER] == 0) or rows.law[i, LOWER] == rows.law[i, UPPER]


@kernel
def clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


@kernel
def project(rows: Rows, force: Array) -> None:
    """Move forces into their bounds and cones, in place: a contact's tangents are scaled back, its normal only clipped."""
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        if hi - lo < 1:
            continue
        force[lo] = clip(force[lo], rows.law[lo, LOWER], rows.law[lo, UPPER])
        if is_fixed(rows, lo):
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
