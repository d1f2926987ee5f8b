"""The arithmetic of the cube on its foundation: see `foundation_cube`.

Quaternions are (w, i, j, k), from the cube to the world.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.inputs import Array


def turning(quaternion: Array) -> Array:
    """R - 1, (3, 3), without the cancellation: 2 (w u x + u x u x), u = (i, j, k)."""
    w, i, j, k = quaternion.tolist()
    return np.array(
        [
            [-2.0 * (j * j + k * k), 2.0 * (i * j - w * k), 2.0 * (i * k + w * j)],
            [2.0 * (i * j + w * k), -2.0 * (i * i + k * k), 2.0 * (j * k - w * i)],
            [2.0 * (i * k - w * j), 2.0 * (j * k + w * i), -2.0 * (i * i + j * j)],
        ]
    )


def rows_at(q: Array, places: Array, G: Array, phi: Array) -> None:
    """Heights of the elements into phi, (n,), and G = (n, r x n), n = (0, 0, 1), into its columns of rotation."""
    moves = turning(q[3:])
    shift = places @ moves.T
    np.add(q[2], shift[:, 2], out=phi)
    np.add(places[:, 1], shift[:, 1], out=G[:, 3])
    np.subtract(-places[:, 0], shift[:, 0], out=G[:, 4])


def pressed(q: Array, point: Array, load: float, weight: float) -> Array:
    """f, (6,): weight, and the load that presses on a point of the cube, (3,), straight down."""
    x, y, _ = (point + turning(q[3:]) @ point).tolist()
    return np.array([0.0, 0.0, -weight - load, -y * load, x * load, 0.0])


def advanced(q: Array, v: Array, step: float) -> Array:
    """The centre by h v, the quaternion by exp(h omega)."""
    return np.concatenate([q[:3] + step * v[:3], turned(q[3:], step * v[3:])])


def turned(quaternion: Array, angle: Array) -> Array:
    """exp(angle) quaternion, of length 1; angle (3,) in the world [rad]."""
    half = 0.5 * math.hypot(*angle)
    a, b = math.cos(half), (0.5 * math.sin(half) / half if half > 0.0 else 0.5)
    w, i, j, k = quaternion.tolist()
    x, y, z = (b * angle).tolist()
    product = np.array(
        [
            a * w - x * i - y * j - z * k,
            a * i + w * x + y * k - z * j,
            a * j + w * y + z * i - x * k,
            a * k + w * z + x * j - y * i,
        ]
    )
    return product / math.hypot(*product)
