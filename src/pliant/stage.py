"""A run made ready to be drawn: a MuJoCo model, and its samples put into data: all that viewer and renderer know."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.drawing import BETWEEN, POSE, Shape
from pliant.errors import FileError, InputError
from pliant.inputs import Array
from pliant.scene import MODEL, NONE, SHAPES, Scene, scene_of, shapes_of
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_drawing import drawing_model, mocap_of
from pliant.systems.mujoco_dress import dress
from pliant.systems.mujoco_source import model_of
from pliant.trajectory import Trajectory

FAR = 1e6  # [m] beyond which a shape is not drawn where it is


class Stage:
    """model: the mujoco.MjModel to be drawn. show(data, k): put sample k of the run into a mujoco.MjData of it.

    drawn: whether the model is a drawing of a hand-written system, in which nothing is simulated.
    """

    def __init__(self, model: Any, trajectory: Trajectory, scene: Scene | None, shapes: tuple[Shape, ...]) -> None:
        self.model, self.trajectory, self._shapes = model, trajectory, shapes
        self.drawn = bool(shapes)
        self._mocap = None if scene is None or self.drawn else _mocap(scene, model)
        self._poses = _finite(trajectory.poses_of(scene), shapes) if scene is not None and self.drawn else None
        if not self.drawn and (trajectory.q.shape[1], trajectory.v.shape[1]) != (model.nq, model.nv):
            raise InputError(
                f"model has nq = {model.nq} and nv = {model.nv}, the run {trajectory.q.shape[1]} and "
                f"{trajectory.v.shape[1]}: it is of another model"
            )

    @classmethod
    def of(cls, trajectory: Trajectory, *, model: Any = None, system: Any = None) -> Stage:
        """The stage of a run.

        model: the mujoco.MjModel, a path to MJCF or URDF, or its text, for runs that do not hold it. system: the
        system, for runs that hold no drawing of it. By default the run itself says how it looks.
        """
        if model is not None and system is not None:
            raise InputError("give model or system, not both")
        if model is not None:
            return cls(_read(model), trajectory, None, ())
        if system is not None:
            if isinstance(getattr(system, "model", None), mujoco().MjModel):
                return cls(system.model, trajectory, None, ())
            scene = scene_of(system, float(trajectory.time[0]), trajectory.q[0])
            if scene is None:
                raise InputError(f"system: {type(system).__name__} has no draw(), which says how it looks")
        else:
            scene = trajectory.scene
        return cls._of_scene(trajectory, scene)

    @classmethod
    def _of_scene(cls, trajectory: Trajectory, scene: Scene | None) -> Stage:
        if scene is None:
            raise InputError(
                "this run does not say how it looks: give the MuJoCo model that was simulated (--model, from Python "
                "model=); of a system of your own, write its method draw() and run it again, or give system="
            )
        if scene.kind == NONE:
            raise InputError(
                f"this run does not hold its model: give it (--model, from Python model=; {scene.header.get('why')})"
            )
        if scene.kind == MODEL:
            return cls(model_of(scene, "the run", dressed=True), trajectory, scene, ())
        if scene.kind != SHAPES:
            raise FileError(f"the run has a scene of a kind that is not known: {scene.kind!r}")
        shapes = shapes_of(scene, "the run")
        first = _finite(trajectory.poses_of(scene)[:1], shapes)[0]
        return cls(drawing_model(shapes, first), trajectory, scene, shapes)

    def show(self, data: Any, k: int) -> None:
        """Put sample k (as an index of `Trajectory.time`) into data: time, state, and the positions of everything."""
        mj, run = mujoco(), self.trajectory
        data.time = run.time[k]
        if self._poses is not None:
            rows = mocap_of(self._shapes, self._poses[k])
            data.mocap_pos[:], data.mocap_quat[:] = rows[:, :3], rows[:, 3:]
        else:
            data.qpos[:], data.qvel[:] = _near(run.q[k], self.model.qpos0), _near(run.v[k], 0.0)
            if self._mocap is not None:
                data.mocap_pos[:], data.mocap_quat[:] = self._mocap[:, :3], self._mocap[:, 3:]
        mj.mj_kinematics(self.model, data)
        mj.mj_comPos(self.model, data)
        mj.mj_camlight(self.model, data)
        if self.model.nflex:
            mj.mj_flex(self.model, data)
        mj.mj_tendon(self.model, data)


def _read(model: Any) -> Any:
    if isinstance(model, mujoco().MjModel):
        return model
    from pliant.systems.mujoco_load import compile_spec, read_spec

    return compile_spec(dress(read_spec(model)))


def _mocap(scene: Scene, model: Any) -> Array | None:
    """Mocap poses in the file, (nmocap, 7), or None for those of the model."""
    rows = scene.arrays.get("scene_mocap")
    if rows is None or rows.shape != (model.nmocap, 7) or rows.dtype != np.float64:
        return None
    return rows if np.all(np.isfinite(rows)) else None


def _near(state: Array, instead: Array | float) -> Array:
    """The state, but for what is not finite or far beyond all pictures, as where a run blew up."""
    return np.where(np.abs(state) < FAR, state, instead)


def _finite(poses: Array, shapes: tuple[Shape, ...]) -> Array:
    """(n, shapes, 7); what nobody placed, or far beyond all pictures, is where the shape is by itself."""
    n = len(poses)
    if poses.shape[1] != POSE * len(shapes):
        raise FileError(f"the run has {poses.shape[1]} numbers for {len(shapes)} shapes")
    found = np.array(poses).reshape(n, len(shapes), POSE)
    for i, shape in enumerate(shapes):
        rows = found[:, i]
        with np.errstate(invalid="ignore", over="ignore"):
            good = np.all(np.abs(rows) < FAR, axis=1)
            if shape.kind not in BETWEEN:
                size = np.linalg.norm(rows[:, 3:], axis=1)
                good &= (size > 0.5) & (size < 2.0)
        rows[~good] = shape.at
    return found
