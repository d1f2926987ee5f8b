"""A cube on an elastic foundation: the parameters of the paper's section 5.5, and the cube as a `pliant.System`.

The foundation is a grid of springs that push and never pull. Each acts at the centre of a cell of the bottom face,
upward (no friction), with K = E area / depth and B = 1 N s/m. The load acts on the top face, at
s/2 (cos 10t, sin 10t, 1) in the frame of the cube, and always points down. The cube starts at rest, all springs just
slack, as in the paper; so it first falls in and rings.

q = (x, y, z; w, i, j, k)   the centre, from where it starts [m]; the unit quaternion from the cube to the world
v = (xdot, ydot, zdot; omega)   both in the world [m/s], [rad/s]

Indentations of 1e-9 m beside a side of 1 m would lose seven digits: no height is ever formed as a difference of
coordinates of size s. With z from the start, and R - 1 from the quaternion, heights are right to rounding.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.constraints import Unilateral
from pliant.drawing import Drawing, Shape
from pliant.inputs import Array
from pliant.laws import Law
from pliant.problem import StepProblem
from pliant.studies.foundation_rows import advanced, pressed, rows_at, turning

SIDE: Final = 1.0  # s [m]
DENSITY: Final = 8.0  # [kg/m^3]
MASS: Final = DENSITY * SIDE**3  # m [kg]
INERTIA: Final = MASS * SIDE**2 / 6.0  # [kg m^2], about every axis through the centre
GRAVITY: Final = 9.8  # g [m/s^2]
DEPTH: Final = 1.0  # of the foundation [m]
DAMPING: Final = 1.0  # B of an element [N s/m]
TURN: Final = 10.0  # of the point of application [rad/s]
DURATION: Final = 1.0  # [s]


class Row(NamedTuple):
    """A row of the paper's tables. elements: n, a square number; load [N]; modulus: E [N/m^2]."""

    elements: int
    load: float
    modulus: float

    @property
    def stiffness(self) -> float:
        """K of an element [N/m]."""
        return self.modulus * (SIDE**2 / self.elements) / DEPTH

    @property
    def indentation(self) -> float:
        """What weight and load press in on average [m]."""
        return (MASS * GRAVITY + self.load) / (self.modulus * SIDE**2 / DEPTH)

    @property
    def name(self) -> str:
        return f"{self.elements} elements, {self.load:g} N, E = {self.modulus:.0e} N/m^2"


ROWS: Final = tuple(Row(n, load, E) for n in (100, 900) for load in (5.0, 50.0) for E in (1e7, 1e11))
CHAOTIC: Final = Row(100, 50.0, 1e11)  # 1e-9 indentations at the start are 0.1 of one at the end
START_Q: Final = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
START_V: Final = (0.0,) * 6


class Cube:
    """The cube of a row on its foundation.

    lead: the load of a step is that of t0 + lead h; 0 is the paper's scheme, 1 the end of the step, which a load
    that is known ahead allows: it then does not lag behind by a step.
    """

    def __init__(self, row: Row, *, lead: float = 0.0) -> None:
        self.row, self.lead = row, lead
        self.law = Law(row.stiffness, DAMPING)
        self.places = places(row.elements)
        self.mass = np.array([MASS] * 3 + [INERTIA] * 3)
        self.heights, self.jacobian = np.zeros(row.elements), np.zeros((row.elements, 6))
        self.jacobian[:, 2] = 1.0  # the rest follows from q

    def problem(self, time: float, q: Array, v: Array, step: float) -> StepProblem:
        """Weight, load, and a unilateral row per element: phi its height, G = (n, r x n) with n = (0, 0, 1)."""
        rows_at(q, self.places, self.jacobian, self.heights)
        rows = Unilateral(self.jacobian, self.heights, self.law, name="foundation")
        # no gyroscopic torque: all axes of a cube are principal
        force = pressed(q, load_point(time + self.lead * step), self.row.load, MASS * GRAVITY)
        return StepProblem(self.mass, v, force, step, [rows])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        """The centre by h v, the quaternion by exp(h omega)."""
        return advanced(q, v, step)

    def draw(self) -> Drawing:
        """The cube on the floor, and the load as a ball that runs about its top. Indentations are drawn as they are."""

        def place(time: float, q: Array) -> dict[str, Any]:
            centre, R = q[:3] + np.array([0.0, 0.0, 0.5 * SIDE]), np.eye(3) + turning(q[3:])
            return {"cube": (centre, _rotation_vector(q[3:])), "load": centre + R @ load_point(time)}

        return Drawing(_shapes(), place)


def _rotation_vector(quaternion: Array) -> Array:
    """(3,) [rad], of (w, i, j, k)."""
    size = math.hypot(*quaternion[1:])
    return quaternion[1:] * (2.0 * math.atan2(size, quaternion[0]) / size if size > 0.0 else 2.0)


@cache
def _shapes() -> tuple[Shape, ...]:
    return (
        Shape.ground(),
        Shape.box("cube", (SIDE, SIDE, SIDE), colour="sky"),
        Shape.sphere("load", 0.05 * SIDE, colour="vermillion"),
    )


def places(elements: int) -> Array:
    """Centres of the cells of the bottom face, (n, 3), in the frame of the cube [m]."""
    side = round(elements**0.5)
    line = SIDE * ((np.arange(side) + 0.5) / side - 0.5)
    return np.stack([np.tile(line, side), np.repeat(line, side), np.full(elements, -0.5 * SIDE)], axis=1)


def load_point(time: float) -> Array:
    """Where the load acts, (3,), in the frame of the cube [m]."""
    return 0.5 * SIDE * np.array([math.cos(TURN * time), math.sin(TURN * time), 1.0])
