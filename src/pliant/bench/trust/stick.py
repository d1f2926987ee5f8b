"""What sticks does not creep: a block at 0.9 of the friction angle, a cube held against a wall, a pinched capsule."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from pliant.bench.trust.scene import Outcome, Scene, Verdict, engines, try_out
from pliant.studies.peers import Peer, Runner
from pliant.studies.scenes import GRAVITY, HARD, PINCH_CONTROL, SLOPE, incline, pinch
from pliant.studies.study import Progress

STEP: Final = 0.01  # [s]
SETTLING: Final = 1.0  # [s] after which drift counts
DURATION, SHORT = 1000.0, 20.0  # [s]
FRICTION: Final = float(np.tan(SLOPE)) / 0.9
STIFFNESS: Final = 1e7  # [N/m] for those who know no material
LEAST: Final = 1e-9  # [m/s] of drift, up to which nothing creeps


def wall(step: float) -> str:
    """A cube of 1 kg that a servo of 40 N holds against a wall."""
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="0.5 0 0" condim="3"/></default>
  <worldbody>
    <geom name="wall" type="box" size="0.1 1 1" pos="0.1 0 0"/>
    <body name="hand" pos="-0.12 0 0">
      <joint name="hand" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.02 0.04 0.04" mass="0.5"/>
    </body>
    <body name="cube" pos="-0.05 0 0"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1"/></body>
  </worldbody>
  <actuator><position joint="hand" kp="2000" kv="20"/></actuator>
</mujoco>"""


SERVOS: Final = {"wall": 0.02, "pinch": PINCH_CONTROL}  # [m] beyond touch
MODELS: Final[dict[str, Callable[[float], str]]] = {"ramp": partial(incline, FRICTION), "wall": wall, "pinch": pinch}


def run(quick: bool, progress: Progress) -> list[Outcome]:
    duration, outcomes = SHORT if quick else DURATION, []
    for case, model in MODELS.items():
        for peer in engines(STIFFNESS, HARD, drake=case == "ramp"):
            progress(f"trust: stick: {case}: {peer.name}")
            outcomes.append(_drift(peer, case, model(STEP), duration))
    return outcomes


def _drift(peer: Peer, case: str, xml: str, duration: float) -> Outcome:
    """The free body's, from the end of the settling on."""
    start: list[Any] = []
    settling = round(SETTLING / STEP)

    def begin(text: str) -> Runner:
        runner: Any = peer.start(text)
        if case in SERVOS:
            runner.data.ctrl[:] = SERVOS[case]
        runner.step(settling)
        start.append(runner.position[-1].copy())
        return runner

    def judge(runner: Runner) -> Verdict:
        way = float(np.linalg.norm(runner.position[-1] - start[0]))
        return way <= LEAST * duration, {"drift [m]": way, "speed [m/s]": way / duration}

    return try_out(peer._replace(start=begin), case, xml, round(duration / STEP), judge, each=1000)


SCENE = Scene(
    "stick",
    "A block on a ramp at 0.9 of the friction angle, a cube held against a wall, a capsule pinched",
    f"Coulomb's law holds it where it is: a drift of at most {LEAST:g} m/s, over 1000 s after the first second.",
    run,
)
