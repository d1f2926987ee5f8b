"""`patch_mujoco`: code that cannot be edited steps with our forces."""

from __future__ import annotations

import functools
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
        self._before = {name: getattr(mujoco(), name) for name in replacements}
        self._ours = dict(replacements)
        for name, function in replacements.items():
            setattr(mujoco(), name, function)
        _patches.append(self)

    def close(self) -> None:
        """Give MuJoCo its own functions back."""
        if self not in _patches:
            return
        if _patches[-1] is not self:
            raise PliantError("patches close in the reverse order of their opening; close the one opened last first")
        _patches.pop()
        for name, function in self._before.items():
            setattr(mujoco(), name, function)

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def patch_mujoco(
    *,
    materials: Mapping[str, Law] | None = None,
    solver: Formulation | None = None,
    compliance: str = "materials",
) -> Patch:
    """mujoco.mj_step, mj_step1, mj_step2, mj_forward are ours until it closes: at the end of a `with`, or by `close()`.

    What code has taken by `from mujoco import mj_step` before is not reached. Options as of `mj_step`.
    """
    options = {"materials": materials, "solver": solver, "compliance": compliance}
    replacements: dict[str, Callable[..., Any]] = {
        name: functools.wraps(getattr(mujoco_calls, name))(
            functools.partial(getattr(mujoco_calls, name), **({} if name == "mj_step1" else options))
        )
        for name in NAMES
    }
    return Patch(replacements)
