"""The grid of stiffness and step as a picture: a panel per engine and thing that is dropped."""

from __future__ import annotations

from typing import Any

from pliant.plot.style import BLUE, ORANGE, SMALL, TITLE, empty_figure
from pliant.studies.study import Results

RIGHT, WRONG = BLUE, ORANGE


def draw(details: Results) -> dict[str, Any]:
    outcomes = details["grid"]["outcomes"] if "grid" in details else []
    if not outcomes:
        return {}
    engines = list(dict.fromkeys(one["engine"] for one in outcomes))
    things = list(dict.fromkeys(_place(one)[0] for one in outcomes))
    figure = empty_figure(1.7 * len(engines), 1.7 * len(things) + 0.8)
    panels = figure.subplots(len(things), len(engines), sharex=True, sharey=True, squeeze=False)
    for row, thing in enumerate(things):
        for column, engine in enumerate(engines):
            own = [one for one in outcomes if one["engine"] == engine and _place(one)[0] == thing]
            _panel(panels[row][column], own)
            if row == 0:
                panels[row][column].set_title(engine, fontsize=SMALL)
        panels[row][0].set_ylabel(f"{thing}\nE [Pa]", fontsize=SMALL)
    for panel in panels[-1]:
        panel.set_xlabel("h [s]", fontsize=SMALL)
    figure.suptitle("dropped: rests where it should (filled blue), or not (orange cross)", fontsize=TITLE)
    return {"trust": figure}


def _place(one: Results) -> tuple[str, float, float]:
    thing, modulus, step = one["case"].split(", ")
    return thing, float(modulus.split()[0]), float(step.split()[0])


def _panel(panel: Any, outcomes: list[Results]) -> None:
    for right, colour, marker in ((True, RIGHT, "s"), (False, WRONG, "x")):
        places = [_place(one)[1:] for one in outcomes if one["right"] == right]
        panel.plot([h for _, h in places], [E for E, _ in places], marker, color=colour, markersize=5, linestyle="none")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.tick_params(labelsize=SMALL)
