"""What the suite `answer` simulates for a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from pliant.bench.scenes import drop, pile, walker
from pliant.studies.scenes import incline, stack
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_load import read_spec


class Scene(NamedTuple):
    """What is simulated, and how it is judged.

    model: its text, for a step [s]. free: only free bodies, which Drake's peer can have. chaotic: where a single body
    ends does not converge with the step, in any engine; the centre of all of them is judged. quick: in a quick run.
    """

    model: Callable[[float], str]
    free: bool = True
    chaotic: bool = False
    quick: bool = False


def _humanoid(step: float) -> str:
    """Gymnasium's, let go: it lands on its feet and folds."""
    spec = read_spec(walker("humanoid"))
    spec.option.timestep = step
    spec.option.solver, spec.option.iterations = mujoco().mjtSolver.mjSOL_NEWTON, 100
    return str(spec.to_xml())


SCENES: Final = {
    "box that slides": Scene(lambda h: incline(0.125, h), quick=True),
    "box that sticks": Scene(lambda h: incline(0.375, h), quick=True),
    "dropped box": Scene(drop, quick=True),
    "10 spheres": Scene(lambda h: stack(10, h)),
    "pile of 8": Scene(lambda h: pile(8, h, across=2), chaotic=True),
    "humanoid": Scene(_humanoid, free=False),
}
