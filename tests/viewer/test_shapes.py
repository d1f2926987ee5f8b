"""Meshes are closed, face outward, and turn where they should."""

import numpy as np
import pytest

from pliant.viewer.shapes import ball, cone, plate, turned_to


def test_a_ball_is_round_and_closed():
    corners, faces = ball()
    assert np.linalg.norm(corners, axis=1) == pytest.approx(1.0)
    a, b, c = (corners[faces[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    assert (volume > 0.0).all() and volume.sum() == pytest.approx(4.0 / 3.0 * np.pi, rel=0.05)
    assert len(corners) - 3 * len(faces) // 2 + len(faces) == 2  # Euler


def test_a_cone_has_its_tip_at_the_origin():
    corners, _ = cone()
    assert corners[0] == pytest.approx([0, 0, 0])
    assert np.hypot(corners[1:, 0], corners[1:, 1]) == pytest.approx(1.0) and corners[1:, 2] == pytest.approx(1.0)
    assert plate()[0][:, 2] == pytest.approx(0.0)


def test_z_turns_to_the_axis():
    axes = np.random.default_rng(3).normal(size=(20, 3))
    axes = np.vstack([axes / np.linalg.norm(axes, axis=1, keepdims=True), [0, 0, 1], [0, 0, -1]])
    w, x, y, z = turned_to(axes).T
    turned = np.column_stack([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z])
    assert turned == pytest.approx(axes, abs=1e-12)
