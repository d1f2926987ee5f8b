"""The XML of a model that came in a run file: made harmless, or refused.

MuJoCo reads what a model names: other files, plugins, sizes of arrays. What we write names only parts of the same run
file, and expands everything that repeats; whatever else stands in a file was put there by somebody.
"""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from typing import Final

from pliant.errors import FileError

FORBIDDEN: Final = frozenset(
    ["include", "plugin", "extension", "replicate", "composite", "flexcomp", "attach", "model"]
)  # elements that read other files, call code beside MuJoCo, or make much of little
FOLDERS: Final = ("assetdir", "meshdir", "texturedir")
PIXELS: Final = 1 << 26  # of a texture or a height field
# attributes that claim memory, and how much of it they may, by element; "" for all
MOST: Final = {
    "nsample": 10_000, "num": 10_000, "dim": 100_000, "octree_maxdepth": 8, "maxhullvert": 1_000_000,
    "width": 1 << 14, "height": 1 << 14, "nrow": 1 << 14, "ncol": 1 << 14,
}  # fmt: skip
RESOLUTION: Final = 300.0  # of a mesh that MuJoCo makes


def is_file(attribute: str) -> bool:
    """Whether an attribute names a file: file, fileright, ..."""
    return attribute.lower().startswith("file")


def harmless(text: str, files: Mapping[str, bytes]) -> str:
    """The same model, written anew, or a FileError."""
    if "<!" in text.replace("<!--", ""):
        raise FileError("its XML has declarations of its own")  # entities, which may grow without bound
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise FileError(f"it is not XML: {error}") from error
    if root.tag != "mujoco":
        raise FileError(f"it is a {root.tag!r}, not an MJCF model")
    for element in root.iter():
        _check(element, files)
    for element in root.findall("size"):  # room in memory: MuJoCo finds out itself
        root.remove(element)
    _check_pictures(files)
    # written anew: what was looked at here is what MuJoCo reads, whatever a second reader makes of the first text
    return ElementTree.tostring(root, encoding="unicode")


def _check(element: ElementTree.Element, files: Iterable[str]) -> None:
    tag = element.tag.lower() if isinstance(element.tag, str) else ""
    if tag in FORBIDDEN:
        raise FileError(f"it has an element <{tag}>, which models in run files do not have")
    for name, value in element.items():
        key = name.lower()
        if is_file(key) and value not in files:
            raise FileError(f"it names the file {value!r}, which is not in it")
        if key in FOLDERS:
            raise FileError(f"it names the folder {value!r}")
        if key in MOST and not _at_most(value, MOST[key]):
            raise FileError(f"<{tag}> has a {name} of {value!r}")
        if tag == "mesh" and key == "params" and not all(_at_most(part, RESOLUTION) for part in value.split()):
            raise FileError(f"<mesh> has params of {value!r}")
        if tag == "numeric" and key == "size" and not _at_most(value, 1e6):
            raise FileError(f"<numeric> has a size of {value!r}")
    rows, columns = element.get("nrow", "0"), element.get("ncol", "0")
    if float(rows) * float(columns) > PIXELS:
        raise FileError(f"<{tag}> has {rows} x {columns} points")


def _at_most(value: str, bound: float) -> bool:
    try:
        return abs(float(value)) <= bound
    except ValueError:
        return False


def _check_pictures(files: Mapping[str, bytes]) -> None:
    """A picture of a few bytes may unfold into gigabytes."""
    for name, content in files.items():
        if content[:4] == b"\x89PNG" and len(content) >= 24:
            width, height = struct.unpack(">II", content[16:24])
            if width * height > PIXELS:
                raise FileError(f"its picture {name!r} has {width} x {height} pixels")
