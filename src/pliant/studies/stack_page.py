"""The study `stack` in the report."""

from __future__ import annotations

from typing import Final

from pliant.studies.page import Caption, Page, Results, Table, cell


def tables(results: Results) -> list[Table]:
    step = results["step"]
    columns = Table(
        "Aligned columns",
        ["spheres", "ms a step", "seconds for 1 s", "aside [m]", "speed at the end [m/s]", "bottom pressed in [m]",
         "bottom off the closed form, of it", "worst contact off it"],
        [[str(case["count"]), f"{case['ms_per_step']:.3g}", f"{1e-3 * case['ms_per_step'] / step:.3g}",
          f"{case['lateral']:g}", f"{case['speed']:.1e}", cell(case["bottom"], 4),
          f"{case['bottom_error']:.1e}", f"{case['worst_error']:.1e}"]
         for case in results["columns"]],
        "Figure 10",
    )  # fmt: skip
    falls = Table(
        "Columns with 1e-9 m of jitter",
        ["spheres", "growth, measured [1/s]", "by hand [1/s]"],
        [[str(case["count"]), f"{case['measured']:.2f}", f"{case['rate']:.2f}"] for case in results["jittered"]],
    )
    return [columns, falls]


PAGE: Final = Page(
    "Spheres of 0.1 m and 1 kg, 5 cm apart, are dropped onto each other from rest in steps of 10 ms; E* = 1e11 Pa, 1 N "
    "s/m. An aligned column is an unstable equilibrium: it stands because nothing moves it aside. Jitter of 1e-9 m "
    "grows at the rate of its fastest mode. Other simulators are watched for 5 s.",
    "columns of 50, 200 and 400 spheres, jitter of 100, peers with 100; 5 s in place of 60",
    {
        "stack": Caption(
            "Figure 10",
            "Indentations at rest on Hertz under the weight above; the cost of a step against the number of spheres, "
            "which the paper plots up to 100 without numbers; how jitter grows; what becomes of the column elsewhere.",
        )
    },
    tables,
)
