"""What of a model cannot be carried out is refused by name; what is set but not used is said once."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.systems.mujoco_door import mujoco

_log = logging.getLogger("pliant")


def check(model: Any) -> None:
    """Raise InputError for what would otherwise be a missing force, or no step."""
    if not 0.0 < model.opt.timestep < np.inf:
        raise InputError(f"model.opt.timestep must be one number > 0 [s], got {model.opt.timestep!r}")
    mj = mujoco()
    on, flags = mj.mjtEnableBit, int(model.opt.enableflags)
    sdf = np.flatnonzero(model.geom_type == mj.mjtGeom.mjGEOM_SDF)
    yields = [getattr(model, name, np.zeros(0)) for name in ("jnt_springyield", "tendon_springyield")]
    refused = [
        (model.nflex, "flexes (deformable bodies)", "remove them, or keep mujoco.mj_step for this model"),
        (len(sdf), "SDF geoms", "use a mesh or primitives for collision"),
        (model.nplugin, "engine plugins", "remove the <plugin> elements"),
        (flags & getattr(on, "mjENBL_IPC", 0), 'the flag ipc="enable"', 'set <flag ipc="disable"/>'),
        (flags & on.mjENBL_SLEEP, 'the flag sleep="enable"', 'set <flag sleep="disable"/>: resting bodies cost little'),
        (sum(np.count_nonzero(y) for y in yields), "elasto-plastic springs (springyield)", "remove springyield"),
    ]
    for found, what, remedy in refused:
        if found:
            raise InputError(f"this model has {what}, which pliant does not simulate: {remedy}")


def say_ignored(model: Any, compliance: str) -> list[str]:
    """Names of the settings that differ from MuJoCo's defaults and have no effect; logged once per model."""
    mj = mujoco()
    # Defaults without compiling a model, which would call the user's callbacks.
    option, geom = mj.MjOption(), mj.MjSpec().worldbody.add_geom()
    options = ["integrator", "solver", "cone", "impratio", "iterations", "tolerance", "ls_iterations",
               "ls_tolerance", "noslip_iterations", "noslip_tolerance"]  # fmt: skip
    found = [f"option {name}" for name in options if getattr(model.opt, name) != getattr(option, name)]
    if compliance != "model":
        for name in ("geom_solref", "geom_solimp", "pair_solref", "pair_solimp", "jnt_solref", "jnt_solimp",
                     "eq_solref", "eq_solimp", "tendon_solref_lim", "tendon_solimp_lim"):  # fmt: skip
            given = getattr(model, name)
            used = given[:, 0] < 0.0 if name in ("jnt_solref", "eq_solref", "tendon_solref_lim") else False
            default = geom.solref if "solref" in name else geom.solimp
            if np.any((given != default).any(axis=1) & ~np.broadcast_to(used, len(given))):
                found.append(name)
    for name in ("dof_solref", "dof_solimp", "tendon_solref_fri", "tendon_solimp_fri") if compliance != "model" else ():
        default = geom.solref if "solref" in name else geom.solimp
        if np.any(getattr(model, name) != default):
            found.append(name)
    if int(model.opt.enableflags) & getattr(mj.mjtEnableBit, "mjENBL_SPECULATIVE", 0):
        found.append("flag speculative")
    if found:
        _log.info("pliant does not use these settings of the model: %s", ", ".join(found))
    return found
