"""Where a simulation starts: at a key frame by name, and whether bodies overlap there."""

from __future__ import annotations

import copy
from typing import Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import names

DEEP: Final = 1e-3  # [m]
SHARE: Final = 0.01  # of the smaller geom


def start_at(model: Any, data: Any, key: str) -> None:
    """Put a mujoco.MjData into the key frame of this name."""
    known = names(model, "key")
    if key not in known:
        raise InputError(f"key {key!r} is none of the model's key frames: {', '.join(filter(None, known)) or 'none'}")
    mujoco().mj_resetDataKeyframe(model, data, known.index(key))


def geom_labels(model: Any) -> list[str]:
    """What to call geoms: their names, those of their bodies, or their numbers."""
    bodies = names(model, "body")
    return [
        name or (bodies[body] if body else "") or f"#{i}"
        for i, (name, body) in enumerate(zip(names(model, "geom"), model.geom_bodyid, strict=True))
    ]


def overlap(model: Any, data: Any) -> str:
    """In words, the deepest of what overlaps by more than a stiff contact would let it; '' where nothing does.

    Such a start is an error of most models: what is half below the floor is thrown into the air by the first steps.
    """
    aside = copy.copy(data)
    mujoco().mj_fwdPosition(model, aside)
    contact = aside.contact
    across = np.where(model.geom_rbound > 0.0, 2.0 * model.geom_rbound, np.inf)  # planes are larger than all
    depth = -np.array(contact.dist)
    wrong = (depth > np.maximum(DEEP, SHARE * across[contact.geom].min(axis=1))) & (contact.exclude == 0)
    if not wrong.any():
        return ""
    which = int(np.argmax(np.where(wrong, depth, -np.inf)))
    # what can move, and of two that can the smaller one, is in the other
    inner, outer = sorted(contact.geom[which], key=lambda g: (model.body_weldid[model.geom_bodyid[g]] == 0, across[g]))
    labels = geom_labels(model)
    pairs = len(np.unique(np.sort(contact.geom[wrong], axis=1), axis=0))
    more = f" ({pairs - 1} more pairs overlap)" if pairs > 1 else ""
    where = f"{labels[inner]} is {depth[which]:.2g} m deep in {labels[outer]}{more}"
    fixed = model.body_weldid[model.geom_bodyid[outer]] == 0
    return (
        f"at the start {where}: {'raise it, or it is' if fixed else 'part or <exclude> them, or they are'} thrown out"
    )
