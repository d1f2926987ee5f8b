"""A primal-dual interior-point method for the whole step: the globally convergent engine of `Convex`, and the way
through degenerate piles for `Coulomb`.

    lambda in K,  u in K*,  lambda o u = kappa e,  kappa -> 0,      u = (p_n - q(lambda_n), w)

K is the product of bounds and cones, q the law's rate at a force. cone = 1 adds the slip speed |w| to u_n with its
derivative (de Saxce's bipotential), which turns the associated cone into Coulomb's law: no longer monotone, but the
path still leads through contacts that hang between stick and slip, where active sets flicker. Steps after Mehrotra.
"""

from typing import NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.cones import divide, multiply, scaling, step_to_rim, tail
from pliant.solvers.linear import System
from pliant.solvers.rows import (
    BIAS,
    COMPLIANCE,
    FRICTION,
    LOWER,
    MOBILITY,
    START,
    UPPER,
    Rows,
    clip,
    is_fixed,
    rate_at,
)

OPEN = 10.0  # times the rates that paths begin with, from which on a contact is as far from closing as it seems


class Path(NamedTuple):
    """Iterates and directions, per row; on contacts `dual` is scaled by mu, and `other` unused."""

    force: Array  # lambda, strictly inside
    dual: Array  # y of the lower bound, or u
    other: Array  # y of the upper bound
    gap: Array  # u - (y_lower - y_upper), or u(lambda) - u
    R: Array  # compliance of the law
    slip: Array  # direction of slip on contacts
    W: Array  # d x d per block
    V: Array  # inv(W)
    d_force: Array
    d_dual: Array
    d_other: Array


@kernel
def make_path(rows: Rows) -> Path:
    m, s = rows.law.shape[0], rows.square_ptr[rows.block_ptr.size - 1]
    return Path(
        np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m),
        np.zeros(s), np.zeros(s), np.zeros(m), np.zeros(m), np.zeros(m),
    )  # fmt: skip


@kernel
def start_path(rows: Rows, path: Path, force: Array, p: Array, spread: float, size: float) -> None:
    """A point inside around `force`: `spread` of the force scale `size` away from every bound and rim."""
    h = rows.step
    fastest = 0.0
    for i in range(p.size):
        fastest = max(fastest, abs(p[i]))
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        if hi <= lo:
            continue
        if is_fixed(rows.law, rows.step, lo):
            path.force[lo] = clip(rows.law[lo, START], rows.law[lo, LOWER], rows.law[lo, UPPER])
            continue
        room = spread * size
        rate = spread * (size * h * rows.law[lo, MOBILITY] + fastest) + 1e-300
        if hi > lo + 1:
            rim = 0.0
            for i in range(lo + 1, hi):
                path.force[i] = force[i]
                path.dual[i] = 0.0
                if rows.law[i, FRICTION] > 0.0:
                    rim += (force[i] / rows.law[i, FRICTION]) ** 2
            path.force[lo] = max(force[lo], np.sqrt(rim) + room)
            u = p[lo] - rate_at(rows.law, h, lo, path.force[lo])[0]
            path.dual[lo] = u if u > OPEN * rate else rate
            continue
        low, high = rows.law[lo, LOWER], rows.law[lo, UPPER]
        room = min(room, 0.5 * (high - low))
        path.force[lo] = min(max(force[lo], low + room), high - room)
        path.dual[lo] = rate if low > -np.inf else 0.0
        path.other[lo] = rate if high < np.inf else 0.0


