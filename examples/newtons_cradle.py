"""Newton's cradle: five steel balls on rods, the first one lifted by 30 degrees; the last one takes over its swing.

    python examples/newtons_cradle.py [--picture FILE]

Equal balls that meet two at a time exchange their speeds: the last one must rise by 30 degrees, those between must not
move much further than the 3 mm that they hang apart. A restitution of 1 says that an impact loses nothing.
"""

import argparse

import numpy as np

import pliant

COUNT, RADIUS, ROD, APART = 5, 0.05, 0.6, 3e-3  # [m]
LIFT = np.radians(30.0)


def cradle() -> str:
    balls = "".join(
        f"""<body pos="{i * (2 * RADIUS + APART)} 0 0.8"><joint axis="0 1 0"/>
          <geom type="capsule" size="0.004" fromto="0 0 0 0 0 {-ROD}" mass="0" contype="0" conaffinity="0"/>
          <geom name="ball {i}" size="{RADIUS}" pos="0 0 {-ROD}" mass="1" rgba="0.65 0.68 0.72 1"/></body>"""
        for i in range(COUNT)
    )
    return f"""<mujoco><option timestep="0.001"/><default><geom friction="0"/></default>
      <worldbody><geom type="plane" size="0 0 1" contype="0" conaffinity="0"/>{balls}</worldbody></mujoco>"""


def main(picture: str | None) -> None:
    steel = pliant.Material(youngs_modulus=2e11, poissons_ratio=0.3, restitution=1.0)
    system = pliant.load(cradle(), materials={"ball *": steel})
    q = np.zeros(COUNT)
    q[0] = LIFT
    half = 2.0 * np.pi * np.sqrt((ROD**2 + 0.4 * RADIUS**2) / (9.81 * ROD)) / 2.0  # of a small swing [s]
    run = pliant.simulate(system, q, np.zeros(COUNT), duration=half, step=0.001)
    angles = np.degrees(run.q)
    print(f"the last ball rises by {-angles[:, -1].min():.2f} degrees, as the first was lifted by 30")
    print(f"those between move by {np.abs(angles[:, 1:-1]).max():.2f} degrees at most")
    if picture:
        highest = float(run.time[np.argmin(angles[:, -1])])
        pliant.render(run, picture, time=highest, camera=(90, -12), size=(800, 450), overwrite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
