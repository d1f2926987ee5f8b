"""What slides stops where Coulomb says: a cube thrown along a plane, every way, and discs that spin as they slide."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from scipy.integrate import solve_ivp

from pliant.bench.trust.scene import Outcome, Scene, Verdict, engines
from pliant.bench.trust.traced import Traced, trace
from pliant.inputs import Array
from pliant.studies.peers import Peer, Runner
from pliant.studies.scenes import GRAVITY, HARD
from pliant.studies.study import Progress

STEP: Final = 0.01  # [s]
FRICTION, SPEED = 0.5, 6.0  # [m/s]
SIDE: Final = 0.2  # of the cube of 1 kg [m]
SETTLING, DURATION = 0.5, 2.0  # [s] before and after the throw
HEADINGS: Final = 16
STIFFNESS: Final = 1e7  # [N/m] for those who know no material
LIFT: Final = 1e-6  # [m] above where it rested
ASIDE: Final = 1e-3  # [m] off its line, and between headings
# the disc on feet: 1 kg, the feet on a circle, its centre this high
RING, HEIGHT, FOOT, INERTIA = 0.1, 0.03, 0.01, 0.005  # [m], [m], [m], [kg m^2]
SLIDE, SPIN, GRIP = 2.0, 20.0, 0.3  # [m/s], [rad/s], the coefficient
FEET: Final = {"disc on 3 feet": 3, "disc on 12 feet": 12}
SLOW: Final = 0.02  # of the first speed, at which it counts as stopped
CREEP: Final = 1e-5  # [m/s] below which the reference's feet stick: one of three does for a while
_PLANE: Final = '<geom name="floor" type="plane" size="100 100 1"/>'


def cube(step: float) -> str:
    """On four spheres at its corners: a box would touch a plane at one point only in Drake."""
    half = 0.5 * SIDE
    corners = "".join(
        f'<geom pos="{x} {y} {FOOT - half}" size="{FOOT}" mass="0"/>' for x in (-half, half) for y in (-half, half)
    )
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="{FRICTION} 0 0" condim="3"/></default>
  <worldbody>
    {_PLANE}
    <body pos="0 0 {half}">
      <freejoint/>
      <geom type="box" size="{half} {half} {half}" mass="1" contype="0" conaffinity="0"/>
      {corners}
    </body>
  </worldbody>
</mujoco>"""


def disc(feet: int, step: float) -> str:
    """Spheres of 1 cm on a circle, all of the mass in its middle."""
    legs = "".join(f'<geom pos="{x:.17g} {y:.17g} {FOOT - HEIGHT}" size="{FOOT}" mass="0"/>' for x, y in circle(feet))
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="{GRIP} 0 0" condim="3"/></default>
  <worldbody>
    {_PLANE}
    <body pos="0 0 {HEIGHT}">
      <freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{0.5 * INERTIA} {0.5 * INERTIA} {INERTIA}"/>
      {legs}
    </body>
  </worldbody>
