"""Pictures of runs and of measurements, drawn by Matplotlib when it is installed; no window is ever opened.

Every function returns a matplotlib Figure, and writes it where `path` says (.png, .pdf, .svg). Those of a run are
methods of `pliant.Trajectory` as well: `plot_states`, `plot_energy`, `plot_forces`, `plot_pressure`, `plot_residuals`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.plot.cost import work_precision
from pliant.plot.run_energy import energy
from pliant.plot.run_forces import forces
from pliant.plot.run_pressure import pressure, pressure_figure
from pliant.plot.run_residuals import residuals
from pliant.plot.run_states import states
from pliant.plot.slopes import convergence, order
from pliant.plot.style import BLUE, GREY, INK, PALE, VERMILLION, empty_figure

if TYPE_CHECKING:
    from pliant.plot.demo import demo_figure

__all__ = [
    "BLUE", "GREY", "INK", "PALE", "VERMILLION", "convergence", "demo_figure", "empty_figure", "energy", "forces",
    "order", "pressure", "pressure_figure", "residuals", "states", "work_precision",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "demo_figure":  # it solves, and so loads the solvers
        from pliant.plot.demo import demo_figure

        return demo_figure
    raise AttributeError(f"module 'pliant.plot' has no attribute '{name}'")
