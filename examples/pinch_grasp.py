"""A gripper holds a box of 1 kg for ten seconds, in steps of 10 ms: with MuJoCo's forces, then with pliant's.

    python examples/pinch_grasp.py [--picture FILE]

The only difference between the two is the function that steps. Each pad presses with the 20 N of its servo, and its
friction must hold half of the weight, 4.905 N.
"""

import argparse
from collections.abc import Callable

import mujoco
import numpy as np

import pliant

GRIPPER = """
<mujoco>
  <option timestep="0.01" cone="elliptic"/>
  <default><geom type="box" friction="0.6"/><position kp="2000" kv="20" forcerange="-20 20"/></default>
  <worldbody>
    <body pos="-0.08 0 0.5"><joint name="left" type="slide" axis="1 0 0"/>
      <geom name="left pad" size="0.02 0.03 0.03" mass="0.2" rgba="0.5 0.5 0.5 1"/></body>
    <body pos="0.08 0 0.5"><joint name="right" type="slide" axis="-1 0 0"/>
      <geom name="right pad" size="0.02 0.03 0.03" mass="0.2" rgba="0.5 0.5 0.5 1"/></body>
    <body name="box" pos="0 0 0.5"><freejoint/>
      <geom name="box" size="0.05 0.02 0.02" mass="1" rgba="0 0.45 0.7 1"/></body>
  </worldbody>
  <actuator><position joint="left"/><position joint="right"/></actuator>
</mujoco>"""
SQUEEZE = 0.03  # [m] the pads are told to go, 0.02 m further than the box lets them


def hold(step: Callable[..., None]) -> tuple[mujoco.MjModel, mujoco.MjData, float]:
    """The model and its data at the end, and how far the box slips while it is held [m]."""
    model = mujoco.MjModel.from_xml_string(GRIPPER)
    data = mujoco.MjData(model)
    data.ctrl[:] = SQUEEZE
    model.opt.gravity[2] = 0.0  # until the pads have closed
    step(model, data, 100)
    model.opt.gravity[2] = -9.81
    step(model, data, 100)
    start = float(data.body("box").xpos[2])
    step(model, data, 1000)
    return model, data, start - float(data.body("box").xpos[2])


def main(picture: str | None) -> None:
    print(f"mujoco.mj_step: the box slips {1e3 * hold(mujoco.mj_step)[2]:.6f} mm in 10 s")
    model, data, slip = hold(pliant.mj_step)
    print(f"pliant.mj_step: the box slips {1e3 * slip:.6f} mm in 10 s")
    table = pliant.contacts(model, data)
    for pad in ("left pad", "right pad"):
        its = (np.asarray(table["geom1"]) == pad) | (np.asarray(table["geom2"]) == pad)
        presses, holds = (abs(float(np.asarray(table[column])[its].sum())) for column in ("fx", "fz"))
        print(f"    {pad:9s} presses {presses:.3f} N, holds {holds:.3f} N")
    if picture:
        system = pliant.load(GRIPPER)
        system.data.ctrl[:] = SQUEEZE
        run = pliant.simulate(system, system.q, system.v, duration=1.0, step=0.01)
        pliant.render(run, picture, forces=True, camera=(110, -15), size=(800, 450), overwrite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
