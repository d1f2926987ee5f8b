"""The tab "Show": a check box for each thing that can be drawn, its legend, and the scale of the arrows."""

from __future__ import annotations

import html
from functools import partial
from typing import TYPE_CHECKING, Any

from pliant.viewer.moment import Moment
from pliant.viewer.overlays import KINDS
from pliant.viewer.scale import in_words

if TYPE_CHECKING:
    from pliant.viewer.view import View

STYLE = "font-size:0.85em;line-height:1.35;padding:0 0.8em 0.3em 2.6em"
LISTED = 12  # limits and equalities by name


class ShowTab:
    def __init__(self, view: View) -> None:
        self._view, gui = view, view.server.gui
        veil = gui.add_checkbox("See through", view.scene.bodies.veiled, hint="what is inside can be seen")
        veil.on_update(lambda _: view.do(partial(view.scene.bodies.see_through, veil.value)))
        self._boxes, self._legends = {}, {}
        for kind, title in KINDS.items():
            self._boxes[kind] = gui.add_checkbox(title, view.scene.overlays.nodes[kind].visible)
            self._boxes[kind].on_update(partial(self._switch, kind))
            self._legends[kind] = gui.add_html("", visible=view.scene.overlays.nodes[kind].visible)
        self._auto = gui.add_checkbox("Auto scale", view.scene.overlays.force.automatic, hint="else it stays as it is")
        self._auto.on_update(lambda _: self._set_scale())
        self._scale = gui.add_text(
            "1 m is [N]", in_words(view.scene.overlays.force.per_metre), disabled=self._auto.value
        )
        self._scale.on_update(lambda event: None if event.client is None else self._set_scale())

    def tell(self, moment: Moment) -> None:
        legends = self._view.scene.overlays.legend()
        legends["pulls"] += self._pulls(moment)
        for kind, text in legends.items():
            content = f'<div style="{STYLE}">{text}</div>'
            if self._legends[kind].content != content:
                self._legends[kind].content = content
        now = in_words(self._view.scene.overlays.force.per_metre)
        if self._auto.value and self._scale.value != now:
            self._scale.value = now

    def _pulls(self, moment: Moment) -> str:
        if moment.pulls is None:
            return "<div>this run has not kept them</div>"
        lines = [self._view.scene.overlays.reader.words(label, numbers) for label, numbers in moment.pulls.items()]
        more = [f"and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
        return "".join(f"<div>{html.escape(line)}</div>" for line in lines[:LISTED] + more)

    def _switch(self, kind: str, event: Any) -> None:
        wanted = self._boxes[kind].value
        self._legends[kind].visible = wanted
        self._view.do(partial(setattr, self._view.scene.overlays.nodes[kind], "visible", wanted))

    def _set_scale(self) -> None:
        scale = self._view.scene.overlays.force
        scale.automatic = self._auto.value
        self._scale.disabled = self._auto.value
        try:
            chosen = float(self._scale.value)
        except ValueError:  # while it is being typed
            return
        if not scale.automatic and chosen > 0.0:
            self._view.do(partial(scale.set, chosen))
