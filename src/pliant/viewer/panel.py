"""The panel beside the scene: one tab for each thing that one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.viewer.moment import Moment
from pliant.viewer.panel_change import ChangeTab
from pliant.viewer.panel_plots import PlotsTab
from pliant.viewer.panel_run import RunTab
from pliant.viewer.panel_scene import SceneTab
from pliant.viewer.panel_show import ShowTab
from pliant.viewer.server import OPAQUE
from pliant.viewer.simulation import Simulation

if TYPE_CHECKING:
    from pliant.viewer.view import View


class Panel:
    def __init__(self, view: View) -> None:
        gui: Any = view.server.gui
        gui.add_html(OPAQUE)
        self._run = RunTab(view)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Show"):
            self._show = ShowTab(view)
        with tabs.add_tab("Plots"):
            self._plots = PlotsTab(view)
        if isinstance(view.source, Simulation):
            with tabs.add_tab("Change"):
                self._change = ChangeTab(view, view.source)
        with tabs.add_tab("Scene"):
            SceneTab(view)

    def tell(self, moment: Moment) -> None:
        """A few times a second: what is read."""
        self._run.tell(moment)
        self._show.tell(moment)
        self._plots.tell()

    def obey(self) -> None:
        """What somebody wants, before the next step."""
        self._run.obey()

    def follow(self) -> None:
        """With every picture: where the time is."""
        self._run.follow()
