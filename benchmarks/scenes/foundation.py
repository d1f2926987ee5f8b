"""A cube on a bed of springs: many unilateral rows on six velocities.

A 1 m cube of 8 kg rests on n elements of an elastic layer 1 m deep; a load walks around its top and lifts its
far edge off. Velocities: (linear, angular) in world axes; angles stay below 1e-4 rad and are added up.
"""

from __future__ import annotations

import numpy as np

import pliant
from benchmarks.scenes.stepping import GRAVITY, Array

SIDE, DEPTH, MASS = 1.0, 1.0, 8.0  # [m], [m], [kg]


class Foundation:
    """`elements` (a square number) under the cube, started at the indentation of its weight."""

    def __init__(
        self,
        elements: int,
        *,
        load: float = 50.0,  # [N]
        youngs_modulus: float = 1e7,  # [Pa]
        damping: float = 1.0,  # of each element [N s/m]
        step: float = 0.01,
    ) -> None:
        side = round(elements**0.5)
        if side * side != elements:
            raise ValueError(f"elements must be a square number, got {elements}")
        stiffness = youngs_modulus * (SIDE * SIDE / elements) / DEPTH
        at = SIDE * ((np.arange(side) + 0.5) / side - 0.5)
        x, y = np.meshgrid(at, at, indexing="ij")
        self.jacobian = np.zeros((elements, 6))  # height of an element: z + y angle_x - x angle_y
        self.jacobian[:, 2], self.jacobian[:, 3], self.jacobian[:, 4] = 1.0, y.ravel(), -x.ravel()
        self.law, self.load, self.step, self.time = pliant.Law(stiffness, damping), load, step, 0.0
        self.velocity = np.zeros(6)
        self.pose = np.zeros(6)  # [m], [rad]
        self.pose[2] = -MASS * GRAVITY / (stiffness * elements)
        turning = MASS * SIDE**2 / 6.0
        self._mass = np.array([MASS, MASS, MASS, turning, turning, turning])

    def problem(self) -> pliant.StepProblem:
        """The step from the present state."""
        at = 0.5 * SIDE * np.array([np.cos(10.0 * self.time), np.sin(10.0 * self.time)])
        weight = -MASS * GRAVITY - self.load
        force = np.array([0.0, 0.0, weight, -at[1] * self.load, at[0] * self.load, 0.0])
        elements = pliant.Unilateral(self.jacobian, self.jacobian @ self.pose, self.law, name="elements")
        return pliant.StepProblem(self._mass, self.velocity, force, self.step, [elements])

    def advance(self, velocity: Array) -> None:
        """q1 = q0 + h v1."""
        self.velocity = velocity
        self.pose = self.pose + self.step * velocity
        self.time += self.step
