"""Docstrings as they are written here, made ready for the site.

A line `name   what it is`, with two spaces or more, is an entry of a list; indented lines go on with it. Fields of
dataclasses and members of enums are described by the comment at the end of their line.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ENTRY = re.compile(r"^(\S(?:\S| (?! ))*?) {2,}(\S.*)$")
COMMENT = re.compile(r"  # (.+)$")


class PlainDocstrings(griffe.Extension):
    """Runs over every object that griffe has read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.is_attribute and obj.docstring is None:
            _take_comment(obj)
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)


def _take_comment(attribute: Any) -> None:
    if attribute.lineno is None or not isinstance(attribute.parent, griffe.Class):
        return
    line = attribute.lines_collection[attribute.filepath][attribute.lineno - 1]
    if found := COMMENT.search(line):
        attribute.docstring = griffe.Docstring(found[1], parent=attribute, lineno=attribute.lineno)


def listed(text: str) -> str:
    """The docstring with its aligned entries as a Markdown list, and bare brackets of units kept from being links."""
    out: list[str] = []
    inside = False
    for line in text.splitlines():
        entry = ENTRY.match(line)
        if entry:
            out += [] if inside or not out or not out[-1] else [""]
            out.append(f"- {_code(entry[1])}: {entry[2]}")
        elif inside and line.startswith("   "):
            out.append(f"  {line.strip()}")
        else:
            out += [""] if inside and line.strip() else []
            out.append(line)
        inside = entry is not None or (inside and line.startswith("   "))
    return "\n".join(out)


def _code(name: str) -> str:
    """`a`, `b` of "a, b"; what is no name stays as it is."""
    parts = name.split(", ")
    simple = all(re.fullmatch(r"[\w.]+(\(.*\))?", part) for part in parts)
    return f"`{name}`" if re.fullmatch(r"\w+\(.*\)", name) else ", ".join(f"`{p}`" for p in parts) if simple else name
