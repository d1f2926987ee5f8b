"""Elements of elastic foundations on the surfaces of geoms; what they touch is the engine's."""

from __future__ import annotations

from typing import Any, Final

import pliant.elements as elements
from pliant.elements import Elements
from pliant.errors import InputError
from pliant.materials import Foundation
from pliant.systems.mujoco_door import mujoco

SPHERE, CAPSULE, CYLINDER, BOX, MESH = 2, 3, 5, 6, 7  # mjtGeom
SHAPES: Final = "boxes, spheres, cylinders, capsules and meshes"


def sample(model: Any, geom: int, layer: Foundation) -> Elements:
    kind, size, count, side = int(model.geom_type[geom]), model.geom_size[geom], layer.elements, layer.side
    if kind == BOX:
        return elements.box(size, count, side)
    many = count if side is None else 6 * count  # a sixth of them is on a side, more or less
    if kind == SPHERE:
        found = elements.sphere(size[0], many)
    elif kind == CYLINDER:
        found = elements.cylinder(size[0], size[1], many)
    elif kind == CAPSULE:
        found = elements.capsule(size[0], size[1], many)
    elif kind == MESH:
        mesh = model.geom_dataid[geom]
        vertices = slice(model.mesh_vertadr[mesh], model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh])
        faces = slice(model.mesh_faceadr[mesh], model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
        found = elements.mesh(model.mesh_vert[vertices].astype(float), model.mesh_face[faces], many)
    else:
        raise InputError(f"materials: {_name(model, geom)} takes no Foundation, which is for {SHAPES}")
    return elements.on_side(found, side)


def _name(model: Any, geom: int) -> str:
    mj = mujoco()
    kind = mj.mjtGeom(int(model.geom_type[geom])).name.removeprefix("mjGEOM_").lower()
    return f"geom {mj.mj_id2name(model, mj.mjtObj.mjOBJ_GEOM, geom) or geom!r} ({kind})"
