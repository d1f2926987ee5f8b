"""Where the time of a run went, and how its steps were taken: `pliant run --profile`."""

from __future__ import annotations

from typing import Final

import numpy as np

from pliant.inputs import Array
from pliant.systems.mujoco_stats import Stats

# What the parts of a step are called where there is room to say it.
WORDS: Final = {
    "kinematics": "kinematics, and what else MuJoCo does",
    "collision": "collision",
    "assembly": "assembly of rows",
    "solve": "solve",
    "Python": "Python around them, in the step",
    "keeping": "keeping the run, after the step",
}
TIME, ITERATIONS, FACTORIZATIONS, ROWS, CONTACTS = range(5)


class Profile:
    """A run, step by step, and at its end the whole.

    seconds: what each part took [s], which is `wall` in all.
    """

    def __init__(self) -> None:
        self._steps: list[tuple[float, ...]] = []
        self.wall = self.span = 0.0  # [s], of the run and of what it simulated
        self.seconds = dict.fromkeys(WORDS, 0.0)

    def add(self, time: float, iterations: int, factorizations: int, rows: int, contacts: int) -> None:
        """A step; time: what it took [s]."""
        self._steps.append((time, iterations, factorizations, rows, contacts))

    def end(self, wall: float, h: float, counted: Stats) -> None:
        """wall: what all of it took [s]. h: what a step simulates [s]."""
        stepping, parts = float(self.table[:, TIME].sum()), counted.seconds
        # Clocks of two kinds: what is left may come out below 0 by a rounding.
        left = {"Python": max(stepping - sum(parts.values()), 0.0), "keeping": max(wall - stepping, 0.0)}
        self.wall, self.span, self.seconds = wall, h * len(self._steps), parts | left

    @property
    def table(self) -> Array:
        """Time [s], iterations, factorizations, rows and contacts of every step, (steps, 5)."""
        return np.array(self._steps).reshape(-1, 5)

    def __str__(self) -> str:
        if not self._steps:
            return "profile    no step was taken"
        return "\n".join([*self._parts(), "", *self._each()])

    def _parts(self) -> list[str]:
        lines = [f"{'where the time went':38s} {'s':>9s}  {'us per step':>11s}  {'share':>5s}"]
        for name, part in {**self.seconds, "all": self.wall}.items():
            each, share = 1e6 * part / len(self._steps), 100.0 * part / max(self.wall, 1e-300)
            lines.append(f"{WORDS.get(name, name):38s} {part:9.3f}  {each:11.1f}  {share:3.0f} %")
        return lines

    def _each(self) -> list[str]:
        table = self.table
        median, most, worst = 1e6 * np.percentile(table[:, TIME], [50.0, 95.0, 100.0])
        where = int(np.argmax(table[:, TIME])) + 1
        lines = [
            f"speed      {self.span / max(self.wall, 1e-300):.3g} s simulated per second",
            f"a step     {median:.0f} us at the median, {most:.0f} at 95 %, {worst:.0f} at worst, step {where}",
        ]
        pairs = {"work": ("iterations", ITERATIONS), "": ("factorizations", FACTORIZATIONS)}
        pairs |= {"size": ("rows", ROWS), " ": ("contacts", CONTACTS)}
        for head, (name, k) in pairs.items():
            lines.append(f"{head:10s} {table[:, k].mean():.1f} {name} in the mean, {table[:, k].max():.0f} at most")
        return lines
