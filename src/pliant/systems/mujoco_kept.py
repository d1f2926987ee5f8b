"""Values that live as long as the object of MuJoCo that they belong to, which can be referred to weakly."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    def __init__(self) -> None:
        self._values: dict[int, T] = {}

    def get(self, owner: Any) -> T | None:
        return self._values.get(id(owner))

    def of(self, owner: Any, make: Callable[[], T]) -> T:
        """The value of this owner, made at first."""
        key = id(owner)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = make()
            weakref.finalize(owner, self._values.pop, key, None)
        return found
