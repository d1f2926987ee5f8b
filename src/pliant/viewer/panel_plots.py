"""The tab "Plots": curves over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pliant.inputs import Array
from pliant.viewer.history import Pair
from pliant.viewer.playback import Playback
from pliant.viewer.scale import length_unit

if TYPE_CHECKING:
    from pliant.viewer.view import View

HEIGHT: Final = 150  # [px]
COLOURS: Final = ("#0072b2", "#e66100", "#222222")
STYLE: Final = "font-size:0.8em;text-align:center;margin-top:-0.4em"
NOBODY: Final = "none yet"
ROW: Final = ("kinetic", "potential", "total")


class PlotsTab:
    def __init__(self, view: View) -> None:
        self._view, self._gui = view, view.server.gui
        self._pairs: dict[str, Pair] = {}
        self._pair = self._gui.add_dropdown("Contact", [NOBODY], hint="whose force is plotted")
        self._plots = {
            "force": self._plot("Force of this contact [N]", ("force",)),
            "deepest": self._plot("Largest penetration [m]", ("penetration",)),
            "energy": self._plot("Energy [J]", ROW),
        }
        words = (
            f'<span style="color:{colour}">&#9644; {name}</span>' for name, colour in zip(ROW, COLOURS, strict=True)
        )
        self._words = self._gui.add_html(f'<div style="{STYLE}">{" ".join(words)}</div>')
        self._plots |= {
            "residual": self._plot("Worst residual, power of ten", ("residual",)),
            "iterations": self._plot("Iterations per step", ("iterations",)),
        }
        if isinstance(view.source, Playback) and not view.source.pairs:  # and there never will be any
            self._pair.visible = self._plots["force"].visible = self._plots["deepest"].visible = False
        self._last: tuple[Any, ...] = ()

    def tell(self) -> None:
        self._offer_pairs()
        pair = self._pairs.get(self._pair.value)
        curves = self._view.source.curves(pair)
        ends = (len(curves.time), float(curves.time[-1]) if len(curves.time) else 0.0, pair, self._view.source.time)
        if len(curves.time) < 2 or ends == self._last:
            return
        self._last = ends
        self._draw("force", curves.time, [curves.force])
        self._draw("residual", curves.time, [np.log10(curves.residual)])  # axes would write 1e-13 as 0
        self._draw("iterations", curves.time, [curves.iterations])
        unit, factor = length_unit(float(curves.deepest.max()))
        self._plots["deepest"].title = f"Largest penetration [{unit}]"
        self._draw("deepest", curves.time, [factor * curves.deepest])
        self._plots["energy"].visible = self._words.visible = bool(curves.energy)
        if curves.energy:
            self._draw("energy", curves.time, [curves.energy[name] for name in ROW])

    def _draw(self, name: str, time: Array, lines: list[Array]) -> None:
        """The lines, and a needle where the time is now."""
        k = int(np.argmin(np.abs(time - self._view.source.time)))
        columns = [np.insert(part, [k, k + 1], part[k]) for part in (time, *lines)]  # thrice, for a straight needle
        needle = np.zeros(len(columns[0]))
        needle[k + 1] = 1.0
        self._plots[name].data = tuple(np.asarray(part, np.float64) for part in (*columns, needle))

    def _plot(self, title: str, labels: tuple[str, ...]) -> Any:
        colours = COLOURS if len(labels) > 1 else COLOURS[:1]
        series: list[dict[str, Any]] = [{"label": "t [s]"}]
        series += [
            {"label": label, "stroke": colour, "width": 1.5, "points": {"show": False}}
            for label, colour in zip(labels, colours, strict=True)
        ]
        series += [{"label": "now", "scale": "now", "stroke": "#c0392b", "width": 1, "points": {"show": False}}]
        scales: dict[str, Any] = {"x": {"time": False, "auto": True}, "y": {"auto": True}, "now": {"range": (0.0, 1.0)}}
        nothing = tuple(np.array([0.0, 1.0]) if k == 0 else np.ones(2) for k in range(len(series)))
        return self._gui.add_uplot(
            nothing, tuple(series), title=title, scales=scales, legend={"show": False}, height=HEIGHT,
            axes=({"size": 30}, {"size": 60}),
        )  # fmt: skip

    def _offer_pairs(self) -> None:
        names = self._view.source.geoms
        pairs = self._view.source.pairs
        if len(pairs) == len(self._pairs):
            return
        chosen = self._pair.value
        self._pairs = {" on ".join(names[g] or f"#{g}" for g in pair): pair for pair in pairs}
        self._pair.options = list(self._pairs)
        self._pair.value = chosen if chosen in self._pairs else next(iter(self._pairs))
