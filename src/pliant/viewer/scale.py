"""Numbers that people read off: 1, 2 or 5 times a power of ten, and what they stand for."""

from __future__ import annotations

import math
from collections import deque
from statistics import median
from typing import Final

UNITS: Final = (("m", 1.0), ("mm", 1e3), ("µm", 1e6), ("nm", 1e9))
LOOKS: Final = 15  # half a second
CUT: Final = 1.2  # rooms
NICE: Final = (1.0, 2.0, 5.0, 10.0)


def round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ..., at or above."""
    if not (math.isfinite(value) and value > 0.0):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((n * power for n in NICE if n * power >= value * (1.0 - 1e-9)), 10.0 * power)


def in_words(value: float) -> str:
    """200000.0 as 2e5, 500.0 as 500."""
    if value and not 1e-3 <= abs(value) < 1e5:
        mantissa, _, exponent = f"{value:.3g}".partition("e")
        return f"{mantissa}e{int(exponent)}" if exponent else mantissa
    return f"{value:.4g}"


def length_unit(largest: float) -> tuple[str, float]:
    """In which to write a length [m], and how many of it a metre has: axes have room for a few digits."""
    return next((unit for unit in UNITS if largest * unit[1] >= 1.0), UNITS[-1] if largest > 0.0 else UNITS[0])


class Scale:
    """How long things of a kind are drawn: 1 m stands for `per_metre` of their unit.

    By itself it is chosen such that the largest one is usually between a fifth and all of `room` [m], and is left alone
    as long as it is: a scale that follows every step tells nothing. An impact does not count.
    """

    def __init__(self, unit: str, room: float) -> None:
        self.unit, self.room, self.automatic = unit, room, True
        self._per_metre: float | None = None  # until something was seen
        self._seen: deque[float] = deque(maxlen=LOOKS)

    @property
    def per_metre(self) -> float:
        return self._per_metre or 1.0

    @property
    def most(self) -> float:
        """Beyond which things are drawn cut off, in their unit."""
        return CUT * self.room * self.per_metre

    def see(self, largest: float) -> None:
        """Look whether the scale still fits."""
        if not self.automatic or not largest > 0.0 or not math.isfinite(largest):
            return
        self._seen.append(largest)
        usual = median(self._seen)
        drawn = usual / self._per_metre if self._per_metre else math.inf
        if not 0.2 * self.room <= drawn <= self.room:
            self._per_metre = round_up(usual / self.room)

    def set(self, per_metre: float) -> None:
        """By hand, from now on."""
        self._per_metre, self.automatic = per_metre, False

    def __str__(self) -> str:
        return f"1 m = {in_words(self.per_metre)} {self.unit}"
