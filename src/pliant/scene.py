"""What a run keeps of how its system looks, in the first record of its file: a model or shapes, plain data only.

Loading a run looks at none of it; `pliant.stage` does, when the run is to be drawn, and believes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pliant.drawing import BETWEEN, POSE, SIZES, Drawing, Shape
from pliant.errors import FileError, InputError
from pliant.inputs import Array

_log = logging.getLogger("pliant")
SHAPES, MODEL, NONE = "shapes", "model", "none"  # kinds of scenes
MANY: Final = 10_000  # shapes


@dataclass(frozen=True)
class Scene:
    """kind: one of SHAPES, MODEL, NONE (then `why` is why not). header, arrays: what the file holds of it. place: of
    (time, q), (7 shapes,), while the system is at hand."""

    kind: str
    header: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    place: Callable[[float, Array], Array] | None = None

    @property
    def count(self) -> int:
        """Of shapes."""
        shapes = self.header.get("shapes")
        return len(shapes) if self.kind == SHAPES and isinstance(shapes, list) else 0

    def poses(self, time: Array, q: Array) -> Array:
        """(n, 7 shapes) of n samples; nan where the system cannot say. Only with `place`."""
        poses = np.full((len(time), POSE * self.count), np.nan)
        if self.place is None:
            return poses
        for k in range(len(time)):
            try:
                poses[k] = self.place(float(time[k]), q[k])
            except Exception as error:  # of the user's function: a picture must not cost the run
                _log.warning("draw: shapes are not placed from t = %.9g s on: %s", time[k], error)
                break
        return poses


def scene_of(system: Any, time: float, q: Array) -> Scene | None:
    """What `system.draw()` gives, if there is such a method; tried at a first configuration."""
    draw = getattr(system, "draw", None)
    if not callable(draw):
        return None
    drawing = draw()
    if drawing is None or isinstance(drawing, Scene):
        return drawing
    if not isinstance(drawing, Drawing):
        raise InputError(f"system.draw must return a pliant.Drawing, or None, got {type(drawing).__name__}")
    drawing.poses(time, q)
    return drawn(drawing)


def drawn(drawing: Drawing) -> Scene:
    """The scene of a drawing."""
    shapes = [
        {"kind": s.kind, "name": s.name, "size": list(s.size), "colour": list(s.colour), "at": list(s.at)}
        for s in drawing.shapes
    ]
    return Scene(SHAPES, {"shapes": shapes}, {}, lambda time, q: drawing.poses(time, q).ravel())


def shapes_of(scene: Scene, name: str) -> tuple[Shape, ...]:
    """The shapes that a file holds, checked. name: of the file."""
    try:
        found = scene.header["shapes"]
        if not (isinstance(found, list) and 0 < len(found) <= MANY):
            raise ValueError("there are none, or too many")
        shapes = tuple(_shape(part) for part in found)
        if len({shape.name for shape in shapes}) != len(shapes):
            raise ValueError("two have the same name")
        return shapes
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{name}: its shapes cannot be drawn: {error!r}") from error


def _shape(part: Any) -> Shape:
    kind, label = part["kind"], part["name"]
    if kind not in SIZES or not isinstance(label, str):
        raise ValueError(f"no shape is a {kind!r}")
    size, colour, at = (np.array(part[key], dtype=np.float64) for key in ("size", "colour", "at"))
    if size.shape != (SIZES[kind],) or colour.shape != (4,) or at.shape != (POSE,):
        raise ValueError(f"{label!r} has other sizes")
    bounds = (size > 1e-9, size < 1e9, colour >= 0.0, colour <= 1.0, np.abs(at) < 1e12)
    if not all(np.all(bound) for bound in bounds) or (kind == "spring" and size[1] > 100):
        raise ValueError(f"{label!r} is out of range")
    if kind not in BETWEEN and not 0.9 < np.linalg.norm(at[3:]) < 1.1:
        raise ValueError(f"{label!r} has no rotation")
    red, green, blue, opacity = colour.tolist()
    return Shape(kind, label, tuple(size.tolist()), (red, green, blue, opacity), tuple(at.tolist()))
