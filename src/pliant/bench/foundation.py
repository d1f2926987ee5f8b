"""The rows of the study `foundation`: our time over each integrator's, in the same run, in turns."""

from __future__ import annotations

from typing import Final

from pliant.bench.metric import RATIO, Metric
from pliant.bench.suite import Measured, Suite
from pliant.studies import foundation
from pliant.studies.foundation_best import at
from pliant.studies.study import Progress, Results

STEP: Final = 0.01  # h [s] of the ratios
ROCKING: Final = 0.02  # the ratio to be reached where the foundation is stiff and the cube rocks; 1 elsewhere
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
    """Our time at h = 0.01 over that of each integrator at MATLAB's tolerances, and over that of the fastest with an
    error no larger than ours: with the load of the start of each step, as the paper has it, with that of its end, which
    is far more exact, and at the best of our steps, which is no less exact than the first of these."""
    first, last = (at(row["compared"], STEP, lead) for lead in (0.0, 1.0))
    found = [Metric(f"{_name(row)}: pliant", 1e3 * first["seconds"], "ms")]
    for run in row["default"]:
        if not run["why"]:
            ratio = first["seconds"] / run["seconds"]
            found.append(Metric(f"{_name(row)}: times {run['name']}", ratio, RATIO, tolerance=TOLERANCE))
    for name, entry in (("as good", first), ("as good, load of the end", last)):
        if entry["rival"] is not None:
            found.append(Metric(f"{_name(row)}: times the fastest {name}", entry["ratio"], RATIO, tolerance=TOLERANCE))
    best, goal = row["best"], ROCKING if row["load"] == 50.0 and row["modulus"] == 1e11 else 1.0
    return [
        *found,
        Metric(f"{_name(row)}: times the fastest as good, best step", best["ratio"], RATIO, "less", TOLERANCE, goal),
        Metric(f"{_name(row)}: best step", best["step"], "s", "more"),
        Metric(f"{_name(row)}: error there", best["error"]),
    ]


def _unmatched(row: Results, limit: float) -> list[str]:
    """What has no peer to be compared with."""
    says = []
    if at(row["compared"], STEP, 1.0)["rival"] is None:
        says.append(f"with the load of the end of a step no integrator is as good within {limit:g} s")
    if row["best"]["rival"] is None:
        says.append(f"at our best step no integrator is as good within {limit:g} s; that ratio is to so many seconds")
    return [f"{_name(row)}: {what}" for what in says]


SUITE = Suite("the cube on an elastic foundation: our time beside integrators of ODEs", run)
