"""The cube on its foundation as an ordinary differential equation, compiled: what the integrators are given.

y = (x, y, z; w, i, j, k; xdot, ydot, zdot; omega), as in `foundation_cube`

lambda = max(0, -K phi - B phidot) where phi < 0, else 0        an element, of height phi
m xddot = (0, 0, sum lambda - m g - load)
I omegadot = sum r x (0, 0, lambda) + point x (0, 0, -load)     I is a multiple of 1: no gyroscopic torque
"""

from __future__ import annotations

import math

import numpy as np

from pliant._compile import kernel
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

STATES = 13


@kernel
def motion(t: float, y: Array, places: Array, K: float, load: float, rate: Array) -> None:
    """dy/dt into `rate`, (13,); places (n, 3) [m]."""
    z, w, i, j, k = y[2], y[3], y[4], y[5], y[6]
    zdot, wx, wy, wz = y[9], y[10], y[11], y[12]
    # rows of R - 1, R from the quaternion
    xx, xy, xz = -2.0 * (j * j + k * k), 2.0 * (i * j - w * k), 2.0 * (i * k + w * j)
    yx, yy, yz = 2.0 * (i * j + w * k), -2.0 * (i * i + k * k), 2.0 * (j * k - w * i)
    zx, zy, zz = 2.0 * (i * k - w * j), 2.0 * (j * k + w * i), -2.0 * (i * i + j * j)
    px, py = 0.5 * SIDE * math.cos(TURN * t), 0.5 * SIDE * math.sin(TURN * t)
    rx = px + xx * px + xy * py + xz * 0.5 * SIDE
    ry = py + yx * px + yy * py + yz * 0.5 * SIDE
    force, tx, ty = -MASS * GRAVITY - load, -ry * load, rx * load
    for e in range(places.shape[0]):
        a, b, c = places[e, 0], places[e, 1], places[e, 2]
        phi = z + zx * a + zy * b + zz * c
        if phi < 0.0:
            rx = a + xx * a + xy * b + xz * c
            ry = b + yx * a + yy * b + yz * c
            push = -K * phi - DAMPING * (zdot + wx * ry - wy * rx)
            if push > 0.0:
                force += push
                tx += push * ry
                ty -= push * rx
    rate[0], rate[1], rate[2] = y[7], y[8], zdot
    rate[3] = -0.5 * (wx * i + wy * j + wz * k)  # 1/2 (0, omega) quaternion
    rate[4] = 0.5 * (wx * w + wy * k - wz * j)
    rate[5] = 0.5 * (wy * w + wz * i - wx * k)
    rate[6] = 0.5 * (wz * w + wx * j - wy * i)
    rate[7], rate[8], rate[9] = 0.0, 0.0, force / MASS
    rate[10], rate[11], rate[12] = tx / INERTIA, ty / INERTIA, 0.0


class Motion:
    """dy/dt of a row, as the integrators call it; counts the calls."""

    def __init__(self, row: Row) -> None:
        self.places, self.stiffness, self.load = places(row.elements), row.stiffness, row.load
        self.calls = 0

    def __call__(self, t: float, y: Array) -> Array:
        rate = np.empty(STATES)
        self.into(t, np.ascontiguousarray(y), rate)  # SciPy's differences hand over columns
        return rate

    def into(self, t: float, y: Array, rate: Array) -> None:
        """The same, written where it is wanted."""
        self.calls += 1
        motion(t, y, self.places, self.stiffness, self.load, rate)


def start() -> Array:
    """y at the start."""
    return np.array([*START_Q, *START_V])


def scale(row: Row) -> Array:
    """How large each entry of y becomes, (13,): an indentation, and that times the frequency of the foundation."""
    depth = row.indentation
    speed = depth * math.sqrt(row.stiffness * row.elements / MASS)
    return np.array([depth] * 7 + [speed] * 6)
