"""A pendulum in absolute coordinates: a joint of 1e15 N/m in steps of 50 ms, which stays closed to rounding.

    python examples/pendulum.py [--picture FILE]

The rod is no coordinate but a constraint, phi = (x, y) - L (cos theta, sin theta). Released level and at rest, the bob
passes its lowest point every 2 K(1/2)/w, an elliptic integral, with w^2 = m g L/(m L^2 + I).
"""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ellipk

import pliant

Array = NDArray[np.float64]
MASS, LENGTH, GRAVITY, STEP = 1.0, 1.0, 9.81, 0.05  # [kg], [m], [m/s^2], [s]
INERTIA = MASS * LENGTH**2 / 12.0


class Pendulum:
    """A bob: q = (x, y, theta)."""

    def phi(self, q: Array) -> Array:
        return q[:2] - LENGTH * np.array([np.cos(q[2]), np.sin(q[2])])

    def problem(self, time: float, q: Array, v: Array, step: float) -> pliant.StepProblem:
        rows = [[1.0, 0.0, LENGTH * np.sin(q[2])], [0.0, 1.0, -LENGTH * np.cos(q[2])]]
        joint = pliant.Bilateral(rows, self.phi(q), pliant.Law(stiffness=1e15, damping=1.0))
        return pliant.StepProblem([MASS, MASS, INERTIA], v, [0.0, -MASS * GRAVITY, 0.0], step, [joint])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        return q + step * v

    def values(self, time: float, q: Array) -> list[Array]:
        return [self.phi(q)]

    def draw(self) -> pliant.Drawing:
        shapes = [pliant.Shape.line("rod", 0.02), pliant.Shape.sphere("bob", 0.1, colour="vermillion")]
        shapes += [pliant.Shape.sphere("pivot", 0.04, colour="black"), pliant.Shape.ground(-1.4)]
        return pliant.Drawing(shapes, self.place)

    def place(self, time: float, q: Array) -> dict[str, Any]:
        bob = [q[0], 0.0, q[1]]
        return {"rod": ([0.0, 0.0, 0.0], bob), "bob": bob}


def main(picture: str | None) -> None:
    system = Pendulum()
    run = pliant.simulate(system, [LENGTH, 0.0, 0.0], [0.0, 0.0, 0.0], duration=10.0, step=STEP)
    gap = max(np.abs(system.phi(q)).max() for q in run.q)
    high = run.q[:, 2] + 0.5 * np.pi  # the angle from the lowest point
    k = np.flatnonzero(high[:-1] * high[1:] < 0.0)  # samples before it is passed
    passed = run.time[k] + STEP * high[k] / (high[k] - high[k + 1])
    exact = 2.0 * ellipk(0.5) / np.sqrt(MASS * GRAVITY * LENGTH / (MASS * LENGTH**2 + INERTIA))
    print(f"the joint opens by {gap:.0e} m at most, in {run.time[-1]:g} s")
    print(f"from one passage of the lowest point to the next {np.diff(passed).mean():.4f} s, exactly {exact:.4f} s")
    if picture:
        pliant.render(run, picture, time=9.45, size=(800, 450), overwrite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
