"""`patch_mujoco`: code that cannot be edited steps with our forces."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from pliant.errors import PliantError
from pliant.formulation import Formulation
from pliant.systems import mujoco_calls, mujoco_rollout
from pliant.systems.mujoco_door import mujoco, part_of_mujoco
from pliant.systems.mujoco_laws import Substance

_patches: list[Patch] = []


class Patch:
    """Open from the start; closes at the end of a `with`, or by `close`."""

    def __init__(self, replacements: Mapping[str, Callable[..., Any]], rollout: Callable[..., Any]) -> None:
        places = [(mujoco(), name, function) for name, function in replacements.items()]
        places.append((part_of_mujoco("rollout"), "rollout", rollout))
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


def patch_mujoco(
    *,
    materials: Mapping[str, Substance] | None = None,
    solver: Formulation | None = None,
    compliance: str = "materials",
) -> Patch:
    """mujoco.mj_step, mj_step1, mj_step2, mj_forward and mujoco.rollout.rollout are ours until it closes: at the end of
    a `with`, or by `close()`.

    What code has taken by `from mujoco import mj_step` before is not reached, nor are mujoco.rollout.Rollout and
    mujoco.batch.Batch: `rollout` and `Batch` are ours. Options as of `mj_step`.
    """
    options: dict[str, Any] = {"materials": materials, "solver": solver, "compliance": compliance}

    # The names of the arguments are MuJoCo's: they may be given by name.
    def mj_step(m: Any, d: Any, nstep: int = 1) -> None:
        mujoco_calls.mj_step(m, d, nstep, **options)

    def mj_step1(m: Any, d: Any) -> None:
        mujoco_calls.mj_step1(m, d)

    def mj_step2(m: Any, d: Any) -> None:
        mujoco_calls.mj_step2(m, d, **options)

    def mj_forward(m: Any, d: Any) -> None:
        mujoco_calls.mj_forward(m, d, **options)

    rollout = functools.partial(mujoco_rollout.rollout, **options)
    return Patch({function.__name__: function for function in (mj_step, mj_step1, mj_step2, mj_forward)}, rollout)
