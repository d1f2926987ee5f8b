"""Peers on a scene, lap after lap from its start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

from pliant.bench import clock
from pliant.bench.metric import RATIO, Metric
from pliant.bench.race import Timing, ratio
from pliant.errors import PliantError
from pliant.studies.peers import Peer, Runner, Stepped, drake_peers, mujoco_peers

OURS: Final = "pliant"
SCHEMES: Final = ("lagged", "CENIC")  # of Drake's, those that are raced
NO_DRAKE: Final = "Drake, which is not installed: pip install drake"


class Entrant:
    """A peer on a scene. steps: of a lap; it is cut short after `patience` seconds, looked at every `each` steps.

    runner: of the last lap, and reached: its steps.
    """

    def __init__(
        self,
        peer: Peer,
        xml: str,
        steps: int,
        *,
        patience: float,
        each: int,
        start: Callable[[Any], None] | None = None,
    ) -> None:
        """start: puts a runner into the state that laps begin with; None: that of the model."""
        self.peer, self._xml, self.steps, self._start = peer, xml, steps, start
        self._patience, self._each = patience, each
        self.runner: Runner
        self.reached = 0

    @property
    def cut_short(self) -> bool:
        """Whether the last lap was."""
        return self.reached < self.steps

    def lap(self) -> float:
        """Seconds per step. The first one is not timed: it finds out what there is, and sets up."""
        self.runner, self.reached = self.peer.start(self._xml), 1
        if self._start is not None:
            self._start(self.runner)
        self.runner.step(1)
        begin, late = clock.seconds(), perf_counter() + self._patience
        while self.reached < self.steps:
            count = min(self._each, self.steps - self.reached)
            self.runner.step(count)
            self.reached += count
            if perf_counter() > late:
                break
        seconds = clock.seconds() - begin
        check(self.runner)
        return seconds / (self.reached - 1)


def check(runner: Any) -> None:
    """The lap of one that exploded is the lap of another scene."""
    if isinstance(runner, Stepped) and runner.exploded:
        raise PliantError("explodes")


def rivals(stiffness: float, *, dissipation: float = 0.0) -> tuple[list[Peer], list[str]]:
    """Everybody else who is installed, and what is missing, in words."""
    drakes = [peer for peer in drake_peers(stiffness, dissipation=dissipation) if peer.name.endswith(SCHEMES)]
    return [*mujoco_peers(stiffness), *drakes], [] if drakes else [NO_DRAKE]


def ratios(case: str, timings: dict[str, Timing], *, goals: Mapping[str, float] | None = None) -> list[Metric]:
    """Ours over each other's that has not failed. goals: by the other's name."""
    ours = timings[OURS]
    if ours.why:
        return []
    return [
        Metric(f"{case}: times {name}", ratio(ours, timing), RATIO, goal=(goals or {}).get(name))
        for name, timing in _others(timings).items()
    ]


def scene_metrics(
    case: str, entrants: dict[str, Entrant], timings: dict[str, Timing], *, goals: Mapping[str, float] | None = None
) -> list[Metric]:
    """Times per step, and ratios. A ratio of a lap that was cut short is of other steps: no unit, no gate."""
    found = [Metric(f"{case}: {name}", 1e3 * lap.median, "ms") for name, lap in timings.items() if not lap.why]
    for metric, name in zip(ratios(case, timings, goals=goals), _others(timings), strict=False):
        cut = entrants[OURS].cut_short or entrants[name].cut_short
        found.append(replace(metric, name=f"{metric.name}, cut short", unit="") if cut else metric)
    return found


def _others(timings: dict[str, Timing]) -> dict[str, Timing]:
    return {name: timing for name, timing in timings.items() if name != OURS and not timing.why}


def failures(case: str, timings: dict[str, Timing]) -> list[str]:
    """Who did not end, in words."""
    return [f"{case}: {name}: {timing.why}" for name, timing in timings.items() if timing.why]
