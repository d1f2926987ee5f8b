"""Constraint forces of a multibody system over one time step, implicit in the constraints.

Every public name is here and loads its module on first use, so `import pliant` is quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pliant._version import __version__

try:
    import_module("pliant._engine")
except ModuleNotFoundError as error:
    raise ImportError(
        f"pliant._engine, the compiled part of pliant, is not built for this Python ({sys.executable}): "
        "in a clone, run `pip install .`; from an index, `pip install --force-reinstall pliant`",
        name="pliant._engine",
    ) from error

if TYPE_CHECKING:
    from pliant.constraints import Bilateral, Clipped, Contact, Unilateral
    from pliant.drawing import Drawing, Shape
    from pliant.errors import FileError, InputError, PliantError, SolveError
    from pliant.formulation import Convex, Coulomb
    from pliant.gyroscope import gyroscopic_torque
    from pliant.laws import Law
    from pliant.linearize import linearize
    from pliant.materials import DEFAULT_MATERIAL, Foundation, Material
    from pliant.printed import Printed
    from pliant.problem import StepProblem
    from pliant.rendering import render
    from pliant.simulate import simulate
    from pliant.solution import ContactState, Solution, Status
    from pliant.solve import solve
    from pliant.step import step
    from pliant.systems import System
    from pliant.systems.mujoco_batch import Batch
    from pliant.systems.mujoco_calls import mj_forward, mj_step, mj_step1, mj_step2
    from pliant.systems.mujoco_contacts import contacts, pressure
    from pliant.systems.mujoco_patch import patch_mujoco
    from pliant.systems.mujoco_rollout import rollout
    from pliant.systems.mujoco_stats import stats
    from pliant.systems.mujoco_system import MujocoSystem, load
    from pliant.trajectory import Trajectory
    from pliant.viewer.door import view
    from pliant.viewer.export import export_html

# name -> module that defines it.
_HOME = {
    "Batch": "systems.mujoco_batch",
    "Bilateral": "constraints",
    "Clipped": "constraints",
    "Contact": "constraints",
    "ContactState": "solution",
    "Convex": "formulation",
    "Coulomb": "formulation",
    "DEFAULT_MATERIAL": "materials",
    "Drawing": "drawing",
    "FileError": "errors",
    "Foundation": "materials",
    "InputError": "errors",
    "Law": "laws",
    "Material": "materials",
    "MujocoSystem": "systems.mujoco_system",
    "PliantError": "errors",
    "Printed": "printed",
    "Shape": "drawing",
    "Solution": "solution",
    "SolveError": "errors",
    "Status": "solution",
    "StepProblem": "problem",
    "System": "systems",
    "Trajectory": "trajectory",
    "Unilateral": "constraints",
    "contacts": "systems.mujoco_contacts",
    "export_html": "viewer.export",
    "gyroscopic_torque": "gyroscope",
    "linearize": "linearize",
    "load": "systems.mujoco_system",
    "mj_forward": "systems.mujoco_calls",
    "mj_step": "systems.mujoco_calls",
    "mj_step1": "systems.mujoco_calls",
    "mj_step2": "systems.mujoco_calls",
    "patch_mujoco": "systems.mujoco_patch",
    "pressure": "systems.mujoco_contacts",
    "render": "rendering",
    "rollout": "systems.mujoco_rollout",
    "simulate": "simulate",
    "solve": "solve",
    "stats": "systems.mujoco_stats",
    "step": "step",
    "view": "viewer.door",
}

_MODULES = ("plot", "reference")  # whose functions are called by its name, pliant.plot.convergence

__all__ = [
    "DEFAULT_MATERIAL",
    "Batch",
    "Bilateral",
    "Clipped",
    "Contact",
    "ContactState",
    "Convex",
    "Coulomb",
    "Drawing",
    "FileError",
    "Foundation",
    "InputError",
    "Law",
    "Material",
    "MujocoSystem",
    "PliantError",
    "Printed",
    "Shape",
    "Solution",
    "SolveError",
    "Status",
    "StepProblem",
    "System",
    "Trajectory",
    "Unilateral",
    "__version__",
    "contacts",
    "export_html",
    "gyroscopic_torque",
    "linearize",
    "load",
    "mj_forward",
    "mj_step",
    "mj_step1",
    "mj_step2",
    "patch_mujoco",
    "pressure",
    "render",
    "rollout",
    "simulate",
    "solve",
    "stats",
    "step",
    "view",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"pliant.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    value = getattr(import_module(f"pliant.{_HOME[name]}"), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Door(ModuleType):
    """Importing a submodule binds it as an attribute of its package: not over a function of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Door
