"""Contacts and their forces as marks in the scene, in the colours and to the scale of the viewer."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.readout import COLUMNS
from pliant.solution import ContactState
from pliant.stage import Stage
from pliant.systems.mujoco_door import mujoco
from pliant.viewer.colours import FORCE, NAMES, STATES, Rgb
from pliant.viewer.scale import in_words
from pliant.viewer.survey import force_scale, resultants

ELEMENT, STATE, X, FX = (COLUMNS.index(name) for name in ("element", "state", "x", "fx"))
THICK, DOT = 0.008, 0.016  # of the scene
SMALL: Final = 0.4  # dots of elements, of which there are many


class Arrows:
    """points, forces: whether contacts are dots, and have arrows. scale: newtons per metre of an arrow."""

    def __init__(self, stage: Stage, *, points: bool, forces: bool, scale: float | None, size: float) -> None:
        if stage.trajectory.parameters.get("geoms") is None:
            raise InputError("contacts, forces: this run has no contacts by name: its system has no `readout`")
        counts, self._rows = stage.trajectory.touches()
        self._first = np.concatenate([[0], np.cumsum(counts)])
        self._size, self._points, self._forces = size, points, forces
        self.scale = scale if scale is not None else force_scale(stage) if forces else 1.0

    def add(self, scene: Any, k: int) -> None:
        """Those of sample k."""
        rows = self._rows[self._first[k] : self._first[k + 1]]
        for row in rows if self._points else ():
            radius = DOT * self._size * (SMALL if row[ELEMENT] >= 0.0 else 1.0)
            _sphere(scene, row[X : X + 3], radius, STATES[ContactState(int(row[STATE]))])
        for row in resultants(rows) if self._forces else ():
            _arrow(scene, row[X : X + 3], row[X : X + 3] + row[FX : FX + 3] / self.scale, THICK * self._size)

    @property
    def caption(self) -> list[str]:
        """Colours and scale in words."""
        dots = ", ".join(f"{NAMES[state]} {state.name.lower()}" for state in ContactState)
        arrows = f"arrows: 1 m = {in_words(self.scale)} N"
        return [text for text, there in ((f"dots: {dots}", self._points), (arrows, self._forces)) if there]


def _rgba(colour: Rgb) -> Any:
    return np.array([*colour, 255], np.float32) / 255.0


def _next(scene: Any) -> Any:
    """A geom of the scene that is free, or None where it is full."""
    if scene.ngeom >= scene.maxgeom:
        return None
    scene.ngeom += 1
    return scene.geoms[scene.ngeom - 1]


def _sphere(scene: Any, at: Array, radius: float, colour: Rgb) -> None:
    geom = _next(scene)
    if geom is not None:
        kind = mujoco().mjtGeom.mjGEOM_SPHERE
        mujoco().mjv_initGeom(geom, kind, np.full(3, radius), at, np.eye(3).ravel(), _rgba(colour))


def _arrow(scene: Any, start: Array, end: Array, thick: float) -> None:
    geom = _next(scene) if np.any(start != end) else None
    if geom is not None:
        mj, kind = mujoco(), mujoco().mjtGeom.mjGEOM_ARROW
        mj.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), _rgba(FORCE))
        mj.mjv_connector(geom, kind, thick, start, end)
        geom.size[2] *= 2.0  # MuJoCo draws half of it
