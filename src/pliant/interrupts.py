"""Ctrl-C that is not lost.

Python drops a KeyboardInterrupt that comes while it tidies up, or in a callback of a library: after minutes of
compiling there is much to tidy up. So that it came is kept, and looked for at every step.
"""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any


class Interrupts:
    """In the main thread, as long as nobody else listens: `check` raises what has come in the meantime."""

    def __init__(self) -> None:
        self._heard = self._listens = False

    def __enter__(self) -> Interrupts:
        main = threading.current_thread() is threading.main_thread()
        self._listens = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._listens:
            signal.signal(signal.SIGINT, self._hear)
        return self

    def _hear(self, *_: Any) -> None:
        self._heard = True
        raise KeyboardInterrupt

    def check(self) -> None:
        if self._heard:
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listens:
            signal.signal(signal.SIGINT, signal.default_int_handler)
