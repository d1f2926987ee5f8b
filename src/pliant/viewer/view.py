"""A view: a server, the scene in it, the panel beside it, and the loop that keeps them going."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from time import perf_counter, sleep
from typing import Any, Final

from pliant.errors import PliantError
from pliant.interrupts import Interrupts
from pliant.systems.mujoco_door import mujoco
from pliant.viewer.panel import Panel
from pliant.viewer.scene import Scene
from pliant.viewer.server import HOST, PORT, address, close_server, open_server
from pliant.viewer.source import Source

_log = logging.getLogger("pliant")
FRAME: Final = 1.0 / 30.0  # [s] between two pictures
PANEL: Final = 0.3  # [s] between two plots


class View:
    """It listens from the start; `run` keeps it going until Ctrl-C, then closes it. Time stands still until the first
    browser looks, or until `start`.

    url: where a browser finds it. source: what is shown. Callbacks of the panel come in threads of their own: whoever
    touches the source holds the lock.
    """

    def __init__(
        self,
        source: Source,
        *,
        host: str = HOST,
        port: int = PORT,
        show: Iterable[str] = (),
        see_through: bool = False,
        paused: bool = False,
    ) -> None:
        self.source, self.lock = source, threading.RLock()
        self.paused, self.speed, self.trouble = paused, 1.0, ""
        self._closed, self._stopped, self._watched = threading.Event(), threading.Event(), threading.Event()
        self._dirty = True
        self.server = open_server(host, port)
        try:
            self.scene = Scene(self.server, source, show=show, see_through=see_through)
            self.panel = Panel(self)
            self.draw()
        except BaseException:
            close_server(self.server)
            raise
        self.url = address(self.server)
        self.server.on_client_connect(lambda _: self.start())

    def start(self) -> None:
        """Go, even if nobody looks."""
        self._watched.set()

    def run(self) -> None:
        """Until Ctrl-C, which is heard in the main thread, or `stop`."""
        try:
            with Interrupts() as interrupts:
                before, told = perf_counter(), 0.0
                while not self._stopped.is_set():
                    interrupts.check()
                    now = perf_counter()
                    self._advance(now - before)
                    if now - told > PANEL:
                        told = now
                        self.tell()
                    before = now
                    sleep(max(0.0, FRAME - (perf_counter() - now)))
        except KeyboardInterrupt:
            _log.debug("the view was closed by Ctrl-C")
        finally:
            self.close()

    def stop(self) -> None:
        """Let `run` come to its end; from any thread."""
        self._stopped.set()

    def close(self) -> None:
        """Stop listening."""
        if not self._closed.is_set():
            self._closed.set()
            close_server(self.server)

    def do(self, action: Callable[[], Any]) -> str:
        """Touch the source, and show what comes of it; returns what was wrong, or ''."""
        with self.lock:
            try:
                action()
            except (PliantError, mujoco().FatalError) as error:
                return str(error)
            finally:
                self._dirty = True
        return ""

    def draw(self) -> None:
        """What the source shows now."""
        with self.lock:
            self._dirty = False
            self.scene.draw()

    def tell(self) -> None:
        """What the panel says."""
        with self.lock:
            self.panel.tell(self.scene.moment)

    def _advance(self, seconds: float) -> None:
        with self.lock:
            self.panel.obey()
            if not self.paused and self._watched.is_set():
                self._go(seconds)
            if self._dirty:
                self.draw()
                self.panel.follow()

    def _go(self, seconds: float) -> None:
        try:
            self._dirty |= self.source.go(self.speed * seconds, perf_counter() + 0.8 * FRAME)
            self.paused |= self.source.ended
        except (PliantError, mujoco().FatalError) as error:
            self.trouble, self.paused, self._dirty = str(error), True, True
            _log.error("the simulation stopped: %s", error)
