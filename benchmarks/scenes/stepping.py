"""The loop that steps a scene: pose, solve, advance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import pliant

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

GRAVITY = 9.81  # [m/s^2]


class Scene(Protocol):
    """Something with a state that poses one step after another."""

    def problem(self) -> pliant.StepProblem:
        """The step from the present state."""

    def advance(self, velocity: Array) -> None:
        """Take over the velocity at the end of the step, (nv,), and move by it."""


def steps(
    scene: Scene, count: int, solver: pliant.Coulomb | pliant.Convex | None = None, *, warm: bool = True
) -> Iterator[tuple[pliant.StepProblem, pliant.Solution]]:
    """`count` steps, each solved from the forces of the one before (if `warm`), yielded once taken."""
    last: pliant.Solution | None = None
    for _ in range(count):
        problem = scene.problem()
        solution = pliant.solve(problem, solver, warm_start=last if warm else None, throw=False)
        scene.advance(solution.velocity)
        last = solution
        yield problem, solution


def cone_excess(problem: pliant.StepProblem, solution: pliant.Solution) -> float:
    """How far forces leave their cones, relative to the largest of them: 0 when all are inside."""
    excess, largest = 0.0, 0.0
    for constraint, force in zip(problem.constraints, solution.forces, strict=True):
        if force.size == 0:
            continue
        largest = max(largest, float(np.abs(force).max()))
        if isinstance(constraint, pliant.Contact):
            radius = np.sqrt(np.sum((force[:, 1:] / constraint.friction) ** 2, axis=1))
            excess = max(excess, float((radius - force[:, 0]).max()), float(-force[:, 0].min()))
        elif isinstance(constraint, pliant.Unilateral):
            excess = max(excess, float(-force.min()))
    return excess / largest if largest > 0.0 else 0.0


def cross(a: Array, b: Array) -> Array:
    """a x b over the last axis, without the overhead of np.cross."""
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        axis=-1,
    )
