"""What the paper claims of the cube on its foundation, beside what came out."""

from __future__ import annotations

import statistics
from typing import Any, Final

import numpy as np

from pliant.studies.foundation_cube import SIDE, load_point, places
from pliant.studies.measure import claim
from pliant.studies.page import Results

WHERE: Final = "Example: box on an elastic foundation"  # the paper's section
COARSE, FINE = 0.01, 0.001  # h [s]
ONE, TWO = "Table 1", "Table 2"


def claims(rows: list[Results], pressure: Results) -> list[Results]:
    """The paper's sentences on its two tables."""
    paper = [row["paper"]["error"] / row["motion"] for row in rows]
    coarse, fine = ([run["error"] for row in rows if (run := at(row, h)) is not None] for h in (COARSE, FINE))
    falls = [
        run["error"] / row_error["error"] for row in rows if (run := at(row, FINE)) and (row_error := at(row, COARSE))
    ]
    slowest = max(run["seconds"] for row in rows if (run := at(row, COARSE)))
    ratio = _stiff(rows)
    better, compared = _beaten(rows)
    raced = dict.fromkeys(run["name"] for row in rows for run in row["default"])
    quiet = [error for row, error in zip(rows, paper, strict=True) if row["load"] == 5.0]
    return [
        claim(WHERE, "the errors are good under the small load, 5 N", f"the paper's are {min(quiet):.3g} to "
              f"{max(quiet):.3g} times the whole motion of the cube, ours {min(coarse):.2g} to {max(coarse):.2g} of it",
              "no" if min(quiet) > 1.0 else "yes", beside=TWO,
              why="its relative errors are over 1.118, the size of the pose, not of the motion; a cube that does not "
              "move would score better"),
        claim(WHERE, "significant errors under 50 N, no instability", f"ours at h = 0.01 s is {max(coarse):.2g} of the "
              "motion at most; nothing grows", _rocks(rows), beside=TWO,
              why="the errors are the printed program's; the laws themselves, solved, follow the cube"),
        claim(WHERE, "the error improves significantly at h = 1e-3 s", f"ours is {min(fine):.2g} to {max(fine):.2g} of "
              f"the motion there, {min(falls):.2g} to {max(falls):.2g} times that of 0.01 s" if fine else "not run",
              "yes" if fine and max(falls) < 0.7 else "no" if fine else "not run", beside=TWO),
        claim(WHERE, "no row takes thousands of seconds", f"{slowest:.2g} s for the slowest at h = 0.01 s", "yes"
              if slowest < 1000.0 else "no", beside=ONE),
        claim(WHERE, "stiffness does not slow it down", f"E = 1e11 takes {min(ratio):.2g} to {max(ratio):.2g} times as "
              f"long as 1e7, {statistics.median(ratio):.2g} times in the median of {len(ratio)} pairs of rows; that "
              "below 2 is taken as holding", "yes" if statistics.median(ratio) < 2.0 else "no", beside=ONE),
        claim(WHERE, "stiff ODE integrators are far slower where the cube rocks (50 N)",
              f"in {better} of {compared} such rows none of {', '.join(raced)} is as fast at our error",
              "yes" if compared and better == compared else "no" if not better else "in part", beside=ONE,
              why="these call a compiled right-hand side; soft foundations are easy for them, stiff ones are not"),
        _leans(pressure),
    ]  # fmt: skip


def _rocks(rows: list[Results]) -> str:
    """Whether the errors under 50 N are large and yet bounded."""
    errors = [run["error"] for row in rows if row["load"] == 50.0 and (run := at(row, COARSE))]
    if any(error is None or error > 10.0 for error in errors):
        return "no"
    return "yes" if max(errors, default=0.0) > 0.5 else "in part"


def _leans(pressure: Results) -> Results:
    """Which half of the face carries what, and where the highest pressure is."""
    force, place = np.array(pressure["pressure"]), places(len(pressure["pressure"]))[:, :2]
    load = np.array(pressure["load"])
    share = float(force[place @ load > 0.0].sum() / force.sum())
    peak = float(np.linalg.norm(place[force.argmax()] - load))
    return claim(WHERE, "the pressure is greater on the side of the load, not gathered under it",
                 f"the half of the face towards the load carries {100.0 * share:.0f} %; the highest is {peak:.2f} m "
                 "from below it", "yes" if share > 0.5 and peak > 0.1 else "no", beside="Figure 7")  # fmt: skip


def at(row: Results, h: float) -> Results | None:
    """Our run at this step, if there is one."""
    return next((run for run in row["ours"] if run["step"] == h), None)


def _stiff(rows: list[Results]) -> list[float]:
    """How much longer the stiff rows take than the soft ones."""
    time = {(row["elements"], row["load"], row["modulus"]): run["seconds"] for row in rows if (run := at(row, COARSE))}
    return [seconds / time[n, load, 1e7] for (n, load, E), seconds in time.items() if E == 1e11]


def _beaten(rows: list[Results]) -> tuple[int, int]:
    """(rows of 50 N in which we are the fastest at our error, all of them)."""
    pairs = [(best(row), at(row, COARSE)) for row in rows if row["load"] == 50.0]
    return sum(bool(us and (them is None or them["seconds"] > us["seconds"])) for them, us in pairs), len(pairs)


def best(row: Results) -> Results | None:
    """The fastest integrator that is as good as ours at h = 0.01."""
    matched = [row["ladder"][index] for index in row["matched"].get(f"{COARSE:g}", {}).values()]
    return min(matched, key=lambda run: run["seconds"], default=None)


def pressure_of(cube: Any, force: Any, time: float) -> Results:
    """What the picture of the pressure needs: places [m], pressures [Pa], where the load is [m]."""
    area = SIDE**2 / cube.row.elements
    return {"row": cube.row.name, "time": float(time), "side": round(cube.row.elements**0.5),
            "pressure": (force / area).tolist(), "load": load_point(time)[:2].tolist()}  # fmt: skip
