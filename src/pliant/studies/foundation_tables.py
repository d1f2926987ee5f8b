"""The paper's two tables, ours beside them, as lines of text."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from pliant.studies.foundation_best import PAPERS, line
from pliant.studies.foundation_best import at as at_step
from pliant.studies.foundation_claims import at
from pliant.studies.foundation_cube import ROWS, Row


class Printed(NamedTuple):
    """What the paper prints for a row: times [s] and the pose norm of the error at h = 0.01 (and 0.001, where it does).

    Its relative errors are these over 1.118, the pose norm of a centre at (0, 0, 1/2) and the quaternion 1.
    """

    seconds: float
    ode15s: float
    ode45: float
    error: float
    fine_error: float | None = None


PAPER: Final[dict[Row, Printed]] = dict(
    zip(
        ROWS,  # elements, load, modulus
        (
            Printed(0.331, 0.302, 28.0, 2.96e-5),
            Printed(0.286, 0.189, 27.4, 2.91e-7),
            Printed(0.332, 9.55, 15.5, 0.813, 3.14e-3),
            Printed(0.396, 5550.0, 621.0, 0.814, 9.22e-5),
            Printed(7.40, 4.75, 829.0, 1.98e-5),
            Printed(8.23, 1.10, 17100.0, 2.71e-9),
            Printed(12.98, 27.3, 346.0, 1.0e-2),
            Printed(26.00, 2.31, 17400.0, 1.0e-2),
        ),
        strict=True,
    )
)


def tables(rows: list[dict[str, Any]], limit: float) -> dict[str, list[str]]:
    """Lines of Markdown: "time" [s], "error" and "best", with * where the row is chaotic."""
    return {"time": _times(rows), "error": _errors(rows), "best": _best(rows, limit)}


def _best(rows: list[dict[str, Any]], limit: float) -> list[str]:
    """Our time over that of the fastest integrator with an error no larger: at the paper's step with the load of its
    start and of its end, and at the step at which we gain most while as exact as the first."""
    head = ["elements, load, E", "h = 0.01, load of its start", "h = 0.01, load of its end", "best h [s]",
            "load of its", "error / motion", "pliant [ms]", "our time over theirs"]  # fmt: skip
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows:
        found, papers = row["best"], [line(at_step(row["compared"], PAPERS, lead), limit) for lead in (0.0, 1.0)]
        lines.append(_line([_label(row), *papers, *best_cells(found, limit)]))
    return lines


def best_cells(found: dict[str, Any], limit: float) -> list[str]:
    """The best comparison, from its step on."""
    end = "end" if found["lead"] else "start"
    return [f"{found['step']:g}", end, _small(found["error"]), f"{1e3 * found['seconds']:.3g}", line(found, limit)]


def _times(rows: list[dict[str, Any]]) -> list[str]:
    """The paper's times, ours, and each integrator: at MATLAB's tolerances; matching our h = 0.01, then 0.001."""
    steps = list(
        dict.fromkeys(run["step"] for row in rows for run in row["ours"] if f"{run['step']:g}" in row["matched"])
    )
    names = list(dict.fromkeys(run["name"] for row in rows for run in row["default"]))
    head = ["elements, load, E", "paper: its method, ode15s, ode45", *(f"pliant, h = {h:g}" for h in steps)]
    head += [f"{name}: default (error); as good as h = {', '.join(f'{h:g}' for h in steps)}" for name in names]
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows:
        paper = row["paper"]
        cells = [_label(row), f"{paper['seconds']:g}, {paper['ode15s']:g}, {paper['ode45']:g}"]
        cells += ["-" if (run := at(row, h)) is None else f"{run['seconds']:.3f}" for h in steps]
        cells += [_integrator(row, name, steps) for name in names]
        lines.append(_line(cells))
    return lines


def _integrator(row: dict[str, Any], name: str, steps: list[float]) -> str:
    default = next(run for run in row["default"] if run["name"] == name)
    first = f"{default['seconds']:.3f} ({_small(default['error'])})" if not default["why"] else default["why"]
    matched = []
    for h in steps:
        index = row["matched"].get(f"{h:g}", {}).get(name)
        matched.append("-" if index is None else f"{row['ladder'][index]['seconds']:.3f}")
    return f"{first}; {', '.join(matched)}"


def _errors(rows: list[dict[str, Any]]) -> list[str]:
    """Pose norms, the paper's and ours, and in brackets relative to the motion."""
    steps = list(dict.fromkeys(run["step"] for row in rows for run in row["ours"]))
    head = ["elements, load, E", "motion", "paper, h = 0.01", "paper, h = 0.001"]
    head += [f"pliant, h = {h:g}" for h in steps]
    head += [f"load of the end of the step, h = {run['step']:g}" for run in rows[0]["leading"]]
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows:
        printed = [row["paper"]["error"], row["paper"]["fine_error"]]
        ours = [None if (run := at(row, h)) is None else run["pose_error"] for h in steps]
        ours += [run["pose_error"] for run in row["leading"]]
        cells = ["-" if e is None else f"{e:.2e} ({_small(e / row['motion'])})" for e in printed + ours]
        lines.append(_line([_label(row), f"{row['motion']:.2e}", *cells]))
    return lines


def _label(row: dict[str, Any]) -> str:
    return f"{row['elements']}, {row['load']:g} N, {row['modulus']:.0e}{' *' if row['chaotic'] else ''}"


def _small(number: float | None) -> str:
    return "-" if number is None else f"{number:.2g}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
