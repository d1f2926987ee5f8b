"""Bodies that one looks through: mjviser draws them solid, so they are drawn once more, thin, geom by geom."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems.mujoco_door import mujoco

OPACITY: Final = 0.3
ROOT: Final = "/see-through bodies"
GROUPS: Final = 3  # of geoms, that are shown: the others hold what only collides


class Veil:
    """Geoms of one shape are copies of one mesh."""

    def __init__(self, server: Any, model: Any, geoms: Ints) -> None:
        self._root = server.scene.add_frame(ROOT, show_axes=False, visible=False)
        self._layers: list[tuple[Any, Ints]] = []
        alike: dict[Any, list[int]] = defaultdict(list)
        for g in geoms:
            alike[int(model.geom_type[g]), int(model.geom_dataid[g]), *model.geom_size[g].tolist()].append(int(g))
        for part in alike.values():
            self._layers.append((_add(server, model, part), np.array(part)))

    def show(self, wanted: bool) -> None:
        self._root.visible = wanted

    def draw(self, data: Any, offset: Any) -> None:
        if not self._root.visible:
            return
        self._root.position = offset
        for handle, geoms in self._layers:
            handle.batched_positions = data.geom_xpos[geoms].astype(np.float32)
            handle.batched_wxyzs = _turns(data.geom_xmat[geoms])


def _add(server: Any, model: Any, geoms: list[int]) -> Any:
    corners, faces = _mesh(model, geoms[0])
    n = len(geoms)
    return server.scene.add_batched_meshes_simple(
        f"{ROOT}/{geoms[0]}", corners.astype(np.float32), faces.astype(np.uint32),
        np.tile(np.array([1.0, 0, 0, 0], np.float32), (n, 1)), np.zeros((n, 3), np.float32),
        batched_colors=np.array([_colour(model, g) for g in geoms], np.uint8), opacity=OPACITY, lod="off",
        side="double", cast_shadow=False, receive_shadow=False,
    )  # fmt: skip


def _mesh(model: Any, geom: int) -> tuple[Array, Ints]:
    """In the frame of the geom; mjviser has it in that of the body."""
    from mjviser.conversions import merge_geoms

    mesh = merge_geoms(model, [geom])
    R = np.zeros(9)
    mujoco().mju_quat2Mat(R, model.geom_quat[geom])
    return np.asarray((mesh.vertices - model.geom_pos[geom]) @ R.reshape(3, 3)), np.asarray(mesh.faces)


def _colour(model: Any, geom: int) -> Array:
    material = int(model.geom_matid[geom])
    rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
    return np.asarray(255.0 * np.clip(rgba[:3], 0.0, 1.0))


def _turns(matrices: Array) -> np.ndarray:
    found = np.zeros((len(matrices), 4))
    for row, matrix in zip(found, matrices, strict=True):
        mujoco().mju_mat2Quat(row, matrix)
    return found.astype(np.float32)
