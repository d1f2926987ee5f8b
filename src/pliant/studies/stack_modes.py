"""How fast a column of spheres leaves its upright equilibrium: rigid spheres that roll on each other without slip.

With x_i across and turns omega_i, the load N_i = (n - i) m g of the contact below sphere i pushes the two apart by
N_i (x_i - x_{i-1}) / (2 r), and no slip means

    xdot_0 = r omega_0,      xdot_i - xdot_{i-1} = r (omega_i + omega_{i-1}).

On the motions that these allow, M q'' = K q: the largest eigenvalue is the square of the rate.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, null_space

from pliant.inputs import Array
from pliant.studies.scenes import GRAVITY, RADIUS


def mode(count: int) -> tuple[float, Array]:
    """(rate [1/s], weights (count,) that pick the part of the fastest mode out of the x_i)."""
    n, r = count, RADIUS
    M = np.diag(np.concatenate([np.ones(n), np.full(n, 0.4 * r * r)]))  # 1 kg each
    K, C = np.zeros((2 * n, 2 * n)), np.zeros((n, 2 * n))
    C[0, 0], C[0, n] = 1.0, -r
    for i in range(1, n):
        k = (n - i) * GRAVITY / (2.0 * r)
        K[i - 1 : i + 1, i - 1 : i + 1] += k * np.array([[1.0, -1.0], [-1.0, 1.0]])
        C[i, [i - 1, i, n + i - 1, n + i]] = -1.0, 1.0, -r, -r
    Z = null_space(C)
    values, vectors = eigh(Z.T @ K @ Z, Z.T @ M @ Z)
    shape = Z @ vectors[:, -1]
    turned = np.linalg.solve(C[:, n:], -C[:, :n])  # omega of x, from no slip
    return float(np.sqrt(values[-1])), shape[:n] + turned.T @ (M[n:, n:] @ shape[n:])


def growth(time: Array, part: Array) -> float:
    """The rate at which the last three decades of a curve grow [1/s]."""
    late = part > 1e-3 * part.max()
    return float(np.polyfit(time[late], np.log(part[late]), 1)[0])
