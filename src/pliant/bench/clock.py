"""The clock of the laps: that on the wall, less the time in which others had the core.

The processor's own clock would not see a step that sleeps or waits for a lock; the one on the wall sees everybody else.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Final

WAITED: Final = Path("/proc/thread-self/schedstat")  # of Linux: ns on a core, ns ready and waiting for one


def seconds() -> float:
    """Only differences mean something, and only within a thread."""
    return perf_counter() - _waited()


def _waited() -> float:
    try:
        return 1e-9 * int(WAITED.read_text().split()[1])
    except (OSError, ValueError, IndexError):  # another system, or a kernel that does not count
        return 0.0