@kernel
def measure(rows: Rows, path: Path, p: Array, cone: float) -> tuple[float, int]:
    """Fill gap, R, slip; returns (sum of lambda o u, number of complementary pairs)."""
    total, pairs = 0.0, 0
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        if hi <= lo or is_fixed(rows.law, rows.step, lo):
            continue
        q, path.R[lo] = rate_at(rows.law, rows.step, lo, path.force[lo])
        u = p[lo] - q
        if hi == lo + 1:
            path.gap[lo] = u - path.dual[lo] + path.other[lo]
            if rows.law[lo, LOWER] > -np.inf:
                total += (path.force[lo] - rows.law[lo, LOWER]) * path.dual[lo]
                pairs += 1
            if rows.law[lo, UPPER] < np.inf:
                total += (rows.law[lo, UPPER] - path.force[lo]) * path.other[lo]
                pairs += 1
            continue
        speed = 0.0
        total += path.force[lo] * path.dual[lo]
        pairs += 1
        for i in range(lo + 1, hi):
            mu = rows.law[i, FRICTION]
            w = mu * (p[i] + rows.law[i, COMPLIANCE] * path.force[i] + rows.law[i, BIAS])
            path.slip[i] = w
            path.gap[i] = w - path.dual[i]
            speed += w * w
            if mu > 0.0:
                total += path.force[i] / mu * path.dual[i]
        speed = np.sqrt(speed)
        path.gap[lo] = u + cone * speed - path.dual[lo]
        for i in range(lo + 1, hi):
            path.slip[i] = path.slip[i] / speed if speed > 0.0 else 0.0
    return total, pairs


@kernel
def scale_contacts(rows: Rows, path: Path, small: Array) -> None:
    """Nesterov-Todd scaling of every contact."""
    A, X, x, y = small[0], small[1], small[2, 0], small[2, 1]
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        if n < 2 or is_fixed(rows.law, rows.step, lo):
            continue
        _scaled(rows.law, rows.step, path, lo, n, x, y)
        scaling(x, y, n, A, X)
        for i in range(n):
            for j in range(n):
                path.W[q + i * n + j] = A[i, j]
                path.V[q + i * n + j] = X[i, j]


@kernel
def _scaled(law: Array, h: float, path: Path, lo: int, n: int, x: Array, y: Array) -> None:
    """x = (lambda_n, l), y = (u_n, w) of one contact."""
    for i in range(n):
        mu = 1.0 if i == 0 else law[lo + i, FRICTION]
        x[i] = path.force[lo + i] / mu if mu > 0.0 else 0.0
        y[i] = path.dual[lo + i] if mu > 0.0 else 0.0


@kernel
def central_blocks(rows: Rows, path: Path, system: System, cone: float) -> None:
    """Blocks of the linearised step, wherever on the path it leads."""
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        if n < 1:
            continue
        if is_fixed(rows.law, rows.step, lo):
            for e in range(n * n):
                system.B[q + e] = 1.0 if e % (n + 1) == 0 else 0.0
                system.C[q + e] = 0.0
        elif n == 1:
            _scalar_block(rows.law, rows.step, path, system, lo, q)
        else:
            _contact_block(rows.law, path, system, lo, n, q, cone)


@kernel
def central_goals(rows: Rows, path: Path, system: System, kappa: float, corrected: float) -> None:
    """Right-hand sides of the step towards lambda o u = kappa e; `corrected` adds Mehrotra's second-order term of the
    directions at hand."""
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        if n < 1:
            continue
        if is_fixed(rows.law, rows.step, lo):
            for i in range(n):
                system.k[lo + i] = 0.0
        elif n == 1:
            low, high = _targets(rows.law, rows.step, path, lo, kappa, corrected)
            system.k[lo] = system.C[q] * (low - high - path.gap[lo])
        else:
            _contact_goal(rows.law, rows.step, path, system, lo, n, q, kappa, corrected)


@kernel
def _targets(law: Array, h: float, path: Path, i: int, kappa: float, corrected: float) -> tuple[float, float]:
    """(kappa - s y - ds dy) / s for the lower and the upper bound, 0 where there is none."""
    low = high = 0.0
    if law[i, LOWER] > -np.inf:
        s = path.force[i] - law[i, LOWER]
        low = kappa / s - path.dual[i] - (path.d_force[i] * path.d_dual[i] / s if corrected != 0.0 else 0.0)
    if law[i, UPPER] < np.inf:
        s = law[i, UPPER] - path.force[i]
        high = kappa / s - path.other[i] + (path.d_force[i] * path.d_other[i] / s if corrected != 0.0 else 0.0)
    return low, high


