"""Ctrl-C that is not lost.

Python drops a KeyboardInterrupt that comes while it tidies up, or in a callback of a library. So
that it came is kept, and looked for at every step.
"""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any


class Interrupts:
    """In the main thread, as long as nobody else listens: `check` raises what has come in the meantime. Inside another
    one it also knows what came to that."""

    def __init__(self) -> None:
        self._heard = self._listens = False
        self._around: Interrupts | None = None

    def __enter__(self) -> Interrupts:
        listener = known_listener()
        self._listens = listener is signal.default_int_handler
        self._around = None if self._listens else getattr(listener, "__self__", None)
        if self._listens:
            signal.signal(signal.SIGINT, self._hear)
        return self

    def _hear(self, *_: Any) -> None:
        self._heard = True
        raise KeyboardInterrupt

    def check(self) -> None:
        if self._heard:
            raise KeyboardInterrupt
        if self._around is not None:
            self._around.check()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listens:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def known_listener() -> Any:
    """Who hears Ctrl-C, if this is the main thread, and it is Python itself or an `Interrupts`; else None."""
    if threading.current_thread() is not threading.main_thread():
        return None
    listener = signal.getsignal(signal.SIGINT)
    ours = isinstance(getattr(listener, "__self__", None), Interrupts)
    return listener if ours or listener is signal.default_int_handler else None
