"""What hits stops, or bounces as it must: fast bodies on a plane, on a thin plate and on each other; restitution; a
cradle of five balls."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from pliant.bench.trust.cradle import swings
from pliant.bench.trust.scene import CONVEX, COULOMB, Outcome, Scene, Verdict, engines
from pliant.bench.trust.traced import Traced, trace
from pliant.formulation import Convex
from pliant.materials import Material
from pliant.studies.peers import DISCRETE, Peer, Runner, Setting, ours, peer_of, stiffen
from pliant.studies.scenes import GRAVITY, PAIR_MODULUS
from pliant.studies.study import Progress
from pliant.systems.mujoco_door import mujoco

STEP: Final = 0.01  # [s]
UNDAMPED: Final = Material(2.0 * PAIR_MODULUS, 0.0)
STIFFNESS: Final = 1e7  # [N/m] for those who know no material
OVERDAMPED, DISSIPATION = 10.0, 200.0  # for those whose impacts are dead by damping: of critical; Drake's [s/m]
SPEEDS: Final = (1.0, 10.0, 100.0, 1000.0)  # [m/s]
HALF: Final = 0.05  # radius of the ball, half the side of the box, of 1 kg [m]
AWAY: Final = 1.5  # steps before it would touch
BODIES: Final = {"ball": f'<geom size="{HALF}" mass="1"/>', "box": f'<geom type="box" size="{HALF} {HALF} {HALF}" mass="1"/>'}  # fmt: skip  # noqa: E501
TARGETS: Final = {
    "plane": '<geom type="plane" size="100 100 1"/>',
    "plate": '<geom type="box" size="1 1 0.0025" pos="0 0 -0.0025"/>',
}
DURATION: Final = 10.0  # [s]: what is damped comes out slowly
DEAD: Final = 1e-3  # of the speed, that may be left
SUNK: Final = 1e-3  # [m] up to which it lies on what it hit
BOUNCES: Final = (0.5, 0.9)
DROP: Final = 1.0  # [m]


def onto(body: str, target: str, speed: float, step: float) -> str:
    """Above it by the way of a step and a half."""
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="0.5 0 0" condim="3"/></default>
  <worldbody>
    {TARGETS[target]}
    <body pos="0 0 {HALF + AWAY * speed * step}"><freejoint/>{BODIES[body]}</body>
  </worldbody>
</mujoco>"""


def meeting(speed: float, step: float) -> str:
    """Two balls in space, one after the other."""
    ball = f'<freejoint/><geom size="{HALF}" mass="1"/>'
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 0"/>
  <default><geom friction="0.5 0 0" condim="3"/></default>
  <worldbody>
    <body>{ball}</body>
    <body pos="{2.0 * HALF + AWAY * speed * step} 0 0">{ball}</body>
  </worldbody>
