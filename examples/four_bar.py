"""A four-bar loop as a MuJoCo model: its crank goes round, its rocker swings, and the loop stays closed.

    python examples/four_bar.py [--picture FILE]

Crank 1 m, coupler 2 m, rocker 2 m, pivots 2 m apart. The rocker turns back where crank and coupler are in line, 3 m or
1 m from one pivot to the rocker's end: by the law of cosines at acos(-1/8) = 97.18 and acos(7/8) = 28.96 degrees.
"""

import argparse

import mujoco
import numpy as np

import pliant

BAR = 'type="capsule" size="0.05" density="127"'
LOOP = f"""
<mujoco>
  <option timestep="0.01"/>
  <default><geom contype="0" conaffinity="0"/><joint axis="0 -1 0"/></default>
  <worldbody>
    <geom type="plane" size="0 0 1" pos="0 0 -1.2"/>
    <geom type="box" size="1.3 0.1 0.06" pos="1 0.2 0" rgba="0.3 0.3 0.3 1"/>
    <body name="crank">
      <joint/><geom {BAR} fromto="0 0 0 0 0 1" rgba="0.84 0.37 0 1"/>
      <body name="coupler" pos="0 0 1">
        <joint/><geom {BAR} fromto="0 0 0 1.7416 0 0.9832" rgba="0.55 0.55 0.55 1"/>
        <site name="tip" pos="1.7416 0 0.9832"/>
      </body>
    </body>
    <body name="rocker" pos="2 0 0">
      <joint name="rocker"/><geom {BAR} fromto="0 0 0 -0.2584 0 1.9832" rgba="0 0.45 0.7 1"/>
      <site name="end" pos="-0.2584 0 1.9832"/>
    </body>
  </worldbody>
  <equality><connect site1="tip" site2="end"/></equality>
</mujoco>"""
START = np.degrees(np.arctan2(1.9832, 0.2584))  # of the rocker, from the line of the pivots


def main(picture: str | None) -> None:
    system = pliant.load(LOOP)
    kick = [8.0, 0.0, 0.0]  # [rad/s] of the crank; the rocker follows within the first step
    run = pliant.simulate(system, system.q, kick, duration=4.0, step=0.01)
    data, gap = mujoco.MjData(system.model), 0.0
    for q in run.q[1:]:
        data.qpos[:] = q
        mujoco.mj_kinematics(system.model, data)
        gap = max(gap, float(np.linalg.norm(data.site("tip").xpos - data.site("end").xpos)))
    rocker = START - np.degrees(run.q[:, 2])
    turns = abs(run.q[-1, 0] - run.q[0, 0]) / (2.0 * np.pi)
    print(f"the crank turns {turns:.1f} times in {run.time[-1]:g} s; the loop opens by {gap:.0e} m at most")
    print(f"the rocker swings from {rocker.min():.2f} to {rocker.max():.2f} degrees, exactly 28.96 to 97.18")
    if picture:
        pliant.render(run, picture, time=0.3, camera=(90, -10), size=(800, 450), overwrite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
