"""The energy of a model's state, by kind; whether something drives it; and what its coordinates are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pliant.flat import NORMAL, UNILATERAL
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import names

if TYPE_CHECKING:
    from pliant.systems.mujoco_step import Stepper

# Of a joint by its type (free, ball, slide, hinge): what follows its name, and the unit.
PLACES: Final = tuple((f" {c}", "m") for c in "xyz")
TURNS: Final = tuple((f" {c}", "-") for c in ("qw", "qx", "qy", "qz"))
RATES: Final = tuple((f" w{c}", "rad/s") for c in "xyz")
Q: Final = {0: PLACES + TURNS, 1: TURNS, 2: (("", "m"),), 3: (("", "rad"),)}
V: Final = {
    0: tuple((f" v{c}", "m/s") for c in "xyz") + RATES,
    1: RATES,
    2: ((" rate", "m/s"),),
    3: ((" rate", "rad/s"),),
}


def energies(stepper: Stepper, model: Any, data: Any) -> dict[str, float]:
    """Of motion, of height, and of what is pressed in or stretched [J]: joints, tendons, contacts, limits. Equalities
    are left out: they are all but rigid, and what they are open by is an error, not a spring."""
    mj = mujoco()
    flat = stepper.assemble(model, data, stepper.evaluate(model, data, control=False)).flat
    mj.mj_energyPos(model, data)
    mj.mj_energyVel(model, data)
    weighs = not int(model.opt.disableflags) & mj.mjtDisableBit.mjDSBL_GRAVITY
    height = -float(model.body_mass @ (data.xipos @ model.opt.gravity)) if weighs else 0.0
    pushes = np.isin(flat.kind, (NORMAL, UNILATERAL))
    depth, p = np.maximum(-flat.value[pushes], 0.0), flat.exponent[pushes]
    pressed = float(np.sum(flat.stiffness[pushes] * depth ** (p + 1.0) / (p + 1.0)))
    return {
        "kinetic": float(data.energy[1]),
        "gravitational": height,
        "spring": float(data.energy[0]) - height + pressed,
    }


def driven(model: Any, data: Any) -> bool:
    """Whether there are actuators, applied forces, bodies that are led, or fluids that could do work."""
    pushed = bool(np.any(data.qfrc_applied) or np.any(data.xfrc_applied))
    return model.nu > 0 or pushed or model.nmocap > 0 or bool(np.any(model.opt.wind))


def coordinates(model: Any) -> dict[str, list[list[str]]]:
    """{"q": [[name, unit], ...], "v": ...}, after joints, those without a name after their bodies."""
    joints, bodies = names(model, "joint"), names(model, "body")
    found: dict[str, list[list[str]]] = {"q": [], "v": []}
    for i, kind in enumerate(model.jnt_type.tolist()):
        body = int(model.jnt_bodyid[i])
        name = joints[i] or bodies[body] or f"body {body}"
        if not joints[i] and kind in (2, 3):  # a body may have several
            name = f"{name} joint {i - int(model.body_jntadr[body])}" if model.body_jntnum[body] > 1 else name
        for vector, parts in (("q", Q[kind]), ("v", V[kind])):
            found[vector] += [[name + part, unit] for part, unit in parts]
    return found
