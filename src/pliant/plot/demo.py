"""The picture of `pliant demo`: a beam on three springs, a block on a ramp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant import demo
from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.plot.style import BLUE, GREY, INK, PALE, VERMILLION, empty_figure
from pliant.printed import Printed
from pliant.solve import solve

STYLE: dict[str, Any] = {"Coulomb": (BLUE, "o", 5.5, BLUE), "Convex": (VERMILLION, "s", 8.5, "none")}
FRICTIONS = tuple(round(0.025 * k, 3) for k in range(17))  # mu from 0 to 0.4
NEWTON = 0.13  # height of an arrow per newton, in the units of the beam's drawing


def demo_figure() -> Any:
    """The beam and the block of `pliant.demo` as a matplotlib Figure, 1200 pixels wide."""
    figure = empty_figure(10.0, 5.4, dpi=120)
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 1.15))
    law = solve(demo.beam()).forces[0]
    above, below = left.subplots(2, 1)
    _draw_beam(above, law, BLUE, "pliant: the spring laws")
    _draw_beam(
        below, solve(demo.beam(), Printed()).forces[0], GREY, "the paper's QP as printed: pushes on idle springs"
    )
    _title(left, "A beam on three springs, one pressed in", "forces of one step; 1 kg, K = 10$^4$ N/m, h = 10 ms")
    _draw_sweep(right)
    _title(right, "A block on a 15° ramp, 1 s after release", "100 steps; 1 kg, K = 10$^{10}$ N/m, h = 10 ms")
    return figure


def _title(figure: Any, title: str, details: str) -> None:
    figure.suptitle(f"{title}\n", fontsize=12.5)
    figure.text(0.5, 0.935, details, fontsize=10, color=PALE, ha="center", va="center")


def _draw_beam(axes: Any, forces: Sequence[float] | Array, colour: str, title: str) -> None:
    """The beam, its springs, and the force that each spring gives."""
    axes.set_title(title, fontsize=10.5, color=PALE if colour == GREY else colour, fontweight="bold")
    axes.add_patch(_box(-1.25, 0.0, 2.5, 0.09, "#D9D9D9"))
    axes.plot([-1.4, 1.4], [-0.5, -0.5], color=INK, lw=1.5)
    for x, force in zip(demo.SUPPORTS, forces, strict=True):
        ground = -0.42 if x == 0.0 else -0.5  # the middle support stands higher
        if x == 0.0:
            axes.add_patch(_box(x - 0.16, -0.5, 0.32, 0.08, "#9A9A9A"))
        axes.plot(*_spring(x, ground, 0.0), color=INK, lw=1.3)
        if force > 0.0:
            tip = 0.09 + NEWTON * force
            arrow = {"arrowstyle": "-|>,head_width=0.35,head_length=0.6", "color": colour, "lw": 3.0}
            axes.annotate("", (x, tip), (x, 0.09), arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0})
        axes.text(x, 0.12 + NEWTON * force, f"{force:.2f} N", fontsize=11, color=INK, ha="center", va="bottom")
    for x, words in zip(demo.SUPPORTS, ("touching", "pressed in 1 mm", "touching"), strict=True):
        axes.text(x, -0.56, words, fontsize=9, color=PALE, ha="center", va="top")
    axes.set(xlim=(-1.5, 1.5), ylim=(-0.72, 0.95))
    axes.set_axis_off()


def _box(x: float, y: float, width: float, height: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, facecolor=colour, edgecolor=INK, linewidth=1.2)


def _spring(x: float, bottom: float, top: float) -> tuple[Any, Any]:
    """A zigzag from bottom to top."""
    turns = 11
    side = np.zeros(turns + 2)
    side[2:-2] = 0.07 * (-1.0) ** np.arange(turns - 2)
    return x + side, np.linspace(bottom, top, turns + 2)


def _draw_sweep(figure: Any) -> None:
    """Friction force, speed and gap after one second, against the coefficient of friction."""
    panels = figure.subplots(3, 1, sharex=True)
    fine = np.linspace(0.0, 0.4, 400)
    exact = {
        0: [demo.exact_friction_force(mu) for mu in fine],
        1: [demo.exact_speed(mu, 1.0) for mu in fine],
        2: np.zeros(fine.size),
    }
    for k, curve in exact.items():
        panels[k].plot(fine, curve, color=INK, lw=1.0, label="closed form")
    for solver in demo.SOLVERS:
        _draw_solver(panels, solver)
    labels = ("friction\nforce [N]", "speed\n[m/s]", "gap to the\nramp [mm]")
    for axes, label in zip(panels, labels, strict=True):
        axes.set_ylabel(label, fontsize=10)
        axes.axvspan(demo.PULL / demo.LOAD, 0.41, color="#EFEFEF", zorder=0)
        axes.margins(y=0.15)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].text(0.13, 0.1, "slips", fontsize=10, color=PALE, ha="center")
    panels[0].text(0.34, 0.1, "sticks, µ > tan 15°", fontsize=10, color=PALE, ha="center")
    panels[1].legend(frameon=False, fontsize=10, loc="upper right")
    panels[2].text(
        0.34,
        0.6,
        "Convex lifts\nwhat slides by h µ v,\nCoulomb does not",
        fontsize=10,
        color=PALE,
        ha="center",
    )
    _draw_block(panels[0].inset_axes((0.0, 0.45, 0.24, 0.6)))
    panels[2].set(xlabel="coefficient of friction µ [-]", xlim=(-0.01, 0.41))
    figure.align_ylabels()


def _draw_block(axes: Any) -> None:
    """A sketch of the block on its ramp, and the friction force on it."""
    from matplotlib.patches import Polygon

    along, across = (
        np.array([-0.866, 0.5]),
        np.array([0.5, 0.866]),
    )  # drawn at 30 degrees, to be seen as a ramp
    foot = np.array([1.35, 0.22])
    corners = [foot, foot + 0.5 * along, foot + 0.5 * along + 0.3 * across, foot + 0.3 * across]
    axes.add_patch(Polygon([(0.4, 0.77), (1.73, 0.0), (0.4, 0.0)], facecolor="#D9D9D9", edgecolor=INK, lw=1.2))
    axes.add_patch(Polygon(corners, facecolor="white", edgecolor=INK, lw=1.2))
    start, tip = corners[2] - 0.1 * across, corners[2] - 0.1 * across + 0.45 * along
    arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tip, start, arrowprops=arrow)
    axes.set(xlim=(0.2, 1.9), ylim=(-0.05, 1.2), aspect="equal")
    axes.set_axis_off()


def _draw_solver(panels: Any, solver: Formulation) -> None:
    name = type(solver).__name__
    colour, marker, size, fill = STYLE[name]
    ends = demo.sweep(solver, FRICTIONS)
    curves = ([e.friction_force for e in ends], [e.speed for e in ends], [1e3 * e.gap for e in ends])
    for axes, curve in zip(panels, curves, strict=True):
        axes.plot(
            FRICTIONS, curve, marker, color=colour, markersize=size, markerfacecolor=fill,
            markeredgewidth=1.4, label=name, clip_on=False,
        )  # fmt: skip
