"""The study `foundation` in the report."""

from __future__ import annotations

from typing import Final

from pliant.studies.foundation_best import PAPERS, line
from pliant.studies.foundation_best import at as at_step
from pliant.studies.foundation_claims import COARSE, FINE, ONE, TWO, at, best
from pliant.studies.foundation_tables import best_cells
from pliant.studies.page import Caption, Page, Results, Table, cell

STAR: Final = "* chaotic: 1e-9 of an indentation at the start is 0.1 of one at the end"


def tables(results: Results) -> list[Table]:
    head = ["elements", "load [N]", "E [N/m²]", "paper: its method", "ode15s", "ode45", "pliant, h = 0.01", "h = 0.001",
            "fastest integrator as good as h = 0.01"]  # fmt: skip
    times = [[*_name(row), *(f"{row['paper'][name]:g}" for name in ("seconds", "ode15s", "ode45")),
              *(_seconds(at(row, h)) for h in (COARSE, FINE)), _who(best(row), results["limit"])]
             for row in results["rows"]]  # fmt: skip
    first = Table(f"Seconds for one second of the cube; {STAR}", head, times, ONE)
    head = ["elements", "load [N]", "E [N/m²]", "paper, h = 0.01", "paper, h = 0.001", "pliant, h = 0.01", "h = 0.001",
            "h = 0.01, load of its end"]  # fmt: skip
    errors = [[*_name(row), *(_error(row, row["paper"][name]) for name in ("error", "fine_error")),
               *(_error(row, run["pose_error"] if (run := at(row, h)) else None) for h in (COARSE, FINE)),
               _error(row, row["leading"][0]["pose_error"])] for row in results["rows"]]  # fmt: skip
    title = f"Error of the final pose, and in brackets over the motion of the cube; {STAR}"
    return [first, Table(title, head, errors, TWO), _best(results)]


def _best(results: Results) -> Table:
    head = ["elements", "load [N]", "E [N/m²]", "h = 0.01", "h = 0.01, load of its end", "best h [s]", "load of its",
            "error / motion", "pliant [ms]", "ours over theirs"]  # fmt: skip
    limit = results["limit"]
    rows = [[*_name(row), *(line(at_step(row["compared"], PAPERS, lead), limit) for lead in (0.0, 1.0)),
             *best_cells(row["best"], limit)] for row in results["rows"]]  # fmt: skip
    title = (
        "Our time over that of the fastest integrator whose error is no larger, at the paper's step and at the step at "
        f"which we gain most while no less exact than there; {STAR}"
    )
    return Table(title, head, rows, ONE)


def _name(row: Results) -> list[str]:
    return [str(row["elements"]), f"{row['load']:g}", f"{row['modulus']:.0e}{' *' if row['chaotic'] else ''}"]


def _seconds(run: Results | None) -> str:
    return "-" if run is None else f"{run['seconds']:.3f}"


def _who(run: Results | None, limit: float) -> str:
    return f"none within {limit:g} s" if run is None else f"{run['seconds']:.3f} ({run['name']})"


def _error(row: Results, error: float | None) -> str:
    return "-" if error is None else f"{error:.2e} ({cell(error / row['motion'], 2)})"


PAGE: Final = Page(
    "A cube of 8 kg and 1 m on 100 or 900 springs side by side, frictionless, under a load of 5 or 50 N that goes "
    "round on its top at 10 rad/s. Errors are those of the pose after 1 s against a reference of two integrators at "
    "1e-11 and below, in the paper's norm, and over the norm of the whole motion: 1 is the score of a cube that does "
    "not move. The paper's times are of its MATLAB program, ours and the integrators' of one run here, in turns.",
    "h = 0.005 and 0.002 s, 0.001 s for 900 elements; integrators but LSODA, and more than 1 s for it; repetitions",
    {
        "foundation-error": Caption(TWO, "Error over motion against the step, the paper's as open markers."),
        "foundation-work": Caption(
            ONE,
            "Seconds against error: lower left is better. Ours by step, open stars with the load of its end; "
            "integrators by tolerance.",
        ),
        "foundation-pressure": Caption(
            "Figure 7",
            "The pressure under the cube at the moment named, and where the load stands on its top. As the paper says, "
            "it is greater on the side of the load, and not gathered under it: the cube is rigid. White: no touch.",
        ),
    },
    tables,
)
