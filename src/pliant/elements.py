"""A surface as elements of known area: where the springs of a foundation sit. In the frame of the shape, [m], [m^2]."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from pliant.inputs import Array, Ints
from pliant.materials import SIDES

GOLDEN = np.pi * (3.0 - np.sqrt(5.0))  # an angle whose multiples lie evenly on a circle


class Elements(NamedTuple):
    """point (n, 3), normal (n, 3) outward, area (n,)."""

    point: Array
    normal: Array
    area: Array


def on_side(elements: Elements, side: str | None) -> Elements:
    """Those whose normal points to a side most of all."""
    if side is None:
        return elements
    axis, sign = divmod(SIDES.index(side), 2)
    along = elements.normal[:, axis] * (1.0 if sign else -1.0)
    there = along >= np.abs(elements.normal).max(axis=1) - 1e-12
    return Elements(*(part[there] for part in elements))


def box(half: Array, count: int, side: str | None = None) -> Elements:
    """Cells of the faces, about square; half: (3,) half the edges."""
    faces = [(axis, sign) for axis in range(3) for sign in (-1.0, 1.0)]
    if side is not None:
        faces = [faces[SIDES.index(side)]]
    total = sum(_face(half, axis) for axis, _ in faces)
    spacing = np.sqrt(total / count)
    return _join([_cells(half, axis, sign, spacing) for axis, sign in faces])


def _face(half: Array, axis: int) -> float:
    return float(4.0 * half[(axis + 1) % 3] * half[(axis + 2) % 3])


def _cells(half: Array, axis: int, sign: float, spacing: float) -> Elements:
    one, two = sorted(((axis + 1) % 3, (axis + 2) % 3))
    along, across = (max(1, round(2.0 * float(half[k]) / spacing)) for k in (one, two))
    x, y = (2.0 * half[k] * ((np.arange(n) + 0.5) / n - 0.5) for k, n in ((one, along), (two, across)))
    point = np.zeros((along * across, 3))
    point[:, one], point[:, two] = np.tile(x, across), np.repeat(y, along)
    point[:, axis] = sign * half[axis]
    normal = np.zeros_like(point)
    normal[:, axis] = sign
    return Elements(point, normal, np.full(len(point), _face(half, axis) / len(point)))


def sphere(radius: float, count: int) -> Elements:
    """Points of equal area along a spiral."""
    return _zone(radius, count, -1.0, 1.0)


def _zone(radius: float, count: int, low: float, high: float) -> Elements:
    """The part of a sphere between two heights, in radii."""
    z = low + (high - low) * (np.arange(count) + 0.5) / count
    angle = GOLDEN * np.arange(count)
    flat = np.sqrt(1.0 - z * z)
    normal = np.stack([flat * np.cos(angle), flat * np.sin(angle), z], axis=1)
    return Elements(radius * normal, normal, np.full(count, 2.0 * np.pi * radius**2 * (high - low) / count))


def _barrel(radius: float, half: float, spacing: float) -> Elements:
    """The side of a cylinder, in cells."""
    around, along = max(3, round(2.0 * np.pi * radius / spacing)), max(1, round(2.0 * half / spacing))
    angle = np.tile(2.0 * np.pi * (np.arange(around) + 0.5) / around, along)
    z = np.repeat(2.0 * half * ((np.arange(along) + 0.5) / along - 0.5), around)
    normal = np.stack([np.cos(angle), np.sin(angle), 0.0 * z], axis=1)
    point = radius * normal + np.stack([0.0 * z, 0.0 * z, z], axis=1)
    return Elements(point, normal, np.full(len(z), 4.0 * np.pi * radius * half / len(z)))


def _disc(radius: float, height: float, spacing: float) -> Elements:
    """An end of a cylinder: points of equal area along a spiral."""
    count = max(1, round(np.pi * radius**2 / spacing**2))
    r, angle = radius * np.sqrt((np.arange(count) + 0.5) / count), GOLDEN * np.arange(count)
    point = np.stack([r * np.cos(angle), r * np.sin(angle), np.full(count, height)], axis=1)
    normal = np.tile([0.0, 0.0, np.sign(height)], (count, 1))
    return Elements(point, normal, np.full(count, np.pi * radius**2 / count))


def cylinder(radius: float, half: float, count: int) -> Elements:
    spacing = np.sqrt((2.0 * np.pi * radius**2 + 4.0 * np.pi * radius * half) / count)
    return _join([_disc(radius, -half, spacing), _disc(radius, half, spacing), _barrel(radius, half, spacing)])


def capsule(radius: float, half: float, count: int) -> Elements:
    spacing = np.sqrt((4.0 * np.pi * radius**2 + 4.0 * np.pi * radius * half) / count)
    cap = max(1, round(2.0 * np.pi * radius**2 / spacing**2))
    low, high = _zone(radius, cap, -1.0, 0.0), _zone(radius, cap, 0.0, 1.0)
    low.point[:, 2] -= half
    high.point[:, 2] += half
    return _join([low, high, _barrel(radius, half, spacing)])


def mesh(vertices: Array, faces: Ints, count: int) -> Elements:
    """Triangles, halved along their longest edges, the largest first, until there are enough: at least one a face."""
    heap = [(-_area(triangle), i, triangle) for i, triangle in enumerate(vertices[faces])]
    heapq.heapify(heap)
    number = len(heap)
    while len(heap) < count:
        _, _, triangle = heapq.heappop(heap)
        for half in _halves(triangle):
            heapq.heappush(heap, (-_area(half), number, half))
            number += 1
    triangles = np.array([triangle for *_, triangle in sorted(heap, key=lambda entry: entry[1])])
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    size = np.linalg.norm(normal, axis=1)
    there = size > 0.0
    return Elements(triangles.mean(axis=1)[there], (normal[there].T / size[there]).T, 0.5 * size[there])


def _area(triangle: Array) -> float:
    a, b, c = triangle
    return 0.5 * float(np.linalg.norm(np.cross(b - a, c - a)))


def _halves(triangle: Array) -> tuple[Array, Array]:
    edges = np.linalg.norm(np.roll(triangle, -1, axis=0) - triangle, axis=1)
    a, b, c = np.roll(triangle, -int(np.argmax(edges)), axis=0)  # from a to b it is longest
    middle = 0.5 * (a + b)
    return np.array([a, middle, c]), np.array([middle, b, c])


def _join(parts: list[Elements]) -> Elements:
    return Elements(*(np.concatenate([getattr(part, name) for part in parts]) for name in Elements._fields))
