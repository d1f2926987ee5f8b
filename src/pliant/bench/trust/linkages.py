"""Models with more constraints than they need: tables, welds, a door, and two mechanisms of the IFToMM library.

The mechanisms are A02 and A04 of the library of computational benchmark problems of the IFToMM technical committee for
multibody dynamics (M. Gonzalez, D. Dopico, U. Lugris, J. Cuadrado, A benchmarking system for MBS simulation software,
Multibody System Dynamics 16, 2006): rods of 1 m and 1 kg, gravity 9.81 N/kg along -y. They are trees of hinges, closed
by `connect`: in minimal coordinates, as MuJoCo has them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.inputs import Array
from pliant.studies.scenes import GRAVITY

# Vertices of a cube, along which Bricard's six links go: from the last to the first is the ground.
CUBE: Final = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
SECTION: Final = 0.1  # [m], of Bricard's rods, square
HINGES: Final = 5  # of the door
TURNING: Final = 2.0  # [rad/s], the door's
FOOT: Final = 0.01  # [m], radius of a leg's end


def whole(world: str, equality: str, step: float, gravity: str) -> str:
    """Nothing touches but what says so."""
    return f"""
<mujoco>
  <option timestep="{step}" gravity="{gravity}"/>
  <default><geom friction="0.5 0 0" condim="3" contype="0" conaffinity="0"/></default>
  <worldbody>{world}</worldbody>
  <equality>{equality}</equality>
</mujoco>"""


def table(legs: int, step: float) -> str:
    """10 kg on a square of legs, 1 m wide; their round ends touch the floor."""
    side = np.linspace(-0.5, 0.5, round(np.sqrt(legs)))
    on = 'contype="1" conaffinity="1"'
    feet = "".join(f'<geom {on} pos="{x:.17g} {y:.17g} -0.05" size="{FOOT}" mass="0"/>' for x in side for y in side)
    top = f'<body pos="0 0 {0.05 + FOOT}"><freejoint/><geom type="box" size="0.5 0.5 0.05" mass="10"/>{feet}</body>'
    return whole(f'<geom {on} name="floor" type="plane" size="5 5 1"/>{top}', "", step, f"0 0 -{GRAVITY}")


def shelf(offset: float, step: float) -> str:
    """A box of 1 kg that two welds hold, one to `offset` [m] from where it starts, one as far to the other side."""
    body = '<body name="box"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>'
    welds = "".join(f'<weld body1="box" relpose="{x} 0 0 1 0 0 0"/>' for x in (offset, -offset))
    return whole(body, welds, step, f"0 0 -{GRAVITY}")


def door(step: float) -> str:
    """1 m wide, 2 m high, 20 kg, a free body that five `connect` along a vertical line hold to the world."""
    body = '<body name="door" pos="0.5 0 0"><freejoint/><geom type="box" size="0.5 0.02 1" mass="20"/></body>'
    held = "".join(f'<connect body1="door" anchor="-0.5 0 {z:.17g}"/>' for z in np.linspace(-0.9, 0.9, HINGES))
    return whole(body, held, step, f"0 0 -{GRAVITY}")


def bricard(step: float) -> str:
    """A04: five rods and six hinges, each across its two rods, from rest. The sixth is two `connect` on its line."""
    text, ways = "", np.diff(np.vstack([CUBE, CUBE[:1]]), axis=0)
    for i in reversed(range(5)):
        place = CUBE[0] if i == 0 else ways[i - 1]
        half = 0.5 * np.abs(ways[i]) + 0.5 * SECTION * (ways[i] == 0.0)
        hinge = f'<joint axis="{_text(np.cross(ways[i - 1], ways[i]))}"/>'
        rod = f'<geom type="box" pos="{_text(0.5 * ways[i])}" size="{_text(half)}" mass="1"/>'
        text = f'<body name="{i}" pos="{_text(place)}">{hinge}{rod}{text}</body>'
    line = np.cross(ways[4], ways[5])
    closed = "".join(f'<connect body1="4" anchor="{_text(ways[4] + s * SECTION * line)}"/>' for s in (-0.5, 0.5))
    return whole(text, closed, step, f"0 -{GRAVITY} 0")


def four_bars(loops: int, step: float) -> str:
    """A02: `loops` squares in a row, of loops + 1 uprights on the ground and as many rods across as loops, in x and y.
    `connect` closes each, also along z, where nothing can move."""
    text, closed = "", ""
    for i in range(loops + 1):
        across = f'<body name="across {i}" pos="0 1 0"><joint axis="0 0 1"/>{_rod("1 0 0")}</body>' if i < loops else ""
        text += f'<body name="{i}" pos="{i} 0 0"><joint axis="0 0 1"/>{_rod("0 1 0")}{across}</body>'
        closed += f'<connect body1="across {i}" body2="{i + 1}" anchor="1 0 0"/>' if i < loops else ""
    return whole(text, closed, step, f"0 -{GRAVITY} 0")


def _rod(end: str) -> str:
    """Of 1 m, thin."""
    x, y, z = (float(part) for part in end.split())
    turned = " ".join(f"{1e-6 if part else 1.0 / 12.0:.17g}" for part in (x, y, z))
    geom = f'<geom type="capsule" fromto="0 0 0 {end}" size="0.01" mass="0"/>'
    return f'<inertial pos="{x / 2} {y / 2} {z / 2}" mass="1" diaginertia="{turned}"/>{geom}'


def push_door(runner: Any) -> None:
    """About its hinges."""
    runner.data.qvel[:] = (0.0, 0.5 * TURNING, 0.0, 0.0, 0.0, TURNING)


def push_bars(runner: Any) -> None:
    """The upper ends go at 1 m/s along x: the uprights turn, what lies across them does not."""
    for joint in range(runner.model.njnt):
        upright = runner.model.body_parentid[runner.model.jnt_bodyid[joint]] == 0
        runner.data.qvel[joint] = -1.0 if upright else 1.0


def uprights(runner: Any) -> Array:
    """Their angles [rad], (loops + 1,)."""
    parent = runner.model.body_parentid[runner.model.jnt_bodyid]
    return np.array(runner.data.qpos[parent == 0])


def door_energy() -> float:
    """[J] at the start, of the turning about the hinges: I = m ((a^2 + b^2)/12 + (a/2)^2)."""
    return 0.5 * 20.0 * ((1.0 + 0.04**2) / 12.0 + 0.25) * TURNING**2


def bars_energy(loops: int) -> float:
    """[J] of the row at its start: uprights m l^2/6, at l/2; rods across m/2, at l; all at 1 m/s."""
    return (loops + 1) * (1.0 / 6.0 + 0.5 * GRAVITY) + loops * (0.5 + GRAVITY)


def bricard_energy() -> float:
    """[J] at the start, heights from the ground's link: rods at 0, -1/2, -1, -1, -1/2 m."""
    return -3.0 * GRAVITY


def _text(point: Array) -> str:
    return " ".join(f"{x:.17g}" for x in point)
