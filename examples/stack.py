"""Ten boxes, each twice as heavy as the one below it, stand for five seconds, in steps of 20 ms.

    python examples/stack.py [--picture FILE]

The heaviest, 512 kg, stands on top, the lightest, 1 kg, below all. The floor must carry 1023 kg. Every face rests on
four contacts of 1e8 N/m, so the top sinks by the sum of all loads over 4e8 N/m.
"""

import argparse

import numpy as np

import pliant

COUNT, SIDE = 10, 0.2  # [m]


def tower() -> str:
    boxes = ""
    for i in range(COUNT):
        colour = f"{0.7 - 0.07 * i:.2f} {0.8 - 0.06 * i:.2f} {0.9 - 0.03 * i:.2f} 1"  # the heavier the darker
        boxes += f"""<body pos="0 0 {(i + 0.5) * SIDE}"><freejoint/>
          <geom type="box" size="0.1 0.1 0.1" mass="{2**i}" rgba="{colour}"/></body>"""
    return f"""<mujoco><option timestep="0.02"/><worldbody>
      <geom name="floor" type="plane" size="0 0 1"/>{boxes}</worldbody></mujoco>"""


def main(picture: str | None) -> None:
    system = pliant.load(tower())
    run = pliant.simulate(system, system.q, system.v, duration=5.0, step=0.02)
    contacts = run.contacts
    last = (np.asarray(contacts["time"]) == run.time[-1]) & (np.asarray(contacts["geom1"]) == "floor")
    carried = float(np.asarray(contacts["fz"])[last].sum())
    moved = (run.q[-1] - run.q[0]).reshape(COUNT, 7)[:, :3]
    speed = np.abs(run.v[-1]).max()
    print(f"the floor carries {carried:.2f} N of {(2**COUNT - 1) * 9.81:.2f} N")
    sinks = 9.81 * sum(2**COUNT - 2**i for i in range(COUNT)) / 4e8
    print(f"the top is {-1e3 * moved[-1, 2]:.4f} mm lower, by hand {1e3 * sinks:.4f} mm")
    print(f"boxes are {1e9 * np.abs(moved[:, :2]).max():.1f} nm aside")
    print(f"the fastest moves at {speed:.0e} m/s; {int(run.stats['unsolved'].sum())} steps are not solved")
    if picture:
        pliant.render(run, picture, camera=(130, -8), size=(800, 600), overwrite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
