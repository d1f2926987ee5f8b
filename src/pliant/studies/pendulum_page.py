"""The study `pendulum` in the report."""

from __future__ import annotations

from typing import Final

from pliant.studies.page import Caption, Page, Results, Table, cell


def tables(results: Results) -> list[Table]:
    head = ["drift", "h [s]", "duration [s]", "joint opens by [m]", "error of the angle at the end [rad]",
            "energy, lowest [J]", "highest [J]", "diverges after [s]"]  # fmt: skip
    rows = [
        [case["drift"], f"{case['step']:g}", f"{case['duration']:g}", cell(case["deviation"]),
         "-" if case["diverged"] else cell(case["angle_error"]), cell(case["energy_lowest"]),
         cell(case["energy_highest"]), cell(case["reached"]) if case["diverged"] else "-"]
        for case in results["cases"]
    ]  # fmt: skip
    return [Table("The pendulum under three treatments of drift", head, rows, "Figure 4")]


PAGE: Final = Page(
    "A bob of 1 kg in absolute coordinates on a rod of 1 m, its joint of 1e15 N/m and 1 N s/m, released level and at "
    "rest. The paper gives neither mass, length nor inertia; these are ours. Beside its scheme (drift “paper”) stand "
    "two others of pliant: “tangent”, without its compensation, and “lookahead”, which keeps the joint at the "
    "configuration that is reached. A four-bar loop shows the same where loops close.",
    "steps of 0.05, 0.02 and 1e-4 s over one second, 0.01 s over sixty; 5 s of the four-bar loop in place of 60",
    {
        "pendulum-deviation": Caption(
            "Figure 4",
            "How far the joint opens over 1 s, at the largest and the smallest step, and the widest gap against the "
            "step. The paper says the errors scale with the square of h, without numbers.",
        ),
        "pendulum-energy": Caption("", "The energy over 60 s, which ought to stay at 0 J."),
        "four-bar": Caption("", "Energy and widest gap of a four-bar loop, with joints single and given twice."),
    },
    tables,
)
