"""Shapes and drawings: what they take, what they refuse, and in what words."""

from typing import Any, cast

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from pliant.drawing import pose_of

NOWHERE = np.zeros(1)


def nothing(time: Any, q: Any) -> dict[str, Any]:
    return {}


def test_a_pose_is_a_point_or_a_point_and_a_rotation():
    assert pose_of("p", "box", (1, 2, 3)).tolist() == [1, 2, 3, 1, 0, 0, 0]
    turn = np.array([0.3, -0.2, 0.7])
    x, y, z, w = Rotation.from_rotvec(turn).as_quat()
    for rotation in (turn, Rotation.from_rotvec(turn).as_matrix()):
        assert np.allclose(pose_of("p", "box", ((1, 2, 3), rotation)), [1, 2, 3, w, x, y, z])
    assert pose_of("p", "spring", ((0, 0, 0), (1, 2, 3))).tolist() == [0, 0, 0, 1, 2, 3, 0]


def test_shapes_that_are_not_placed_stay_where_they_are():
    shapes = [pliant.Shape.box("crate", (1, 1, 1), at=(5, 6, 7)), pliant.Shape.line("rope")]
    drawing = pliant.Drawing(shapes, lambda time, q: {"rope": ((time, 0, 0), (q[0], 0, 0))})
    poses = drawing.poses(2.0, np.array([9.0]))
    assert poses[0].tolist() == [5, 6, 7, 1, 0, 0, 0] and poses[1].tolist() == [2, 0, 0, 9, 0, 0, 0]


def test_colours_are_names_codes_or_numbers():
    for colour in ("vermillion", "#D55E00", (0xD5 / 255, 0x5E / 255, 0.0)):
        assert np.allclose(pliant.Shape.sphere("a", 1.0, colour=colour).colour, [0xD5 / 255, 0x5E / 255, 0.0, 1.0])
    assert pliant.Shape.sphere("a", 1.0, colour=(0, 0, 0, 0.5)).colour[3] == 0.5


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: pliant.Shape.box("crate", (1, 2)), "box 'crate': size must be 3 numbers > 0"),
        (lambda: pliant.Shape.sphere("bob", -1.0), "size must be 1 numbers > 0"),
        (lambda: pliant.Shape.sphere("", 1.0), "name must be a text"),
        (lambda: pliant.Shape.sphere("bob", 1.0, colour="mauve"), "or one of blue, orange"),
        (lambda: pliant.Shape.sphere("bob", 1.0, colour=(1, 2, 3)), "from 0 to 1"),
        (lambda: pliant.Drawing([], nothing), "shapes must be a list of pliant.Shape"),
        (lambda: pliant.Drawing([pliant.Shape.line("a"), pliant.Shape.line("a")], nothing), "names of their own"),
        (lambda: pliant.Drawing([pliant.Shape.line("a")], cast(Any, {})), "place must be a function"),
    ],
)
def test_what_cannot_be_drawn_is_said(make, says):
    with pytest.raises(pliant.InputError, match=says):
        make()


@pytest.mark.parametrize(
    ("placed", "says"),
    [
        ([1, 2], "must return {name: pose}, got list"),
        ({"ball": (0, 0, 0)}, "no shape that moves is called 'ball'; there are: bob, rod"),
        ({"ground": (0, 0, 0)}, "no shape that moves is called 'ground'"),
        ({"bob": (0, 0)}, "place: bob must be a point"),
        ({"bob": (0, 0, np.nan)}, "must be finite"),
        ({"rod": (0, 0, 0)}, "the two ends of the line"),
    ],
)
def test_what_cannot_be_placed_is_said(placed, says):
    shapes = [pliant.Shape.ground(), pliant.Shape.sphere("bob", 0.1), pliant.Shape.line("rod")]
    with pytest.raises(pliant.InputError, match=says):
        pliant.Drawing(shapes, lambda time, q: placed).poses(0.0, NOWHERE)
