"""Surfaces cut into elements, and distances from shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pliant import elements
from pliant.elements import Elements
from pliant.materials import SIDES
from tests.support import distance

HALF = np.array([0.3, 0.2, 0.1])
CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]]
)  # fmt: skip

SHAPES: dict[str, tuple[Any, float, Any]] = {  # elements of a count, the area of the surface, the distance from it
    "box": (lambda n: elements.box(HALF, n), 8.0 * (0.06 + 0.02 + 0.03), lambda p: distance.box(p, HALF)),
    "sphere": (lambda n: elements.sphere(0.3, n), 4.0 * np.pi * 0.09, lambda p: distance.sphere(p, 0.3)),
    "cylinder": (
        lambda n: elements.cylinder(0.3, 0.2, n),
        2.0 * np.pi * 0.09 + 4.0 * np.pi * 0.06,
        lambda p: distance.cylinder(p, 0.3, 0.2),
    ),
    "capsule": (
        lambda n: elements.capsule(0.3, 0.2, n),
        4.0 * np.pi * 0.09 + 4.0 * np.pi * 0.06,
        lambda p: distance.capsule(p, 0.3, 0.2),
    ),
    "mesh": (lambda n: elements.mesh(CUBE, FACES, n), 24.0, lambda p: distance.box(p, np.ones(3))),
}


@pytest.mark.parametrize("count", [12, 100, 1000])
@pytest.mark.parametrize("shape", SHAPES)
def test_elements_lie_on_the_surface_and_make_up_its_area(shape, count):
    make, area, away = SHAPES[shape]
    found = make(count)
    assert found.area.sum() == pytest.approx(area, rel=1e-12) and (found.area > 0.0).all()
    assert abs(len(found.area) / count - 1.0) < (0.5 if count == 12 else 0.2)
    gap, normal = away(found.point)
    np.testing.assert_allclose(gap, 0.0, atol=1e-12)
    np.testing.assert_allclose(normal, found.normal, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_normals_of_a_closed_surface_cancel(shape):
    found = SHAPES[shape][0](1000)
    assert np.abs(found.area @ found.normal).max() < 2e-3 * found.area.sum()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_side_faces_its_way(shape):
    whole = SHAPES[shape][0](1200)
    sides = [elements.on_side(whole, side) for side in SIDES]
    assert sum(len(part.area) for part in sides) >= len(whole.area)
    for k, part in enumerate(sides):
        assert (part.normal[:, k // 2] * (1.0 if k % 2 else -1.0) > 0.57).all()
    assert elements.on_side(whole, None) is whole


def test_a_side_of_a_box_is_its_face():
    face = elements.box(HALF, 6 * 4, "+z")
    assert len(face.area) == 24 and face.area.sum() == pytest.approx(0.24, rel=1e-12)
    assert (face.point[:, 2] == 0.1).all() and isinstance(face, Elements)


@pytest.mark.parametrize("shape", SHAPES)
def test_distances_grow_along_the_normal(shape):
    """By central differences, at points inside and outside."""
    away = SHAPES[shape][2]
    points = np.random.default_rng(0).uniform(-0.6, 0.6, (300, 3))
    gap, normal = away(points)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, rtol=1e-12)
    t = 1e-7
    slope = (away(points + t * normal)[0] - away(points - t * normal)[0]) / (2.0 * t)
    np.testing.assert_allclose(slope, 1.0, atol=1e-5)
    outside = gap > 0.0
    np.testing.assert_allclose(away(points - gap[:, None] * normal)[0][outside], 0.0, atol=1e-12)


def test_points_on_an_axis_have_a_normal():
    origin = np.zeros((1, 3))
    for gap, normal in (distance.sphere(origin, 1.0), distance.cylinder(origin, 1.0, 2.0)):
        assert gap[0] == -1.0 and np.linalg.norm(normal) == 1.0
    np.testing.assert_array_equal(distance.plane(np.array([[1.0, 2.0, -3.0]]))[0], [-3.0])
