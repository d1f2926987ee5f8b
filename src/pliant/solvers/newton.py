"""Newton on the laws in the forces: the natural map of Alart and Curnier, linearised block by block.

    scalar row   lambda = clip(lambda - y, low, high),                 y = rho / (1 + h a S)
    contact      lambda_n = max(0, lambda_n - y_n),  l = proj(l - t w) onto the disc of radius lambda_n,
                 l_k = lambda_k / mu_k,  w_k = mu_k (p_k + R_k lambda_k + bias_k),  t = 1 / max_k mu_k^2 (h a_k + R_k)

The scale 1 / (h a) decides who is active; the stiffness only enters the equations of the active rows, so the sets
settle in a few rounds whatever K is. lift = 1 replaces p_n by p_n - |w|: the associated cone of `Convex`.
(Alart and Curnier, A mixed formulation for frictional contact problems prone to Newton like solution methods, 1991.)
"""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import few
from pliant.inputs import Array
from pliant.solvers.linear import System
from pliant.solvers.rows import (
    BIAS,
    COMPLIANCE,
    FRICTION,
    LOWER,
    MOBILITY,
    POWER,
    REACH,
    START,
    UPPER,
    VALUE,
    Rows,
    clip,
    is_fixed,
    linearise,
    power_force,
    power_rate,
    power_rate_at,
)

STIFF = 10.0  # times the inertia


@kernel
def natural_map(rows: Rows, force: Array, p: Array, lift: float, r: Array) -> float:
    """r := lambda - P(lambda - y), the distance from the laws in newtons; returns sum h a r^2, the merit."""
    h, merit = rows.step, 0.0
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        if hi <= lo:
            continue
        slip = slip_speed(rows.law, rows.step, lo, hi, force, p) if lift != 0.0 else 0.0
        r[lo] = _scalar_residual(rows.law, rows.step, lo, force[lo], p[lo] - lift * slip)
        merit += h * rows.law[lo, MOBILITY] * r[lo] * r[lo]
        if hi > lo + 1:
            tangent_residual(rows.law, rows.step, lo, hi, force, p, r[lo:])
            for i in range(lo + 1, hi):
                merit += h * rows.law[i, MOBILITY] * r[i] * r[i]
    return merit


@kernel
def slip_speed(law: Array, h: float, lo: int, hi: int, force: Array, p: Array) -> float:
    s = 0.0
    for i in range(lo + 1, hi):
        w = law[i, FRICTION] * (p[i] + law[i, COMPLIANCE] * force[i] + law[i, BIAS])
        s += w * w
    return np.sqrt(s)


@kernel
def _scalar_residual(law: Array, h: float, i: int, force: float, p: float) -> float:
    if is_fixed(law, h, i):
        return force - clip(law[i, START], law[i, LOWER], law[i, UPPER])
    S, rho = linearise(law, h, i, force, p)
    y = rho / (1.0 + h * law[i, MOBILITY] * S)
    return force - clip(force - y, law[i, LOWER], law[i, UPPER])


@kernel
def tangent_residual(law: Array, h: float, lo: int, hi: int, force: Array, p: Array, r: Array) -> None:
    """r[1:] of one contact: its tangents against their projection onto the disc."""
    scale = 1.0 / (h * law[lo, REACH])
    size = 0.0
    for i in range(lo + 1, hi):
        mu = law[i, FRICTION]
        if mu > 0.0:
            w = mu * (p[i] + law[i, COMPLIANCE] * force[i] + law[i, BIAS])
            r[i - lo] = force[i] / mu - scale * w
            size += r[i - lo] ** 2
    size = np.sqrt(size)
    radius = max(0.0, force[lo])
    shrink = radius / size if size > radius else 1.0
    for i in range(lo + 1, hi):
        mu = law[i, FRICTION]
        r[i - lo] = force[i] - mu * shrink * r[i - lo] if mu > 0.0 else force[i]


@kernel
def linearise_blocks(rows: Rows, force: Array, p: Array, lift: float, system: System) -> None:
    """B dlambda + C (G dv) = k for every block, from the pieces of the natural map that are active at (force, p)."""
    z, t = few(), few()
    for b in range(rows.block_ptr.size - 1):
        linearise_block(rows, b, force, p, lift, system, z, t)


@kernel(inline=True)
def linearise_block(
    rows: Rows, b: int, force: Array, p: Array, lift: float, system: System, z: Array, t: Array
) -> None:
    """One of them; z, t: to work with."""
    law, h, B, C, k = rows.law, rows.step, system.B, system.C, system.k
    lo, q = rows.block_ptr[b], rows.square_ptr[b]
    n = rows.block_ptr[b + 1] - lo
    for e in range(q, q + n * n):
        B[e] = 0.0
        C[e] = 0.0
    if n == 1:
        _linear_scalar(law, h, lo, force[lo], p[lo], q, B, C, k)
    elif n > 1:
        _linear_contact(law, h, lo, n, force, p, lift, q, B, C, k, z, t)