@kernel
def _scalar_block(law: Array, h: float, path: Path, system: System, i: int, q: int) -> None:
    theta = 0.0
    if law[i, LOWER] > -np.inf:
        theta += path.dual[i] / (path.force[i] - law[i, LOWER])
    if law[i, UPPER] < np.inf:
        theta += path.other[i] / (law[i, UPPER] - path.force[i])
    stiff = path.R[i] + theta
    fit = 1.0 / (stiff + h * law[i, MOBILITY])
    system.B[q], system.C[q] = stiff * fit, fit
    if not stiff < np.inf:
        system.B[q], system.C[q] = 1.0, 0.0


@kernel
def _contact_block(law: Array, path: Path, system: System, lo: int, n: int, q: int, cone: float) -> None:
    """(inv(W) + W R) dx + W D (G dv) = d - W gap: W and its inverse, never W^2, whose digits are lost near the rim."""
    W = path.W
    for i in range(n):
        for j in range(n):
            nu = 1.0 if j == 0 else law[lo + j, FRICTION]
            e = q + i * n + j
            if nu == 0.0 or (i > 0 and law[lo + i, FRICTION] == 0.0):
                system.B[e], system.C[e] = 1.0 if i == j else 0.0, 0.0
            elif j == 0:
                system.B[e], system.C[e] = path.V[e] + W[e] * path.R[lo], W[e]
            else:
                lean = nu * (W[e] + cone * path.slip[lo + j] * W[q + i * n])
                system.B[e], system.C[e] = path.V[e] / nu + lean * law[lo + j, COMPLIANCE], lean


@kernel
def _contact_goal(
    law: Array, h: float, path: Path, system: System, lo: int, n: int, q: int, kappa: float, corrected: float
) -> None:
    """d - W gap, s o d = kappa e - s o s in the scaled coordinates s = W y."""
    work, W = system.small[2], path.W
    x, y, s, t, d, e = work[0], work[1], work[2], work[3], work[4], work[5]
    _scaled(law, h, path, lo, n, x, y)
    for i in range(n):
        s[i] = 0.0
        for j in range(n):
            s[i] += W[q + i * n + j] * y[j]
    multiply(s, s, n, t)
    for i in range(n):
        t[i] = (kappa if i == 0 else 0.0) - t[i]
    if corrected != 0.0:
        for j in range(n):
            mu = 1.0 if j == 0 else law[lo + j, FRICTION]
            d[j] = path.d_force[lo + j] / mu if mu > 0.0 else 0.0
            e[j] = path.d_dual[lo + j] if mu > 0.0 else 0.0
        for i in range(n):
            x[i], y[i] = 0.0, 0.0
            for j in range(n):
                x[i] += path.V[q + i * n + j] * d[j]
                y[i] += W[q + i * n + j] * e[j]
        multiply(x, y, n, d)
        for i in range(n):
            t[i] -= d[i]
    divide(s, t, n, d)
    for i in range(n):
        k = d[i]
        for j in range(n):
            k -= W[q + i * n + j] * path.gap[lo + j]
        system.k[lo + i] = k if i == 0 or law[lo + i, FRICTION] > 0.0 else 0.0


