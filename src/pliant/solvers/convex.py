"""One convex program: the friction cone and its normal associated, as in the dual of the paper's family of solvers."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.inputs import Array
from pliant.solvers.formulation import Formulation
from pliant.solvers.island import (
    Island,
    finish,
    solved,
    take_best,
)
from pliant.solvers.path import interior
from pliant.solvers.stages import newton


@dataclass(frozen=True, slots=True, kw_only=True)
class Convex(Formulation):
    """Always solvable, v unique; a body that slides at speed v is lifted by about h mu v.

    Newton from the warm start, then the interior path, which converges from anywhere.
    """

    lift = 1.0

    def _run(self, island: Island, force: Array, patient: bool) -> None:
        newton(island, force, 10.0, 1.0, 1.0)
        for spread in (1.0, 0.01):
            if solved(island):
                break
            force.fill(0.0)
            if spread < 1.0:
                take_best(island, force)
            interior(island, force, 0.0, spread, 60.0)
            take_best(island, force)
            newton(island, force, 8.0, 1.0, 1.0)
        finish(island, force)
