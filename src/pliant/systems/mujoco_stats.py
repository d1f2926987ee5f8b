"""What the steps taken on a data have needed."""

from __future__ import annotations

from typing import Any, Final

from pliant import _engine
from pliant.solution import STATUSES, Status
from pliant.systems.mujoco_stepper import stepper_of

# All that MuJoCo does but for collision and rows counts as kinematics.
PARTS: Final = ("kinematics", "collision", "assembly", "solve")


class Stats:
    """Counts, and the worst of them; they go on counting. Of several steppers they are sums."""

    def __init__(self, *steppers: _engine.Stepper) -> None:
        self._steppers = steppers

    def _sum(self, place: int) -> int:
        return int(sum(stepper.totals()[place] for stepper in self._steppers))

    @property
    def steps(self) -> int:
        return sum(self.statuses.values())

    @property
    def statuses(self) -> dict[Status, int]:
        """How many steps ended how."""
        return {status: self._sum(k) for k, status in enumerate(STATUSES)}

    @property
    def iterations(self) -> int:
        return self._sum(len(STATUSES))

    @property
    def factorizations(self) -> int:
        return self._sum(len(STATUSES) + 1)

    @property
    def worst_residual(self) -> float:
        return max((float(stepper.totals()[len(STATUSES) + 2]) for stepper in self._steppers), default=0.0)

    @property
    def seconds(self) -> dict[str, float]:
        """What was spent on kinematics, collision, assembly of rows and solve since `clock`; not what Python spends
        around them."""
        spent = [stepper.seconds() for stepper in self._steppers]
        return {part: sum(times[k] for times in spent) for k, part in enumerate(PARTS)}

    def clock(self) -> None:
        """Take the times of the parts of a step from now on, from zero. It costs little."""
        for stepper in self._steppers:
            stepper.clock()

    def __repr__(self) -> str:
        ends = ", ".join(f"{status.name}: {count}" for status, count in self.statuses.items() if count)
        return (
            f"Stats(steps={self.steps}, statuses={{{ends}}}, iterations={self.iterations}, "
            f"factorizations={self.factorizations}, worst_residual={self.worst_residual:.1e})"
        )


def stats(data: Any) -> Stats:
    """What the steps taken on this data have needed so far."""
    return Stats(stepper_of(data))