@kernel
def dual_directions(rows: Rows, path: Path, flow: Array, cone: float, kappa: float) -> None:
    """Directions of the duals from d_force and flow = G dv: exact in the rate equation, so that the gaps close."""
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        if hi <= lo or is_fixed(rows.law, rows.step, lo):
            continue
        rate = path.gap[lo] + flow[lo] + path.R[lo] * path.d_force[lo]
        if hi > lo + 1:
            for i in range(lo + 1, hi):
                mu = rows.law[i, FRICTION]
                dw = mu * (flow[i] + rows.law[i, COMPLIANCE] * path.d_force[i])
                path.d_dual[i] = path.gap[i] + dw
                rate += cone * path.slip[i] * dw
            path.d_dual[lo] = rate
            continue
        low, high = _targets(rows.law, rows.step, path, lo, kappa, 0.0)
        d_low = d_high = 0.0
        if rows.law[lo, LOWER] > -np.inf:
            d_low = low - path.dual[lo] * path.d_force[lo] / (path.force[lo] - rows.law[lo, LOWER])
        if rows.law[lo, UPPER] < np.inf:
            d_high = high + path.other[lo] * path.d_force[lo] / (rows.law[lo, UPPER] - path.force[lo])
        miss = rate - (d_low - d_high)
        if rows.law[lo, UPPER] == np.inf and rows.law[lo, LOWER] > -np.inf:
            d_low += miss
        elif rows.law[lo, UPPER] < np.inf and rows.law[lo, LOWER] == -np.inf:
            d_high -= miss
        elif rows.law[lo, UPPER] < np.inf:
            if path.dual[lo] > path.other[lo]:
                d_low += miss
            else:
                d_high -= miss
        path.d_dual[lo], path.d_other[lo] = d_low, d_high


@kernel
def longest_step(rows: Rows, path: Path, work: Array) -> float:
    """Largest step, at most 1e10, that keeps forces and duals inside."""
    best = 1e10
    x, y, dx, dy = work[0], work[1], work[2], work[3]
    for b in range(rows.block_ptr.size - 1):
        lo, n = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b]
        if n < 1 or is_fixed(rows.law, rows.step, lo):
            continue
        if n == 1:
            f, df = path.force[lo], path.d_force[lo]
            if rows.law[lo, LOWER] > -np.inf:
                best = min(best, _to_zero(f - rows.law[lo, LOWER], df), _to_zero(path.dual[lo], path.d_dual[lo]))
            if rows.law[lo, UPPER] < np.inf:
                best = min(best, _to_zero(rows.law[lo, UPPER] - f, -df), _to_zero(path.other[lo], path.d_other[lo]))
            continue
        _scaled(rows.law, rows.step, path, lo, n, x, y)
        for i in range(n):
            mu = 1.0 if i == 0 else rows.law[lo + i, FRICTION]
            dx[i] = path.d_force[lo + i] / mu if mu > 0.0 else 0.0
            dy[i] = path.d_dual[lo + i] if mu > 0.0 else 0.0
        best = min(best, step_to_rim(x, dx, n), step_to_rim(y, dy, n))
    return best


@kernel
def _to_zero(x: float, dx: float) -> float:
    return -x / dx if dx < 0.0 else 1e10


@kernel
def advance(rows: Rows, path: Path, step: float) -> None:
    """Move by `step`, and push duals that rounding left on the rim back inside."""
    for i in range(path.force.size):
        path.force[i] += step * path.d_force[i]
        path.dual[i] += step * path.d_dual[i]
        path.other[i] += step * path.d_other[i]
    for b in range(rows.block_ptr.size - 1):
        lo, n = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b]
        if n > 1:
            rim = tail(path.dual[lo : lo + n], n)
            path.dual[lo] = max(path.dual[lo], rim * (1.0 + 1e-15) + 1e-300)


@kernel
def product_after(rows: Rows, path: Path, step: float) -> float:
    """Sum of lambda o u after a step."""
    total = 0.0
    for b in range(rows.block_ptr.size - 1):
        lo, hi = rows.block_ptr[b], rows.block_ptr[b + 1]
        if hi <= lo or is_fixed(rows.law, rows.step, lo):
            continue
        f = path.force[lo] + step * path.d_force[lo]
        y = path.dual[lo] + step * path.d_dual[lo]
        if hi == lo + 1:
            if rows.law[lo, LOWER] > -np.inf:
                total += (f - rows.law[lo, LOWER]) * y
            if rows.law[lo, UPPER] < np.inf:
                total += (rows.law[lo, UPPER] - f) * (path.other[lo] + step * path.d_other[lo])
            continue
        total += f * y
        for i in range(lo + 1, hi):
            if rows.law[i, FRICTION] > 0.0:
                f = path.force[i] + step * path.d_force[i]
                total += f / rows.law[i, FRICTION] * (path.dual[i] + step * path.d_dual[i])
    return total
