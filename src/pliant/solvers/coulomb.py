"""Exact Coulomb friction: the radius of the disc is mu times the normal force of the same step."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.inputs import Array
from pliant.solvers.formulation import Formulation
from pliant.solvers.island import (
    Island,
    finish,
    is_rigid,
    solved,
    take_best,
)
from pliant.solvers.stages import (
    exact_newton,
    interior,
    newton,
    sweeps,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coulomb(Formulation):
    """The laws as they are: stick, slip, no lift while sliding. Not convex; a solution near the start is found.

    Newton from the warm start first. Where it stalls, sweeps over the contacts find who sticks and slips, and the
    interior path leads through piles whose contacts hang between the two; Newton takes the last digits each time.
    """

    lift = 0.0

    def _run(self, island: Island, force: Array) -> None:
        newton(island, force, 10.0, 1.0, 1.0)
        self._exact(island, force)
        rounds, spread = 100.0, 0.1
        while not (solved(island) or self._spent(island) or rounds > 20000.0):
            sweeps(island, force, rounds)
            newton(island, force, 10.0, 1.0, 1.0)
            if not solved(island):
                take_best(island, force)
                interior(island, force, 1.0, spread, 30.0)
                self._bold(island, force)
            if not solved(island) and rounds == 100.0:
                self._from_convex(island, force)
            rounds, spread = 5.0 * rounds, 0.1 * spread
        finish(island, force)

    @staticmethod
    def _exact(island: Island, force: Array) -> None:
        for search in (True, False):
            if not solved(island) and is_rigid(island):
                exact_newton(island, force, 10, search)

    def _from_convex(self, island: Island, force: Array) -> None:
        """Newton from the answer of the convex program, which can always be had."""
        force.fill(0.0)
        interior(island, force, 0.0, 1.0, 30.0)
        newton(island, force, 10.0, 1.0, 1.0)
        self._exact(island, force)

    @staticmethod
    def _bold(island: Island, force: Array) -> None:
        """Newton with line search, then without, which gets over the bend of a cone where the search crawls."""
        for search in (1.0, 0.0):
            if not solved(island):
                take_best(island, force)
                newton(island, force, 8.0, search, 1.0)
