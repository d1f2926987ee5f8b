"""A soft pad of 12 x 6 cm is pressed onto a pipe with 60 N: where it touches, and how hard.

    python examples/pressure_map.py [PICTURE]

The pad is a box with an elastic foundation on its lower side; every element is a contact with friction of its own.
"""

from __future__ import annotations

import sys

import numpy as np

import pliant

SCENE = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="pipe" type="cylinder" size="0.1 0.2" euler="90 20 0" pos="0 0 -0.1"/>
    <body pos="0 0 0.02">
      <joint type="slide" axis="0 0 1"/>
      <geom name="pad" type="box" size="0.06 0.03 0.02" mass="1"/>
    </body>
  </worldbody>
</mujoco>
"""
RUBBER = pliant.Foundation(youngs_modulus=1e6, depth=0.01, elements=1800, side="-z", damping=1.0)


def main(picture: str | None) -> None:
    system = pliant.load(SCENE, materials={"pad": RUBBER})
    system.data.qfrc_applied[0] = -60.0 + 9.81
    run = pliant.simulate(system, system.q, system.v, duration=1.0, step=0.01)
    contacts, pressure = run.contacts, run.pressure
    last = np.asarray(pressure["time"]) == run.time[-1]
    print(f"{last.sum()} of 1800 elements touch, up to {np.asarray(pressure['pressure'])[last].max() / 1e3:.1f} kPa")
    print(f"they carry {np.asarray(contacts['fz'])[last].sum():.3f} N; the pad sinks by {-1e3 * run.q[-1, 0]:.3f} mm")
    if picture:
        run.plot_pressure(path=picture)
        print(f"picture: {picture}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