</mujoco>"""


def circle(feet: int) -> Array:
    """Where the feet are, (feet, 2) [m]."""
    angle = 2.0 * np.pi * np.arange(feet) / feet
    return RING * np.column_stack([np.cos(angle), np.sin(angle)])


def stopping(speed: float, friction: float) -> float:
    """v^2/(2 mu g) [m]."""
    return speed**2 / (2.0 * friction * GRAVITY)


def stopping_in_steps(speed: float, friction: float, step: float) -> float:
    """Of velocities taken at the ends of steps: h (v - mu g h), h (v - 2 mu g h), ... [m]; short by v h/2."""
    lost = friction * GRAVITY * step
    n = int(speed / lost)
    return step * (n * speed - 0.5 * lost * n * (n + 1))


def deceleration(feet: int, angle: float, velocity: Array) -> Array:
    """d/dt (vx, vy, omega) of the sliding disc of 1 kg: N_i = a + b . r_i, sum N = m g, sum N r = -height F."""
    c, s = np.cos(angle), np.sin(angle)
    r = circle(feet) @ np.array([[c, s], [-s, c]])
    slip = velocity[:2] + velocity[2] * np.column_stack([-r[:, 1], r[:, 0]])
    pull = -GRIP * slip / np.hypot(np.linalg.norm(slip, axis=1), CREEP)[:, None]  # of a load of 1 N
    shape = np.column_stack([np.ones(feet), r])
    load = shape @ np.linalg.solve(np.vstack([np.ones(feet), (r + HEIGHT * pull).T]) @ shape, [GRAVITY, 0.0, 0.0])
    force = load[:, None] * pull
    return np.append(force.sum(axis=0), np.sum(r[:, 0] * force[:, 1] - r[:, 1] * force[:, 0]) / INERTIA)


def converged(feet: int) -> tuple[Array, float]:
    """(x, y, angle) where the disc stops, and when [s]."""

    def stopped(time: float, state: Array) -> float:
        return float(np.hypot(state[3], state[4]) + RING * abs(state[5])) - 100.0 * CREEP

    stopped.terminal = True  # type: ignore[attr-defined]
    begin = [0.0, 0.0, 0.0, SLIDE, 0.0, SPIN]
    found = solve_ivp(
        lambda t, y: np.append(y[3:], deceleration(feet, y[2], y[3:])), (0.0, 10.0), begin, rtol=1e-8, atol=1e-10,
        events=stopped, method="LSODA",
    )  # fmt: skip
    return found.y[:3, -1], float(found.t[-1])


def run(quick: bool, progress: Progress) -> list[Outcome]:
    outcomes = []
    for peer in engines(STIFFNESS, HARD, dissipation=10.0):
        progress(f"trust: slip: {peer.name}")
        outcomes.append(thrown(peer, DURATION))
        outcomes.append(every_way(peer, 4 if quick else HEADINGS))
        outcomes += [spun(peer, case, feet) for case, feet in FEET.items()]
    return outcomes


def _rest_and_throw(linear: Array, angular: Array, runner: Runner) -> None:
    runner.step(round(SETTLING / STEP))
    runner.throw(0, linear, angular)


def thrown(peer: Peer, duration: float) -> Outcome:
    begin = partial(_rest_and_throw, np.array([SPEED, 0.0, 0.0]), np.zeros(3))
    return trace(peer, "distance and lift", cube(STEP), round(duration / STEP), begin, _stops)


def _stops(run: Traced) -> Verdict:
    way = run.way[:, 0] - run.way[0, 0]
    distance, lift = float(way[-1, 0]), float(way[:, 2].max())
    short, in_steps = distance - stopping(SPEED, FRICTION), distance - stopping_in_steps(SPEED, FRICTION, STEP)
    values = {"error [m]": short, "error of the steps' own form [m]": in_steps, "lift [m]": lift}
    return abs(short) <= STEP * SPEED and lift <= LIFT, values


def every_way(peer: Peer, headings: int) -> Outcome:
    """A throw each; the judge of the last one sees all."""
    ends: list[Array] = []
    for heading in 2.0 * np.pi * np.arange(headings) / HEADINGS:
        along = np.array([np.cos(heading), np.sin(heading), 0.0])
        begin = partial(_rest_and_throw, SPEED * along, np.zeros(3))
        outcome = trace(peer, "headings", cube(STEP), round(DURATION / STEP), begin, partial(_ends, along, ends))
        if outcome.words:
            return outcome
    return outcome


def _ends(along: Array, ends: list[Array], run: Traced) -> Verdict:
    way = run.way[-1, 0] - run.way[0, 0]
    ends.append(np.array([way @ along, way[1] * along[0] - way[0] * along[1]]))
    spread, aside = float(np.ptp(ends, axis=0)[0]), float(np.abs(ends).max(axis=0)[1])
    return spread <= ASIDE and aside <= ASIDE, {"spread [m]": spread, "aside [m]": aside}


def spun(peer: Peer, case: str, feet: int) -> Outcome:
    begin = partial(_rest_and_throw, np.array([SLIDE, 0.0, 0.0]), np.array([0.0, 0.0, SPIN]))
    return trace(peer, case, disc(feet, STEP), round(DURATION / STEP), begin, partial(_both_stop, converged(feet)[0]))


def _both_stop(end: Array, run: Traced) -> Verdict:
    """The angle by adding up the rates of the steps."""
    rates = run.rates[:, 0]
    off = float(np.linalg.norm(run.way[-1, 0, :2] - run.way[0, 0, :2] - end[:2]))
    turn = float(abs(STEP * rates[1:, 5].sum() - end[2]))
    sliding = np.linalg.norm(rates[:, :2], axis=1) > SLOW * SLIDE
    apart = STEP * (_last(sliding) - _last(np.abs(rates[:, 5]) > SLOW * SPIN))
    right = off <= STEP * SLIDE and turn <= STEP * SPIN and abs(apart) <= 2.5 * STEP
    return right, {"place [m]": off, "angle [rad]": turn, "slides longer than it spins [s]": apart}


def _last(moving: Any) -> int:
    """Step with it."""
    return int(np.flatnonzero(moving)[-1])


SCENE = Scene(
    "slip",
    "A cube thrown at 6 m/s along a plane, in 16 directions; discs on feet that slide and spin",
    "It stops after v^2/(2 mu g), to the h v that a scheme of first order may be off, is never 1e-6 m above where it "
    "rested, and goes straight and equally far in all directions, to 1 mm. Sliding and spinning end together, within "
    "2 steps, at the place and the angle of the equations of motion (LSODA), to h times the first speeds.",
    run,
)
