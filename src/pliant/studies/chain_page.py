"""The study `chain` in the report: its table and its pictures."""

from __future__ import annotations

from typing import Any, Final

from pliant.plot.style import PALE, label, look, panels
from pliant.studies.measure import pick
from pliant.studies.page import Caption, Page, Results, Table, cell

FIRST: Final = 0.02  # [s] of the energies shown
LOW, HIGH = -1.05, 0.35  # of the swing
DRAWN: Final = 0.01  # the step of the shapes [s]


def tables(results: Results) -> list[Table]:
    head = ["h [ms]", "engine", "torn after [s]", "joints open by [m]", "energy gained, of the swing",
            "swing lost in 10 s [%]", "at the end [%]"]  # fmt: skip
    rows = [
        [f"{1e3 * case['step']:g}", case["engine"], "holds" if case["torn"] is None else cell(case["torn"]),
         cell(case["open"], 2), "-" if case["torn"] is not None else f"{case['gained']:.1e}",
         _percent(case["lost_early"]), _percent(case["lost"])]
        for case in results["cases"]
    ]  # fmt: skip
    return [Table(f"The chain, {results['cases'][0]['duration']:g} s", head, rows)]


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100.0 * part:.1f}"


def draw(results: Results) -> dict[str, Any]:
    """Energies by step, and what becomes of the chain."""
    return {"chain-energy": _energies(results), "chain": _shapes(results)}


def _names(results: Results) -> list[str]:
    return list(dict.fromkeys(case["engine"] for case in results["cases"]))


def _energies(results: Results) -> Any:
    steps = list(dict.fromkeys(case["step"] for case in results["cases"]))
    title = "The chain's energy above that of the start; a cross where a joint is open by a link"
    figure, axes = panels(len(steps), columns=3, title=title, height=2.2)
    for k, (ax, step) in enumerate(zip(axes, steps, strict=True)):
        for number, name in enumerate(_names(results)):
            (case,) = pick(results["cases"], engine=name, step=step)
            ax.semilogx(case["time"][1:], case["energy"][1:], **look(number), label=name)
            if case["torn"] is not None:
                last = min(max(case["energy"][-1], LOW), HIGH)
                ax.plot(case["torn"], last, "x", color=look(number)["color"], ms=6)
        ax.set_xlim(FIRST, results["cases"][0]["duration"])
        ax.set_ylim(LOW, HIGH)
        label(ax, "time [s]", "of the swing" if k % 3 == 0 else "", f"h = {1e3 * step:g} ms")
    _legend(figure, axes[0], len(_names(results)))
    return figure


def _shapes(results: Results) -> Any:
    """The links, each as it lies, at some moments; a chain that tears is shown up to then."""
    names = _names(results)
    title = f"The chain in steps of {1e3 * DRAWN:g} ms, every link as it lies, the last moment in colour"
    figure, axes = panels(len(names), columns=len(names), title=title, height=2.05)
    for k, (ax, name) in enumerate(zip(axes, names, strict=True)):
        (case,) = pick(results["cases"], engine=name, step=DRAWN)
        for now, segments in case["shapes"]:
            last = now == case["shapes"][-1][0]
            colour = look(k)["color"] if last else PALE
            for (x1, y1), (x2, y2) in segments:
                ax.plot([x1, x2], [y1, y2], color=colour, lw=1.5 if last else 0.7, solid_capstyle="butt")
            ax.plot(segments[-1][1][0], segments[-1][1][1], "o", color=colour, ms=6 if last else 3)
        ax.set_xlim(-0.45, 0.65)
        ax.set_ylim(-1.25, 0.1)
        ax.set_aspect("equal")
        words = f"at {case['shapes'][-1][0]:g} s" if case["torn"] is None else f"torn after {case['torn']:.2g} s"
        label(ax, words, "height [m]" if k == 0 else "", name.replace(", without", ",\nwithout").replace("o, ", "o,\n"))
    return figure


def _legend(figure: Any, ax: Any, columns: int) -> None:
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(columns, 3), fontsize=8, frameon=False)


PAGE: Final = Page(
    "Not of the paper: 20 links of 10 g and 5 cm under 10 kg, swung from 30 degrees off plumb, in absolute "
    "coordinates, by joints of 1e8 N/m. A stiff force keeps the direction of the start of a step, and a light link "
    "under tension swings to and fro faster than a step can follow: without more the chain tears at 2 ms, in pliant as "
    "elsewhere. pliant's step is told the geometric stiffness K_g, how the forces of the step before turn with the "
    "links, and takes it implicitly. MuJoCo's chain is of free bodies and connects, by its default joints and by "
    "joints of a time constant of 2 h; Drake's of ball constraints. Energies are those of the states reached.",
    "10 s in place of 60, at 2, 10 and 50 ms",
    {
        "chain-energy": Caption(
            "",
            "The energy above that of the start in parts of the swing, which is the energy above the chain hanging at "
            "rest; a cross where a joint is open by a link.",
        ),
        "chain": Caption("", "Every link at several moments, in steps of 10 ms, up to where the chain tears."),
    },
    tables,
)