</mujoco>"""


def run(quick: bool, progress: Progress) -> list[Outcome]:
    outcomes, speeds = [], (SPEEDS[1], SPEEDS[3]) if quick else SPEEDS
    for peer in dead():
        progress(f"trust: impact: {peer.name}")
        bodies = ["ball"] if peer.name.startswith("Drake") else list(BODIES)  # it has one point for the face of a box
        for speed in speeds:
            outcomes += [hits(peer, body, target, speed) for target in TARGETS for body in bodies]
            outcomes.append(meets(peer, speed))
    outcomes += [bounces(peer, e) for e in BOUNCES for peer in bouncy(e)]
    return outcomes + swings(quick, progress)


def dead() -> list[Peer]:
    """MuJoCo as it is leaves e^-2 of the speed, by its critical damping: the tuned ones have more of it."""

    def stiff(spec: Any) -> None:
        stiffen(spec, 2.0 * spec.option.timestep, 100.0)
        spec.option.integrator = mujoco().mjtIntegrator.mjINT_EULER
        for geom in spec.geoms:
            geom.solref[1] = OVERDAMPED

    def discrete(spec: Any) -> None:
        stiff(spec)
        spec.option.integrator = getattr(mujoco().mjtIntegrator, DISCRETE)
        for geom in spec.geoms:
            geom.solref = [-STIFFNESS, -2.0 * OVERDAMPED * np.sqrt(STIFFNESS)]

    changes = {"MuJoCo, stiff": stiff, "MuJoCo, discrete": discrete}
    peers = engines(STIFFNESS, UNDAMPED, dissipation=DISSIPATION)
    return [peer_of(Setting(p.name, p.settings, changes[p.name])) if p.name in changes else p for p in peers]


def hits(peer: Peer, body: str, target: str, speed: float) -> Outcome:
    def begin(runner: Runner) -> None:
        runner.throw(0, np.array([0.0, 0.0, -speed]), np.zeros(3))

    xml, case = onto(body, target, speed, STEP), f"{body}, {target}, {speed:g} m/s"
    return trace(peer, case, xml, round(DURATION / STEP), begin, partial(_stopped, speed))


def _stopped(speed: float, run: Traced) -> Verdict:
    """On the right side, where it lies; it never left faster than DEAD, up, aside or turning."""
    height, rates = float(run.way[-1, 0, 2]) - HALF, run.rates[1:, 0]
    back = max(0.0, float(rates[:, 2].max())) / speed
    aside = max(float(np.abs(rates[:, :2]).max()), HALF * float(np.abs(rates[:, 3:]).max())) / speed
    values = {"height [m]": height, "rebound": back, "aside": aside}
    return abs(height) <= SUNK and max(back, aside) <= DEAD, values


def meets(peer: Peer, speed: float) -> Outcome:
    def begin(runner: Runner) -> None:
        runner.throw(0, np.array([speed, 0.0, 0.0]), np.zeros(3))

    case = f"ball, ball, {speed:g} m/s"
    return trace(peer, case, meeting(speed, STEP), round(0.1 / STEP), begin, partial(_together, speed))


def _together(speed: float, run: Traced) -> Verdict:
    """Each with half the speed; the momentum of all steps."""
    along = run.rates[:, :, 0] / speed
    apart = float(np.ptp(along[-1]))
    lost = float(np.abs(along.sum(axis=1) - 1.0).max())
    ahead = float(run.way[-1, 1, 0] - run.way[-1, 0, 0])
    values = {"apart": apart, "momentum": lost, "ahead [m]": ahead}
    return apart <= DEAD and lost <= 1e-9 and ahead >= 2.0 * HALF - SUNK, values


def bouncy(e: float) -> list[Peer]:
    """Ours alone: the others have no such setting."""
    made = replace(UNDAMPED, restitution=e)
    return [ours(made)._replace(name=COULOMB), ours(made, Convex())._replace(name=CONVEX)]


def bounces(peer: Peer, e: float) -> Outcome:
    """From DROP, until the top of the first bounce is over."""
    xml = onto("ball", "plane", DROP / (AWAY * STEP), STEP)
    fall = float(np.sqrt(2.0 * DROP / GRAVITY))
    steps = round(fall * (1.0 + 1.5 * e) / STEP)
    return trace(peer, f"restitution {e:g}", xml, steps, lambda runner: None, partial(_returned, e))


def _returned(e: float, run: Traced) -> Verdict:
    height = run.way[:, 0, 2] - HALF
    off = float(height[int(np.argmin(height)) :].max()) / (e**2 * DROP) - 1.0
    return abs(off) <= 0.02, {"height": off}


SCENE = Scene(
    "impact",
    "Balls and boxes at 1 to 1000 m/s onto a plane, a plate of 5 mm and each other; bounces; a cradle of five balls",
    "Without restitution nothing comes back, nor goes through: at 10 ms a spring of this stiffness is spent within a "
    "step. The body lies where it hit, to 1 mm, and leaves with no more than 1e-3 of its speed in any direction; two "
    "that meet go on together, their momentum kept to 1e-9. A restitution of e gives e^2 of the height, to 2 % (only "
    "ours has one). In the cradle, its impacts resolved and undamped, the last ball takes all of the speed, to 5 %.",
    run,
)
