"""Contacts and their forces as marks in the scene, to a scale that is written beside."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.inputs import Array
from pliant.rendering.canvas import round_below
from pliant.systems.mujoco_door import mujoco
from pliant.trajectory import Trajectory

COLUMNS: Final = ("x", "y", "z", "fx", "fy", "fz")
ORANGE, RED = np.array([0.90, 0.62, 0.0, 1.0]), np.array([0.84, 0.37, 0.0, 1.0])
USUAL: Final = 95.0  # per cent of the forces are drawn at most LONG; impacts may reach out of the picture
LONG: Final = 0.35  # of the scene
THICK, DOT = 0.008, 0.016  # of the scene


class Arrows:
    """points, forces: whether contacts are dots, and have arrows. scale: newtons per metre of an arrow."""

    def __init__(self, run: Trajectory, *, points: bool, forces: bool, scale: float | None, size: float) -> None:
        table = run.contacts
        rows = np.stack([np.asarray(table[name], dtype=float) for name in COLUMNS], axis=1)
        number = np.searchsorted(run.time, np.asarray(table["time"], dtype=float))
        order = np.argsort(number, kind="stable")
        self._rows, self._size, self._points, self._forces = rows[order], size, points, forces
        self._first = np.searchsorted(number[order], np.arange(len(run) + 1))
        self.scale = scale if scale is not None else _scale(self._rows[:, 3:], size)

    def add(self, scene: Any, k: int) -> None:
        """Those of sample k."""
        for row in self._rows[self._first[k] : self._first[k + 1]]:
            if self._points:
                _sphere(scene, row[:3], DOT * self._size)
            if self._forces:
                _arrow(scene, row[:3], row[:3] + row[3:] / self.scale, THICK * self._size)

    @property
    def caption(self) -> str:
        """The scale in words."""
        length = round_below(LONG * self._size)
        return f"arrow of {length:g} m: {length * self.scale:.6g} N" if self._forces else ""


def _scale(forces: Array, size: float) -> float:
    """Round newtons per metre, at which usual forces are arrows of LONG."""
    norms = np.linalg.norm(forces, axis=1)
    norms = norms[norms > 0.0]
    return 1.0 / round_below(LONG * size / float(np.percentile(norms, USUAL))) if len(norms) else 1.0


def _next(scene: Any) -> Any:
    """A geom of the scene that is free, or None where it is full."""
    if scene.ngeom >= scene.maxgeom:
        return None
    scene.ngeom += 1
    return scene.geoms[scene.ngeom - 1]


def _sphere(scene: Any, at: Array, radius: float) -> None:
    geom = _next(scene)
    if geom is not None:
        kind = mujoco().mjtGeom.mjGEOM_SPHERE
        mujoco().mjv_initGeom(geom, kind, np.full(3, radius), at, np.eye(3).ravel(), ORANGE.astype(np.float32))


def _arrow(scene: Any, start: Array, end: Array, thick: float) -> None:
    geom = _next(scene) if np.any(start != end) else None
    if geom is not None:
        mj, kind = mujoco(), mujoco().mjtGeom.mjGEOM_ARROW
        mj.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), RED.astype(np.float32))
        mj.mjv_connector(geom, kind, thick, start, end)
        geom.size[2] *= 2.0  # MuJoCo draws half of it
