"""What rolls goes on as it must: a ball that slides at first, a disc on its rim, balls between two plates."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from pliant.bench.trust.scene import Outcome, Scene, Verdict, engines, try_out
from pliant.bench.trust.traced import Traced, trace
from pliant.inputs import Array
from pliant.studies.peers import Peer, Runner
from pliant.studies.scenes import GRAVITY, HARD
from pliant.studies.study import Progress

STEP: Final = 0.01  # [s]
SETTLING: Final = 0.5  # [s] before the throw
DURATION, SHORT = 60.0, 3.0  # [s] of ball and disc
FRICTION, SPEED = 0.3, 2.0  # [m/s]
BALL, RIM, WIDTH = 0.1, 0.2, 0.02  # radii of ball and disc, width of the disc [m]
STIFFNESS: Final = 1e7  # [N/m] for those who know no material
SHARE: Final = 1e-3  # of speed and way, within which they are right
# balls between plates: the upper one, of 2 kg, is pulled for a second
BALLS, BALL_MASS, PLATE, PULL, WHILE = 5, 0.2, 2.0, 5.0, 1.0  # [kg], [kg], [N], [s]
HEADING: Final = np.radians(30.0)


def _thrown(step: float, height: float, geom: str) -> str:
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="{FRICTION} 0 0" condim="3"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="500 500 1"/>
    <body pos="0 0 {height}"><freejoint/>{geom}</body>
  </worldbody>
</mujoco>"""


def ball(step: float) -> str:
    return _thrown(step, BALL, f'<geom size="{BALL}" mass="1"/>')


def disc(step: float) -> str:
    return _thrown(step, RIM, f'<geom type="cylinder" euler="90 0 0" size="{RIM} {0.5 * WIDTH}" mass="1"/>')


def plates(step: float) -> str:
    """Balls in a row, half a metre apart, under a plate that does not turn."""
    row = "".join(
        f'<body pos="{0.5 * (i - 0.5 * (BALLS - 1))} 0 {BALL}"><freejoint/>'
        f'<geom size="{BALL}" mass="{BALL_MASS}"/></body>'
        for i in range(BALLS)
    )
    slides = "".join(f'<joint name="{x}" type="slide" axis="{a}"/>' for x, a in zip("xyz", _AXES, strict=True))
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="{FRICTION} 0 0" condim="3"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="10 10 1"/>
    <body name="plate" pos="0 0 {2.0 * BALL + 0.01}">{slides}<geom type="box" size="3 2 0.01" mass="{PLATE}"/></body>
    {row}
  </worldbody>
