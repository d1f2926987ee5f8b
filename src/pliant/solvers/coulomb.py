"""Exact Coulomb friction: the radius of the disc is mu times the normal force of the same step."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.inputs import Array
from pliant.solvers.engine import Island, finish, interior, newton, solved, sweeps, take_best
from pliant.solvers.formulation import Formulation


@dataclass(frozen=True, slots=True, kw_only=True)
class Coulomb(Formulation):
    """The laws as they are: stick, slip, no lift while sliding. Not convex; a solution near the start is found.

    Newton from the warm start first. Where it stalls, sweeps over the contacts find who sticks and slips, and the
    interior path leads through piles whose contacts hang between the two; Newton takes the last digits each time.
    """

    lift = 0.0

    def _run(self, island: Island, force: Array) -> None:
        newton(island, force, 10.0, 1.0)
        sweep_rounds, spread = 100.0, 0.1
        while not solved(island):
            sweeps(island, force, sweep_rounds)
            newton(island, force, 10.0, 1.0)
            if solved(island):
                break
            take_best(island, force)
            interior(island, force, spread, 30.0)
            take_best(island, force)
            newton(island, force, 8.0, 1.0)
            sweep_rounds, spread = 5.0 * sweep_rounds, 0.1 * spread
            if self._spent(island) or sweep_rounds > 20000.0:
                break
        finish(island, force)
