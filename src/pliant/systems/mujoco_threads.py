"""Work that threads share: whoever is free takes the next part, and Ctrl-C or an error stops them all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

PATIENCE = 0.1  # seconds, after which the waiting thread looks for Ctrl-C

Work = Callable[[int, threading.Event], None]  # of a thread, by its number; it ends early when the event is set

_kept: dict[int, ThreadPoolExecutor] = {}


def share(work: Work, threads: int, pool: ThreadPoolExecutor | None) -> None:
    """Do the work in so many threads, of which the calling one is the first. pool: of the others, None: there are none.

    An error in one of them is raised here when all have ended.
    """
    stop = threading.Event()

    def guarded(k: int) -> None:
        try:
            work(k, stop)
        except BaseException:
            stop.set()
            raise

    if pool is None:
        guarded(0)
        return
    others: list[Future[None]] = [pool.submit(guarded, k) for k in range(1, threads)]
    try:
        guarded(0)
        while wait(others, PATIENCE).not_done:
            pass
    finally:
        stop.set()
        wait(others)
    for other in others:
        other.result()


@contextmanager
def pool_of(threads: int, *, persistent: bool) -> Iterator[ThreadPoolExecutor | None]:
    """Threads besides the calling one. persistent: those of the last time, if there were as many."""
    if threads < 2:
        yield None
    elif persistent:
        if threads not in _kept:
            _kept[threads] = ThreadPoolExecutor(threads - 1, "pliant")
        yield _kept[threads]
    else:
        with ThreadPoolExecutor(threads - 1, "pliant") as pool:
            yield pool