</mujoco>"""


_AXES: Final = ("1 0 0", "0 1 0", "0 0 1")


def rolls_after(speed: float, friction: float) -> tuple[float, float, float]:
    """When a thrown ball rolls [s], how far it has come [m], and its speed then [m/s]: 2 v/(7 mu g), 12 v^2/(49 mu g),
    5/7 v."""
    pull = friction * GRAVITY
    return 2.0 * speed / (7.0 * pull), 12.0 * speed**2 / (49.0 * pull), 5.0 / 7.0 * speed


def acceleration() -> float:
    """Of the plate [m/s^2]: 1/2 M v^2 and, for each ball, 1/2 m (v/2)^2 (1 + 2/5)."""
    return PULL / (PLATE + 0.35 * BALLS * BALL_MASS)


def run(quick: bool, progress: Progress) -> list[Outcome]:
    duration, outcomes = SHORT if quick else DURATION, []
    for peer in engines(STIFFNESS, HARD, dissipation=10.0):
        progress(f"trust: rolling: {peer.name}")
        outcomes.append(slides_then_rolls(peer, duration))
        if not peer.name.startswith("Drake"):  # which has one point for an edge, and no plate on slides here
            outcomes += [on_its_rim(peer, duration), between_plates(peer)]
    return outcomes


def _throw(spin: float, runner: Runner) -> None:
    runner.step(round(SETTLING / STEP))
    runner.throw(0, np.array([SPEED, 0.0, 0.0]), np.array([0.0, spin, 0.0]))


def slides_then_rolls(peer: Peer, duration: float) -> Outcome:
    return trace(peer, "ball", ball(STEP), round(duration / STEP), partial(_throw, 0.0), partial(_ball, duration))


def _ball(duration: float, run: Traced) -> Verdict:
    when, where, rolling = rolls_after(SPEED, FRICTION)
    rates, way = run.rates[:, 0], run.way[:, 0] - run.way[0, 0]
    slip = np.abs(rates[:, 0] - BALL * rates[:, 4])
    begins = STEP * float(np.argmax(slip < 0.01 * SPEED))
    first, last = float(rates[round(1.0 / STEP), 0]) / rolling - 1.0, float(rates[-1, 0]) / rolling - 1.0
    off = float(way[-1, 0]) - where - rolling * (duration - when)
    values = {"speed after 1 s": first, "at the end": last, "begins to roll late by [s]": begins - when, "way [m]": off}
    right = max(abs(first), abs(last)) <= SHARE and abs(begins - when) <= 2.0 * STEP
    return right and abs(off) <= STEP * SPEED + SHARE * rolling * duration, values


def on_its_rim(peer: Peer, duration: float) -> Outcome:
    begin = partial(_throw, SPEED / RIM)
    return trace(peer, "disc on its rim", disc(STEP), round(duration / STEP), begin, partial(_disc, duration))


def _disc(duration: float, run: Traced) -> Verdict:
    way = run.way[-1, 0] - run.way[0, 0]
    off, aside = float(way[0]) / (SPEED * duration) - 1.0, float(np.abs(run.way[:, 0, 1]).max())
    low = float(RIM - run.way[:, 0, 2].min())
    return max(abs(off), aside, low) <= SHARE, {"way": off, "aside [m]": aside, "lower by [m]": low}


def between_plates(peer: Peer) -> Outcome:
    """The plate rests on the balls first."""
    begin: list[Array] = []

    def start(text: str) -> Runner:
        runner: Any = peer.start(text)
        runner.step(round(SETTLING / STEP))
        begin.append(_places(runner))
        runner.data.qfrc_applied[:2] = PULL * np.array([np.cos(HEADING), np.sin(HEADING)])
        return runner

    def judge(runner: Runner) -> Verdict:
        return _halves(_places(runner) - begin[0])

    return try_out(peer._replace(start=start), "balls between plates", plates(STEP), round(WHILE / STEP), judge)


def _places(runner: Any) -> Array:
    """The plate's, then the balls', (1 + n, 2) [m]."""
    return np.vstack([runner.data.qpos[:2], runner.position[:, :2]])


def _halves(way: Array) -> Verdict:
    """The plate's way may be longer by the h/t of a scheme of first order."""
    along, across = (float(x) for x in way[0] @ _turn())
    expected = 0.5 * acceleration() * WHILE**2
    balls = way[1:] @ _turn() / along - np.array([0.5, 0.0])
    worst, aside, off = float(np.abs(balls[:, 0]).max()), float(np.abs(balls[:, 1]).max()), along / expected - 1.0
    right = max(worst, aside, abs(across) / along) <= SHARE and abs(off) <= STEP / WHILE + SHARE
    return right, {"balls off half": worst, "off the line": max(aside, abs(across) / along), "plate's way": off}


def _turn() -> Array:
    c, s = np.cos(HEADING), np.sin(HEADING)
    return np.array([[c, -s], [s, c]])


SCENE = Scene(
    "rolling",
    "A ball that slides, then rolls; a disc on its rim; balls between a floor and a plate that is pulled askew",
    "The ball rolls after 2 v/(7 mu g), within 2 steps, with 5/7 v, and goes on so for a minute; the disc goes "
    "straight on, upright; the balls go half the way of the plate, along its line, and the plate as its force and "
    "their inertia say. All to 1e-3, beside the h v of the way, or h/t of the plate's, of a scheme of first order.",
    run,
)
