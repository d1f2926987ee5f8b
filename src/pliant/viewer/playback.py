"""A run that is played back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array, Ints
from pliant.readout import COLUMNS
from pliant.solution import Status
from pliant.stage import Stage
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_friction import PairFriction, sliding
from pliant.systems.mujoco_pulls import KINDS, Pulls
from pliant.trajectory import Trajectory
from pliant.viewer.history import LEAST, Curves, Pair, with_total
from pliant.viewer.moment import DEPTH, FORCE, Moment, energy_of, pairs_of

SURVEYED: Final = 300  # samples that are looked at for the scales and the place of the camera
POINTS: Final = 1000  # of a curve
STATUSES: Final = tuple(Status)
Energy = Callable[[float, Array, Array], dict[str, float]]


class Playback:
    """energy: of (time, q, v), for systems that are only drawn."""

    def __init__(self, trajectory: Trajectory, stage: Stage, *, energy: Energy | None = None) -> None:
        self._run, self._stage, self._energy = trajectory, stage, energy
        self.model, self.shown = stage.model, mujoco().MjData(stage.model)
        self._aside = mujoco().MjData(stage.model)
        self.times, self.k, self._clock = trajectory.time, 0, float(trajectory.time[0])
        self._rows, self._ends = _touches(trajectory, stage)
        self._friction = _friction(trajectory, stage)
        self._stats = {name: np.concatenate([[0.0], column]) for name, column in trajectory.stats.items()}
        self._every = max(int(trajectory.parameters.get("record_every", 1)), 1)
        self._keeps_pulls = "materials" in trajectory.parameters  # pliant run does
        self._pairs = [(int(a), int(b)) for a, b in np.unique(pairs_of(self._rows), axis=0)]
        self._energies: dict[str, Array] | None = None
        self._curves: dict[Pair | None, Curves] = {}

    @property
    def time(self) -> float:
        return float(self.times[self.k])

    @property
    def geoms(self) -> list[str]:
        return list(self._run.parameters.get("geoms") or ())

    @property
    def pairs(self) -> list[Pair]:
        return self._pairs

    @property
    def touches(self) -> bool:
        """Whether there is any contact to be seen."""
        return len(self._rows) > 0

    @property
    def title(self) -> str:
        """What was simulated."""
        return Path(str(self._run.parameters.get("model") or "A run of pliant")).name

    @property
    def told(self) -> str:
        """How, in a line."""
        known = self._run.parameters
        step, solver = known.get("step"), str(known.get("solver", "")).partition("(")[0]
        parts = [
            f"{self.times[-1] - self.times[0]:.4g} s",
            f"steps of {1e3 * step:g} ms" if step else "",
            solver,
            "" if self._run.complete else self._run.ended,
        ]
        return ", ".join(filter(None, parts))

    @property
    def ended(self) -> bool:
        return self.k + 1 == len(self.times)

    @property
    def pace(self) -> float:
        """[s] between samples."""
        return float(self.times[-1] - self.times[0]) / max(len(self.times) - 1, 1) or 1e-9

    def go(self, seconds: float, until: float) -> bool:
        self._clock = min(self._clock + seconds, float(self.times[-1]))
        before, self.k = self.k, max(int(np.searchsorted(self.times, self._clock + 1e-9, side="right")) - 1, 0)
        return self.k != before

    def step(self, count: int = 1) -> None:
        self.show(self.k + count)

    def reset(self) -> None:
        self.show(0)

    def seek(self, time: float) -> None:
        """The sample nearest to a time."""
        self.show(int(np.argmin(np.abs(self.times - time))))

    def show(self, k: int) -> None:
        """Sample k, or the nearest that there is."""
        self.k = min(max(k, 0), len(self.times) - 1)
        self._clock = self.time

    def look(self) -> Moment:
        self._stage.show(self.shown, self.k)
        return self._moment(self.k)

    def _moment(self, k: int) -> Moment:
        rows = self._rows[self._ends[k] : self._ends[k + 1]]
        return Moment(
            float(self.times[k]), rows, self._friction.of(pairs_of(rows)), self._pulls(k),
            STATUSES[int(self._stats["status"][k])] if k else None, float(self._stats["residual"][k]),
            float(self._stats["iterations"][k]) / self._every, self._energy_at(k),
        )  # fmt: skip

    def survey(self) -> Iterator[tuple[Moment, Any]]:
        """Samples from all over the run, each with the same data, bodies placed."""
        count = len(self.times)
        for k in range(0, count, -(-count // SURVEYED)):
            self._stage.show(self._aside, k)
            yield self._moment(k), self._aside

    def curves(self, pair: Pair | None) -> Curves:
        """All of the run; of many samples the worst of those that make a point."""
        if pair not in self._curves:
            self._curves[pair] = self._of_pair(pair)
        return self._curves[pair]

    def _of_pair(self, pair: Pair | None) -> Curves:
        n = len(self.times)
        starts = np.arange(0, n, -(-n // POINTS))
        sample = np.repeat(np.arange(n), np.diff(self._ends))
        deepest, total = np.zeros(n), np.zeros((n, 3))
        np.maximum.at(deepest, sample, self._rows[:, DEPTH])
        if pair is not None:
            between = (pairs_of(self._rows) == pair).all(axis=1)
            np.add.at(total, sample[between], self._rows[between, FORCE])
        worst = [np.maximum.reduceat(part, starts) for part in (self._stats["residual"], deepest)]
        if self._energies is None:
            known = [self._energy_at(int(k)) for k in starts]
            self._energies = with_total({name: np.array([e[name] for e in known]) for name in known[0]})
        return Curves(
            self.times[starts], self._energies, np.maximum(worst[0], LEAST),
            np.maximum.reduceat(self._stats["iterations"], starts) / self._every, worst[1],
            np.linalg.norm(total, axis=1)[starts],
        )  # fmt: skip

    def _energy_at(self, k: int) -> dict[str, float]:
        if self._energy is not None:
            return {name: float(value) for name, value in self._energy(
                float(self.times[k]), self._run.q[k], self._run.v[k]).items()}  # fmt: skip
        if self._stage.drawn:
            return {}
        self._stage.show(self._aside, k)
        return energy_of(self.model, self._aside)

    def _pulls(self, k: int) -> Pulls | None:
        if not self._keeps_pulls:
            return None
        if k == 0:
            return {}
        named = zip(self._run.force_names[k - 1], self._run.forces[k - 1], strict=True)
        return {name: np.asarray(numbers) for name, numbers in named if name.partition(":")[0] in KINDS}


def _touches(run: Trajectory, stage: Stage) -> tuple[Array, Ints]:
    """Contacts of all samples, and where those of each begin, (T+2,)."""
    geoms = run.parameters.get("geoms")
    if geoms is None or stage.drawn:
        return np.zeros((0, len(COLUMNS))), np.zeros(len(run.time) + 1, np.int64)
    if len(geoms) != stage.model.ngeom:
        raise InputError(f"model has {stage.model.ngeom} geoms, that of the run {len(geoms)}: it is of another model")
    counts, rows = run.touches()
    return rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _friction(run: Trajectory, stage: Stage) -> PairFriction:
    """As the run has it; as the model has it for runs that do not say."""
    known: Any = run.parameters.get("friction")
    fits = isinstance(known, list) and len(known) == stage.model.ngeom
    numbers = fits and all(isinstance(mu, int | float) and mu >= 0.0 for mu in known)
    return PairFriction(stage.model, np.array(known, float) if numbers else sliding(stage.model, {}))
