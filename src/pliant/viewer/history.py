"""What is plotted over time: the moments of a simulation as they come, or all of a run."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

import numpy as np

from pliant.inputs import Array
from pliant.viewer.moment import Moment

KEPT: Final = 1200  # moments
LEAST: Final = 1e-17  # of residuals, which are plotted by their powers of ten

Pair = tuple[int, int]


class Curves(NamedTuple):
    """Arrays (n,)."""

    time: Array
    energy: dict[str, Array]
    residual: Array
    iterations: Array
    deepest: Array
    force: Array  # between the pair that was asked for


class _Point(NamedTuple):
    time: float
    energy: dict[str, float]
    residual: float
    iterations: float
    deepest: float
    forces: dict[Pair, float]


class History:
    """The last moments of a simulation."""

    def __init__(self) -> None:
        self._kept: deque[_Point] = deque(maxlen=KEPT)
        self.pairs: list[Pair] = []  # that have touched

    def add(self, moment: Moment) -> None:
        if self._kept and moment.time <= self._kept[-1].time:
            return
        forces = {pair: moment.pair_force(pair) for pair in moment.pairs}
        self.pairs += [pair for pair in forces if pair not in self.pairs]
        self._kept.append(
            _Point(moment.time, moment.energy, moment.residual, moment.iterations, moment.deepest, forces)
        )

    def clear(self) -> None:
        self._kept.clear()

    def curves(self, pair: Pair | None) -> Curves:
        points = list(self._kept)
        parts = points[-1].energy if points else {}
        energy = {name: np.array([p.energy.get(name, np.nan) for p in points]) for name in parts}
        time, residual, iterations, deepest = (
            np.array([getattr(p, name) for p in points]) for name in ("time", "residual", "iterations", "deepest")
        )
        force = np.array([p.forces.get(pair, 0.0) if pair else 0.0 for p in points])
        return Curves(time, with_total(energy), np.maximum(residual, LEAST), iterations, deepest, force)


def with_total(energy: dict[str, Array]) -> dict[str, Array]:
    """Kinetic, all others together as potential, and their sum."""
    if not energy:
        return {}
    total = np.sum(list(energy.values()), axis=0)
    kinetic = energy.get("kinetic", np.zeros_like(total))
    return {"kinetic": kinetic, "potential": total - kinetic, "total": total}
