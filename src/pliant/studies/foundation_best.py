"""Our runs of a row, each beside the fastest integrator that is at least as exact, and the step at which we are best.

A comparison at equal error may be made at any of our steps. The error is mostly the lag of the load, so with the load
of the end of each step large ones are as exact as small ones, or nearly, and take a fraction of the time. `best` is the
one with the least ratio of times among our runs that are no less exact than the paper's, h = 0.01 with the load of its
start; so nothing is won by a step that is fast and wrong.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final

from pliant.studies.foundation_race import Run
from pliant.studies.page import Results

PAPERS: Final = 0.01  # h [s]
SAME: Final = 1.01  # times our error, up to which theirs counts as no larger: digits beyond are nobody's merit


def compare(ours: Sequence[Run], theirs: Sequence[Run], limit: float) -> list[Results]:
    """Every one of our runs beside the fastest of theirs with an error no larger. Where none has one, each having had
    `limit` seconds and tighter tolerances up to the last, `rival` is None, and the ratio that to the limit: a bound."""
    return [_beside(run, fastest(run, theirs), limit) for run in ours]


def fastest(run: Run, theirs: Sequence[Run]) -> Run | None:
    """Of those that came to the end with an error no larger than that of `run`."""
    as_good = [rival for rival in theirs if not rival.why and rival.error <= SAME * run.error]
    return min(as_good, key=seconds, default=None)


def seconds(run: Run) -> float:
    """What it takes: the median of its repetitions."""
    return statistics.median(run.samples)


def _beside(run: Run, rival: Run | None, limit: float) -> Results:
    mine = {"lead": run.lead, "step": run.step, "seconds": seconds(run), "error": run.error}
    if rival is None:
        return {**mine, "rival": None, "ratio": seconds(run) / limit}
    other = {"name": rival.name, "tolerance": rival.tolerance, "seconds": seconds(rival), "error": rival.error}
    return {**mine, "rival": other, "ratio": seconds(run) / seconds(rival)}


def best(compared: Sequence[Results]) -> Results:
    """The comparison with the least ratio, of our runs that are as exact as the paper's step, or more so."""
    bound = at(compared, PAPERS, 0.0)["error"]
    return min((entry for entry in compared if entry["error"] <= bound), key=lambda entry: entry["ratio"])


def at(compared: Sequence[Results], step: float, lead: float) -> Results:
    """The comparison of this step."""
    return next(entry for entry in compared if entry["step"] == step and entry["lead"] == lead)


def line(entry: Results, limit: float) -> str:
    """A comparison in words: the ratio, and to whom."""
    if entry["rival"] is None:
        return f"< {entry['ratio']:.2g} (none within {limit:g} s)"
    return f"{entry['ratio']:.2g} ({entry['rival']['name']}, {1e3 * entry['rival']['seconds']:.3g} ms)"
