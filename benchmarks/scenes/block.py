"""A block on four feet, on a ramp or sliding on the flat.

The axes are those of the ramp: x downhill, z off the surface, which is z = 0. Velocities: (linear, angular),
in these axes.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import pliant
from benchmarks.scenes.stepping import GRAVITY, Array, cross

SIZE = np.array([0.2, 0.1, 0.05])  # [m]
FEET = 0.5 * SIZE * np.array([[1, 1, -1], [1, -1, -1], [-1, 1, -1], [-1, -1, -1]])  # (4, 3), front first [m]
INERTIA = np.diag((SIZE @ SIZE - SIZE**2) / 12.0)  # of 1 kg [kg m^2]
AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # of a contact: normal, two tangents


class Block:
    """1 kg, started at rest or sliding at `speed`, every foot at the indentation of its load share."""

    def __init__(
        self,
        slope: float = 0.0,  # [rad]
        friction: float = 0.375,
        *,
        speed: float = 0.0,  # [m/s]
        stiffness: float = 1e10,  # [N/m]
        damping: float = 1.0,  # [N s/m]
        step: float = 0.01,  # [s]
    ) -> None:
        self.friction, self.step = friction, step
        self.law = pliant.Law(stiffness, damping)
        self.weight = GRAVITY * np.array([np.sin(slope), 0.0, -np.cos(slope)])
        self.velocity = np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
        front, back = -self.load_shares() / stiffness
        pitch = (back - front) / SIZE[0]  # nose down where the front carries more
        self.position = np.array([0.0, 0.0, 0.5 * SIZE[2] + 0.5 * (front + back)])
        self.rotation = Rotation.from_rotvec([0.0, pitch, 0.0])

    def load_shares(self) -> Array:
        """Normal force of a front and of a back foot [N]: friction acts below the centre and loads the front.

        Sticking, the feet hold the downhill part of the weight; sliding, they pull with mu times the load.
        """
        load = -self.weight[2]
        drag = self.friction * load if self.velocity[0] > 0.0 else self.weight[0]
        # the moment about the centre, over the distance from front to back
        transfer = drag * 0.5 * SIZE[2] / SIZE[0]
        return np.array([0.25 * load + 0.5 * transfer, 0.25 * load - 0.5 * transfer])

    def _feet(self) -> Array:
        """Feet about the centre, (4, 3) [m]."""
        feet: Array = FEET @ self.rotation.as_matrix().T
        return feet

    def gaps(self) -> Array:
        """Height of each foot above the surface, (4,) [m]."""
        gaps: Array = self.position[2] + self._feet()[:, 2]
        return gaps

    def problem(self) -> pliant.StepProblem:
        """The step from the present state."""
        R, omega, feet = self.rotation.as_matrix(), self.velocity[3:], self._feet()
        inertia = R @ INERTIA @ R.T
        mass = np.eye(6)
        mass[3:, 3:] = 0.5 * (inertia + inertia.T)
        force = np.concatenate([self.weight, -cross(omega, inertia @ omega)])
        jacobian = np.empty((4, 3, 6))
        jacobian[:, :, :3] = AXES
        jacobian[:, :, 3:] = cross(feet[:, None, :], AXES[None, :, :])
        feet_on_ground = pliant.Contact(jacobian, self.gaps(), self.law, self.friction, name="feet")
        return pliant.StepProblem(mass, self.velocity, force, self.step, [feet_on_ground])

    def advance(self, velocity: Array) -> None:
        """q1 = q0 (+) h v1."""
        self.velocity = velocity
        self.position = self.position + self.step * velocity[:3]
        self.rotation = Rotation.from_rotvec(self.step * velocity[3:]) * self.rotation
