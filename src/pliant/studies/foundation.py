"""A cube on an elastic foundation under a load that goes round: both tables of the paper, beside ODE integrators.

Every row of the paper's tables is simulated with `pliant.simulate` and with integrators of ordinary differential
equations, timed in the same run, in turns. Errors are the pose norm (the paper's: Euclidean, over the centre and the
quaternion) of the final pose less the reference's, and that over the pose norm of the whole motion: 1 is the score of
a cube that does not move.

Most of our error is the lag of the load, which a step takes at its start as the paper does: the load goes round by
h 10 rad/s meanwhile. `leading` shows what is left when it is taken at the end of the step, `large` that steps may then
be ten times as large; `compared` has every one of these beside the fastest integrator that is as exact, and `best` the
step at which we gain most: see `foundation_best`.

What differs from the paper: the contact law is lambda = max(0, ...) where the printed program minimises a norm, and
the integrators call a compiled dy/dt.
"""

from __future__ import annotations

import math
import statistics
from typing import Any, Final

from pliant.studies.foundation_best import best, compare, fastest
from pliant.studies.foundation_claims import claims, pressure_of
from pliant.studies.foundation_cube import CHAOTIC, ROWS, START_Q, START_V, Cube, Row
from pliant.studies.foundation_draw import draw
from pliant.studies.foundation_integrators import installed
from pliant.studies.foundation_page import PAGE
from pliant.studies.foundation_race import (
    LADDER,
    LIMIT,
    Run,
    climb,
    integrator,
    matching,
    pliant_steps,
    warm_up,
)
from pliant.studies.foundation_reference import document, motion_norm
from pliant.studies.foundation_tables import PAPER, tables
from pliant.studies.study import Progress, Results, Study, simulate_all

STEPS: Final = (0.01, 0.005, 0.002, 0.001)  # h [s], errors
TIMED: Final = (0.01, 0.001)  # h [s], the tables'
LARGE: Final = (0.1, 0.05, 0.02)  # h [s], with the load of the start of each step, and with that of its end
REPEATS: Final = 3
PRESSED, WHEN = Row(900, 50.0, 1e7), 0.9  # whose pressure is shown, and when [s]
SHORT: Final = 2.0  # [s]; what takes longer is not repeated


def run(quick: bool, progress: Progress) -> Results:
    """All rows; `quick`: at the tables' steps, of 900 elements the larger one only, beside one integrator."""
    rows, leading = list(ROWS), TIMED[:1] if quick else TIMED
    names = ("LSODA",) if quick else installed()
    limit = 1.0 if quick else LIMIT
    progress("foundation: warming up")
    warm_up()
    races = {}
    for row in rows:
        steps = STEPS if not quick else TIMED if row.elements == 100 else TIMED[:1]
        races[row] = _first_time(row, steps, leading, names, limit, progress)
    for turn in range(1, 1 if quick else REPEATS):
        for row, race in races.items():
            progress(f"foundation: {row.name}: again, {turn + 1} of {REPEATS}")
            _again(race)
    found = [_summary(row, race, limit) for row, race in races.items()]
    reference = {key: value for key, value in document().items() if key != "rows"}
    progress("foundation: the pressure")
    return {
        "rows": found, "reference": reference, "tables": tables(found, limit), "ladder": LADDER, "limit": limit,
        "pressure": (pressure := _pressure()), "claims": claims(found, pressure),
    }  # fmt: skip


def _pressure() -> Results:
    """Under the cube that rocks most, when it leans well."""
    cube, count = Cube(PRESSED), round(WHEN / TIMED[0])
    run = simulate_all(cube, START_Q, START_V, duration=WHEN, step=TIMED[0], record_every=count)
    return pressure_of(cube, run.forces[-1][0], float(run.time[-1]))


class _Race:
    """The runs of a row.

    ours: by step; leading: the same with the load of the end of each step; large: large steps, with both. default: the
    integrators at MATLAB's tolerances; ladder: at tighter and tighter ones.
    """

    def __init__(self) -> None:
        self.ours: list[Run] = []
        self.leading: list[Run] = []
        self.large: list[Run] = []
        self.default: list[Run] = []
        self.ladder: list[Run] = []

    @property
    def all_ours(self) -> list[Run]:
        return self.large + self.ours + self.leading


def _first_time(
    row: Row, steps: tuple[float, ...], leading: tuple[float, ...], names: tuple[str, ...], limit: float,
    progress: Progress,
) -> _Race:  # fmt: skip
    race = _Race()
    for h in steps:
        progress(f"foundation: {row.name}: h = {h:g} s")
        race.ours.append(pliant_steps(row, h))
        if h in leading:
            race.leading.append(pliant_steps(row, h, lead=1.0))
    race.large += [pliant_steps(row, h, lead=lead) for lead in (0.0, 1.0) for h in LARGE]
    hardest = min(run.error for run in race.all_ours)
    for name in names:
        progress(f"foundation: {row.name}: {name}")
        race.default.append(integrator(name, row, None, limit))
        race.ladder += climb(name, row, hardest, limit)
    return race


def _again(race: _Race) -> None:
    """What the tables show, in turns."""
    shown = [run for run in race.all_ours if run.step in TIMED + LARGE] + race.default
    shown += [rival for run in shown if (rival := fastest(run, race.default + race.ladder)) is not None]
    for h in TIMED:
        shown += [*matching(race.ours, race.ladder, h).values(), *matching(race.leading, race.ladder, h).values()]
    for run in {id(run): run for run in shown}.values():
        if run.step is not None or (run.samples[0] < SHORT and not run.why):
            run.repeat()


def _summary(row: Row, race: _Race, limit: float) -> dict[str, Any]:
    """What JSON holds of a row."""
    compared = compare(race.all_ours, race.default + race.ladder, limit)
    return {
        **row._asdict(),
        "stiffness": row.stiffness,
        "indentation": row.indentation,
        "motion": motion_norm(row),
        "chaotic": row == CHAOTIC,
        "paper": PAPER[row]._asdict(),
        "ours": [_entry(run) for run in race.ours],
        "leading": [_entry(run) for run in race.leading],
        "large": [_entry(run) for run in race.large],
        "default": [_entry(run) for run in race.default],
        "ladder": [_entry(run) for run in race.ladder],
        "matched": _matched(race.ours, race.ladder),
        "matched_leading": _matched(race.leading, race.ladder),
        "compared": compared,
        "best": best(compared),
    }


def _matched(ours: list[Run], ladder: list[Run]) -> dict[str, dict[str, int]]:
    """step -> integrator -> entry of the ladder with an error no larger than ours."""
    return {
        f"{h:g}": {name: ladder.index(run) for name, run in matching(ours, ladder, h).items()}
        for h in TIMED
        if any(run.step == h for run in ours)
    }


def _entry(run: Run) -> dict[str, Any]:
    return {
        "name": run.name,
        "step": run.step,
        "lead": run.lead,
        "tolerance": run.tolerance,
        "seconds": statistics.median(run.samples),
        "samples": run.samples,
        "pose_error": run.pose_error if math.isfinite(run.pose_error) else None,
        "error": run.error if math.isfinite(run.error) else None,
        "evaluations": run.evaluations,
        "why": run.why,
    }


STUDY = Study("A cube on an elastic foundation: stiff springs beside ODE integrators", run, draw, PAGE)
