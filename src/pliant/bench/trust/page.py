"""What came out, as a page: a table per scene, engines by what they were asked, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pliant.bench.trust.scene import SLOW
from pliant.studies.study import Results

SAID = 4  # values in a cell; the others are in the JSON
SHOWN = 12  # cases of a scene up to which each has a column; of more, how many are right


def markdown(details: Results) -> str:
    """A section per scene."""
    return "\n\n".join(_section(name, found) for name, found in details.items())


def _section(name: str, found: Results) -> str:
    outcomes = found["outcomes"]
    engines = list(dict.fromkeys(one["engine"] for one in outcomes))
    cases = list(dict.fromkeys(one["case"] for one in outcomes))
    table = _by_case(outcomes, engines, cases) if len(cases) <= SHOWN else _counted(outcomes, engines)
    return f"### {found['title']}\n\nRight: {found['right']}\n\n{table}"


def _by_case(outcomes: Sequence[Results], engines: Sequence[str], cases: Sequence[str]) -> str:
    cells = {(one["engine"], one["case"]): _cell(one) for one in outcomes}
    lines = [["", *cases], ["---"] * (1 + len(cases))]
    lines += [[engine, *(cells.get((engine, case), "") for case in cases)] for engine in engines]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(one: Results) -> str:
    values = list(one["values"].items())[:SAID]
    said = one["words"] or ", ".join(f"{name} {_number(value)}" for name, value in values)
    verdict = "too slow" if SLOW in one["words"] else "wrong"
    return said if one["right"] else f"**{verdict}**: {said}"


def _number(value: Any) -> str:
    return f"{value:.2g}"


def _counted(outcomes: Sequence[Results], engines: Sequence[str]) -> str:
    """How many are right, and the names of the first that are not."""
    lines = [["", "right", "of", "not right"], ["---"] * 4]
    for engine in engines:
        own = [one for one in outcomes if one["engine"] == engine]
        wrong = [f"{one['case']}{': ' + one['words'] if one['words'] else ''}" for one in own if not one["right"]]
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        lines.append([engine, str(len(own) - len(wrong)), str(len(own)), "; ".join(wrong[:3]) + more])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
