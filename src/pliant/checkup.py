"""What `pliant doctor` finds, check by check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Final, TypeVar

T = TypeVar("T")
AGAIN: Final = 20  # times


@dataclass(frozen=True, slots=True)
class Check:
    """What was found. remedy: what to do if it is not ok; empty: the remedy of an earlier check."""

    name: str
    ok: bool
    text: str
    remedy: str = ""


def guarded(name: str, look: Callable[[], Check], remedy: str) -> Check:
    """What `look` finds. An installation can be broken in any way, so whatever it raises is a finding too."""
    try:
        return look()
    except Exception as error:
        return Check(name, False, f"{type(error).__name__}: {error}", remedy)


def timed(act: Callable[[], T]) -> tuple[T, str]:
    """What it gives the first time, and how long it took then and after."""
    laps = [perf_counter()]
    found = act()
    laps.append(perf_counter())
    for _ in range(AGAIN):
        act()
        laps.append(perf_counter())
    first, *others = (after - before for before, after in pairwise(laps))
    return found, f"{1e3 * first:.1f} ms at first, then {1e6 * median(others):.0f} us"
