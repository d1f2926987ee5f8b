"""The system of a run again, from what its file holds: its energy is right only if it is the same one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pliant.errors import InputError
from pliant.scene import MODEL, Scene
from pliant.systems.mujoco_laws import Substance, model_materials
from pliant.systems.mujoco_load import read_model
from pliant.systems.mujoco_source import model_of
from pliant.systems.mujoco_system import MujocoSystem
from pliant.systems.mujoco_weights import PREFIX, differences, weights

if TYPE_CHECKING:
    from pliant.trajectory import Trajectory

OWN = "Trajectory.plot_energy(system) takes the system itself, in Python"


def system_of(
    run: Trajectory,
    *,
    model: str | None = None,
    materials: Mapping[str, Substance] | None = None,
    floor: bool = False,
    floating: bool = False,
) -> MujocoSystem:
    """The system that a run was made with. Errors name the options of `pliant plot`.

    model: a file of it, for runs that do not hold it; floor, floating: what was added to that. materials: those that
    were given beside the model's.
    """
    scene = run.scene or Scene("", {"why": "it was written before runs kept their models"})
    held = model_of(scene, "the run") if scene.kind == MODEL else None
    if model is None and held is None:
        raise InputError(f"this run does not hold its model: give --model FILE ({scene.header.get('why', OWN)})")
    found: Any = held if model is None else read_model(model, floor=floor, floating=floating)
    found.opt.timestep = run.parameters["step"]
    system = MujocoSystem(found, materials=materials, compliance=str(scene.header.get("compliance", "materials")))
    _check_model(run, scene, held, system, model)
    _check_materials(run, scene, system)
    mocap = scene.arrays.get("scene_mocap")
    if mocap is not None and mocap.shape == (found.nmocap, 7):
        system.data.mocap_pos[:], system.data.mocap_quat[:] = mocap[:, :3], mocap[:, 3:]
    return system


def _check_model(run: Trajectory, scene: Scene, held: Any, system: MujocoSystem, name: str | None) -> None:
    kept = {key: array for key, array in scene.arrays.items() if key.startswith(PREFIX)}
    other = differences(system.model, kept or (weights(held) if held is not None else {}))
    if system.coordinates != run.parameters.get("coordinates", system.coordinates):
        other = ["its joints"]
    elif system.geoms != run.parameters.get("geoms"):
        other = ["its geoms"]
    if other and name is None:
        raise InputError(f"the model was changed after it was loaded ({', '.join(other)}): {OWN}")
    if other:
        has = "leave it out, the run holds its model" if held is not None else "give the one it was made with"
        raise InputError(
            f"--model: the run was of another model than {name}, which differs in {', '.join(other)}: {has}; --floor "
            "and --floating are to be those of the run"
        )


def _check_materials(run: Trajectory, scene: Scene, system: MujocoSystem) -> None:
    every = {**model_materials(system.model), **(system.materials or {})}
    chosen = {key: repr(what) for key, what in every.items()}
    made = run.parameters.get("materials", scene.header.get("materials", chosen))
    if chosen != made:
        differ = sorted(key for key in {*chosen, *made} if chosen.get(key) != made.get(key))
        raise InputError(f"--materials: the run had other ones for {', '.join(differ)}: give the file it was run with")
