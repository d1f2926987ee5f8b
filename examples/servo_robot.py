"""An arm of three links held level by position servos with gains from 1e3 to 1e10 N m/rad, in steps of 10 ms.

    python examples/servo_robot.py [--picture FILE]

Servos are springs and dampers, and pliant takes both at the end of the step: a stiff one is as stable as a soft one.
The shoulder droops by its torque over its gain. MuJoCo's integrator for such servos, implicitfast, takes the dampers so
but not the springs: with large gains, here critically damped, it does not come to rest (nan).
"""

import argparse
from collections.abc import Callable

import mujoco
import numpy as np

import pliant
from pliant.plot import BLUE, GREY, VERMILLION, empty_figure

LENGTH, MASS, STEP = 0.4, 2.0, 0.01  # of a link [m], [kg]; [s]
GAINS = np.logspace(3, 10, 8)  # [N m/rad]
TORQUE = 9.81 * MASS * LENGTH * (0.5 + 1.5 + 2.5)  # on the shoulder [N m]
LINK = f'<geom type="capsule" size="0.04" fromto="0 0 0 {LENGTH} 0 0" mass="{MASS}"/>'
ARM = f"""
<mujoco>
  <option timestep="{STEP}" integrator="implicitfast"/>
  <default>
    <geom contype="0" conaffinity="0"/>
    <joint axis="0 1 0"/>
    <position kp="GAIN" dampratio="1"/>
  </default>
  <worldbody>
    <body pos="0 0 0.5"><joint name="shoulder"/>{LINK}
      <body pos="{LENGTH} 0 0"><joint name="elbow"/>{LINK}
        <body pos="{LENGTH} 0 0"><joint name="wrist"/>{LINK}</body>
      </body>
    </body>
  </worldbody>
  <actuator><position joint="shoulder"/><position joint="elbow"/><position joint="wrist"/></actuator>
</mujoco>"""


def droop(step: Callable[..., None], gain: float) -> float:
    """Of the shoulder after 5 s [rad]; nan where it does not come to rest."""
    model = mujoco.MjModel.from_xml_string(ARM.replace("GAIN", str(gain)))
    data = mujoco.MjData(model)
    for _ in range(500):
        step(model, data)
        if not np.abs(data.qpos).max() < 3.0:
            return np.nan
    return float(data.qpos[0]) if np.abs(data.qvel).max() < 1e-3 else np.nan


def main(picture: str | None) -> None:
    ours = [droop(pliant.mj_step, gain) for gain in GAINS]
    theirs = [droop(mujoco.mj_step, gain) for gain in GAINS]
    for gain, angle, other in zip(GAINS, ours, theirs, strict=True):
        print(f"{gain:8.0e} N m/rad: {angle:.4e} rad, torque over gain {TORQUE / gain:.4e}, MuJoCo {other:.4e}")
    if picture:
        figure = empty_figure(8.0, 4.5)
        ax = figure.subplots()
        ax.loglog(GAINS, TORQUE / GAINS, color=GREY, lw=1.0, label="torque over gain")
        ax.loglog(GAINS, ours, "o", color=BLUE, label="pliant")
        ax.loglog(GAINS, theirs, "x", color=VERMILLION, ms=9, label="MuJoCo, where it comes to rest")
        ax.set(xlabel="gain of the servos [N m/rad]", ylabel="droop of the shoulder [rad]")
        ax.set_title(f"An arm of three links held level, steps of {1e3 * STEP:g} ms")
        ax.legend(frameon=False)
        figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
