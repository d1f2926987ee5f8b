"""Elastic foundations on geoms: every element of their surface is a contact of its own with what the geom touches.

MuJoCo finds the pairs of geoms that are near, by its own filters; its contact points between them get no rows. An
element is as deep as its point is inside the other geom, and pushes along that one's normal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

import pliant.distance as distance
import pliant.elements as elements
from pliant.elements import Elements
from pliant.errors import InputError
from pliant.inputs import Array, Ints
from pliant.materials import Foundation
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_flat import Efc, Touch
from pliant.systems.mujoco_kinds import ELLIPTIC, FRICTIONLESS
from pliant.systems.mujoco_rows import Rows
from pliant.systems.mujoco_surfaces import BOX, CAPSULE, CYLINDER, PLANE, SPHERE

MESH: Final = 7  # mjtGeom
WITHOUT_ROWS: Final = 2  # of a contact's exclude: not one of those that are opened
SHAPES: Final = "boxes, spheres, cylinders, capsules and meshes"
OTHERS: Final = "planes, boxes, spheres, capsules and cylinders"


class Patch(NamedTuple):
    """Elements that have rows in a step."""

    geom: Ints  # (n,) of the foundation
    other: Ints  # (n,) what it may touch
    element: Ints  # (n,)
    area: Array  # (n,)
    gap: Array  # (n,)
    dim: Ints  # (n,) rows of each
    frame: Array  # (n, 3, 3) normal, away from the other, and tangents
    pos: Array  # (n, 3)
    stiffness: Array  # (n,)
    damping: Array  # (n,)
    friction: Array  # (n, 2)
    jacobian: Array  # (n, 3, nv)


class Layers:
    """The foundations of a model."""

    def __init__(self, model: Any, foundations: Mapping[int, Foundation]) -> None:
        self.foundation = dict(foundations)
        self.elements = {geom: _sample(model, geom, layer) for geom, layer in foundations.items()}
        self._there = np.zeros(model.ngeom, bool)
        self._there[list(foundations)] = True

    def __bool__(self) -> bool:
        return bool(self.foundation)

    def contacts(self, data: Any) -> np.ndarray:
        """Which contacts are of foundations, (ncon,) of bool."""
        return np.asarray(self._there[data.contact.geom].any(axis=1))

    def add(self, twin: Any, data: Any, rows: Rows, way: Array) -> Rows:
        """The rows of a step and those of the elements that could touch within it; way: (ngeom,) how far geoms go."""
        contacts = np.flatnonzero(self.contacts(data))
        first: dict[tuple[int, int], int] = {}
        for c in contacts:
            first.setdefault((int(data.contact.geom[c, 0]), int(data.contact.geom[c, 1])), int(c))
        parts = [self._between(twin, data, pair, c, way) for pair, c in first.items()]
        parts = [part for part in parts if len(part.gap)]
        if not parts:
            return rows
        patch = Patch(*(np.concatenate([getattr(part, name) for part in parts]) for name in Patch._fields))
        return Rows(_appended(rows.efc, patch, len(rows.touch.dim), twin.nv), _touch(rows.touch, patch), patch)

    def _coarseness(self, geom: int) -> float:
        return float(self.elements[geom].area.mean()) if geom in self.elements else np.inf

    def _between(self, twin: Any, data: Any, pair: tuple[int, int], c: int, way: Array) -> Patch:
        geom, other = sorted(pair, key=self._coarseness)  # the finer elements, if both have some
        layer, place = self.foundation[geom], self.elements[geom]
        point = data.geom_xpos[geom] + place.point @ data.geom_xmat[geom].reshape(3, 3).T
        gap, normal = _distance(twin, data, other, point)
        gap = gap - data.contact.includemargin[c]
        near = gap < way[geom] + way[other]
        point, gap, normal = point[near], gap[near], normal[near]
        n, area = len(gap), place.area[near]
        depth = layer.depth / layer.youngs_modulus
        if other in self.foundation:  # one layer on the other
            depth += self.foundation[other].depth / self.foundation[other].youngs_modulus
        frame = _frames(normal)
        return Patch(
            np.full(n, geom),
            np.full(n, other),
            np.flatnonzero(near),
            area,
            gap,
            np.full(n, 1 if data.contact.dim[c] == 1 else 3),
            frame,
            point,
            area / depth,
            np.full(n, layer.damping),
            np.tile(data.contact.friction[c, :2], (n, 1)),
            _jacobian(twin, data, twin.geom_bodyid[geom], point, frame)
            - _jacobian(twin, data, twin.geom_bodyid[other], point, frame),
        )


def total_force(patch: Patch, force: Array) -> Array:
    """J' lambda of the elements, (nv,); force: of their rows, one element after the other."""
    each, inside = _places(patch)
    return np.asarray(force @ patch.jacobian[each, inside])


