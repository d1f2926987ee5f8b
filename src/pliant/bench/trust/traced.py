"""Runs whose way is kept: where the free bodies were after every step, and how they moved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.bench.trust.scene import PATIENCE, Outcome, Verdict, try_out
from pliant.inputs import Array
from pliant.studies.peers import Peer, Runner, Stepped


class Traced:
    """A runner that keeps its way. places: (n, 3), velocities: (n, 6), one after every step, and the start."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.places, self.velocities = [runner.position], [runner.velocity]

    def step(self, count: int) -> None:
        for _ in range(count):
            self.runner.step(1)
            self.places.append(self.runner.position)
            self.velocities.append(self.runner.velocity)

    @property
    def position(self) -> Array:
        """Not a number, once it has exploded."""
        gone = isinstance(self.runner, Stepped) and self.runner.exploded
        return np.full_like(self.places[-1], np.nan) if gone else self.places[-1]

    @property
    def speed(self) -> float:
        return self.runner.speed

    @property
    def velocity(self) -> Array:
        return self.velocities[-1]

    def throw(self, body: int, linear: Array, angular: Array) -> None:
        self.runner.throw(body, linear, angular)
        self.velocities[-1] = self.runner.velocity

    @property
    def pose(self) -> tuple[Array, Array]:
        return self.runner.pose

    @property
    def way(self) -> Array:
        """(T+1, n, 3) [m]."""
        return np.array(self.places)

    @property
    def rates(self) -> Array:
        """(T+1, n, 6) [m/s], [rad/s]."""
        return np.array(self.velocities)


Begin = Callable[[Runner], None]  # what is done before the first step that counts


def trace(
    peer: Peer,
    case: str,
    xml: str,
    steps: int,
    begin: Begin,
    judge: Callable[[Traced], Verdict],
    *,
    patience: float = PATIENCE,
) -> Outcome:
    """`try_out` of a run that keeps its way."""
    kept: list[Traced] = []

    def start(text: str) -> Runner:
        runner = peer.start(text)
        begin(runner)
        kept.append(Traced(runner))
        return kept[0]

    def verdict(runner: Runner) -> Verdict:
        return judge(kept[0])

    return try_out(peer._replace(start=start), case, xml, steps, verdict, patience=patience)
