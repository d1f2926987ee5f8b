"""Links of a robot that overlap for good: a link, and the one after the next, whose hulls reach into each other.

MuJoCo lets a body pass through its parent, but not through the parent's parent. Where a joint has several axes in one
place, as a hip, the hulls of the outer links always overlap, and would be squeezed with what a stiffness of 1e8 N/m
makes of centimetres.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from pliant.systems.mujoco_door import mujoco

_log = logging.getLogger("pliant")
DEEP: Final = 1e-3  # [m] that hulls may reach into each other where the joints are at 0


def exclude_overlaps(spec: Any, model: Any) -> None:
    """Let such links of a mujoco.MjSpec pass through each other, and say so. model: what it compiles to."""
    mj, pairs = mujoco(), set()
    data = mj.MjData(model)
    mj.mj_fwdPosition(model, data)
    for geoms in data.contact.geom[-data.contact.dist > DEEP]:
        first, second = sorted(int(model.body_weldid[body]) for body in model.geom_bodyid[geoms])
        # not the world, which is more than the base that is fixed to it; parents have lower numbers
        if first > 0 and _above(model, second, 2) == first:
            pairs.add((model.body(first).name, model.body(second).name))
    for one, other in sorted(pairs):
        spec.add_exclude(bodyname1=one, bodyname2=other)
    if pairs:
        names = ", ".join(f"{one} and {other}" for one, other in sorted(pairs))
        _log.warning("links that overlap with a link between them, and may pass through each other: %s", names)


def _above(model: Any, body: int, count: int) -> int:
    """The body so many joints above; 0, the world, has none."""
    for _ in range(count):
        body = int(model.body_weldid[model.body_parentid[body]])
    return body
