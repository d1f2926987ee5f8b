"""Above the tabs: play, pause, single steps, reset, speed, time; and how it is going."""

from __future__ import annotations

import html
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from pliant.viewer.moment import Moment
from pliant.viewer.playback import Playback
from pliant.viewer.scale import length_unit
from pliant.viewer.simulation import Simulation

if TYPE_CHECKING:
    from pliant.viewer.view import View

SPEEDS: Final = {"1/50": 0.02, "1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "5": 5.0, "10": 10.0}
PLAY, PAUSE = "Play", "Pause"
START, BACK, NEXT = "Reset", "Step back", "Step"


class RunTab:
    def __init__(self, view: View) -> None:
        self._view, gui = view, view.server.gui
        self._said = gui.add_html("")
        self._button = gui.add_button(PLAY if view.paused else PAUSE)
        self._button.on_click(lambda _: self._toggle())
        played = isinstance(view.source, Playback)
        steps = gui.add_button_group("", [BACK, NEXT, START] if played else [NEXT, START])
        steps.on_click(lambda event: self._press(event.target.value))
        self._speed = gui.add_dropdown("Speed", list(SPEEDS), initial_value="1", hint="times real time")
        self._speed.on_update(lambda _: self._set_speed())
        self._slider = self._add_slider(view.source) if isinstance(view.source, Playback) else None
        self._wanted: float | None = None  # [s], where somebody has put the slider
        self._before = (perf_counter(), view.source.time)

    def obey(self) -> None:
        """Go where the slider was put."""
        wanted, self._wanted = self._wanted, None
        if wanted is not None and isinstance(self._view.source, Playback):
            self._view.paused = True
            self._view.do(partial(self._view.source.seek, wanted))

    def follow(self) -> None:
        wanted = PLAY if self._view.paused else PAUSE
        if self._button.label != wanted:
            self._button.label = wanted
        if self._slider is not None and self._wanted is None and self._slider.value != self._view.source.time:
            self._slider.value = self._view.source.time

    def tell(self, moment: Moment) -> None:
        self.follow()
        clock, time = self._before
        self._before = (perf_counter(), moment.time)
        rate = (moment.time - time) / max(self._before[0] - clock, 1e-9)
        text = status_html(self._view, moment, rate)
        if self._said.content != text:
            self._said.content = text

    def _add_slider(self, run: Playback) -> Any:
        first, last = float(run.times[0]), float(run.times[-1])
        slider = self._view.server.gui.add_slider(
            "Time [s]", first, max(last, first + 1e-9), run.pace, first, disabled=last <= first
        )

        # A coroutine runs at once, before the loop can put the slider back to where the time is.
        async def seek(event: Any) -> None:
            if event.client is not None:  # not we ourselves
                self._wanted = slider.value

        slider.on_update(seek)
        return slider

    def _toggle(self) -> None:
        view = self._view
        with view.lock:
            if view.paused and view.source.ended:
                view.source.reset()
            view.paused, view.trouble = not view.paused, ""
            view.do(lambda: None)
        self.follow()

    def _press(self, which: str) -> None:
        view = self._view
        with view.lock:
            if which != START:
                view.paused = True
            view.trouble = view.do(
                {START: view.source.reset, NEXT: view.source.step, BACK: lambda: view.source.step(-1)}[which]
            )

    def _set_speed(self) -> None:
        self._view.speed = SPEEDS[self._speed.value]


def status_html(view: View, moment: Moment, rate: float) -> str:
    """Time, pace, and the status of the step in words."""
    state = "paused" if view.paused else f"running, {rate:.2g} times real time"
    lines = [f"<b>t = {moment.time:.4f} s</b>, {state}"]
    if isinstance(view.source, Simulation) and view.source.overlap:
        lines.append(f'<span style="color:#b35900">{html.escape(view.source.overlap)}</span>')
    if view.trouble:
        lines.append(f'<span style="color:#c0392b">stopped: {html.escape(view.trouble)}</span>')
    elif moment.status is not None:
        colour = "inherit" if moment.status.solved else "#c0392b"
        words = html.escape(str(moment.status).replace("`", ""))
        lines.append(f'<span style="color:{colour}">{words}</span>')
        unit, factor = length_unit(moment.deepest)
        found = (
            f", {len(moment.rows)} contacts, deepest {moment.deepest * factor:.3g} {unit}" if view.source.geoms else ""
        )
        lines.append(f"residual {moment.residual:.1e}, {moment.iterations:.3g} iterations{found}")
    return f'<div style="font-size:0.85em;line-height:1.4;padding:0.2em 0.8em">{"<br/>".join(lines)}</div>'
