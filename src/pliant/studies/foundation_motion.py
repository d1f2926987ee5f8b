"""The cube on its foundation as an ordinary differential equation, in C++: what the integrators are given.

y = (x, y, z; w, i, j, k; xdot, ydot, zdot; omega), as in `foundation_cube`; the equations stand in
`engine/bindings/foundation.cc`.
"""

from __future__ import annotations

import math

import numpy as np

from pliant import _engine
from pliant.inputs import Array
from pliant.studies.foundation_cube import (
    DAMPING,
    GRAVITY,
    INERTIA,
    MASS,
    SIDE,
    START_Q,
    START_V,
    TURN,
    Row,
    places,
)

CONSTANTS = (SIDE, MASS, INERTIA, DAMPING, GRAVITY, TURN)


class Motion:
    """dy/dt of a row, as the integrators call it; counts the calls."""

    def __init__(self, row: Row) -> None:
        self.places, self.stiffness, self.load = places(row.elements), row.stiffness, row.load
        self.calls = 0

    def __call__(self, t: float, y: Array) -> Array:
        return self.rate(t, y)

    def rate(self, t: float, y: Array) -> Array:
        """(13,), counted."""
        self.calls += 1
        y = np.ascontiguousarray(y)  # SciPy's differences hand over columns
        return _engine.cube_on_foundation(t, y, self.places, self.stiffness, self.load, CONSTANTS)


def start() -> Array:
    """y at the start."""
    return np.array([*START_Q, *START_V])


def scale(row: Row) -> Array:
    """How large each entry of y becomes, (13,): an indentation, and that times the frequency of the foundation."""
    depth = row.indentation
    speed = depth * math.sqrt(row.stiffness * row.elements / MASS)
    return np.array([depth] * 7 + [speed] * 6)
