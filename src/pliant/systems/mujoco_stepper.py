"""What steps of a data are taken with: the engine's stepper of the data, and what the model is made of."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant import _engine
from pliant.errors import InputError, PliantError
from pliant.flat import Flat
from pliant.formulation import Formulation
from pliant.problem import StepProblem
from pliant.solution import STATUSES, Status
from pliant.solve import solve
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_kept import Kept
from pliant.systems.mujoco_laws import Laws, Substance, checked
from pliant.systems.mujoco_support import check, say_ignored

_steppers: Kept[_engine.Stepper] = Kept()
_made: Kept[dict[Any, Made]] = Kept()


class Made(NamedTuple):
    """A model with its materials. shapes: of geoms with foundations, whose elements were sampled from them."""

    laws: Laws
    materials: _engine.Materials
    shapes: bytes


def stepper_of(data: Any) -> _engine.Stepper:
    """Made when it is asked for first."""
    found = _steppers.get(data)
    if found is None:
        if not isinstance(data, mujoco().MjData):
            raise InputError(f"data must be a mujoco.MjData, got {type(data).__name__}")
        open_library()
        found = _steppers.of(data, _engine.Stepper)
    return found


def made_of(model: Any, materials: Mapping[str, Substance] | None, compliance: str = "materials") -> Made:
    """A model with these materials beside its own; refuses what cannot be stepped."""
    known = _made.get(model)
    found = None
    try:
        if known is not None:
            found = known.get(compliance if materials is None else (compliance, *materials.items()))
    except (AttributeError, TypeError):  # neither a mapping nor values that are ours: `checked` says so
        found = None
    if found is None or (found.laws.foundation and found.shapes != _shapes(model, found.laws)):
        found = _make(model, materials, compliance)
    return found


def _make(model: Any, materials: Mapping[str, Substance] | None, compliance: str) -> Made:
    if not isinstance(model, mujoco().MjModel):
        raise InputError(f"model must be a mujoco.MjModel, got {type(model).__name__}; pliant.load reads files")
    check(model)
    named = checked(materials)
    laws = Laws(model, named, compliance)
    known = _made.get(model)
    if known is None:
        say_ignored(model, compliance)
        known = _made.of(model, dict)
    made = Made(laws, laws.made(model), _shapes(model, laws))
    known[compliance if materials is None else (compliance, *named.items())] = made
    return made


def _shapes(model: Any, laws: Laws) -> bytes:
    geoms = sorted(laws.foundation)
    return model.geom_size[geoms].tobytes() if geoms else b""


@functools.cache
def open_library() -> None:
    """MuJoCo's library, for the engine, which calls its functions. A minor version may lay out its structs anew."""
    package, built = mujoco(), str(_engine.build_info()["mujoco"])
    if package.__version__.split(".")[:2] != built.split(".")[:2]:
        raise PliantError(
            f"pliant was built with MuJoCo {built}, and this is {package.__version__}: "
            f'pip install "mujoco=={".".join(built.split(".")[:2])}.*", or build pliant anew, in a clone: '
            "pip install --force-reinstall ."
        )
    _engine.load_mujoco(str(library()))


def library() -> Path:
    """MuJoCo's library, which its package has loaded."""
    folder = Path(mujoco().__file__).parent
    patterns = ("libmujoco*.so*", "libmujoco*.dylib", "mujoco.dll")
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    if not found:
        raise PliantError(f'MuJoCo\'s library is not in {folder}: pip install --force-reinstall "mujoco~=4.0"')
    return found[0]


class Outcome(NamedTuple):
    """How a step went."""

    status: Status
    residual: float
    iterations: int
    factorizations: int


def outcome(stepper: _engine.Stepper) -> Outcome:
    """Of the last step."""
    status, residual, iterations, factorizations = stepper.last()
    return Outcome(STATUSES[status], residual, iterations, factorizations)


def solve_elsewhere(stepper: _engine.Stepper, solver: Formulation) -> None:
    """The step that was begun, by `Printed()`, which the engine does not have."""
    found = solve(StepProblem.from_flat(Flat(*stepper.record().arrays())), solver, throw=False)
    force = np.concatenate([np.zeros(0), *(part.ravel() for part in found.forces)])
    status = STATUSES.index(found.status)
    stepper.take(found.velocity, force, status, found.residual, found.iterations, found.factorizations)
