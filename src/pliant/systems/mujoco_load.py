"""Models from files: MJCF as MuJoCo reads it; URDF with its packages found and its meshes where they lie."""

from __future__ import annotations

import logging
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, Final

import numpy as np

from pliant.errors import FileError, InputError, PliantError
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_overlaps import exclude_overlaps
from pliant.systems.mujoco_source import remember

_log = logging.getLogger("pliant")
MESHES: Final = (".stl", ".obj", ".msh")  # what MuJoCo reads
PACKAGE: Final = "package://"


def read_spec(source: Any, *, floating: bool = False, floor: bool = False) -> Any:
    """A mujoco.MjSpec of a path to MJCF or URDF, of its text, or of another one, which is copied.

    floating: the first body of the model gets a free joint, as the base of a walking robot that URDF holds fixed.
    floor: a plane at height 0.
    """
    spec, is_urdf = _read(source)
    bodies = spec.worldbody.bodies
    if floating:
        if not bodies:
            raise InputError("floating: the model has no body that could float")
        joints = bodies[0].joints
        if not joints:
            bodies[0].add_freejoint()
        elif all(joint.type != mujoco().mjtJoint.mjJNT_FREE for joint in joints):
            raise InputError(f"floating: {bodies[0].name or 'the first body'} has a joint already, {joints[0].name!r}")
    if is_urdf:
        exclude_overlaps(spec, compile_spec(spec))
    if floor:
        if spec.geom("floor") is not None:
            raise InputError("floor: the model has a geom named 'floor' already; leave the argument out, or rename it")
        spec.worldbody.add_geom(type=mujoco().mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0], name="floor")
    return spec


def read_model(source: Any, *, step: float | None = None, floating: bool = False, floor: bool = False) -> Any:
    """A mujoco.MjModel of a path to MJCF or URDF, or of its text. step: the timestep [s] in place of the model's."""
    if step is not None and not (math.isfinite(step) and step > 0.0):
        raise InputError(f"step must be a positive number of seconds, got {step}")
    model = compile_spec(read_spec(source, floating=floating, floor=floor))
    if step is not None:
        model.opt.timestep = step
    return model


def compile_spec(spec: Any) -> Any:
    """The model, whose source is remembered; what MuJoCo says against it comes as an InputError."""
    try:
        return remember(spec.compile(), spec)
    except ValueError as error:
        raise InputError(f"MuJoCo cannot compile the model: {error}") from error


def _read(source: Any) -> tuple[Any, bool]:
    """The mujoco.MjSpec, and whether it is of a URDF."""
    if isinstance(source, mujoco().MjSpec):
        return source.copy(), False
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return _parse(source, None)
    try:
        path = Path(source)
    except TypeError as error:
        raise InputError(f"expected a path or the text of a model, got {type(source).__name__}") from error
    if not path.is_file():
        what = "a folder" if path.is_dir() and str(source) else "no file"
        raise FileError(f"{str(source)!r} is {what}; give the path of an MJCF or URDF file, or, from Python, its text")
    if path.suffix.lower() == ".urdf" or _is_urdf(path):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise FileError(f"{path}: this is not a text: {error}") from error
        return _parse(text, path)
    try:
        return mujoco().MjSpec.from_file(str(path)), False
    except ValueError as error:
        raise FileError(f"{path}: MuJoCo cannot read it: {error}") from error


def _is_urdf(path: Path) -> bool:
    return path.suffix.lower() == ".xml" and b"<robot" in path.read_bytes()[:2000]


def _parse(text: str, path: Path | None) -> tuple[Any, bool]:
    name = path or "the text"
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise FileError(f"{name}: this is not XML: {error}") from error
    try:
        if root.tag == "robot":
            text = _prepare(root, None if path is None else path.resolve().parent)
        return mujoco().MjSpec.from_string(text), root.tag == "robot"
    except ValueError as error:
        if isinstance(error, PliantError):
            raise
        raise FileError(f"{name}: MuJoCo cannot read the model: {error}") from error


def _prepare(root: ElementTree.Element, folder: Path | None) -> str:
    """A URDF that MuJoCo reads: no visuals, meshes by their whole path, inertias that a body can have."""
    mended = []
    for link in root.iter("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
        if _mend_inertia(link):
            mended.append(link.get("name"))
    if mended:
        _log.warning("links with an inertia that no body can have, which was mended: %s", ", ".join(map(str, mended)))
    for mesh in root.iter("mesh"):
        mesh.set("filename", str(_locate(mesh.get("filename", ""), folder)))
    options = root.find("mujoco")
    options = ElementTree.SubElement(root, "mujoco") if options is None else options
    compiler = options.find("compiler")
    compiler = ElementTree.SubElement(options, "compiler") if compiler is None else compiler
    for name, value in {
        "strippath": "false",
        "balanceinertia": "true",
        "boundmass": "1e-6",
        "boundinertia": "1e-9",
    }.items():
        compiler.set(name, compiler.get(name, value))
    return ElementTree.tostring(root, encoding="unicode")


def _locate(name: str, folder: Path | None) -> Path:
    """The file of a mesh; packages are looked for in the folders above the URDF."""
    if Path(name).suffix.lower() not in MESHES:
        raise FileError(f"mesh {name!r}: MuJoCo reads {', '.join(MESHES)}; convert it, or collide with primitives")
    plain = name.removeprefix("file://")
    if folder is None:
        return Path(plain)
    if not name.startswith(PACKAGE):
        return (folder / plain).resolve()
    whole = name.removeprefix(PACKAGE)
    inside = whole.partition("/")[2]
    for above in (folder, *folder.parents):
        for candidate in (above / whole, above / inside):
            if candidate.is_file():
                return candidate
    raise FileError(f"mesh {name!r} is in no folder above {folder}; put the package there, or write a relative path")


def _mend_inertia(link: ElementTree.Element) -> bool:
    """Whether the link has an inertia that no body has, which MuJoCo is then made to mend."""
    inertia, mass = link.find("inertial/inertia"), link.find("inertial/mass")
    if inertia is None or mass is None:
        return False
    xx, xy, xz, yy, yz, zz = (float(inertia.get(name, 0.0)) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    a, b, c = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if a <= 0.0:
        least = max(1e-9, 1e-6 * c)
        for name, value in {"ixx": max(xx, least), "iyy": max(yy, least), "izz": max(zz, least)}.items():
            inertia.set(name, repr(float(value)))
        for name in ("ixy", "ixz", "iyz"):
            inertia.set(name, "0")
    return bool(a <= 0.0 or a + b < c * (1.0 - 1e-9) or float(mass.get("value", 0.0)) <= 0.0)
