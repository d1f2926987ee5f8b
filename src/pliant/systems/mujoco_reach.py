"""Which contacts and limits could close within the step, and which only seem to.

The gap within which contacts are found follows the speed of the geoms, rotation included. A contact that is found that
way has the normal of the start of the step, along which bodies seem to meet that in truth pass each other: an open
contact that receives a force is followed along its way without it, by conservative advancement.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.systems.mujoco_door import mujoco

SPARE: Final = 1.05  # on the way that a geom can go
TOUCHING: Final = 1e-4  # of the way of the step
ROUNDS: Final = 100  # of advancement; it slows down where bodies graze each other, and then counts as a touch


@kernel
def speeds(cvel: Array, com: Array, root: np.ndarray, body: np.ndarray, xpos: Array, rbound: Array, out: Array) -> None:
    """A bound on the speed of any point of a geom, (ngeom,)."""
    for g in range(body.size):
        b = body[g]
        c = root[b]
        r0, r1, r2 = xpos[g, 0] - com[c, 0], xpos[g, 1] - com[c, 1], xpos[g, 2] - com[c, 2]
        w0, w1, w2 = cvel[b, 0], cvel[b, 1], cvel[b, 2]
        x, y, z = cvel[b, 3] + w1 * r2 - w2 * r1, cvel[b, 4] + w2 * r0 - w0 * r2, cvel[b, 5] + w0 * r1 - w1 * r0
        out[g] = np.sqrt(x * x + y * y + z * z) + np.sqrt(w0 * w0 + w1 * w1 + w2 * w2) * rbound[g]


def touch_time(
    twin: Any, scratch: Any, qpos: Array, v: Array, pair: tuple[int, int], margin: float, speed: float
) -> float:
    """When two geoms that move with v, (nv,), from qpos touch within the step [s]; inf if they do not.

    scratch: a data to move in. speed: a bound on how fast they approach.
    """
    mj, h = mujoco(), twin.opt.timestep
    way = h * speed
    t = 0.0
    for _ in range(ROUNDS):
        scratch.qpos[:] = qpos
        mj.mj_integratePos(twin, scratch.qpos, v, t)
        mj.mj_kinematics(twin, scratch)
        distance = mj.mj_geomDistance(twin, scratch, *pair, way + margin, None) - margin
        if distance <= TOUCHING * way:
            break
        t += distance / speed
        if t >= h:
            return np.inf
    return t
