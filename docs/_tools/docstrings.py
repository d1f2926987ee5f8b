"""Docstrings as they are written here, made ready for the site.

- A line `name   what it is`, with two spaces or more, is an entry of a list; indented lines go on with it.
- A paragraph that tells of its parameters one after the other, `this: what it is. that: ...`, becomes such a list.
- Fields of dataclasses and members of enums are listed with their class: by the comment at the end of their line, by
  their text, else by their type.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import griffe

ENTRY = re.compile(r"^(\S(?:\S| (?! ))*?) {2,}(\S.*)$")
BESIDE = re.compile(r"^([^:]+): (.+)$")  # among entries
COMMENT = re.compile(r"  # (.+)$")


class PlainDocstrings(griffe.Extension):
    """Runs over every function and class that griffe has read."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        _mend(func, {parameter.name for parameter in func.parameters})

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        fields = list(_fields(cls)) if cls.bases or "dataclass" in cls.labels else []
        _mend(cls, _parameters(cls))
        if cls.docstring is not None and fields:
            cls.docstring.value += "\n\n" + "\n".join(fields)


def _parameters(made: griffe.Class) -> set[str]:
    """What a class is made with, also where it takes over how from another of its module."""
    bases = (made.module.members.get(str(base)) for base in made.bases)
    inherited = (_parameters(base) for base in bases if isinstance(base, griffe.Class))
    return {parameter.name for parameter in made.parameters}.union(*inherited)


def _mend(described: griffe.Class | griffe.Function, parameters: set[str]) -> None:
    if described.docstring is not None:
        paragraphs = [listed(paragraph) for paragraph in described.docstring.value.split("\n\n")]
        described.docstring.value = "\n\n".join(itemised(paragraph, parameters) for paragraph in paragraphs)


def _fields(owner: griffe.Class) -> Iterator[str]:
    """Entries of fields and members that the docstring does not speak of."""
    text = owner.docstring.value if owner.docstring is not None else ""
    for name, attribute in owner.members.items():  # its own, not inherited ones
        # neither properties nor what belongs to the class
        plain = isinstance(attribute, griffe.Attribute) and "instance-attribute" in attribute.labels
        if plain and attribute.docstring is None and not name.startswith("_"):
            says = _says(attribute)
            if says and not re.search(rf"\b{name}\b", text):
                yield f"- `{name}`: {says}"


def _says(attribute: griffe.Attribute) -> str:
    line = attribute.lines_collection[attribute.filepath][(attribute.lineno or 1) - 1]
    value = str(attribute.value or "")
    if value.startswith("field("):
        return ""  # of no concern to readers
    if comment := COMMENT.search(line):
        return comment[1]
    if value.startswith(("'", '"')):  # a member of an enum whose value is a message
        return str(literal_eval(value))
    kind = str(attribute.annotation or "")
    return f"`{kind}`" if kind else ""


def listed(paragraph: str) -> str:
    """With aligned entries as a Markdown list."""
    lines = paragraph.splitlines()
    if not any(ENTRY.match(line) for line in lines):
        return paragraph
    out: list[str] = []
    for line in lines:
        entry = ENTRY.match(line) or BESIDE.match(line)
        if entry and not line.startswith(" "):
            out += [""] if out and not out[-1].startswith(("- ", "  ")) else []
            out.append(f"- {_code(entry[1])}: {entry[2]}")
        else:
            out.append(f"  {line.strip()}" if line.startswith(" ") else line)
    return "\n".join(out)


def itemised(paragraph: str, parameters: set[str]) -> str:
    """A paragraph that begins with a parameter, and goes on with others, as a list of them."""
    if not parameters or paragraph.startswith(("-", " ")):
        return paragraph
    name = "(?:" + "|".join(map(re.escape, sorted(parameters, key=len, reverse=True))) + ")"
    names = rf"{name}(?:, {name})*"
    text = " ".join(paragraph.split("\n"))
    starts = [m.start(1) for m in re.finditer(rf"(?:^|[.;] )({names}(?:: | \(| (?=\S+ \[)| (?=linear|<=)))", text)]
    if len(starts) < 2:
        return paragraph
    items, rest = [], ""
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        item, returns, what = text[begin:end].strip().partition(". Returns ")
        rest += f"Returns {what}" if returns else ""
        items.append(re.sub(rf"^({names})(:?)", lambda m: f"- {_code(m[1])}{m[2]}", item.rstrip(".;")))
    return "\n\n".join(part for part in (text[: starts[0]].strip(), "\n".join(items), rest) if part)


def _code(name: str) -> str:
    """`a`, `b` of "a, b"; what is no name stays as it is."""
    if re.fullmatch(r"\w+\(.*\)", name):
        return f"`{name}`"
    parts = name.split(", ")
    return ", ".join(f"`{part}`" for part in parts) if all(re.fullmatch(r"[\w.]+", p) for p in parts) else name
