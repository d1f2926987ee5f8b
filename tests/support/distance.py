"""How far points are from a shape, and in which direction they leave it fastest. In the frame of the shape.

Each function takes points (n, 3) and returns (distance (n,), negative inside; normal (n, 3), outward).
"""

from __future__ import annotations

import numpy as np

from pliant.inputs import Array

Answer = tuple[Array, Array]


def plane(points: Array) -> Answer:
    return points[:, 2].copy(), np.tile([0.0, 0.0, 1.0], (len(points), 1))


def sphere(points: Array, radius: float) -> Answer:
    size = np.linalg.norm(points, axis=1)
    normal = np.divide(points.T, size, out=np.tile([[0.0], [0.0], [1.0]], len(points)), where=size > 0.0).T
    return size - radius, np.ascontiguousarray(normal)


def capsule(points: Array, radius: float, half: float) -> Answer:
    axis = np.zeros_like(points)
    axis[:, 2] = np.clip(points[:, 2], -half, half)
    return sphere(points - axis, radius)


def box(points: Array, half: Array) -> Answer:
    """Inside, the nearest face is the one that counts."""
    sign = np.where(points >= 0.0, 1.0, -1.0)
    beyond = np.abs(points) - half
    return _nearest(beyond, sign)


def cylinder(points: Array, radius: float, half: float) -> Answer:
    """As a box in the plane of the axis and the point."""
    flat = np.hypot(points[:, 0], points[:, 1])
    beyond = np.stack([flat - radius, np.abs(points[:, 2]) - half], axis=1)
    distance, inside = _nearest(beyond, np.ones_like(beyond))
    out = np.divide(points[:, :2].T, flat, out=np.tile([[1.0], [0.0]], len(points)), where=flat > 0.0).T
    normal = np.concatenate([out * inside[:, :1], inside[:, 1:] * np.where(points[:, 2:] >= 0.0, 1.0, -1.0)], axis=1)
    return distance, normal


def _nearest(beyond: Array, sign: Array) -> Answer:
    """beyond: (n, k) how far each coordinate is outside of its interval; sign: the side it is on."""
    outside = np.maximum(beyond, 0.0)
    far = np.linalg.norm(outside, axis=1)
    deepest = np.argmax(beyond, axis=1)
    rows = np.arange(len(beyond))
    normal = np.zeros_like(beyond)
    normal[rows, deepest] = 1.0
    away = far > 0.0
    normal[away] = outside[away] / far[away, None]
    return np.where(away, far, beyond[rows, deepest]), normal * sign
