"""Draws that random models are made of: numbers over decades, and the attributes of MJCF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def text(numbers: Any) -> str:
    """Numbers as MJCF has them, to six digits."""
    return " ".join(f"{x:.6g}" for x in np.ravel(numbers))


def attributes(given: dict[str, Any]) -> str:
    """As XML, numbers as `text`; None is left out."""
    shown = {
        name: value if isinstance(value, str) else text(value) for name, value in given.items() if value is not None
    }
    return " ".join(f'{name}="{value}"' for name, value in shown.items())


def element(tag: str, inside: Iterable[str] = (), **given: Any) -> str:
    """An XML element; a trailing _ of an attribute's name is dropped."""
    within = "".join(inside)
    opened = f"{tag} {attributes({name.rstrip('_'): value for name, value in given.items()})}".strip()
    return f"<{opened}>{within}</{tag}>" if within else f"<{opened}/>"


class Draws:
    """A generator of random numbers, with the draws that models need."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def often(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def maybe(self, share: float, value: T) -> T | None:
        """The value, in a share of all cases."""
        return value if self.often(share) else None

    def within(self, low: float, high: float, size: int | None = None) -> Any:
        return self.rng.uniform(low, high, size)

    def decades(self, low: float, high: float) -> float:
        """10 to the power of something within."""
        return float(10.0 ** self.rng.uniform(low, high))

    def one_of(self, things: Sequence[T]) -> T:
        return things[int(self.rng.integers(len(things)))]

    def count(self, low: int, high: int) -> int:
        """Whole, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def direction(self, size: int = 3) -> np.ndarray:
        """Of length 1; of size 4, a turn."""
        along = self.rng.normal(size=size)
        return np.asarray(along / np.linalg.norm(along))

    def range(self, size: float) -> np.ndarray:
        """Two ends, mostly on both sides of 0, sometimes beyond one another's reach of it."""
        middle = self.within(-size, size) if self.often(0.3) else 0.0
        return np.array([middle - size * self.decades(-2, 0), middle + size * self.decades(-2, 0)])

    def solref(self) -> np.ndarray:
        """In the standard format, or the direct one."""
        if self.often(0.3):
            return np.array([-self.decades(1, 6), -self.decades(-1, 4)])
        return np.array([self.decades(-3, 0), self.within(0.1, 2.0)])

    def solimp(self) -> np.ndarray:
        low = self.within(0.0, 0.95)
        return np.array([low, self.within(low, 0.9999), self.decades(-4, -1), self.within(0.1, 0.9), self.count(1, 4)])

    def softness(self, share: float, suffix: str = "") -> dict[str, Any]:
        """solref and solimp, where they are given."""
        return {
            f"solref{suffix}": self.maybe(share, self.solref()),
            f"solimp{suffix}": self.maybe(share, self.solimp()),
        }
