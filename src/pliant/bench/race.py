"""Runners that take turns: what else the machine does in a round slows all of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

Lap = Callable[[], float]  # does its work once, from the same state; returns the seconds that count


@dataclass
class Timing:
    """Laps of one runner [s]. why: it did not end, and has no laps any more."""

    samples: list[float] = field(default_factory=list)
    why: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def least(self) -> float:
        return min(self.samples)

    @property
    def spread(self) -> float:
        """Between the quartiles, over the median."""
        if len(self.samples) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return (high - low) / self.median

    def document(self, scale: float = 1.0) -> dict[str, Any]:
        """What JSON holds of it; scale: of the unit that is wanted to a lap."""
        if self.why:
            return {"why": self.why}
        return {
            "median": scale * self.median,
            "least": scale * self.least,
            "spread": self.spread,
            "rounds": len(self.samples),
        }


def race(runners: Mapping[str, Lap], rounds: int, *, seconds: float = math.inf) -> dict[str, Timing]:
    """Everybody's laps, after one that does not count; no round begins `seconds` after the first, which all have.

    Every second round goes the other way, so that nobody always follows the same one. A stranger's solver may raise:
    it is out, with what it said.
    """
    timings = {name: Timing() for name in runners}
    for name, lap in runners.items():
        _run(lap, timings[name])
    for timing in timings.values():
        timing.samples.clear()
    begin = perf_counter()
    for turn in range(rounds):
        if turn and perf_counter() - begin > seconds:
            break
        for name in list(runners)[:: -1 if turn % 2 else 1]:
            _run(runners[name], timings[name])
    return timings


def _run(lap: Lap, timing: Timing) -> None:
    if timing.why:
        return
    try:
        timing.samples.append(lap())
    except Exception as error:  # whatever it is, the others go on
        timing.samples.clear()
        timing.why = str(error).splitlines()[0] if str(error) else type(error).__name__


def ratio(ours: Timing, theirs: Timing) -> float:
    """The median over the rounds of ours over theirs: a slow round is slow for both."""
    return statistics.median(a / b for a, b in zip(ours.samples, theirs.samples, strict=True))
