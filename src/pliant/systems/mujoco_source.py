"""A model as a part of a run file, so that the run can be drawn on another machine: its XML and the files it names.

Never MuJoCo's binary format, which is read without checks. What is written is read back first, and must be the model
that is simulated.
"""

from __future__ import annotations

import contextlib
import re
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from pliant.errors import FileError, PliantError
from pliant.scene import MODEL, NONE, Scene
from pliant.systems.mujoco_door import mujoco, without_callbacks
from pliant.systems.mujoco_dress import dress
from pliant.systems.mujoco_kept import Kept
from pliant.systems.mujoco_xml import FOLDERS, FORBIDDEN, harmless, is_file

LARGEST: Final = 64 << 20  # bytes of a model in a run file
XML: Final = "model.xml"
NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
SIZES: Final = (
    "nq",
    "nv",
    "nbody",
    "njnt",
    "ngeom",
    "nsite",
    "nmocap",
    "nmeshvert",
    "nmeshface",
    "ntendon",
    "nhfielddata",
)
ALIKE: Final = (
    "body_parentid", "body_pos", "body_quat", "jnt_type", "jnt_pos", "jnt_axis", "qpos0", "geom_type", "geom_bodyid",
    "geom_aabb", "geom_pos", "geom_quat", "geom_rgba", "site_pos",
)  # fmt: skip
_specs: Kept[Any] = Kept()  # of models that pliant compiled: the mujoco.MjSpec
_packed: Kept[tuple[Scene, Any]] = Kept()  # by spec: what a file gets, and the model that comes back from it


def remember(model: Any, spec: Any) -> Any:
    """The model, whose source is known from now on."""
    _specs.of(model, lambda: spec)
    return model


def source_of(model: Any, data: Any) -> Scene:
    """What a run file keeps of a model and of the mocap poses in `data`."""
    spec = _specs.get(model)
    if spec is None:
        return _none(
            "the model came as a mujoco.MjModel, whose source nobody knows; pliant.load, pliant run and "
            "pliant.load(mujoco.MjSpec) know it"
        )
    scene, twin = _packed.of(spec, lambda: _pack(spec))
    if twin is not None and not _alike(model, twin):
        return _none("the model was changed after it was loaded, or its XML does not say all of it")
    mocap = np.concatenate([data.mocap_pos, data.mocap_quat], axis=1)
    return Scene(scene.kind, scene.header, {**scene.arrays, "scene_mocap": mocap})


def _none(why: str) -> Scene:
    return Scene(NONE, {"why": why})


def _pack(spec: Any) -> tuple[Scene, Any]:
    """The scene, and the model read back from it."""
    try:
        with quiet():
            files = _files(spec)
        size = sum(map(len, files.values()))
        if size > LARGEST:
            return _none(f"the model and its files have {size / 2**20:.0f} MiB, more than {LARGEST >> 20}"), None
        parts = [[name, len(content)] for name, content in files.items()]
        arrays = {"scene": np.frombuffer(b"".join(files.values()), np.uint8)}
        scene = Scene(MODEL, {"parts": parts}, arrays)
        return scene, model_of(scene, "the model")
    except (PliantError, OSError, ValueError) as error:
        return _none(f"the model cannot be written as XML and read again: {error}"), None


def _files(spec: Any) -> dict[str, bytes]:
    """The XML first, then what it names, each under a plain name."""
    root = ElementTree.fromstring(spec.to_xml())
    compiler = root.find("compiler")
    compiler = ElementTree.SubElement(root, "compiler") if compiler is None else compiler
    folders = {name: compiler.attrib.pop(name, "") for name in FOLDERS}
    compiler.set("balanceinertia", "true")  # an inertia may be none by the last digit of XML
    found: dict[str, bytes] = {}
    plain: dict[tuple[str, str], str] = {}
    for element in root.iter():
        if element.tag in FORBIDDEN:
            raise FileError(f"it has an element <{element.tag}>, which is not kept")
        for attribute, value in list(element.items()):
            if is_file(attribute):
                folder = folders["texturedir" if element.tag == "texture" else "meshdir"] or folders["assetdir"]
                if (folder, value) not in plain:
                    name = f"{len(found)}{re.sub(r'[^a-z0-9.]', '', Path(value).suffix.lower())}"
                    plain[folder, value], found[name] = name, _content(spec, folder, value)
                if attribute == "file" and "name" not in element.attrib:
                    element.set("name", Path(value).stem)  # which it would have from its file
                element.set(attribute, plain[folder, value])
    return {XML: ElementTree.tostring(root), **found}


def _content(spec: Any, folder: str, name: str) -> bytes:
    """Of a file that the model names."""
    for key in (name, f"{folder}/{name}", str(Path(folder) / name), Path(name).name):
        if key in spec.assets:
            content = spec.assets[key]
            return content.encode() if isinstance(content, str) else bytes(content)
    base = Path(spec.modelfiledir or "")
    for path in (base / folder / name, base / name, base / folder / Path(name).name):
        if path.is_file():
            if path.stat().st_size > LARGEST:
                raise FileError(f"{path} has more than {LARGEST >> 20} MiB")
            return path.read_bytes()
    raise FileError(f"its file {name!r} is not found")


def model_of(scene: Scene, name: str, *, dressed: bool = False) -> Any:
    """The mujoco.MjModel in a run file. name: of the file, for errors. dressed: with sky and light, if it has none."""
    try:
        files = _parts(scene)
        text = harmless(files.pop(XML).decode(), files)
        with without_callbacks(), quiet():
            spec = mujoco().MjSpec.from_string(text, assets=files)
            return (dress(spec) if dressed else spec).compile()
    except (FileError, KeyError, TypeError, ValueError, mujoco().FatalError) as error:
        raise FileError(f"{name}: the model in it cannot be read: {error}") from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without MuJoCo's warnings, which whoever loaded the model has seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _parts(scene: Scene) -> dict[str, bytes]:
    """Files by name, from their sizes and their bytes."""
    content, parts = scene.arrays["scene"], scene.header["parts"]
    if content.dtype != np.uint8 or content.ndim != 1 or len(content) > 2 * LARGEST:
        raise FileError("it is no sequence of bytes, or too long")
    files, start = {}, 0
    for part in parts:
        name, size = part
        if not (isinstance(name, str) and NAME.fullmatch(name) and type(size) is int and size >= 0) or name in files:
            raise FileError(f"no part is {part!r}")
        files[name] = content[start : start + size].tobytes()
        start += size
    if start != len(content):
        raise FileError("its parts do not fill it")
    return files


def _alike(model: Any, twin: Any) -> bool:
    """Whether both look the same in every configuration, to the six digits of XML."""
    if any(getattr(model, name) != getattr(twin, name) for name in SIZES):
        return False
    for name in ALIKE:
        one, two = getattr(model, name), getattr(twin, name)
        if name.endswith("quat"):  # q and -q are one rotation
            two = two * np.where(np.sum(one * two, axis=1, keepdims=True) < 0.0, -1.0, 1.0)
        if not np.allclose(one, two, rtol=1e-4, atol=1e-5):
            return False
    return True
