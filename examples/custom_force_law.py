"""A force law of your own, implicit: ring magnets float above each other on a rod, repelled by C/d^4.

    python examples/custom_force_law.py [--picture FILE]

A law f(d) that no class knows is linearised where the step begins: a spring of stiffness -f'(d), pressed in so that it
gives f(d) now. The step then takes it at its end, so it is stable at any stiffness. At rest gap i carries the weight of
all magnets above it, and is d = (C / weight)^(1/4).
"""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant

Array = NDArray[np.float64]
COUNT, MASS, C, DRAG, STEP = 4, 0.05, 2e-7, 0.2, 0.01  # [kg], [N m^4], [N s/m], [s]
THICK, GRAVITY = 0.01, 9.81  # [m], [m/s^2]


class Magnets:
    """q: (n,) heights over the lowest magnet, which is fixed, without the thickness of those between [m]."""

    rows = np.eye(COUNT) - np.eye(COUNT, k=-1)  # gaps from heights

    def problem(self, time: float, q: Array, v: Array, step: float) -> pliant.StepProblem:
        gaps = np.maximum(self.rows @ q, 1e-4)
        force, stiffness = C / gaps**4, 4.0 * C / gaps**5
        law = pliant.Law(stiffness, DRAG)
        repel = pliant.Bilateral(self.rows, -force / stiffness, law, name="magnets")
        return pliant.StepProblem(np.full(COUNT, MASS), v, np.full(COUNT, -MASS * GRAVITY), step, [repel])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        return q + step * v

    def draw(self) -> pliant.Drawing:
        rings = [pliant.Shape.cylinder(f"{i}", 0.03, THICK, colour=("blue", "vermillion")[i % 2]) for i in range(COUNT)]
        rod = pliant.Shape.cylinder("rod", 0.006, 0.3, colour="grey", at=(0.0, 0.0, 0.15))
        table = pliant.Shape.cylinder("table", 0.03, THICK, colour="black", at=(0.0, 0.0, -0.5 * THICK))
        return pliant.Drawing([pliant.Shape.ground(-THICK), rod, table, *rings], self.place)

    def place(self, time: float, q: Array) -> dict[str, Any]:
        return {f"{i}": (0.0, 0.0, height + (i + 0.5) * THICK) for i, height in enumerate(q)}


def main(picture: str | None) -> None:
    run = pliant.simulate(Magnets(), 0.06 * np.arange(1, COUNT + 1), np.zeros(COUNT), duration=4.0, step=STEP)
    gaps = Magnets.rows @ run.q[-1]
    for i, gap in enumerate(gaps):
        exact = (C / ((COUNT - i) * MASS * GRAVITY)) ** 0.25
        print(f"gap {i}: {1e3 * gap:.4f} mm, exactly {1e3 * exact:.4f} mm")
    if picture:
        pliant.render(run, picture, camera=(90, -15), size=(800, 450), overwrite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw it (.png)")
    main(parser.parse_args().picture)
