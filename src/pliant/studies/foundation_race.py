"""Timed runs of a row: ours, the integrators', and the climb to the tolerance that matches an error."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from pliant.inputs import Array
from pliant.studies.foundation_cube import DURATION, ROWS, START_Q, START_V, Cube, Row
from pliant.studies.foundation_integrators import MATLAB, integrate, to_size
from pliant.studies.foundation_motion import Motion, start
from pliant.studies.foundation_reference import final_pose, motion_norm, pose_norm
from pliant.studies.study import simulate_all

LADDER: Final = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)  # tolerances, relative to the size of each state
LIMIT: Final = 5.0  # [s] for one run of an integrator
OURS: Final = "pliant"
BRIEF, MANY = 0.05, 5  # [s] below which a run is timed so many times in each turn


class _Outcome(NamedTuple):
    pose: Array | None
    seconds: float
    evaluations: int
    why: str


class Run:
    """One way to simulate a row; made by running it once.

    step: h [s], ours; lead: see Cube. tolerance: the integrator's, None MATLAB's default. samples: seconds, one per
    repetition. pose_error: the paper's norm; error: over that of the motion. evaluations: steps, or calls of dy/dt.
    why: it did not end; its errors are then infinite.
    """

    def __init__(
        self, name: str, row: Row, work: Callable[[], _Outcome], *,
        step: float | None = None, lead: float = 0.0, tolerance: float | None = None,
    ) -> None:  # fmt: skip
        self.name, self.step, self.lead, self.tolerance = name, step, lead, tolerance
        self._work = work
        found = work()
        self.samples = [found.seconds]
        self.evaluations, self.why = found.evaluations, found.why
        self.pose_error = math.inf if found.pose is None else pose_norm(found.pose - final_pose(row))
        self.error = self.pose_error / motion_norm(row)

    def repeat(self) -> None:
        """Time it once more; what is over at once several times."""
        for _ in range(MANY if self.samples[0] < BRIEF else 1):
            self.samples.append(self._work().seconds)


def pliant_steps(row: Row, h: float, *, lead: float = 0.0) -> Run:
    """One second in steps of h; lead: see Cube."""
    count = round(DURATION / h)

    def work() -> _Outcome:
        begin = time.perf_counter()
        found = simulate_all(Cube(row, lead=lead), START_Q, START_V, duration=DURATION, step=h, record_every=count)
        unsolved = int(found.stats["unsolved"].sum())
        why = f"{unsolved} steps at their iteration limit" if unsolved else ""
        return _Outcome(found.q[-1], time.perf_counter() - begin, count, why)

    return Run(OURS, row, work, step=h, lead=lead)


def integrator(name: str, row: Row, tolerance: float | None, limit: float) -> Run:
    """One second with an integrator; tolerance None: MATLAB's default."""
    asked = MATLAB if tolerance is None else to_size(row, tolerance)

    def work() -> _Outcome:
        found = integrate(name, row, asked, limit=limit)
        pose = None if found.state is None else found.state[:7]
        return _Outcome(pose, found.seconds, found.calls, found.why)

    return Run(name, row, work, tolerance=tolerance)


def climb(name: str, row: Row, error: float, limit: float) -> list[Run]:
    """Tolerances tightened until the error is met, or time runs out."""
    runs = []
    for tolerance in LADDER:
        runs.append(integrator(name, row, tolerance, limit))
        if runs[-1].why or runs[-1].error <= error:
            break
    return runs


def matching(ours: list[Run], ladder: list[Run], h: float) -> dict[str, Run]:
    """Of each integrator the loosest tolerance at which its error is no larger than ours at h."""
    bound = max((run.error for run in ours if run.step == h), default=-1.0)
    found: dict[str, Run] = {}
    for run in ladder:
        if run.error <= bound:
            found.setdefault(run.name, run)
    return found


def warm_up() -> None:
    """Compile before the clock runs."""
    Motion(ROWS[0])(0.0, start())
    simulate_all(Cube(ROWS[0]), START_Q, START_V, duration=0.1, step=0.01)
