"""MuJoCo's own functions, called from compiled code: between two of them no time is lost.

Its fatal errors, and callbacks in Python that raise, would end the process there. So a step goes this way only while
the arena is less than half full, and no callback is set; the functions that Python has take the others.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba.core import types

from pliant.inputs import Ints
from pliant.systems.mujoco_door import CALLBACKS, mujoco


def _declare(name: str, arguments: int = 2, *rest: Any) -> Any:
    return types.ExternalFunction(name, types.void(*[types.int64] * arguments, *rest))


fwd_kinematics, make_m, factor_m = _declare("mj_fwdKinematics"), _declare("mj_makeM"), _declare("mj_factorM")
collision, make_constraint = _declare("mj_collision"), _declare("mj_makeConstraint")
transmission, island = _declare("mj_transmission"), _declare("mj_island")
project, reference = _declare("mj_projectConstraint"), _declare("mj_referenceConstraint")
fwd_velocity, fwd_actuation = _declare("mj_fwdVelocity"), _declare("mj_fwdActuation")
fwd_acceleration, euler = _declare("mj_fwdAcceleration"), _declare("mj_Euler")
sensor_pos, sensor_vel, sensor_acc = _declare("mj_sensorPos"), _declare("mj_sensorVel"), _declare("mj_sensorAcc")
clock = types.ExternalFunction("pliant_clock", types.float64())  # MuJoCo's own [s]
mul_jac_t_vec, solve_m = _declare("mj_mulJacTVec", 4), _declare("mj_solveM", 4, types.int32)
integrate_pos = _declare("mj_integratePos", 3, types.float64)
differentiate_pos = _declare("mj_differentiatePos", 2, types.float64, types.int64, types.int64)
kinematics, com_pos, com_vel = _declare("mj_kinematics"), _declare("mj_comPos"), _declare("mj_comVel")
rne, mul_m = _declare("mj_rne", 2, types.int32, types.int64), _declare("mj_mulM", 4)
geom_distance: Any = types.ExternalFunction(
    "mj_geomDistance", types.float64(types.int64, types.int64, types.int32, types.int32, types.float64, types.int64)
)
get_state, set_state = _declare("mj_getState", 3, types.int32), _declare("mj_setState", 3, types.int32)


def library_files() -> list[Path]:
    """Where MuJoCo's library may be; the first that can be opened is."""
    return sorted(Path(mujoco().__file__).parent.glob("*mujoco.*"))


def callbacks_set(callbacks: Ints) -> list[str]:
    """Names of those that are not as they were. callbacks: what `library` gives."""
    return [
        name
        for name, place, own in zip(CALLBACKS, *callbacks.tolist(), strict=True)
        if (ctypes.c_void_p.from_address(place).value or 0) != own
    ]


@functools.cache
def library() -> Ints | None:
    """MuJoCo's library, open to compiled code: where its callbacks lie, and what is there without any from Python,
    (2, n). None: it is not to be had."""
    if numba.config.DISABLE_JIT or mujoco().get_mjcb_time() is not None:
        return None
    for path in library_files():
        try:
            loaded = ctypes.CDLL(str(path))
            places = [ctypes.c_void_p.in_dll(loaded, f"mjcb_{name}") for name in CALLBACKS]
        except (OSError, ValueError):
            continue
        own = places[CALLBACKS.index("time")].value
        if not own:
            return None
        llvmlite.binding.load_library_permanently(str(path))
        llvmlite.binding.add_symbol("pliant_clock", own)
        return np.array([[ctypes.addressof(p) for p in places], [own * (n == "time") for n in CALLBACKS]])
    return None
