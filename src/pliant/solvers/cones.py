"""The cone |l| <= n of dimension d, for the interior-point method: products, scaling, step lengths.

Nesterov-Todd scaling: the symmetric W with W y = inv(W) x for x and y inside the cone (Vandenberghe, The CVXOPT linear
and quadratic cone program solvers, 2010, section 4).
"""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import few
from pliant.inputs import Array


@kernel
def tail(x: Array, n: int) -> float:
    """|l|."""
    s = 0.0
    for i in range(1, n):
        s += x[i] * x[i]
    return np.sqrt(s)


@kernel
def determinant(x: Array, n: int) -> float:
    """n^2 - |l|^2, without its cancellation near the rim."""
    t = tail(x, n)
    return max((x[0] - t) * (x[0] + t), 1e-300)


@kernel
def multiply(x: Array, y: Array, n: int, out: Array) -> None:
    """The Jordan product of the cone."""
    s = x[0] * y[0]
    for i in range(1, n):
        s += x[i] * y[i]
        out[i] = x[0] * y[i] + y[0] * x[i]
    out[0] = s


@kernel
def divide(x: Array, y: Array, n: int, out: Array) -> None:
    """out with x o out = y."""
    det, s = determinant(x, n), 0.0
    for i in range(1, n):
        s += x[i] * y[i]
    first = (x[0] * y[0] - s) / det
    for i in range(1, n):
        out[i] = (y[i] - x[i] * first) / x[0]
    out[0] = first


@kernel
def step_to_rim(x: Array, dx: Array, n: int) -> float:
    """The largest step that keeps x + step dx inside, at most 1e10."""
    a, b = dx[0] * dx[0], x[0] * dx[0]
    for i in range(1, n):
        a -= dx[i] * dx[i]
        b -= x[i] * dx[i]
    c = determinant(x, n)
    disc = b * b - a * c
    if disc < 0.0:
        return 1e10
    down = -b + np.sqrt(disc)
    return min(1e10, c / down) if down > 0.0 else 1e10


@kernel
def scaling(x: Array, y: Array, n: int, W: Array, V: Array) -> None:
    """W and V = inv(W), both (n, n)."""
    dx, dy = determinant(x, n), determinant(y, n)
    rx, ry = np.sqrt(dx), np.sqrt(dy)
    s = x[0] * y[0]
    for i in range(1, n):
        s += x[i] * y[i]
    gamma = np.sqrt(0.5 * (1.0 + s / (rx * ry)))
    eta, w = np.sqrt(rx / ry), few()
    w0 = (x[0] / rx + y[0] / ry) / (2.0 * gamma)
    W[0, 0], V[0, 0] = eta * w0, w0 / eta
    for i in range(1, n):
        w[i] = (x[i] / rx - y[i] / ry) / (2.0 * gamma)
        W[0, i] = W[i, 0] = eta * w[i]
        V[0, i] = V[i, 0] = -w[i] / eta
        share = w[i] / (1.0 + w0)
        for j in range(1, i + 1):
            q = share * w[j] + (1.0 if i == j else 0.0)
            W[i, j] = W[j, i] = eta * q
            V[i, j] = V[j, i] = q / eta
