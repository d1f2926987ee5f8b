"""Small meshes, and how they are turned."""

from __future__ import annotations

import numpy as np

from pliant.inputs import Array, Ints

Mesh = tuple[Array, Ints]  # corners (n, 3), triangles (m, 3)


def ball() -> Mesh:
    """Of radius 1: twelve corners would look like gravel, so triangles are divided twice."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    ring = np.array([[-1, golden, 0], [1, golden, 0], [-1, -golden, 0], [1, -golden, 0]], float)
    corners = np.concatenate([ring, np.roll(ring, 1, axis=1), np.roll(ring, 2, axis=1)])
    corners /= np.linalg.norm(corners[0])
    near = np.linalg.norm(corners[:, None] - corners, axis=2) < 1.1
    n = len(corners)
    faces = [
        (i, j, k) for i in range(n) for j in range(i) for k in range(j) if near[i, j] and near[j, k] and near[i, k]
    ]
    for _ in range(2):
        corners, faces = _divided(corners, faces)
    return corners, _outward(corners, np.array(faces))


def cone(sides: int = 32) -> Mesh:
    """The tip at the origin, the rim of radius 1 at height 1, open above."""
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    rim = np.column_stack([np.cos(angle), np.sin(angle), np.ones(sides)])
    k = np.arange(sides)
    return np.vstack([np.zeros(3), rim]), np.column_stack([0 * k, 1 + (k + 1) % sides, 1 + k])


def plate() -> Mesh:
    """A square of side 1, across z."""
    corners = 0.5 * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], float)
    return corners, np.array([[0, 1, 2], [0, 2, 3]])


def turned_to(axis: Array) -> Array:
    """(n, 4) quaternions, w first, that turn z to the axes, (n, 3) of length 1."""
    z = np.array([0.0, 0.0, 1.0])
    half = np.column_stack([1.0 + axis @ z, np.cross(z, axis)])
    half[half[:, 0] < 1e-9] = [0.0, 1.0, 0.0, 0.0]  # upside down: about x
    return np.asarray(half / np.linalg.norm(half, axis=1, keepdims=True))


def _divided(corners: Array, faces: list[tuple[int, int, int]]) -> tuple[Array, list[tuple[int, int, int]]]:
    """Each triangle in four, new corners on the sphere."""
    made, known = list(corners), {}

    def middle(i: int, j: int) -> int:
        key = (min(i, j), max(i, j))
        if key not in known:
            point = made[i] + made[j]
            known[key] = len(made)
            made.append(point / np.linalg.norm(point))
        return known[key]

    parts = []
    for i, j, k in faces:
        a, b, c = middle(i, j), middle(j, k), middle(k, i)
        parts += [(i, a, c), (a, j, b), (c, b, k), (a, b, c)]
    return np.array(made), parts


def _outward(corners: Array, faces: Ints) -> Ints:
    a, b, c = (corners[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    return faces
