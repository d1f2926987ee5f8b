"""Compile what steps of MuJoCo models need, ahead of time."""

from __future__ import annotations

from pliant.systems.mujoco_calls import mj_step
from pliant.systems.mujoco_door import mujoco

MODEL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body pos="0 0 .3">
      <freejoint/>
      <geom type="box" size=".1 .2 .3"/>
    </body>
    <body pos="2 0 1">
      <joint name="hinge" axis="0 1 0" range="-10 10" damping="1"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/>
    </body>
  </worldbody>
  {}
</mujoco>
"""
SERVO = '<actuator><position joint="hinge" kp="100"/></actuator>'


def warm_up() -> None:
    """Steps of a box that turns and lands, and of an arm, with and without a servo: in compiled calls, of one step and
    of many, and by arrays, as of models with energies."""
    mj = mujoco()
    for rest in (SERVO, ""):
        model = mj.MjModel.from_xml_string(MODEL.format(rest))
        for flag in (0, mj.mjtEnableBit.mjENBL_ENERGY):
            model.opt.enableflags = int(flag)
            data = mj.MjData(model)
            data.qvel[2:5] = -3.0, 0.1, 0.2
            mj_step(model, data)
            mj_step(model, data, 100)
