"""From where a run is seen: a camera of the model, a direction, or one that has all that moves in the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array, floats
from pliant.stage import Stage
from pliant.systems.mujoco_door import mujoco

LOOKS: Final = 60  # samples that are looked at
MARGIN: Final = 1.15
FLAT: Final = 0.25  # of the largest extent: a drawing whose y is less is seen from the side
SIDE, CORNER = (90.0, -8.0), (130.0, -20.0)  # azimuth and elevation [degrees]
Camera = str | Sequence[float] | None


class Box(NamedTuple):
    """What moves, over the run, in the world [m]."""

    low: Array
    high: Array

    @property
    def size(self) -> Array:
        return self.high - self.low

    @property
    def centre(self) -> Array:
        return 0.5 * (self.low + self.high)

    @property
    def corners(self) -> Array:
        """(8, 3)."""
        ends = np.array([self.low, self.high])
        return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def seen_from(stage: Stage, data: Any, box: Box, camera: Camera, size: tuple[int, int]) -> Any:
    """A mujoco.MjvCamera. camera: a name of the model's, (azimuth, elevation) [degrees], or these and a distance."""
    mj = mujoco()
    if isinstance(camera, str):
        known = [stage.model.camera(i).name for i in range(stage.model.ncam)]
        if camera not in known:
            there = ", ".join(filter(None, known)) or "none"
            raise InputError(f"camera {camera!r} is none of the model's: {there}; or give azimuth and elevation")
        fixed = mj.MjvCamera()
        fixed.type, fixed.fixedcamid = mj.mjtCamera.mjCAMERA_FIXED, known.index(camera)
        return fixed
    angles = floats("camera", (SIDE if _flat(stage, box) else CORNER) if camera is None else camera)
    if angles.shape not in ((2,), (3,)):
        raise InputError(f"camera must be azimuth and elevation [degrees], and perhaps a distance [m], got {camera!r}")
    free = mj.MjvCamera()
    free.type = mj.mjtCamera.mjCAMERA_FREE
    free.lookat, free.azimuth, free.elevation = box.centre, angles[0], angles[1]
    fitting = _distance(box, angles, float(stage.model.vis.global_.fovy), size)
    free.distance = angles[2] if len(angles) == 3 else fitting
    return free


def _flat(stage: Stage, box: Box) -> bool:
    return stage.drawn and bool(box.size[1] < FLAT * box.size.max())


def _distance(box: Box, angles: Array, fovy: float, size: tuple[int, int]) -> float:
    """From which all corners of the box are in the picture: |across| <= (distance + forward) tan(angle/2)."""
    a, e = np.radians(angles[:2])
    forward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([np.sin(a), -np.cos(a), 0.0])
    offset = box.corners - box.centre
    up = np.tan(0.5 * np.radians(fovy))
    need = [np.abs(offset @ right) / (up * size[0] / size[1]), np.abs(offset @ np.cross(right, forward)) / up]
    return float(MARGIN * np.max(np.maximum(*need) - offset @ forward))


def box_of(stage: Stage, data: Any) -> Box:
    """The box in which everything stays that moves; what flies off for a moment may leave it."""
    m = stage.model
    moves = (m.body_weldid[m.geom_bodyid] != 0) | (m.body_mocapid[m.body_rootid[m.geom_bodyid]] >= 0)
    plane = m.geom_type == int(mujoco().mjtGeom.mjGEOM_PLANE)
    moves &= ~plane
    if not moves.any():
        moves = ~plane
    sites = np.arange(m.nsite) if stage.drawn else np.zeros(0, int)
    count = len(stage.trajectory)
    lows, highs = [], []
    for k in np.unique(np.linspace(0, count - 1, min(LOOKS, count)).astype(int)):
        stage.show(data, int(k))
        turn = data.geom_xmat[moves].reshape(-1, 3, 3)
        at = data.geom_xpos[moves] + np.einsum("nij,nj->ni", turn, m.geom_aabb[moves, :3])
        reach = np.einsum("nij,nj->ni", np.abs(turn), m.geom_aabb[moves, 3:])
        points = np.concatenate([at - reach, at + reach, data.site_xpos[sites]])
        if len(points) and np.all(np.isfinite(points)):
            lows.append(points.min(axis=0))
            highs.append(points.max(axis=0))
    if not lows:
        return Box(-np.ones(3), np.ones(3))
    low, high = np.percentile(lows, 4, axis=0), np.percentile(highs, 96, axis=0)
    room = max(1e-3, 0.05 * float(np.max(high - low)))
    return Box(low - room, high + room)