@kernel
def _linear_scalar(law: Array, h: float, i: int, force: float, p: float, q: int, B: Array, C: Array, k: Array) -> float:
    """Row i alone; returns lambda - y, the force the map would choose before the bounds."""
    B[q] = 1.0
    low, high = law[i, LOWER], law[i, UPPER]
    if is_fixed(law, h, i):
        goal = clip(law[i, START], low, high)
        k[i] = goal - force
        return goal
    S, rho = linearise(law, h, i, force, p)
    trial = force - rho / (1.0 + h * law[i, MOBILITY] * S)
    if trial <= low:
        k[i] = low - force
    elif trial >= high:
        k[i] = high - force
    else:
        # divided by 1 + h a S: entries of order one however stiff the row
        fit = 1.0 / (1.0 + h * law[i, MOBILITY] * S)
        B[q], C[q], k[i] = fit, S * fit, -rho * fit
    return trial


@kernel
def linearise_impacts(rows: Rows, force: Array, p: Array, system: System) -> None:
    """Change the pieces of power laws that give twice the force or more at p: to their tangents where they give the
    force, if they are far stiffer there than the inertia. What stops a body hardly depends on the depth then; by the
    tangents at p only two thirds of what the depth is too much would go with each step. Coulomb's law only."""
    law, h = rows.law, rows.step
    for b in range(rows.block_ptr.size - 1):
        i, q = rows.block_ptr[b], rows.square_ptr[b]
        if rows.block_ptr[b + 1] == i or law[i, POWER] == 0.0 or not force[i] > 0.0 or system.C[q] == 0.0:
            continue
        rate = power_rate(law, h, i, p[i])
        if power_force(law, h, i, rate)[0] < 2.0 * force[i]:
            continue
        rate = power_rate_at(law, h, i, force[i], rate)
        S = power_force(law, h, i, rate)[1]
        if h * law[i, MOBILITY] * S > STIFF:
            fit = 1.0 / (1.0 + h * law[i, MOBILITY] * S)
            system.B[q], system.C[q] = fit, S * fit
            system.k[i] = -S * fit * (p[i] + rate + max(law[i, VALUE], 0.0) / h)


@kernel
def _linear_contact(
    law: Array,
    h: float,
    lo: int,
    n: int,
    force: Array,
    p: Array,
    lift: float,
    q: int,
    B: Array,
    C: Array,
    k: Array,
    z: Array,
    t: Array,
) -> None:
    """Open: every force to 0. Stick: w = 0. Slip, with t = z / |z|, beta = radius / |z|, Q = I - t t':
    dl - t dlambda_n - beta Q (dl - scale dw) = lambda_n t - l."""
    slip = slip_speed(law, h, lo, lo + n, force, p) if lift != 0.0 else 0.0
    radius = _linear_scalar(law, h, lo, force[lo], p[lo] - lift * slip, q, B, C, k)
    scale = 1.0 / (h * law[lo, REACH])
    size = 0.0
    for j in range(1, n):
        i, mu = lo + j, law[lo + j, FRICTION]
        B[q + j * n + j] = 1.0
        k[i] = -force[i]
        z[j] = 0.0
        if mu > 0.0:
            z[j] = force[i] / mu - scale * mu * (p[i] + law[i, COMPLIANCE] * force[i] + law[i, BIAS])
            size += z[j] * z[j]
    size = np.sqrt(size)
    if radius <= 0.0:
        return
    if size <= radius:
        for j in range(1, n):
            i, mu = lo + j, law[lo + j, FRICTION]
            if mu > 0.0:
                fit = scale * mu * mu
                B[q + j * n + j] = fit * law[i, COMPLIANCE]
                C[q + j * n + j] = fit
                k[i] = -fit * (p[i] + law[i, COMPLIANCE] * force[i] + law[i, BIAS])
        return
    beta = radius / size
    for j in range(1, n):
        t[j] = z[j] / size
    for j in range(1, n):
        mu = law[lo + j, FRICTION]
        if mu == 0.0:
            continue
        k[lo + j] += mu * t[j] * force[lo]
        B[q + j * n] = -mu * t[j]
        for s in range(1, n):
            nu = law[lo + s, FRICTION]
            if nu == 0.0:
                continue
            Q = (1.0 if s == j else 0.0) - t[j] * t[s]
            drag = beta * mu * Q * scale * nu
            B[q + j * n + s] += drag * law[lo + s, COMPLIANCE] - beta * mu * Q / nu
            C[q + j * n + s] = drag
    if lift != 0.0 and C[q] != 0.0 and slip > 0.0:
        for s in range(1, n):
            i, nu = lo + s, law[lo + s, FRICTION]
            w = nu * (p[i] + law[i, COMPLIANCE] * force[i] + law[i, BIAS])
            B[q + s] -= lift * C[q] * w / slip * nu * law[i, COMPLIANCE]
            C[q + s] = -lift * C[q] * w / slip * nu
