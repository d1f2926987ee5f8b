"""A number that a suite measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pliant.errors import FileError

RATIO: Final = "times"  # the unit of ours over a peer's, measured in turns: the only kind that is gated


@dataclass(frozen=True)
class Metric:
    """One number.

    name: "case: quantity". better: whether it should be small or large. tolerance: the part of the baseline's by which
    it may be worse before the gate fails. goal: what it should reach; None: there is none.
    """

    name: str
    value: float
    unit: str = ""
    better: Literal["less", "more"] = "less"
    tolerance: float = 0.25
    goal: float | None = None

    @property
    def gated(self) -> bool:
        """Times depend on the machine and on what else it does; ratios, taken in turns, hardly."""
        return self.unit == RATIO

    @property
    def reached(self) -> bool:
        """Whether the goal is met."""
        if self.goal is None:
            return True
        return self.value <= self.goal if self.better == "less" else self.value >= self.goal

    def worse_than(self, baseline: float) -> bool:
        """By more than the tolerance."""
        room = 1.0 + self.tolerance
        return self.value > baseline * room if self.better == "less" else self.value < baseline / room

    def document(self) -> dict[str, Any]:
        """What JSON holds of it; read back by `read_metric`."""
        fields = {"name": self.name, "value": self.value, "unit": self.unit, "better": self.better}
        return fields | {"tolerance": self.tolerance} | ({} if self.goal is None else {"goal": self.goal})

    def __str__(self) -> str:
        sign = "<=" if self.better == "less" else ">="
        verdict = "reached" if self.reached else "MISSED"
        goal = "" if self.goal is None else f"   (goal {sign} {self.goal:g}: {verdict})"
        return f"{self.name}: {self.value:.4g}{' ' if self.unit else ''}{self.unit}{goal}"


def read_metric(document: Any) -> Metric:
    """Of what `Metric.document` has made."""
    try:
        return Metric(**document)
    except TypeError as error:
        raise FileError(f"this is not a metric of `pliant bench`: {document!r}") from error
