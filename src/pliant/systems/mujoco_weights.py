"""What the energy of a model depends on, kept beside it in a run file: to know whether another one is the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pliant.inputs import Array

PREFIX: Final = "weights_"  # of the names of the arrays
FIELDS: Final = {
    "body_mass": "mass", "body_inertia": "inertia", "body_ipos": "centre of mass", "dof_armature": "armature",
    "jnt_stiffness": "stiffness of joints", "qpos_spring": "rest of joints",
    "tendon_stiffness": "stiffness of tendons", "tendon_lengthspring": "rest of tendons", "geom_size": "size of geoms",
}  # fmt: skip
DIGITS: Final = 1e-4  # of the largest: XML has six digits


def weights(model: Any) -> dict[str, NDArray[Any]]:
    """Arrays by name."""
    found = {PREFIX + name: np.array(getattr(model, name), dtype=np.float64) for name in FIELDS}
    return {**found, f"{PREFIX}gravity": _gravity(model)}


def differences(model: Any, kept: Mapping[str, NDArray[Any]]) -> list[str]:
    """In what a model differs from arrays of `weights`, in words; of arrays that are not kept nothing is said."""
    here = weights(model)
    words = {**FIELDS, "gravity": "gravity"}
    return [
        word for name, word in words.items()
        if (there := kept.get(PREFIX + name)) is not None and not _near(name, here[PREFIX + name], there)
    ]  # fmt: skip


def _gravity(model: Any) -> Array:
    """[m/s^2], 0 where it is switched off."""
    from pliant.systems.mujoco_door import mujoco

    off = int(model.opt.disableflags) & mujoco().mjtDisableBit.mjDSBL_GRAVITY
    return np.zeros(3) if off else np.array(model.opt.gravity, dtype=np.float64)


def _near(name: str, one: NDArray[Any], two: NDArray[Any]) -> bool:
    if one.shape != two.shape:
        return False
    if name == "body_inertia":  # principal axes may come back in another order
        one, two = np.sort(one, axis=1), np.sort(two, axis=1)
    size = float(np.abs(two).max(initial=0.0))
    return bool(np.allclose(one, two, rtol=DIGITS, atol=1e-2 * DIGITS * size))
