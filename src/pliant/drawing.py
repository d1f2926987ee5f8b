"""How a hand-written system looks: shapes, and where they are at a time and a configuration.

A system returns a `Drawing` from its optional method `draw()`. Viewer and renderer make a MuJoCo model of it, in which
every shape is a body that is put where it belongs; a run file keeps the shapes and their poses, not the functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array, floats

# Okabe and Ito's, told apart by every eye
COLOURS: Final = {
    "blue": "#0072B2", "orange": "#E69F00", "green": "#009E73", "vermillion": "#D55E00", "sky": "#56B4E9",
    "yellow": "#F0E442", "purple": "#CC79A7", "grey": "#8C8C8C", "black": "#222222", "white": "#FFFFFF",
}  # fmt: skip
SIZES: Final = {"box": 3, "sphere": 1, "capsule": 2, "cylinder": 2, "ground": 0, "line": 1, "spring": 2}
BETWEEN: Final = ("line", "spring")  # placed by their two ends
STILL: Final = "ground"  # never placed
POSE: Final = 7  # numbers: a point and a quaternion (w, x, y, z), or two points and 0
Colour = str | Sequence[float]


@dataclass(frozen=True)
class Shape:
    """A part of a drawing; made by `Shape.box` and its like.

    name: by which `place` calls it. size: [m], see the maker. colour: red, green, blue, opacity from 0 to 1. at: where
    it is while nobody places it: a pose.
    """

    kind: str
    name: str
    size: tuple[float, ...]
    colour: tuple[float, float, float, float]
    at: tuple[float, ...]

    @classmethod
    def box(cls, name: str, size: Any, *, colour: Colour = "blue", at: Any = (0.0, 0.0, 0.0)) -> Shape:
        """A box; size: its three edges, (3,) [m]."""
        return _shape("box", name, size, colour, at)

    @classmethod
    def sphere(cls, name: str, radius: float, *, colour: Colour = "blue", at: Any = (0.0, 0.0, 0.0)) -> Shape:
        """A ball."""
        return _shape("sphere", name, [radius], colour, at)

    @classmethod
    def capsule(
        cls, name: str, radius: float, length: float, *, colour: Colour = "blue", at: Any = (0.0, 0.0, 0.0)
    ) -> Shape:
        """A rod with round ends along its z; length: between the centres of the ends [m]."""
        return _shape("capsule", name, [radius, length], colour, at)

    @classmethod
    def cylinder(
        cls, name: str, radius: float, length: float, *, colour: Colour = "blue", at: Any = (0.0, 0.0, 0.0)
    ) -> Shape:
        """A cylinder along its z; length: its height [m]."""
        return _shape("cylinder", name, [radius, length], colour, at)

    @classmethod
    def line(cls, name: str, radius: float = 0.01, *, colour: Colour = "black", at: Any = None) -> Shape:
        """A rod from a point to another, as long as it must be: rods, ropes."""
        return _shape("line", name, [radius], colour, at)

    @classmethod
    def spring(
        cls, name: str, radius: float = 0.05, *, turns: int = 8, colour: Colour = "grey", at: Any = None
    ) -> Shape:
        """A coil of that radius [m] from a point to another."""
        return _shape("spring", name, [radius, turns], colour, at)

    @classmethod
    def ground(cls, height: float = 0.0, *, name: str = "ground") -> Shape:
        """A level floor without an end, at a height [m]."""
        return _shape("ground", name, [], "white", (0.0, 0.0, height))


class Drawing:
    """Shapes, and a function that places them.

    place: of (time, q), {name: pose} of the shapes that move; others stay where their `at` puts them. A pose is a point
    (3,) [m]; a pair of a point and a rotation, which is a matrix (3, 3) or a rotation vector (3,) [rad]; for lines and
    springs the pair of their ends. z is up.
    """

    def __init__(self, shapes: Sequence[Shape], place: Callable[[float, Array], Mapping[str, Any]]) -> None:
        self.shapes = tuple(shapes)
        self.place = place
        names = [shape.name if isinstance(shape, Shape) else None for shape in self.shapes]
        if None in names or not names:
            raise InputError("shapes must be a list of pliant.Shape, such as [pliant.Shape.sphere('bob', 0.1)]")
        if len(set(names)) != len(names):
            raise InputError(f"shapes must have names of their own, got {', '.join(map(str, names))}")
        if not callable(place):
            raise InputError(f"place must be a function of (time, q), got {type(place).__name__}")

    def poses(self, time: float, q: Array) -> Array:
        """(shapes, 7) at a time and a configuration."""
        placed = self.place(time, q.copy())
        if not isinstance(placed, Mapping):
            raise InputError(f"place must return {{name: pose}}, got {type(placed).__name__}")
        known = {shape.name: i for i, shape in enumerate(self.shapes)}
        poses = np.array([shape.at for shape in self.shapes])
        for name, pose in placed.items():
            if name not in known or self.shapes[known[name]].kind == STILL:
                movable = ", ".join(shape.name for shape in self.shapes if shape.kind != STILL)
                raise InputError(f"place: no shape that moves is called {name!r}; there are: {movable}")
            poses[known[name]] = pose_of(f"place: {name}", self.shapes[known[name]].kind, pose)
        return poses


def upright(point: Any) -> Array:
    """(x, 0, y): a point of a plane whose y is up."""
    return np.array([point[0], 0.0, point[1]])


def _shape(kind: str, name: str, size: Any, colour: Colour, at: Any) -> Shape:
    if not (isinstance(name, str) and name):
        raise InputError(f"name must be a text, got {name!r}")
    sizes = np.atleast_1d(floats(f"{kind} {name!r}: size", size))
    if sizes.shape != (SIZES[kind],) or np.any(sizes <= 0.0):
        raise InputError(f"{kind} {name!r}: size must be {SIZES[kind]} numbers > 0, got {size!r}")
    if at is None:
        at = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    pose = pose_of(f"{kind} {name!r}: at", kind, at)
    return Shape(kind, name, tuple(sizes.tolist()), _colour(colour), tuple(pose.tolist()))


def _colour(colour: Colour) -> tuple[float, float, float, float]:
    if isinstance(colour, str):
        code = COLOURS.get(colour, colour)
        try:
            if len(code) != 7 or code[0] != "#":
                raise ValueError
            return int(code[1:3], 16) / 255, int(code[3:5], 16) / 255, int(code[5:7], 16) / 255, 1.0
        except ValueError:
            known = ", ".join(COLOURS)
            raise InputError(
                f"colour must be '#rrggbb', numbers from 0 to 1, or one of {known}; got {colour!r}"
            ) from None
    parts = floats("colour", colour)
    if parts.shape not in ((3,), (4,)) or np.any(parts < 0.0) or np.any(parts > 1.0):
        raise InputError(f"colour must be 3 or 4 numbers from 0 to 1, got {colour!r}")
    red, green, blue, *opacity = parts.tolist()
    return red, green, blue, opacity[0] if opacity else 1.0


def pose_of(label: str, kind: str, pose: Any) -> Array:
    """(7,) of what `Drawing.place` may return for a shape."""
    if kind in BETWEEN:
        ends = floats(label, pose)
        if ends.shape != (2, 3):
            raise InputError(f"{label} must be the two ends of the {kind}, (2, 3) [m], got shape {ends.shape}")
        return np.append(ends.ravel(), 0.0)
    if isinstance(pose, tuple | list) and len(pose) == 2:
        point, turn = floats(label, pose[0]), floats(label, pose[1])
    else:
        point, turn = floats(label, pose), np.zeros(3)
    if point.shape != (3,) or turn.shape not in ((3,), (3, 3)):
        raise InputError(
            f"{label} must be a point (3,) [m], or a point and a rotation, (3,) [rad] or (3, 3); got shapes "
            f"{point.shape} and {turn.shape}"
        )
    return np.concatenate([point, _quaternion(turn)])


def _quaternion(turn: Array) -> Array:
    """(w, x, y, z) of a rotation vector or matrix."""
    if turn.shape == (3,):
        angle = math.sqrt(float(turn @ turn))
        return np.concatenate([[math.cos(0.5 * angle)], 0.5 * np.sinc(0.5 * angle / np.pi) * turn])
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(turn).as_quat()
    return np.array([w, x, y, z])
