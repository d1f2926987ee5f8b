"""What the steps taken on a data have needed."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.solution import STATUSES, Status
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_kept import Kept

# Places in `totals`, after those of the statuses in their order.
ITERATIONS, FACTORIZATIONS, WORST = range(len(STATUSES), len(STATUSES) + 3)
# Places in `times`. All that MuJoCo does but for collision and rows counts as kinematics.
PARTS: Final = ("kinematics", "collision", "assembly", "solve")
KINEMATICS, COLLISION, ASSEMBLY, SOLVE, CLOCKED = range(len(PARTS) + 1)


class Stats:
    """Counts, and the worst of them; they go on counting."""

    def __init__(self) -> None:
        self.totals = np.zeros(WORST + 1)  # compiled steps count here
        self.times = np.zeros(CLOCKED + 1)  # and here; CLOCKED: 0 unless times are wanted
        self.through_arrays: Counter[str] = Counter()  # steps that were not one compiled call, by the reason

    def count(self, status: Status, residual: float, iterations: int, factorizations: int, why: str) -> None:
        """A step through arrays, and why it was one."""
        self.through_arrays[why] += 1
        self.totals[STATUSES.index(status)] += 1
        self.totals[ITERATIONS] += iterations
        self.totals[FACTORIZATIONS] += factorizations
        self.totals[WORST] = max(self.totals[WORST], residual)

    @property
    def steps(self) -> int:
        return int(self.totals[: len(STATUSES)].sum())

    @property
    def compiled(self) -> int:
        """Steps that were one compiled call."""
        return self.steps - self.through_arrays.total()

    @property
    def statuses(self) -> dict[Status, int]:
        """How many steps ended how."""
        return {status: int(count) for status, count in zip(STATUSES, self.totals, strict=False)}

    @property
    def iterations(self) -> int:
        return int(self.totals[ITERATIONS])

    @property
    def factorizations(self) -> int:
        return int(self.totals[FACTORIZATIONS])

    @property
    def worst_residual(self) -> float:
        return float(self.totals[WORST])

    @property
    def seconds(self) -> dict[str, float]:
        """What was spent on kinematics, collision, assembly of rows and solve since `clock`; not what Python spends
        around them."""
        return dict(zip(PARTS, self.times.tolist(), strict=False))

    def clock(self) -> None:
        """Take the times of the parts of a step from now on, from zero. It costs a few microseconds per step."""
        self.times[:CLOCKED], self.times[CLOCKED] = 0.0, 1.0

    def __repr__(self) -> str:
        ends = ", ".join(f"{status.name}: {count}" for status, count in self.statuses.items() if count)
        return (
            f"Stats(steps={self.steps}, statuses={{{ends}}}, iterations={self.iterations}, "
            f"factorizations={self.factorizations}, worst_residual={self.worst_residual:.1e})"
        )


_kept: Kept[Stats] = Kept()


def stats(data: Any) -> Stats:
    """What the steps taken on this data have needed so far."""
    if not isinstance(data, mujoco().MjData):
        raise InputError(f"data must be a mujoco.MjData, got {type(data).__name__}")
    return _kept.of(data, Stats)
