"""The study `limit` in the report."""

from __future__ import annotations

from typing import Final

import numpy as np

from pliant.studies.page import Caption, Page, Results, Table, cell


def tables(results: Results) -> list[Table]:
    head = [
        "h [s]",
        "speed given back, mean [-]",
        "least",
        "most",
        "closed form of implicit Euler, mean",
        "steps in touch",
    ]
    rows = [
        [f"{case['step']:g}", *(cell(f(case["restitution"]), 4) for f in (np.mean, min, max)),
         cell(float(np.mean(case["closed_form"])), 4), str(case["steps"] - 2)]
        for case in results["impacts"]
    ]  # fmt: skip
    return [Table("The first impact, met at several moments of a step", head, rows, "Figure 6")]


PAGE: Final = Page(
    "A pendulum of 1 kg and 1 m (ours; the paper gives none) falls from level onto a limit of 1e12 N m/rad without "
    "damping. At h = 1e-8 s the fall would take 6e7 steps in which the limit does nothing: flights are taken from the "
    "exact solution, and steps from just before each impact until the limit lets go. Whole runs stand beside it.",
    "4 moments of a step in place of 16; the whole run at 1e-5 s",
    {
        "limit": Caption(
            "Figure 6",
            "The angle over time at the four steps of the paper; the first impact by itself; the speed given back "
            "against the step, on the closed form of implicit Euler; runs taken step by step.",
        )
    },
    tables,
)
