"""A soft pad of 12 x 6 cm is pressed onto a pipe with 60 N: where it touches, and how hard.

    python examples/foundation_pressure.py [--picture FILE]

The pad is a box with an elastic foundation on its lower side; every element is a contact with friction of its own.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.plot import BLUE, INK, empty_figure

Array = NDArray[np.float64]

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


STIFFNESS, LOAD, WIDTH, PIPE = 1e6 / 0.01, 60.0, 0.06, 0.1  # [N/m^3] [N] [m] [m]
ACROSS = np.radians(20.0)  # from the pad's x to the direction across the pipe


def main(picture: str | None) -> None:
    system = pliant.load(SCENE, materials={"pad": RUBBER})
    system.data.qfrc_applied[0] = -LOAD + 9.81
    run = pliant.simulate(system, system.q, system.v, duration=0.5, step=0.01)
    contacts, pressure = run.contacts, run.pressure
    last = np.asarray(pressure["time"]) == run.time[-1]
    # over a band of half-width a = sqrt(2 R d): F = k (4/3) a d w / cos 20
    deep = (LOAD * np.cos(ACROSS) / (4.0 / 3.0 * STIFFNESS * np.sqrt(2.0 * PIPE) * WIDTH)) ** (2.0 / 3.0)
    print(f"{last.sum()} of 1800 elements carry {np.asarray(contacts['fz'])[last].sum():.3f} N")
    print(f"the pad sinks by {-1e3 * run.q[-1, 0]:.3f} mm, by hand {1e3 * deep:.3f} mm")
    highest = np.asarray(pressure["pressure"])[last].max()
    print(f"the highest pressure is {highest / 1e3:.1f} kPa, by hand {STIFFNESS * deep / 1e3:.1f} kPa")
    if picture:
        u, v, p = (np.asarray(pressure[name])[last] for name in ("u", "v", "pressure"))
        draw(picture, u, v, p, deep)


def draw(picture: str, u: Array, v: Array, pressure: Array, deep: float) -> None:
    """The map, and the pressure across the pipe beside that by hand, k (d - x^2/(2 R))."""
    figure = empty_figure(8.0, 3.6)
    left, right = figure.subplots(1, 2)
    spots = left.scatter(1e3 * u, 1e3 * v, c=1e-3 * pressure, s=42.0, marker="s")
    figure.colorbar(spots, ax=left, label="pressure [kPa]")
    left.set(aspect="equal", xlabel="x [mm]", ylabel="y [mm]", title="on the lower side of the pad")
    across = u * np.cos(ACROSS) + v * np.sin(ACROSS)
    x = np.linspace(-1.0, 1.0, 100) * np.sqrt(2.0 * PIPE * deep)
    right.plot(1e3 * across, 1e-3 * pressure, ".", color=BLUE, ms=3, label="elements")
    right.plot(1e3 * x, 1e-3 * STIFFNESS * (deep - x**2 / (2.0 * PIPE)), color=INK, lw=1.0, label="by hand")
    right.set(xlabel="across the pipe [mm]", ylabel="pressure [kPa]", title="across the pipe")
    right.legend(frameon=False)
    figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
