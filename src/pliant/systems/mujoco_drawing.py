"""Shapes as a MuJoCo model: every one is a mocap body, put where it belongs; lines and springs are tendons.

Tendons, since a geom cannot change its length: MuJoCo draws a tendon as rods from site to site. A line has two bodies
with a site each, a spring as many as make a coil.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pliant.drawing import BETWEEN, STILL, Shape
from pliant.inputs import Array
from pliant.systems.mujoco_door import mujoco, without_callbacks
from pliant.systems.mujoco_dress import dress

EACH: Final = 10  # sites of a turn of a spring
ENDS: Final = 0.12  # of a spring's length, at either end, that is straight
WIRE: Final = 0.18  # thickness of a spring's wire, of its radius
GEOMS: Final = {"box": "BOX", "sphere": "SPHERE", "capsule": "CAPSULE", "cylinder": "CYLINDER"}


def drawing_model(shapes: Sequence[Shape], poses: Array) -> Any:
    """A mujoco.MjModel of shapes, with nq = 0. poses: (shapes, 7) where they are at first."""
    mj = mujoco()
    spec = mj.MjSpec()
    spec.modelname = "drawing"
    for shape, pose in zip(shapes, poses, strict=True):
        if shape.kind == STILL:
            _ground(spec, shape, pose)
        elif shape.kind in BETWEEN:
            _tendon(spec, shape, pose)
        else:
            _solid(spec, shape, pose)
    with without_callbacks():
        return dress(spec).compile()


def mocap_of(shapes: Sequence[Shape], poses: Array) -> Array:
    """(nmocap, 7): what `data.mocap_pos` and `mocap_quat` are for these poses."""
    rows = [_sites(shape, pose) if shape.kind in BETWEEN else pose[None] for shape, pose in _moving(shapes, poses)]
    return np.concatenate([np.zeros((0, 7)), *rows])


def _moving(shapes: Sequence[Shape], poses: Array) -> list[tuple[Shape, Array]]:
    return [(shape, pose) for shape, pose in zip(shapes, poses, strict=True) if shape.kind != STILL]


def _ground(spec: Any, shape: Shape, pose: Array) -> None:
    geom = {"type": mujoco().mjtGeom.mjGEOM_PLANE, "size": [0.0, 0.0, 1.0], "contype": 0, "conaffinity": 0}
    spec.worldbody.add_geom(name=shape.name, pos=pose[:3], **geom)


def _solid(spec: Any, shape: Shape, pose: Array) -> None:
    size = np.array(shape.size)
    if shape.kind != "sphere":
        size = 0.5 * size if shape.kind == "box" else size * [1.0, 0.5]  # MuJoCo's are half the edges and lengths
    body = spec.worldbody.add_body(name=shape.name, mocap=True, pos=pose[:3], quat=pose[3:])
    body.add_geom(
        name=shape.name, type=getattr(mujoco().mjtGeom, f"mjGEOM_{GEOMS[shape.kind]}"), contype=0, conaffinity=0,
        size=np.append(size, np.zeros(3 - len(size))), rgba=shape.colour,
    )  # fmt: skip


def _tendon(spec: Any, shape: Shape, pose: Array) -> None:
    radius = shape.size[0] if shape.kind == "line" else WIRE * shape.size[0]
    tendon = spec.add_tendon(name=shape.name, width=radius, rgba=shape.colour)
    for i, site in enumerate(_sites(shape, pose)):
        body = spec.worldbody.add_body(name=f"{shape.name} {i}", mocap=True, pos=site[:3])
        body.add_site(name=f"{shape.name} {i}", size=[1e-4, 1e-4, 1e-4], rgba=[0.0, 0.0, 0.0, 0.0])
        tendon.wrap_site(f"{shape.name} {i}")


def _sites(shape: Shape, pose: Array) -> Array:
    """(n, 7) poses of the sites of a line or a spring between two points."""
    start, end = pose[:3], pose[3:6]
    points = np.stack([start, end]) if shape.kind == "line" else _coil(start, end, shape.size[0], int(shape.size[1]))
    return np.column_stack([points, np.tile([1.0, 0.0, 0.0, 0.0], (len(points), 1))])


def _coil(start: Array, end: Array, radius: float, turns: int) -> Array:
    """start, a helix about the axis, end."""
    axis = end - start
    length = float(np.linalg.norm(axis))
    along = axis / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    side = np.cross(along, [0.0, 1.0, 0.0] if abs(along[1]) < 0.9 else [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    angle = 2.0 * np.pi * np.arange(EACH * turns + 1) / EACH
    where = ENDS + (1.0 - 2.0 * ENDS) * angle / angle[-1]
    round_ = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * np.cross(along, side)
    helix = start + where[:, None] * axis + radius * round_
    return np.concatenate([[start, start + ENDS * axis], helix, [end - ENDS * axis, end]])
