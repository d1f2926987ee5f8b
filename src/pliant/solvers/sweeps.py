"""Block Gauss-Seidel on the exact laws: each block solved for itself, the others held.

    (W + R) lambda + u = 0 on the active pieces,  W = h Z_b Z_b',  u the rate of the block without its own force

One sweep costs a few products with Z, no factorization, and finds who touches, sticks and slips; Newton takes the last
digits. One contact is solved in closed form but for one root: with the normal eliminated, slip is
(T + s I) l = -b for the s > 0 at which |l| = lambda_n.
"""

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.linear import solve_small
from pliant.solvers.rows import (
    BIAS,
    COMPLIANCE,
    FRICTION,
    LOWER,
    START,
    UPPER,
    Rows,
    clip,
    is_fixed,
    linearise,
)


@kernel
def delassus_blocks(rows: Rows) -> Array:
    """h Z_b Z_b' for every block, d x d by rows."""
    W = np.zeros(rows.square_ptr[-1])
    for b in range(rows.block_ptr.size - 1):
        lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
        for i in range(n):
            for j in range(i + 1):
                s = _row_product(rows, lo + i, lo + j)
                W[q + i * n + j] = rows.step * s
                W[q + j * n + i] = rows.step * s
    return W


@kernel
def _row_product(rows: Rows, i: int, j: int) -> float:
    s = 0.0
    e, f = rows.ptr[i], rows.ptr[j]
    while e < rows.ptr[i + 1] and f < rows.ptr[j + 1]:
        if rows.idx[e] == rows.idx[f]:
            s += rows.val[e] * rows.val[f]
            e += 1
            f += 1
        elif rows.idx[e] < rows.idx[f]:
            e += 1
        else:
            f += 1
    return s


@kernel
def sweep(rows: Rows, W: Array, free: Array, force: Array, x: Array, count: float) -> None:
    """`count` sweeps over all blocks; x = h Z' lambda is kept up to date, p = free + Z x."""
    u, new = np.empty(8), np.empty(8)
    T, rhs, l = np.empty((8, 8)), np.empty((8, 2)), np.empty((2, 8))
    for _ in range(int(count)):
        for b in range(rows.block_ptr.size - 1):
            lo, n, q = rows.block_ptr[b], rows.block_ptr[b + 1] - rows.block_ptr[b], rows.square_ptr[b]
            for i in range(n):
                s = free[lo + i]
                for e in range(rows.ptr[lo + i], rows.ptr[lo + i + 1]):
                    s += rows.val[e] * x[rows.idx[e]]
                u[i] = s
            if n == 1:
                new[0] = _solve_scalar(rows.law, rows.step, lo, W[q], force[lo], u[0])
            elif n > 1:
                for i in range(n):
                    for j in range(n):
                        u[i] -= W[q + i * n + j] * force[lo + j]
                _solve_contact(rows.law, rows.step, lo, n, W[q : q + n * n], force, u, new, T, rhs, l)
            for i in range(n):
                change = new[i] - force[lo + i]
                if change != 0.0:
                    force[lo + i] = new[i]
                    for e in range(rows.ptr[lo + i], rows.ptr[lo + i + 1]):
                        x[rows.idx[e]] += rows.step * rows.val[e] * change


@kernel
def _solve_scalar(law: Array, h: float, i: int, w: float, force: float, p: float) -> float:
    low, high = law[i, LOWER], law[i, UPPER]
    if is_fixed(law, h, i):
        return clip(law[i, START], low, high)
    S, rho = linearise(law, h, i, force, p)
    return clip(force - rho / (1.0 + w * S), low, high)


@kernel
def _solve_contact(
    law: Array, h: float, lo: int, n: int, W: Array, force: Array, u: Array, new: Array, T: Array, rhs: Array, l: Array
) -> None:
    """One contact, u its rates without its own force. l[0]: scaled tangents, l[1]: their derivative by s."""
    for i in range(n):
        new[i] = 0.0
    if is_fixed(law, h, lo):
        return
    p = u[0]
    for j in range(n):
        p += W[j] * force[lo + j]
    S, rho = linearise(law, h, lo, force[lo], p)
    # normal: u0 + (W00 + R) lambda_n + W0t lambda_t = 0 with the law's tangent lambda_n = force - rho - S (p1 - p)
    if S <= 0.0:
        return
    R = 1.0 / S
    w00 = W[0] + R
    u0 = u[0] - p + (rho - force[lo]) * R
    if u0 >= 0.0:
        return  # open even without friction: then rest is a solution
    low, high, s = 0.0, -1.0, 0.0
    span = 0.0
    for j in range(1, n):
        span += law[lo + j, FRICTION] ** 2 * W[j * n + j]
    normal = -u0 / w00
    for k in range(60):
        _slip_force(law, h, lo, n, W, u, u0, w00, s, T, rhs, l)
        size, drift, pull, dpull = 0.0, 0.0, 0.0, 0.0
        for j in range(1, n):
            mu = law[lo + j, FRICTION]
            size += l[0, j] ** 2
            drift += l[0, j] * l[1, j]
            pull += W[j] * mu * l[0, j]
            dpull += W[j] * mu * l[1, j]
        size = np.sqrt(size)
        normal = -(u0 + pull) / w00
        excess = size - normal
        if (k == 0 and excess <= 0.0) or abs(excess) <= 4e-16 * (size + abs(normal)):
            break
        if excess > 0.0:
            low = s
        else:
            high = s
        slope = (drift / size if size > 0.0 else 0.0) + dpull / w00
        trial = s - excess / slope if slope < 0.0 else -1.0
        if high < 0.0:
            s = trial if trial > low else 4.0 * low + 0.1 * span
        else:
            if high - low <= 1e-15 * high:
                break
            s = trial if low < trial < high else 0.5 * (low + high)
    new[0] = max(0.0, normal)
    size = 0.0
    for j in range(1, n):
        size += l[0, j] ** 2
    size = np.sqrt(size)
    shrink = new[0] / size if size > new[0] else 1.0
    for j in range(1, n):
        new[j] = law[lo + j, FRICTION] * l[0, j] * shrink


@kernel
def _slip_force(
    law: Array,
    h: float,
    lo: int,
    n: int,
    W: Array,
    u: Array,
    u0: float,
    w00: float,
    s: float,
    T: Array,
    rhs: Array,
    l: Array,
) -> None:
    """l[0] = -inv(T + s I) b and l[1] = -inv(T + s I) l[0], T and b with the normal force eliminated."""
    for again in range(2):
        for i in range(1, n):
            mu = law[lo + i, FRICTION]
            for j in range(1, n):
                T[i - 1, j - 1] = mu * law[lo + j, FRICTION] * (W[i * n + j] - W[i * n] * W[j] / w00)
            # the last term only matters where W is singular
            T[i - 1, i - 1] += mu * mu * (law[lo + i, COMPLIANCE] + 1e-14 * W[i * n + i]) + s
            if T[i - 1, i - 1] == 0.0:
                T[i - 1, i - 1] = 1.0
            rhs[i - 1, 0] = -mu * (u[i] + law[lo + i, BIAS] - W[i * n] * u0 / w00) if again == 0 else -l[0, i]
        solve_small(T, n - 1, rhs, 1)
        for i in range(1, n):
            l[again, i] = rhs[i - 1, 0] if law[lo + i, FRICTION] > 0.0 else 0.0
