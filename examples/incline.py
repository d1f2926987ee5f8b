"""Four blocks on a ramp of 15 degrees: below mu = tan 15 = 0.268 they slide by Coulomb's law, above they stay.

    python examples/incline.py [--picture FILE]

After t seconds a block that slides has the speed g t (sin 15 - mu cos 15); the one that sticks must not creep.
"""

import argparse

import numpy as np

import pliant

ANGLE, STEP, DURATION = np.radians(15.0), 0.01, 1.0  # [rad], [s], [s]
FRICTIONS = (0.0, 0.1, 0.2, 0.3)
COLOURS = ("0.84 0.37 0 1", "0.9 0.62 0 1", "0 0.62 0.45 1", "0 0.45 0.7 1")


DOWN, UP = np.array([np.cos(ANGLE), 0.0, -np.sin(ANGLE)]), np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)])  # of the ramp


def ramp() -> str:
    blocks = ""
    for i, (mu, colour) in enumerate(zip(FRICTIONS, COLOURS, strict=True)):
        x, y, z = -1.0 * DOWN + 0.1 * UP + [0.0, 0.5 * i - 0.75, 0.0]
        blocks += f"""<body pos="{x} {y} {z}" euler="0 15 0"><freejoint/>
          <geom type="box" size="0.15 0.15 0.1" mass="1" rgba="{colour}" friction="{mu}"/></body>"""
    x, _, z = -0.025 * UP
    return f"""<mujoco><option timestep="{STEP}" cone="elliptic"/><worldbody>
      <geom name="ground" type="plane" size="0 0 1" pos="0 0 -0.6" contype="0" conaffinity="0"/>
      <geom type="box" size="1.7 1.1 0.025" pos="{x} 0 {z}" euler="0 15 0" rgba="0.7 0.7 0.7 1" friction="0"/>
      {blocks}</worldbody></mujoco>"""


def main(picture: str | None) -> None:
    system = pliant.load(ramp())
    run = pliant.simulate(system, system.q, system.v, duration=DURATION, step=STEP)
    for mu, velocity in zip(FRICTIONS, run.v[-1].reshape(-1, 6)[:, :3], strict=True):
        exact = max(0.0, 9.81 * DURATION * (np.sin(ANGLE) - mu * np.cos(ANGLE)))
        print(f"mu = {mu:.1f}: {abs(velocity @ DOWN):.6f} m/s, exactly {exact:.6f} m/s")
    if picture:
        pliant.render(run, picture, forces=True, camera=(65, -20), size=(800, 450), overwrite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
