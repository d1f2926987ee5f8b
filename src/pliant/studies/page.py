"""What a study tells the report besides its results: in words, in tables, and beside what of the paper it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Results = dict[str, Any]  # what JSON can hold


class Caption(NamedTuple):
    """Of a picture. beside: the paper's figures. words: what is to be seen."""

    beside: str
    words: str


class Table(NamedTuple):
    """beside: the paper's table or figure, if any. rows: cells as text, as many as the head has."""

    title: str
    head: list[str]
    rows: list[list[str]]
    beside: str = ""


def no_tables(results: Results) -> list[Table]:
    return []


@dataclass(frozen=True)
class Page:
    """about: what is done, in a few sentences. left_out: what --quick does not do. captions: by picture. tables: of
    the results."""

    about: str = ""
    left_out: str = ""
    captions: dict[str, Caption] = field(default_factory=dict)
    tables: Callable[[Results], list[Table]] = no_tables


def cell(number: float | None, digits: int = 3) -> str:
    """A number for a table."""
    return "-" if number is None else f"{number:.{digits}g}"
