"""What swings for an hour: a planar double pendulum in absolute coordinates, and models of MuJoCo with their energy."""

from __future__ import annotations

from typing import Final

import numpy as np

from pliant.constraints import Bilateral
from pliant.inputs import Array
from pliant.laws import Law
from pliant.problem import StepProblem
from pliant.studies.scenes import GRAVITY

LENGTH: Final = 1.0  # of a rod of 1 kg [m]
MASS: Final = np.tile([1.0, 1.0, LENGTH**2 / 12.0], 2)
JOINT: Final = Law(1e15, 1.0)


class DoublePendulum:
    """Two rods, q = (x, y, theta) of each centre; the first on the origin, the second on its end.

    phi = c1 - arm(theta1),   c2 - arm(theta2) - c1 - arm(theta1),   arm(theta) = L/2 (cos theta, sin theta)
    """

    def problem(self, time: float, q: Array, v: Array, step: float) -> StepProblem:
        """Four bilateral rows."""
        (x1, y1), (x2, y2) = _arm(q[2]), _arm(q[5])
        rows = [
            [1.0, 0.0, y1, 0.0, 0.0, 0.0],
            [0.0, 1.0, -x1, 0.0, 0.0, 0.0],
            [-1.0, 0.0, y1, 1.0, 0.0, y2],
            [0.0, -1.0, -x1, 0.0, 1.0, -x2],
        ]
        joints = Bilateral(rows, self.values(time, q)[0], JOINT)
        return StepProblem(MASS, v, np.array([0.0, -GRAVITY, 0.0] * 2) * MASS, step, [joints])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        """q + h v."""
        return q + step * v

    def values(self, time: float, q: Array) -> list[Array]:
        """phi, (4,) [m]."""
        one, two = _arm(q[2]), _arm(q[5])
        return [np.concatenate([q[:2] - one, q[3:5] - two - q[:2] - one])]

    def energy(self, time: float, q: Array, v: Array) -> dict[str, float]:
        """[J], heights from the pivot."""
        return {"kinetic": float(0.5 * v @ (MASS * v)), "gravitational": float(GRAVITY * (q[1] + q[4]))}


def _arm(theta: float) -> Array:
    return 0.5 * LENGTH * np.array([np.cos(theta), np.sin(theta)])


def level() -> tuple[Array, Array]:
    """(q, v): both rods level, at rest."""
    return np.array([0.5 * LENGTH, 0.0, 0.0, 1.5 * LENGTH, 0.0, 0.0]), np.zeros(6)


def _model(step: float, bodies: str, more: str = "") -> str:
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>{bodies}</worldbody>
  {more}
</mujoco>"""


def _rod(middle: float) -> str:
    turning = f"1e-4 {LENGTH**2 / 12.0} {LENGTH**2 / 12.0}"
    return f'<inertial pos="{middle} 0 0" mass="1" diaginertia="{turning}"/><geom pos="{middle} 0 0" size="0.01"/>'


_HALF: Final = 0.5 * LENGTH


def hinges(step: float) -> str:
    """The same double pendulum, its coordinates two angles."""
    joint = f'<joint axis="0 -1 0"/>{_rod(_HALF)}'
    return _model(step, f'<body>{joint}<body pos="{LENGTH} 0 0">{joint}</body></body>')


def ball_joint(step: float) -> str:
    """A rod that swings about a point in space; its coordinates a quaternion."""
    return _model(step, f'<body><joint type="ball"/>{_rod(_HALF)}</body>')


def connected(step: float) -> str:
    """The same rod, a free body held by a `connect`."""
    hold = f'<equality><connect body1="rod" anchor="-{_HALF} 0 0"/></equality>'
    return _model(step, f'<body name="rod" pos="{_HALF} 0 0"><freejoint/>{_rod(0.0)}</body>', hold)


SPIN: Final = np.array([2.0, 0.0, 3.0])  # of the rod in space [rad/s]
RATES: Final = {hinges: np.zeros(2), ball_joint: SPIN, connected: np.append(np.cross(SPIN, [_HALF, 0.0, 0.0]), SPIN)}
