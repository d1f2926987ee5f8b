"""A gripper holds a box of 1 kg for ten seconds, in steps of 10 ms: with MuJoCo's forces, then with pliant's.

    python examples/mujoco_drop_in.py

The only difference between the two runs is the function that steps.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

import pliant

GRIPPER = """
<mujoco>
  <option timestep="0.01" cone="elliptic"/>
  <default>
    <geom friction="0.6"/>
    <position kp="2000" kv="20" forcerange="-20 20"/>
  </default>
  <worldbody>
    <body name="left" pos="-0.08 0 0.5">
      <joint name="left" type="slide" axis="1 0 0"/>
      <geom name="left pad" type="box" size="0.02 0.03 0.03" mass="0.2"/>
    </body>
    <body name="right" pos="0.08 0 0.5">
      <joint name="right" type="slide" axis="-1 0 0"/>
      <geom name="right pad" type="box" size="0.02 0.03 0.03" mass="0.2"/>
    </body>
    <body name="box" pos="0 0 0.5">
      <freejoint/>
      <geom name="box" type="box" size="0.05 0.02 0.02" mass="1"/>
    </body>
  </worldbody>
  <actuator>
    <position joint="left"/>
    <position joint="right"/>
  </actuator>
</mujoco>
"""
SQUEEZE = 0.03  # [m] the pads are told to go, 0.02 m further than the box lets them: the servos are at their 20 N
SETTLING, HOLDING = 100, 1000  # steps


def hold(step: Callable[..., None]) -> tuple[float, np.ndarray]:
    """How far the box slips while it is held [m], and the forces (normal, two of friction) of each pad on it [N]."""
    model = mujoco.MjModel.from_xml_string(GRIPPER)
    data = mujoco.MjData(model)
    data.ctrl[:] = SQUEEZE
    model.opt.gravity[2] = 0.0  # until the pads have closed
    step(model, data, SETTLING)
    model.opt.gravity[2] = -9.81
    step(model, data, SETTLING)
    start = data.body("box").xpos[2]
    step(model, data, HOLDING)
    return float(start - data.body("box").xpos[2]), pad_forces(model, data)


def pad_forces(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """(2, 3), summed over the contacts of a pad."""
    total, force = np.zeros((2, 3)), np.zeros(6)
    pads = [model.geom("left pad").id, model.geom("right pad").id]
    for number, contact in enumerate(data.contact):
        mujoco.mj_contactForce(model, data, number, force)
        pad = next(k for k, geom in enumerate(pads) if geom in contact.geom)
        total[pad] += force[:3]
    return total


def main() -> None:
    for name, step in {"mujoco.mj_step": mujoco.mj_step, "pliant.mj_step": pliant.mj_step}.items():
        slip, forces = hold(step)
        print(f"{name}: the box slips {1e3 * slip:.6f} mm in {HOLDING * 0.01:.0f} s")
        for side, force in zip(("left", "right"), forces, strict=True):
            print(f"    {side:5s} pad: presses {force[0]:.3f} N, holds {np.hypot(force[1], force[2]):.3f} N")


if __name__ == "__main__":
    main()