def _places(patch: Patch) -> tuple[Ints, Ints]:
    """Of every row its element, and which one of the element's rows it is."""
    each = np.repeat(np.arange(len(patch.gap)), patch.dim)
    return each, np.arange(len(each)) - np.repeat(np.cumsum(patch.dim) - patch.dim, patch.dim)


def _sample(model: Any, geom: int, layer: Foundation) -> Elements:
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


def _distance(model: Any, data: Any, geom: int, point: Array) -> tuple[Array, Array]:
    """Of points in the world to a geom, and the normals there."""
    R, kind, size = data.geom_xmat[geom].reshape(3, 3), int(model.geom_type[geom]), model.geom_size[geom]
    local = (point - data.geom_xpos[geom]) @ R
    if kind == PLANE:
        gap, normal = distance.plane(local)
    elif kind == SPHERE:
        gap, normal = distance.sphere(local, size[0])
    elif kind == CAPSULE:
        gap, normal = distance.capsule(local, size[0], size[1])
    elif kind == CYLINDER:
        gap, normal = distance.cylinder(local, size[0], size[1])
    elif kind == BOX:
        gap, normal = distance.box(local, size)
    else:
        raise InputError(
            f"a Foundation meets {_name(model, geom)}: its elements touch {OTHERS}; name a Material there, or exclude "
            "the pair"
        )
    return gap, normal @ R.T


def _name(model: Any, geom: int) -> str:
    mj = mujoco()
    kind = mj.mjtGeom(int(model.geom_type[geom])).name.removeprefix("mjGEOM_").lower()
    return f"geom {mj.mj_id2name(model, mj.mjtObj.mjOBJ_GEOM, geom) or geom!r} ({kind})"


def _frames(normal: Array) -> Array:
    """Normals, and two tangents of each, (n, 3, 3)."""
    least = np.eye(3)[np.argmin(np.abs(normal), axis=1)]
    one = np.cross(normal, least)
    one /= np.linalg.norm(one, axis=1)[:, None]
    return np.stack([normal, one, np.cross(normal, one)], axis=1)


def _jacobian(model: Any, data: Any, body: int, point: Array, frame: Array) -> Array:
    """How the points, taken as some of the body, move along their frames, (n, 3, nv): d . (v + w x r)."""
    moved, turned = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco().mj_jacBody(model, data, moved, turned, body)
    r = point - data.xpos[body]
    return frame @ moved + np.cross(r[:, None, :], frame) @ turned


def _touch(touch: Touch, patch: Patch) -> Touch:
    friction = np.zeros((len(patch.gap), 5))
    friction[:, :2] = patch.friction
    return Touch(
        np.concatenate([touch.dim, patch.dim.astype(touch.dim.dtype)]),
        np.concatenate([touch.friction, friction]),
        np.concatenate([touch.adhesion, np.zeros(len(patch.gap))]),
    )


def _appended(efc: Efc, patch: Patch, contacts: int, nv: int) -> Efc:
    """MuJoCo's rows, and after them those of the elements, as contacts of the numbers that follow."""
    each, inside = _places(patch)
    J, k = patch.jacobian[each, inside], len(each)
    kind = np.where(patch.dim[each] == 1, FRICTIONLESS, ELLIPTIC)
    law = np.stack([patch.stiffness[each], patch.damping[each], np.ones(k), np.zeros(k)], axis=1)
    nothing = np.zeros(k)
    sparse = len(efc.rownnz) > 0 or not len(efc.type)
    used = efc.rowadr[-1] + efc.rownnz[-1] if len(efc.rownnz) else 0
    old = efc.J[:used] if sparse else efc.J[: len(efc.type) * nv]
    ints = efc.type.dtype
    return Efc(
        np.concatenate([efc.type, kind.astype(ints)]),
        np.concatenate([efc.id, (contacts + each).astype(ints)]),
        np.concatenate([old, J.ravel()]),
        np.concatenate([efc.rownnz, np.full(k, nv, ints)]) if sparse else efc.rownnz,
        np.concatenate([efc.rowadr, (used + nv * np.arange(k)).astype(ints)]) if sparse else efc.rowadr,
        np.concatenate([efc.colind[:used], np.tile(np.arange(nv), k).astype(ints)]) if sparse else efc.colind,
        np.concatenate([efc.pos, patch.gap[each]]),
        np.concatenate([efc.margin, nothing]),
        np.concatenate([efc.friction, nothing]),
        np.concatenate([efc.offset, nothing]),
        np.concatenate([efc.law, law]),
    )
