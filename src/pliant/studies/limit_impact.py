"""The limited pendulum, its impact in steps of pliant, and the closed form of that.

One coordinate, theta = 0 lowest; 1 kg on a rod of 1 m, inertia I = m L^2 (ours: the paper gives none of them); a limit
theta >= 0 of k = 1e12 N m/rad, b = 0; g = 9.8 m/s^2. The limit's own frequency is w = sqrt(k/I) = 1e6 rad/s: a true
impact takes pi/w = 3.1 us and gives all the speed back.

With z = h w and gravity left out, c = w theta + i theta' obeys c1 = c0/(1 + i z) in contact;
from c0 = z s - i (unit speed, s h before the limit at the last free point, 0 <= s < 1) it lets go after
n = ceil((pi + atan(z s))/atan(z)) - 1 steps at the speed Im(c0/(1 + i z)^n), about exp(-pi z/2) for small z.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.constraints import Unilateral
from pliant.drawing import Drawing, Shape
from pliant.inputs import Array
from pliant.laws import Law
from pliant.problem import StepProblem
from pliant.step import step
from pliant.studies.swing import Swing

MASS, LENGTH, GRAVITY = 1.0, 1.0, 9.8  # [kg], [m], [m/s^2]
INERTIA = MASS * LENGTH**2  # I [kg m^2]
STIFFNESS = 1e12  # k [N m/rad]
RATE = float(np.sqrt(GRAVITY / LENGTH))  # of small swings [rad/s]
FREQUENCY = float(np.sqrt(STIFFNESS / INERTIA))  # w [rad/s]
FALL = Swing.released(0.5 * np.pi, RATE)


class Limited:
    """The pendulum and its limit."""

    law = Law(STIFFNESS, 0.0)

    def problem(self, time: float, q: Array, v: Array, step: float) -> StepProblem:
        """One unilateral row, phi = theta."""
        return StepProblem([INERTIA], v, -MASS * GRAVITY * LENGTH * np.sin(q), step, [Unilateral([[1.0]], q, self.law)])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        """theta + h theta'."""
        return q + step * v

    def draw(self) -> Drawing:
        """The bob on its rod, and the stop that it meets at the lowest point."""
        stop = Shape.box("stop", (0.06, 0.3, 0.3), colour="grey", at=(-0.12, 0.0, -LENGTH))
        shapes = [stop, Shape.line("rod", 0.015), Shape.sphere("bob", 0.09)]

        def place(time: float, q: Array) -> dict[str, Any]:
            bob = LENGTH * np.array([np.sin(q[0]), 0.0, -np.cos(q[0])])
            return {"bob": bob, "rod": (np.zeros(3), bob)}

        return Drawing(shapes, place)


class Impact(NamedTuple):
    """Pliant's steps through an impact: samples, the force of the step that led to each, and the speed given back."""

    time: Array  # since theta = 0 would have been reached [s]
    theta: Array  # [rad]
    speed: Array  # [rad/s]
    force: Array  # [N m]
    back: float  # speed with which theta = 0 is left [rad/s]; 0 where it is not

    @property
    def growth(self) -> float:
        """Largest rise of the energy in a step, of what there was [1]."""
        energy = 0.5 * INERTIA * self.speed**2 + 0.5 * self.force**2 / STIFFNESS
        energy += MASS * GRAVITY * LENGTH * (1.0 - np.cos(self.theta))
        return float(np.diff(energy).max() / energy[0])


def impact(h: float, phase: float, fall: Swing = FALL) -> Impact:
    """Steps of h from two points of the grid before the limit is reached, which is `phase` steps after the last."""
    time = -(1.0 + phase) * h
    q = np.atleast_1d(fall.angle(-time))
    v = np.array([-fall.speed_at(float(q[0]))])
    samples, solution, touched = [(time, q[0], v[0], 0.0)], None, False
    while not touched or samples[-1][3] > 0.0:
        q, v, solution = step(Limited(), time, q, v, h, warm_start=solution)
        time += h
        samples.append((time, q[0], v[0], solution.forces[0][0]))
        touched = touched or samples[-1][3] > 0.0
    theta, speed = float(q[0]), float(v[0])
    back = np.sqrt(speed**2 + (2.0 * RATE * np.sin(0.5 * theta)) ** 2) if speed > 0.0 else 0.0
    times, thetas, speeds, forces = np.array(samples).T
    return Impact(times, thetas, speeds, forces, float(back))


def closed_form(h: float, phase: float) -> float:
    """Coefficient of restitution of implicit Euler on the limit's spring."""
    z = h * FREQUENCY
    n = np.ceil((np.pi + np.arctan(z * phase)) / np.arctan(z)) - 1.0
    return float(((z * phase - 1j) / (1.0 + 1j * z) ** n).imag)
