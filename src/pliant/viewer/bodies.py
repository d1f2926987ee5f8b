"""The bodies of a model in the scene, drawn by mjviser."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from pliant.inputs import Array
from pliant.viewer.packages import packages
from pliant.viewer.veil import GROUPS, Veil

AZIMUTH, ELEVATION, DISTANCE = np.radians(-60.0), np.radians(20.0), 0.72  # of the camera; in sizes of the scene
MARGIN = 1.15
FAR = 4.0


class Place(NamedTuple):
    """Where there is something to see: a box in the world [m]."""

    low: Array
    high: Array

    @property
    def centre(self) -> Array:
        return np.asarray(0.5 * (self.low + self.high))

    @property
    def size(self) -> float:
        """From end to end."""
        return float(np.linalg.norm(self.high - self.low))


class Bodies:
    """mjviser writes to the looks of the model that it is given: it gets a copy."""

    def __init__(self, server: Any, model: Any, *, see_through: bool = False) -> None:
        _, mjviser = packages()
        self._model = copy.copy(model)
        self._opacity = self._model.geom_rgba[:, 3].copy()
        self._moves = moving(model)
        self.veiled = see_through
        self._hide(see_through)
        self.scene = mjviser.ViserMujocoScene(server, self._model, num_envs=1)
        self.scene.camera_tracking_enabled = False
        self.scene.show_tendons = model.ntendon > 0
        seen = self._moves & (model.geom_group < GROUPS) & (self._opacity > 0.0)
        self._veil = Veil(server, model, np.flatnonzero(seen))
        self._veil.show(see_through)

    def draw(self, data: Any) -> None:
        """data: with the bodies placed."""
        self.scene.update_from_mjdata(data)
        self._veil.draw(data, self.offset)

    @property
    def offset(self) -> Any:
        """By how much the scene is moved, when the camera follows a body."""
        return self.scene.fixed_bodies_frame.position

    def see_through(self, wanted: bool) -> None:
        """Of bodies that move: the ground stays."""
        self.veiled = wanted
        self._hide(wanted)
        self.scene.rebuild_visual_handles()
        self._veil.show(wanted)

    def follow(self, wanted: bool) -> None:
        """Keep the first body that moves where it is in the picture."""
        self.scene.camera_tracking_enabled = wanted

    def _hide(self, wanted: bool) -> None:
        self._model.geom_rgba[:, 3] = np.where(self._moves & wanted, 0.0, self._opacity)


def moving(model: Any) -> np.ndarray:
    """(ngeom,) of bool: on bodies with joints, or put in their places from outside."""
    body = model.body_weldid[model.geom_bodyid]
    return np.asarray((body != 0) | (model.body_mocapid[model.body_rootid[model.geom_bodyid]] >= 0))


def aim(server: Any, place: Place) -> None:
    """Where the camera is at first."""
    flat = np.cos(ELEVATION)
    way = np.array([flat * np.cos(AZIMUTH), flat * np.sin(AZIMUTH), np.sin(ELEVATION)])
    server.initial_camera.look_at = tuple(place.centre)
    distance = max(DISTANCE * place.size, _fitting(place, way, float(server.initial_camera.fov)))
    server.initial_camera.position = tuple(place.centre + distance * way)
    server.initial_camera.up = (0.0, 0.0, 1.0)


def _fitting(place: Place, way: Array, angle: float) -> float:
    """How far off a camera has the middles of all sides in the height of the picture: what is tall needs it."""
    offset = np.concatenate([np.diag(place.high - place.centre), np.diag(place.low - place.centre)])
    right = np.array([-way[1], way[0], 0.0]) / np.hypot(way[0], way[1])
    above = np.abs(offset @ np.cross(way, right))
    return float(MARGIN * np.max(above / np.tan(0.5 * angle) + offset @ way))


def place_of(model: Any, data: Any) -> Place:
    """Of what moves, where it is now, bodies placed; of everything where nothing moves."""
    moves = moving(model) & (model.geom_rbound > 0.0)
    # lines and springs of a drawing have no geom: they reach from site to site of bodies that are put in their places
    ends = data.site_xpos[model.body_mocapid[model.site_bodyid] >= 0]
    if not moves.any() and not len(ends):
        return _cube(np.array(model.stat.center), float(model.stat.extent))
    around, radius = data.geom_xpos[moves], model.geom_rbound[moves, None]
    points = np.concatenate([around - radius, around + radius, ends])
    return Place(points.min(axis=0), points.max(axis=0))


def place_of_all(places: list[Place]) -> Place:
    """Around all of them; around the first, and FAR as much, where something leaves for good."""
    first = places[0]
    lows, highs = zip(*places, strict=True)
    whole = Place(np.min(lows, axis=0), np.max(highs, axis=0))
    return whole if whole.size <= FAR * first.size else _cube(first.centre, FAR * first.size)


def _cube(centre: Array, size: float) -> Place:
    """size: from end to end."""
    half = 0.5 * size / np.sqrt(3.0)
    return Place(centre - half, centre + half)
