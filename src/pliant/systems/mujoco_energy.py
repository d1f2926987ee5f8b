"""The energy of a model's state, by kind; whether something drives it; and what its coordinates are called."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.flat import NORMAL, UNILATERAL, Flat
from pliant.inputs import Ints
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_kinds import EQUALITY, LIMIT_JOINT, LIMIT_TENDON
from pliant.systems.mujoco_laws import RIGID, names
from pliant.systems.mujoco_stepper import Made, stepper_of

# Of a joint by its type (free, ball, slide, hinge): what follows its name, and the unit.
PLACES: Final = tuple((f" {c}", "m") for c in "xyz")
TURNS: Final = tuple((f" {c}", "-") for c in ("qw", "qx", "qy", "qz"))
RATES: Final = tuple((f" w{c}", "rad/s") for c in "xyz")
Q: Final = {0: PLACES + TURNS, 1: TURNS, 2: (("", "m"),), 3: (("", "rad"),)}
CONTACT: Final = -1  # in place of the type of a row
V: Final = {
    0: tuple((f" v{c}", "m/s") for c in "xyz") + RATES,
    1: RATES,
    2: ((" rate", "m/s"),),
    3: ((" rate", "rad/s"),),
}


def energies(made: Made, model: Any, data: Any) -> dict[str, float]:
    """Of motion, of height, and of what is pressed in or stretched [J]: joints, tendons, contacts. Limits and
    equalities count where they have a law softer than their own, which is all but rigid: what such a one is off by is
    an error of the state, not a spring, and 1e8 N m/rad make kilojoules of it."""
    mj = mujoco()
    stepper = stepper_of(data)
    stepper.begin(model._address, data._address, made.materials, False)
    stepper.end()
    types, elements, _ = stepper.rows()
    kinds = np.concatenate([types, np.full(elements, CONTACT)])
    mj.mj_energyPos(model, data)
    mj.mj_energyVel(model, data)
    weighs = not int(model.opt.disableflags) & mj.mjtDisableBit.mjDSBL_GRAVITY
    height = -float(model.body_mass @ (data.xipos @ model.opt.gravity)) if weighs else 0.0
    spring = float(data.energy[0]) - height + _pressed(Flat(*stepper.record().arrays()), kinds)
    return {"kinetic": float(data.energy[1]), "gravitational": height, "spring": spring}


def _pressed(flat: Flat, kinds: Ints) -> float:
    """In the springs of MuJoCo's rows and of foundations [J]; kinds: of these rows, which come first."""
    m = len(kinds)
    equal, pushes = kinds == EQUALITY, np.isin(flat.kind[:m], (NORMAL, UNILATERAL))
    K, p = flat.stiffness[:m], flat.exponent[:m]
    counts = (equal | pushes) & ~(np.isin(kinds, (EQUALITY, LIMIT_JOINT, LIMIT_TENDON)) & (K >= RIGID))
    depth = np.where(equal, np.abs(flat.value[:m]), np.maximum(-flat.value[:m], 0.0))
    K, p, depth = K[counts], p[counts], depth[counts]  # without tangents, whose K may be infinite
    return float(np.sum(K * depth ** (p + 1.0) / (p + 1.0)))


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
