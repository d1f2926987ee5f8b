"""The study `foundation` in the report, and what the paper claims of it."""

from __future__ import annotations

from typing import Any, Final

from pliant.studies.measure import claim
from pliant.studies.page import Caption, Page, Results, Table, cell

WHERE: Final = "Example: box on an elastic foundation"  # the paper's section
COARSE, FINE = 0.01, 0.001  # h [s]
ONE, TWO = "Table 1", "Table 2"


def claims(rows: list[Results]) -> list[Results]:
    """The paper's sentences on its two tables."""
    paper = [row["paper"]["error"] / row["motion"] for row in rows]
    coarse, fine = ([run["error"] for row in rows if (run := at(row, h)) is not None] for h in (COARSE, FINE))
    falls = [
        run["error"] / row_error["error"] for row in rows if (run := at(row, FINE)) and (row_error := at(row, COARSE))
    ]
    slowest = max(run["seconds"] for row in rows if (run := at(row, COARSE)))
    ratio = _stiff(rows)
    better, compared = _beaten(rows)
    quiet = [error for row, error in zip(rows, paper, strict=True) if row["load"] == 5.0]
    return [
        claim(WHERE, "the errors are good under the small load, 5 N", f"the paper's are {min(quiet):.2g} to "
              f"{max(quiet):.2g} times the whole motion of the cube, ours {min(coarse):.2g} to {max(coarse):.2g} of it",
              "no" if min(quiet) > 1.0 else "yes", beside=TWO,
              why="its relative errors are over 1.118, the size of the pose, not of the motion; a cube that does not "
              "move would score better"),
        claim(WHERE, "significant errors under 50 N, no instability", f"ours at h = 0.01 s is {max(coarse):.2g} of the "
              "motion at most; nothing grows", "in part", beside=TWO,
              why="the errors are the printed program's; the laws themselves, solved, follow the cube"),
        claim(WHERE, "the error improves significantly at h = 1e-3 s", f"ours is {min(fine):.2g} to {max(fine):.2g} of "
              f"the motion there, {min(falls):.2g} to {max(falls):.2g} times that of 0.01 s" if fine else "not run",
              "yes" if fine and max(falls) < 0.7 else "no" if fine else "not run", beside=TWO),
        claim(WHERE, "no row takes thousands of seconds", f"{slowest:.2g} s for the slowest at h = 0.01 s", "yes"
              if slowest < 1000.0 else "no", beside=ONE),
        claim(WHERE, "stiffness does not slow it down", f"E = 1e11 takes {min(ratio):.2g} to {max(ratio):.2g} times as "
              "long as 1e7", "yes" if max(ratio) < 3.0 else "no", beside=ONE),
        claim(WHERE, "stiff ODE integrators are far slower where the cube rocks (50 N)",
              f"in {better} of {compared} such rows no integrator here is as fast at our error",
              "yes" if compared and better == compared else "no" if not better else "in part", beside=ONE,
              why="these call a compiled right-hand side; soft foundations are easy for them, stiff ones are not"),
    ]  # fmt: skip


def at(row: Results, h: float) -> Results | None:
    """Our run at this step, if there is one."""
    return next((run for run in row["ours"] if run["step"] == h), None)


def _stiff(rows: list[Results]) -> list[float]:
    """How much longer the stiff rows take than the soft ones."""
    time = {(row["elements"], row["load"], row["modulus"]): run["seconds"] for row in rows if (run := at(row, COARSE))}
    return [seconds / time[n, load, 1e7] for (n, load, E), seconds in time.items() if E == 1e11]


def _beaten(rows: list[Results]) -> tuple[int, int]:
    """(rows of 50 N in which we are the fastest at our error, all of them)."""
    hard = [row for row in rows if row["load"] == 50.0]
    return sum((best := _best(row)) is None or best["seconds"] > at(row, COARSE)["seconds"] for row in hard), len(hard)  # type: ignore[index]


def _best(row: Results) -> Results | None:
    """The fastest integrator that is as good as ours at h = 0.01."""
    matched = [row["ladder"][index] for index in row["matched"].get(f"{COARSE:g}", {}).values()]
    return min(matched, key=lambda run: run["seconds"], default=None)


def tables(results: Results) -> list[Table]:
    head = ["elements", "load [N]", "E [N/m²]", "paper: its method", "ode15s", "ode45", "pliant, h = 0.01", "h = 0.001",
            "fastest integrator as good as h = 0.01"]  # fmt: skip
    times = [[*_name(row), *(f"{row['paper'][name]:g}" for name in ("seconds", "ode15s", "ode45")),
              *(_seconds(at(row, h)) for h in (COARSE, FINE)), _who(_best(row))]
             for row in results["rows"]]  # fmt: skip
    first = Table("Seconds for one second of the cube", head, times, ONE)
    head = ["elements", "load [N]", "E [N/m²]", "paper, h = 0.01", "paper, h = 0.001", "pliant, h = 0.01", "h = 0.001",
            "h = 0.01, load of its end"]  # fmt: skip
    errors = [[*_name(row), *(_error(row, row["paper"][name]) for name in ("error", "fine_error")),
               *(_error(row, run["pose_error"] if (run := at(row, h)) else None) for h in (COARSE, FINE)),
               _error(row, row["leading"][0]["pose_error"])] for row in results["rows"]]  # fmt: skip
    title = "Error of the final pose, and in brackets over the motion of the cube; * is chaotic"
    return [first, Table(title, head, errors, TWO)]


def _name(row: Results) -> list[str]:
    return [str(row["elements"]), f"{row['load']:g}", f"{row['modulus']:.0e}{' *' if row['chaotic'] else ''}"]


def _seconds(run: Results | None) -> str:
    return "-" if run is None else f"{run['seconds']:.3f}"


def _who(run: Results | None) -> str:
    return "none in time" if run is None else f"{run['seconds']:.3f} ({run['name']})"


def _error(row: Results, error: float | None) -> str:
    return "-" if error is None else f"{error:.2e} ({cell(error / row['motion'], 2)})"


def pressure_of(cube: Any, force: Any, time: float) -> Results:
    """What the picture of the pressure needs: places [m], pressures [Pa], where the load is [m]."""
    from pliant.studies.foundation_cube import SIDE, load_point

    area = SIDE**2 / cube.row.elements
    return {"row": cube.row.name, "time": time, "side": round(cube.row.elements**0.5),
            "pressure": (force / area).tolist(), "load": load_point(time)[:2].tolist()}  # fmt: skip


PAGE: Final = Page(
    "A cube of 8 kg and 1 m on 100 or 900 springs side by side, frictionless, under a load of 5 or 50 N that goes "
    "round on its top at 10 rad/s. Errors are those of the pose after 1 s against a reference of two integrators at "
    "1e-11 and below, in the paper's norm, and over the norm of the whole motion: 1 is the score of a cube that does "
    "not move. The paper's times are of its MATLAB program, ours and the integrators' of one run here, in turns.",
    "h = 0.005 and 0.002 s, 0.001 s for 900 elements; integrators but LSODA, and more than 1 s for it; repetitions",
    {
        "foundation-error": Caption(TWO, "Error over motion against the step, the paper's as open markers."),
        "foundation-work": Caption(
            ONE, "Seconds against error: lower left is better. Ours by step, integrators by tolerance."
        ),
        "foundation-pressure": Caption(
            "Figure 7",
            "The pressure under the cube at the moment named, and where the load stands on its top. As the paper says, "
            "it is greater on the side of the load, and not gathered under it: the cube is rigid. White: no touch.",
        ),
    },
    tables,
)
