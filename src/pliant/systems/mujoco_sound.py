"""Whether a state can be stepped: finite, and not blown up."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.errors import InputError, SolveError
from pliant.inputs import Ints
from pliant.systems import mujoco_site as site
from pliant.systems._compile import kernel
from pliant.systems.mujoco_site import numbers

LARGEST: Final = 1e10  # mjMAXVAL, beyond which MuJoCo starts afresh


def check_finite(data: Any) -> None:
    """Raise InputError for a state, controls or applied forces with nan or inf."""
    for name in ("qpos", "qvel", "ctrl", "qfrc_applied", "xfrc_applied"):
        array = getattr(data, name)
        if not np.isfinite(array).all():
            where = int(np.argmax(~np.isfinite(array)))
            raise InputError(
                f"data.{name} must be finite, got {array.flat[where]} at {where}, t = {data.time:.9g} s: "
                "mujoco.mj_resetData starts afresh"
            )


def check_size(data: Any) -> None:
    """Raise SolveError for a state that MuJoCo takes for blown up, and would start afresh."""
    for name in ("qpos", "qvel"):
        array = np.abs(getattr(data, name))
        if np.any(array > LARGEST):
            where = int(np.argmax(array))
            raise SolveError(
                f"at t = {data.time:.9g} s: the motion has blown up: data.{name} at {where} is "
                f"{getattr(data, name)[where]:.1e}, beyond {LARGEST:.0e}, MuJoCo's limit; take a smaller step, or look "
                "for what feeds it: an actuator, a negative damping or stiffness, a joint that turns fast"
            )


@kernel
def is_sound(table: Ints) -> bool:
    """Whether state, controls and applied forces are finite, and the state has not blown up."""
    total = 0.0
    for k in (site.QPOS, site.QVEL):
        for x in numbers(table, k):
            if abs(x) > LARGEST:
                return False
    for k in (site.QPOS, site.QVEL, site.CTRL, site.APPLIED, site.PUSHED):
        for x in numbers(table, k):
            total += 0.0 * x
    return total == 0.0
