"""Gymnasium's humanoid falls, in steps of 20 ms, nearly seven times its own 3 ms, and comes to rest on the floor.

    python examples/humanoid.py [--picture FILE]

The model is taken as it is, with its contacts, joint limits and springs. At rest the floor carries its weight.
"""

import argparse
from pathlib import Path

import gymnasium
import mujoco
import numpy as np

import pliant

MODEL = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "humanoid.xml"
STEP = 0.02  # [s]


def main(picture: str | None) -> None:
    spec = mujoco.MjSpec.from_file(str(MODEL))
    spec.option.timestep = STEP
    spec.texture("texplane").rgb1, spec.material("MatPlane").reflectance = [0.7, 0.7, 0.7], 0.0  # a calm floor,
    spec.geom("floor").size = [20.0, 20.0, 2.0]  # drawn in large pieces
    system = pliant.load(spec)
    run = pliant.simulate(system, system.q, system.v, duration=8.0, step=STEP)
    weight = float(system.model.body_mass.sum()) * 9.81
    contacts = run.contacts
    last = np.asarray(contacts["time"]) == run.time[-1]
    floor = last & (np.asarray(contacts["geom1"]) == "floor")
    print(f"{floor.sum()} contacts carry {np.asarray(contacts['fz'])[floor].sum():.2f} N of {weight:.2f} N")
    print(f"deepest penetration {1e6 * np.asarray(contacts['penetration'])[last].max():.2f} um")
    print(f"fastest joint {np.abs(run.v[-1]).max():.1e} rad/s; {int(run.stats['unsolved'].sum())} steps unsolved")
    if picture:
        look = (70.0, -30.0, 2.4)
        pliant.render(run, picture, time=1.2, forces=True, scale=250.0, camera=look, size=(800, 450), overwrite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
