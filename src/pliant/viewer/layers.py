"""Many of one small mesh, or many arrows, as one node of the scene: as many as there are at the moment."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.inputs import Array
from pliant.viewer.colours import CUT, Rgb
from pliant.viewer.shapes import Mesh

LIGHT: Final = 0.4


class Layer:
    """Copies of a mesh. The node that others show and hide is the one above, so that here 'hidden' means 'none'."""

    def __init__(self, server: Any, name: str, mesh: Mesh, *, opacity: float | None = None) -> None:
        corners, faces = mesh
        one = np.zeros((1, 3), np.float32)
        self._handle = server.scene.add_batched_meshes_simple(
            name, corners.astype(np.float32), faces.astype(np.uint32), np.array([[1.0, 0, 0, 0]], np.float32), one,
            batched_scales=one + 1.0, batched_colors=np.zeros((1, 3), np.uint8), opacity=opacity, lod="off",
            side="double", cast_shadow=False, receive_shadow=False, visible=False,
        )  # fmt: skip

    def show(self, places: Array, turns: Array, scales: Array, colours: np.ndarray) -> None:
        """(n, 3), (n, 4), (n, 3), (n, 3)."""
        handle = self._handle
        if not len(places):
            _set(handle, "visible", False)
            return
        handle.batched_positions = np.asarray(places, np.float32)
        handle.batched_wxyzs = np.asarray(turns, np.float32)
        handle.batched_scales = np.asarray(scales, np.float32)
        handle.batched_colors = dimmed(colours)
        _set(handle, "visible", True)


class ArrowLayer:
    """Arrows of one colour, and of another where they are cut off. width: of the shaft [m]; longest: [m]."""

    def __init__(self, server: Any, name: str, colour: Rgb, width: float, longest: float) -> None:
        self._handle = server.scene.add_arrows(
            name, np.zeros((1, 2, 3), np.float32), dimmed(colour)[None], shaft_radius=0.5 * width,
            head_radius=1.3 * width, head_length=3.0 * width, visible=False,
        )  # fmt: skip
        self._least, self._longest = 0.5 * width, longest  # [m]: what is shorter is no arrow
        self._colours = dimmed([colour, CUT])

    def show(self, places: Array, vectors: Array) -> None:
        """(n, 3), (n, 3) [m]."""
        length = np.linalg.norm(vectors, axis=1)
        drawn = length > self._least
        if drawn.any():
            shorter = np.minimum(1.0, self._longest / length[drawn])
            begin, along = places[drawn], vectors[drawn] * shorter[:, None]
            self._handle.points = np.stack([begin, begin + along], axis=1).astype(np.float32)
            self._handle.colors = self._colours[(shorter < 1.0).astype(np.int64)]
        _set(self._handle, "visible", bool(drawn.any()))


def dimmed(colours: Any) -> np.ndarray:
    """The light of the scene makes colours brighter than the legend has them."""
    return (LIGHT * np.asarray(colours, float)).astype(np.uint8)


def _set(handle: Any, name: str, value: Any) -> None:
    """Say only what is new: every message goes through the browser, and into the exported page."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)
