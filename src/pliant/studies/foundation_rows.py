"""The arithmetic of the cube on its foundation, compiled, as that of the integrators is: see `foundation_cube`.

Quaternions are (w, i, j, k), from the cube to the world.
"""

from __future__ import annotations

import math

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array


@kernel
def turning(quaternion: Array) -> Array:
    """R - 1, (3, 3), without the cancellation: 2 (w u x + u x u x), u = (i, j, k)."""
    w, i, j, k = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    moves = np.empty((3, 3))
    moves[0, 0], moves[0, 1], moves[0, 2] = -2.0 * (j * j + k * k), 2.0 * (i * j - w * k), 2.0 * (i * k + w * j)
    moves[1, 0], moves[1, 1], moves[1, 2] = 2.0 * (i * j + w * k), -2.0 * (i * i + k * k), 2.0 * (j * k - w * i)
    moves[2, 0], moves[2, 1], moves[2, 2] = 2.0 * (i * k - w * j), 2.0 * (j * k + w * i), -2.0 * (i * i + j * j)
    return moves


@kernel
def rows_at(q: Array, places: Array, G: Array, phi: Array) -> None:
    """Heights of the elements into phi, (n,), and G = (n, r x n), n = (0, 0, 1), into its columns of rotation."""
    moves = turning(q[3:])
    for e in range(phi.size):
        a, b, c = places[e, 0], places[e, 1], places[e, 2]
        phi[e] = q[2] + (moves[2, 0] * a + moves[2, 1] * b + moves[2, 2] * c)
        G[e, 3] = b + (moves[1, 0] * a + moves[1, 1] * b + moves[1, 2] * c)
        G[e, 4] = -a - (moves[0, 0] * a + moves[0, 1] * b + moves[0, 2] * c)


@kernel
def pressed(q: Array, point: Array, load: float, weight: float) -> Array:
    """f, (6,): weight, and the load that presses on a point of the cube, (3,), straight down."""
    moves, f = turning(q[3:]), np.zeros(6)
    x = point[0] + (moves[0, 0] * point[0] + moves[0, 1] * point[1] + moves[0, 2] * point[2])
    y = point[1] + (moves[1, 0] * point[0] + moves[1, 1] * point[1] + moves[1, 2] * point[2])
    f[2], f[3], f[4] = -weight - load, -y * load, x * load
    return f


@kernel
def advanced(q: Array, v: Array, step: float) -> Array:
    """The centre by h v, the quaternion by exp(h omega)."""
    after, angle = np.empty(7), np.empty(3)
    for j in range(3):
        after[j], angle[j] = q[j] + step * v[j], step * v[3 + j]
    quaternion = turned(q[3:], angle)
    for j in range(4):
        after[3 + j] = quaternion[j]
    return after


@kernel
def turned(quaternion: Array, angle: Array) -> Array:
    """exp(angle) quaternion, of length 1; angle (3,) in the world [rad]."""
    half = 0.5 * math.sqrt(angle[0] ** 2 + angle[1] ** 2 + angle[2] ** 2)
    a, b = math.cos(half), (0.5 * math.sin(half) / half if half > 0.0 else 0.5)
    w, i, j, k = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    x, y, z = b * angle[0], b * angle[1], b * angle[2]
    product = np.empty(4)
    product[0] = a * w - x * i - y * j - z * k
    product[1] = a * i + w * x + y * k - z * j
    product[2] = a * j + w * y + z * i - x * k
    product[3] = a * k + w * z + x * j - y * i
    length = math.sqrt(product[0] ** 2 + product[1] ** 2 + product[2] ** 2 + product[3] ** 2)
    for j in range(4):
        product[j] /= length
    return product
