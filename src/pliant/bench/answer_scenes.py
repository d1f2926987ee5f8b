"""What the suite `answer` simulates for a second."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.bench.scenes import QUADRUPED, WALKERS, drop, pile, quadruped, walker
from pliant.inputs import Array
from pliant.studies.scenes import incline, stack
from pliant.systems.mujoco_calls import mj_step
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_load import read_spec

FALL, REST, SETTLING = 1.0, 2.0, 0.002  # [s] with random controls, and with none, before a robot is pushed; h of that
EACH: Final = 0.01  # [s] that a random control lasts
PUSH: Final = 0.4  # the largest control


class Scene(NamedTuple):
    """What is simulated, and how it is judged.

    model: its text, for a step [s]. start: puts a runner into the state that it begins with, if that is not the
    model's. free: only free bodies, which Drake's peer can have. chaotic: where a single body
    ends does not converge with the step, in any engine; the centre of all of them is judged. quick: in a quick run.
    """

    model: Callable[[float], str]
    free: bool = True
    chaotic: bool = False
    quick: bool = False
    start: Callable[[Any], None] | None = None


def robot(name: str, step: float) -> str:
    """One of Gymnasium's or dm_control's, by Newton's method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what MuJoCo thinks of the files of others
        spec = quadruped() if name == QUADRUPED else read_spec(walker(name))
        spec.option.timestep = step
        spec.option.solver, spec.option.iterations = mujoco().mjtSolver.mjSOL_NEWTON, 100
        return str(spec.to_xml())


@functools.cache
def lying(name: str) -> tuple[Array, Array, Array]:
    """Positions, velocities and activations of a robot that has fallen and lies, as we simulate it."""
    model = mujoco().MjModel.from_xml_string(robot(name, SETTLING))
    data, rng = mujoco().MjData(model), np.random.default_rng(0)
    for _ in range(round(FALL / EACH)):
        data.ctrl[:] = PUSH * rng.uniform(-1.0, 1.0, model.nu)
        mj_step(model, data, round(EACH / SETTLING))
    data.ctrl[:] = 0.0
    mj_step(model, data, round(REST / SETTLING))
    return data.qpos.copy(), data.qvel.copy(), data.act.copy()


def push(name: str, runner: Any) -> None:
    """Let a robot that lies have some control, the same for as long as it is watched."""
    data = runner.data
    data.qpos[:], data.qvel[:], data.act[:] = lying(name)
    data.ctrl[:] = PUSH * np.random.default_rng(1).uniform(-1.0, 1.0, len(data.ctrl))


def _pushed(name: str) -> Scene:
    return Scene(functools.partial(robot, name), free=False, start=functools.partial(push, name))


SCENES: Final = {
    "box that slides": Scene(lambda h: incline(0.125, h), quick=True),
    "box that sticks": Scene(lambda h: incline(0.375, h), quick=True),
    "dropped box": Scene(drop, quick=True),
    "10 spheres": Scene(lambda h: stack(10, h)),
    "pile of 8": Scene(lambda h: pile(8, h, across=2), chaotic=True),
    "humanoid": Scene(functools.partial(robot, "humanoid"), free=False),  # let go: it lands on its feet and folds
    **{f"{name}, pushed": _pushed(name) for name in (*WALKERS, QUADRUPED)},
}
