"""The rows of the study `foundation`: our time over each integrator's, in the same run, in turns."""

from __future__ import annotations

from typing import Final

from pliant.bench.metric import RATIO, Metric
from pliant.bench.suite import Measured, Suite
from pliant.studies import foundation
from pliant.studies.study import Progress, Results

STEP: Final = 0.01  # h [s] of the ratios
TOLERANCE: Final = 0.5  # integrators take their own number of steps, which versions change


def run(quick: bool, progress: Progress) -> Measured:
    results = foundation.run(quick, progress)
    measured = Measured(details=results)
    for row in results["rows"]:
        measured.metrics += _metrics(row)
        measured.skipped += [f"{_name(row)}: {run['name']}: {run['why']}" for run in row["default"] if run["why"]]
        measured.skipped += _unmatched(row, results["limit"])
    return measured


def _name(row: Results) -> str:
    return f"{row['elements']} elements, {row['load']:g} N, {row['modulus']:.0e} N/m^2"


def _metrics(row: Results) -> list[Metric]:
    """At MATLAB's tolerances, and of the fastest among those with an error no larger than ours: with the load of the
    start of each step, as the paper has it, and with that of its end, which takes as long and is far better."""
    ours = next(run["seconds"] for run in row["ours"] if run["step"] == STEP)
    found = [Metric(f"{_name(row)}: pliant", 1e3 * ours, "ms")]
    for run in row["default"]:
        if not run["why"]:
            found.append(
                Metric(f"{_name(row)}: times {run['name']}", ours / run["seconds"], RATIO, tolerance=TOLERANCE)
            )
    for name, matched in (("as good", "matched"), ("as good, load of the end", "matched_leading")):
        as_good = [row["ladder"][place]["seconds"] for place in row[matched].get(f"{STEP:g}", {}).values()]
        if as_good:
            found.append(
                Metric(f"{_name(row)}: times the fastest {name}", ours / min(as_good), RATIO, tolerance=TOLERANCE)
            )
    return found


def _unmatched(row: Results, limit: float) -> list[str]:
    """What has no peer to be compared with."""
    none = not row["matched_leading"].get(f"{STEP:g}")
    return [f"{_name(row)}: with the load of the end of a step no integrator is as good within {limit:g} s"] * none


SUITE = Suite("the cube on an elastic foundation: our time beside integrators of ODEs", run)
