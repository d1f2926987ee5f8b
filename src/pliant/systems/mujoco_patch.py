"""`patch_mujoco`: code that cannot be edited steps with our forces."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from pliant.errors import PliantError
from pliant.laws import Law
from pliant.solvers.formulation import Formulation
from pliant.systems import mujoco_calls
from pliant.systems.mujoco_door import mujoco

NAMES = ("mj_step", "mj_step1", "mj_step2", "mj_forward")
_patches: list[Patch] = []


class Patch:
    """Open from the start; closes at the end of a `with`, or by `close`."""

    def __init__(self, replacements: Mapping[str, Callable[..., Any]]) -> None:
        rollout = importlib.import_module("mujoco.rollout")
        places = [(mujoco(), name, function) for name, function in replacements.items()]
        places.append((rollout, "rollout", _no_rollout))
        self._before = [(place, name, getattr(place, name)) for place, name, _ in places]
        for place, name, function in places:
            setattr(place, name, function)
        _patches.append(self)

    def close(self) -> None:
        """Give MuJoCo its own functions back."""
        if self not in _patches:
            return
        if _patches[-1] is not self:
            raise PliantError("patches close in the reverse order of their opening; close the one opened last first")
        _patches.pop()
        for place, name, function in self._before:
            setattr(place, name, function)

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _no_rollout(*_: Any, **__: Any) -> None:
    raise PliantError(
        "mujoco.rollout.rollout steps with MuJoCo's own forces, which patch_mujoco does not allow: step each state with "
        "mujoco.mj_step, which is ours, or close the patch"
    )


def patch_mujoco(
    *,
    materials: Mapping[str, Law] | None = None,
    solver: Formulation | None = None,
    compliance: str = "materials",
) -> Patch:
    """mujoco.mj_step, mj_step1, mj_step2, mj_forward are ours until it closes: at the end of a `with`, or by `close()`.

    What code has taken by `from mujoco import mj_step` before is not reached; mujoco.rollout.rollout raises. Options as
    of `mj_step`.
    """
    options = {"materials": materials, "solver": solver, "compliance": compliance}
    replacements: dict[str, Callable[..., Any]] = {
        name: functools.wraps(getattr(mujoco_calls, name))(
            functools.partial(getattr(mujoco_calls, name), **({} if name == "mj_step1" else options))
        )
        for name in NAMES
    }
    return Patch(replacements)
