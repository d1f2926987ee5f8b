"""Materials as a small YAML: names or globs of geoms, bodies, joints and equalities, and what they are.

floor: steel                                     # a substance, see pliant.materials.SUBSTANCES
geom:tyre*: {substance: rubber, friction: 0.9}   # with other fields than the usual
ball: {youngs_modulus: 3e9, restitution: 0.6}    # a Material
sole: {youngs_modulus: 1e6, depth: 0.01, elements: 200, side: -z}   # a Foundation
joint:knee: {stiffness: 1e5, damping: 100}       # a Law
"""

from __future__ import annotations

import inspect
import os
from typing import Any, Final

from pliant.errors import FileError, PliantError
from pliant.laws import Law
from pliant.materials import Foundation, Material

WORDS: Final = ("side", "substance")  # fields that are no numbers
WHOLE: Final = ("elements",)
LONGEST: Final = 1 << 17  # characters: it is a list for people, and long ones take long to read
KINDS: Final = ("str", "int", "float", "bool", "null", "map", "seq", "merge", "timestamp", "value")
PLAIN: Final = tuple(f"tag:yaml.org,2002:{kind}" for kind in KINDS)  # what YAML makes of things without a tag


def read_materials(path: str | os.PathLike[str]) -> dict[str, Any]:
    """{name: Material, Foundation or Law} of a YAML file."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(LONGEST + 1)
    except UnicodeDecodeError as error:
        raise FileError(f"{os.fspath(path)}: this is not a text: {error}") from error
    except OSError as error:
        raise FileError(f"materials: cannot read {os.fspath(path)}: {error.strerror}; give a YAML file") from error
    found = parse_materials(text, os.fspath(path))
    if not found:
        raise FileError(f"{os.fspath(path)}: there are no materials in it, such as 'floor: steel'")
    return found


def parse_materials(text: str, name: str) -> dict[str, Any]:
    """The same, of a text; name: what errors call it."""
    import yaml

    if len(text) > LONGEST:
        raise FileError(f"{name}: materials of more than {LONGEST} characters; use globs, such as 'geom:tyre*'")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError as error:
        raise FileError(f"{name}: brackets in brackets: materials are names and fields") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        what = getattr(error, "problem", None) or error
        raise FileError(f'{name}{line}: this is not YAML: {what}; put names with signs in quotes: "*"') from error
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(name, node, "expected names and materials, such as 'floor: steel'")
    found: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _wrong(name, key, "a name is a word")
        if key.value in found:
            raise _wrong(name, key, f"{key.value!r} is there twice")
        try:
            found[key.value] = _material(name, value)
        except PliantError as error:
            if isinstance(error, FileError):
                raise
            raise _wrong(name, value, f"{key.value!r}: {error}") from error
    return found


def _material(name: str, node: Any) -> Any:
    import yaml

    if node.tag not in PLAIN:
        raise _wrong(name, node, f"a material has no tag, got {node.tag}")
    if isinstance(node, yaml.ScalarNode):
        if not node.value:
            raise _wrong(name, node, "no material is given here, such as steel")
        return Material.of(node.value)
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(name, node, "a material is the name of a substance, or fields in braces")
    fields: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _wrong(name, key, "a field is a word")
        if key.value in fields:
            raise _wrong(name, key, f"{key.value!r} is there twice")
        fields[key.value] = _field(name, key, value)
    kind: Any = Material
    if "substance" in fields:
        kind = Material.of
    elif "depth" in fields or "elements" in fields:
        kind = Foundation
    elif "stiffness" in fields:
        kind = Law
    made = Material if kind == Material.of else kind
    known = inspect.signature(made).parameters
    for key, _ in node.value:
        if key.value not in known and not (key.value == "substance" and kind == Material.of):
            raise _wrong(name, key, f"a {made.__name__} has no {key.value!r}; it has {', '.join(known)}")
    missing = [key for key, field in known.items() if field.default is field.empty and key not in fields]
    if missing and kind != Material.of:
        raise _wrong(name, node, f"a {made.__name__} needs {' and '.join(missing)}")
    return kind(**fields)


def _field(name: str, key: Any, node: Any) -> Any:
    import yaml

    if not isinstance(node, yaml.ScalarNode) or node.tag not in PLAIN:
        raise _wrong(name, node, f"{key.value!r} is one value")
    if key.value in WORDS:
        return node.value
    kind = "a whole number" if key.value in WHOLE else "a number"
    try:  # YAML takes 1e7 for a word
        return int(node.value) if key.value in WHOLE else float(node.value)
    except ValueError as error:
        raise _wrong(name, node, f"{key.value!r} must be {kind}, got {node.value!r}") from error


def _wrong(name: str, node: Any, what: str) -> FileError:
    return FileError(f"{name}, line {node.start_mark.line + 1}: {what}")
