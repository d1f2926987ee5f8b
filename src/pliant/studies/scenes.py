"""Scenes of contact, defined once: what the studies, the tests and the benchmarks simulate, here and with peers.

Each is the text of an MJCF model. What things are made of stands beside it, since MuJoCo has no word for it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pliant.inputs import Array
from pliant.materials import Material

GRAVITY: Final = 9.81  # [m/s^2]
# Two of it have the modulus E* = 1e11 Pa; the paper's damping.
PAIR_MODULUS: Final = 1e11
HARD: Final = Material(2.0 * PAIR_MODULUS, 0.0, damping=1.0)

# A box on four feet, on a slope: axes along it, x downhill, and gravity tilted.
SLOPE: Final = np.radians(15.0)
SIZE: Final = (0.2, 0.1, 0.05)  # [m]
FOOT: Final = 0.01  # radius [m]; the centres are the lower corners of the box
FEET: Final = ("uphill left", "uphill right", "downhill left", "downhill right")
MASS: Final = 1.0  # [kg]

# Spheres in a column.
RADIUS: Final = 0.1  # [m]; each of 1 kg
APART: Final = 0.05  # [m] between them, and below the lowest


def incline(friction: float, step: float) -> str:
    """The box, whose feet touch the slope."""
    x, y, z = (0.5 * side for side in SIZE)
    places = ((-x, -y), (-x, y), (x, -y), (x, y))
    feet = "".join(
        f'<geom name="{name}" pos="{px} {py} {-z}" size="{FOOT}" mass="0"/>'
        for name, (px, py) in zip(FEET, places, strict=True)
    )
    gx, gz = GRAVITY * np.sin(SLOPE), -GRAVITY * np.cos(SLOPE)
    return f"""
<mujoco>
  <option timestep="{step}" gravity="{gx:.17g} 0 {gz:.17g}"/>
  <default><geom friction="{friction} 0 0" condim="3"/></default>
  <worldbody>
    <geom name="slope" type="plane" size="100 100 1"/>
    <body name="box" pos="0 0 {z + FOOT}">
      <freejoint/>
      <geom name="box" type="box" size="{x} {y} {z}" mass="{MASS}" contype="0" conaffinity="0"/>
      {feet}
    </body>
  </worldbody>
</mujoco>"""


def stack(count: int, step: float, *, apart: float = APART, lateral: Array | None = None) -> str:
    """Spheres above each other; lateral: (count,) where they are along x [m]."""
    x = np.zeros(count) if lateral is None else lateral
    spheres = "".join(
        f'<body pos="{x[i]:.17g} 0 {RADIUS + apart + i * (2.0 * RADIUS + apart):.17g}"><freejoint/>'
        f'<geom name="sphere {i}" size="{RADIUS}" mass="1"/></body>'
        for i in range(count)
    )
    return f"""
<mujoco>
  <size memory="{64 + count}M"/>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="0.5 0 0" condim="3"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="100 100 1"/>
    {spheres}
  </worldbody>
</mujoco>"""


def pinch(step: float) -> str:
    """A capsule of 45 g between two pads that position servos press on it with 2 N each."""
    pad = '<geom type="box" size="0.01 0.02 0.02" mass="0.1"/>'
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default>
    <geom friction="0.5 0.005 0.0001" condim="4"/>
    <position kp="1000" kv="10"/>
  </default>
  <worldbody>
    <body name="left" pos="-0.022 0 0.5"><joint name="left" type="slide" axis="1 0 0"/>{pad}</body>
    <body name="right" pos="0.022 0 0.5"><joint name="right" type="slide" axis="-1 0 0"/>{pad}</body>
    <body name="capsule" pos="0 0 0.5" euler="90 0 0">
      <freejoint/>
      <geom name="capsule" type="capsule" size="0.012 0.03" mass="0.045"/>
    </body>
  </worldbody>
  <actuator><position joint="left" ctrlrange="-1 1"/><position joint="right" ctrlrange="-1 1"/></actuator>
</mujoco>"""


PINCH_CONTROL: Final = 0.002  # [m] beyond touch, times 1000 N/m
