"""How the steps of a run went: residuals, iterations, and the steps that came to no end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pliant.plot.style import BLUE, COLUMN, GREY, VERMILLION, Path, label, legend_above, panels, saved

if TYPE_CHECKING:
    from pliant.trajectory import Trajectory

MANY: Final = 30  # iterations, from which on a logarithm shows more
LEAST: Final = 1e-17  # what a logarithm shows of 0


def residuals(run: Trajectory, *, path: Path | None = None, width: float = COLUMN) -> Any:
    """Residuals of the laws and of momentum, iterations and factorizations, over time; crosses mark samples with a step
    that ended at its iteration limit. A sample of several steps, record_every, has the largest residual and the sum of
    their iterations."""
    time, stats = run.time[1:], run.stats
    figure, (above, below) = panels(2, width=width, height=1.9, share=True)
    curves = {"laws": (stats["residual"], "-", BLUE), "momentum": (stats["momentum_residual"], "--", VERMILLION)}
    for name, (values, dash, colour) in curves.items():
        if name == "momentum" and not values.any():  # `pliant run` does not measure it
            continue
        above.semilogy(time, np.maximum(values, LEAST), dash, color=colour, lw=1.1, label=name)
    failed = stats["unsolved"] > 0
    if failed.any():
        worst = np.maximum(stats["residual"], LEAST)[failed]
        above.semilogy(time[failed], worst, "x", color="k", ms=5, mew=1.2, label="iteration limit")
    label(above, up="residual [-]")
    legend_above(above)
    below.step(time, stats["iterations"], color=BLUE, lw=1.1, where="pre", label="iterations")
    below.step(time, stats["factorizations"], color=GREY, ls="--", lw=1.1, where="pre", label="factorizations")
    most = float(stats["iterations"].max(initial=1))
    if most > MANY:
        below.set_yscale("log")
        below.set_ylim(0.7, 2.0 * most)
        below.yaxis.set_major_formatter("{x:g}")
    else:
        below.set_ylim(0.0, 1.1 * most)
        below.yaxis.get_major_locator().set_params(integer=True)
    each = int(run.parameters.get("record_every", 1))
    label(below, "time [s]", "per step [-]" if each == 1 else f"per {each} steps [-]")
    legend_above(below)
    figure.align_ylabels()
    return saved(figure, path)
