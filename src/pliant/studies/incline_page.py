"""The study `incline` in the report."""

from __future__ import annotations

from typing import Final

from pliant.studies.page import Caption, Page, Results, Table, cell


def tables(results: Results) -> list[Table]:
    ways = Table(
        "Distances in the first second",
        ["µ", "h [s]", "distance [m]", "1/2 a t² [m]",
         "further than that, over the error 1/2 a h t of the steps themselves"],
        [[f"{case['friction']:g}", f"{case['step']:g}", f"{case['distance'][-1]:.6f}", f"{case['closed_form']:.6f}",
          cell(case["ahead_by_scheme"], 5)] for case in results["slides"]],
        "Figure 9",
    )  # fmt: skip
    rest, hand = results["rests"][0], results["loads"]
    hertz = dict(zip(("uphill", "downhill"), results["hertz_indentation"], strict=True))
    feet = Table(
        "The feet at rest, µ = 0.375",
        ["foot", "normal force [N]", "by hand [N]", "indentation [m]", "Hertz [m]"],
        [[foot, f"{force:.4f}", f"{hand[foot.split()[0]]:.4f}", cell(rest["indentation"][foot], 4),
          cell(hertz[foot.split()[0]], 4)] for foot, force in rest["force"].items()],
    )  # fmt: skip
    creep = Table(
        "Other simulators on the same box, h = 10 ms",
        ["simulator", "settings", "moved in the 2nd second at µ = 0.375 [m]"],
        [[case["peer"], case["settings"], f"{abs(case['second_second']):.1e}"] for case in results["peers"]
         if case["friction"] == 0.375],
    )  # fmt: skip
    return [ways, feet, creep]


PAGE: Final = Page(
    "A box of 1 kg on four spherical feet of 1 cm, on a slope of 15 degrees; E* = 1e11 Pa by Hertz, which has a factor "
    "of 4/3 that the paper leaves out, and 1 N s/m of damping. Other simulators step the same box.",
    "5 s at rest in place of 1000",
    {
        "incline": Caption(
            "Figure 9",
            "Distances over a second on their closed forms; what each foot carries, and by how much it is pressed in; "
            "what simulators let the box creep where friction should hold it. The paper gives no numbers.",
        )
    },
    tables,
)
