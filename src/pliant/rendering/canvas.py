"""A canvas without a screen, on which MuJoCo draws."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pliant.inputs import Array
from pliant.rendering.opengl import open_context
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_dress import FLOOR as TILES

Image = NDArray[np.uint8]  # (height, width, 3)
ALPHA: Final = 0.35  # of bodies that one sees through
SHADOWS: Final = 1.75  # extents about what is seen, in which there are shadows
FAR: Final = 4.0  # extents from which light comes; floors that are nearer to it get specks
GEOMS: Final = 10_000  # beside those of the model: arrows


class Canvas:
    """size: (width, height) [pixels]. centre, extent: of what is seen [m]. through: whether one sees through bodies."""

    def __init__(
        self, model: Any, size: tuple[int, int], *, centre: Array, extent: float, through: bool = False
    ) -> None:
        mj = mujoco()
        self.model = copy.copy(model)
        # MuJoCo counts all of these in extents, and from two of them directional light comes
        self.model.stat.center, self.model.stat.extent = centre, FAR * extent
        self.model.vis.map.znear /= FAR
        self.model.vis.map.alpha, self.model.vis.map.shadowclip = ALPHA, SHADOWS / FAR
        self.model.vis.global_.offwidth, self.model.vis.global_.offheight = size
        self.model.vis.quality.offsamples = 4
        self._size = size
        self._context, self._room = open_context(self.model, size)
        self._scene = mj.MjvScene(self.model, maxgeom=GEOMS + 4 * self.model.ngeom + self.model.nsite)
        mj.mjr_setBuffer(mj.mjtFramebuffer.mjFB_OFFSCREEN, self._room)
        self._rectangle = mj.MjrRect(0, 0, *size)
        self._far = FAR * extent
        _tile(self.model, extent)
        self._option = mj.MjvOption()
        self._option.flags[mj.mjtVisFlag.mjVIS_TRANSPARENT] = through

    def draw(self, data: Any, camera: Any, add: Callable[[Any], None] | None = None) -> Image:
        """The data seen by a mujoco.MjvCamera. add: puts more into the mujoco.MjvScene."""
        mj = mujoco()
        self._context.make_current()
        mj.mjv_updateScene(self.model, data, self._option, None, camera, mj.mjtCatBit.mjCAT_ALL, self._scene)
        for light in self._scene.lights[: self._scene.nlight]:
            if light.type == mj.mjtLightType.mjLIGHT_DIRECTIONAL and not light.headlight:
                # its place says only where shadows are seen, in a box of the extent about it
                light.pos = self.model.stat.center - self._far * light.dir
        if add is not None:
            add(self._scene)
        image: Image = np.empty((self._size[1], self._size[0], 3), np.uint8)
        mj.mjr_render(self._rectangle, self._scene, self._room)
        mj.mjr_readPixels(image, None, self._rectangle, self._room)
        return np.ascontiguousarray(image[::-1])

    def close(self) -> None:
        """Give everything back."""
        self._context.make_current()
        self._room.free()
        self._context.free()

    def __enter__(self) -> Canvas:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tile(model: Any, extent: float) -> None:
    """Squares of the floor in proportion to what is seen."""
    found = mujoco().mj_name2id(model, mujoco().mjtObj.mjOBJ_MATERIAL, TILES)
    if found >= 0:
        model.mat_texrepeat[found] = 1.0 / round_below(extent)


def round_below(value: float) -> float:
    """1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(n * power for n in (1.0, 2.0, 5.0, 10.0) if n * power <= 1.001 * value))
