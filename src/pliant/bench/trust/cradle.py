"""Newton's cradle: five equal balls in a row, a little apart, the first one thrown; impacts that the steps resolve.

Balls that are apart meet two at a time, and two equal ones exchange their speeds, whatever the elastic law is. Steps of
implicit Euler lose about pi z/2 of the speed in each impact, z = h w: see `pliant.studies.limit_impact`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.bench.trust.scene import CONVEX, COULOMB, Outcome, Verdict
from pliant.bench.trust.traced import Traced, trace
from pliant.formulation import Convex
from pliant.materials import Material
from pliant.studies.peers import DISCRETE, SHARE, Peer, Runner, Setting, drake_peers, mujoco_settings, ours, peer_of
from pliant.studies.study import Progress
from pliant.systems.mujoco_door import mujoco

BALLS, RADIUS, MASS = 5, 0.05, 0.5  # [m], [kg]
APART: Final = 4e-3  # [m] more than they are pressed in, 1.8 mm
SPEED: Final = 1.0  # of the first [m/s]
RUBBER: Final = Material(2e7, 0.0)
CONTACT: Final = 5.3e-3  # [s] that an impact of two takes, by Hertz
STEP, COARSE = 2e-6, 1e-5  # [s]
STIFFNESS: Final = 0.5 * MASS * (np.pi / CONTACT) ** 2  # [N/m] of a linear spring that takes as long
CLOSE: Final = 0.05  # of the speed
KEPT: Final = 1e-6  # of the momentum: as close as an iteration may leave it


def row(step: float) -> str:
    balls = "".join(
        f'<body pos="{i * (2.0 * RADIUS + APART)} 0 0"><freejoint/><geom size="{RADIUS}" mass="{MASS}"/></body>'
        for i in range(BALLS)
    )
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 0"/>
  <default><geom friction="0 0 0" condim="3"/></default>
  <worldbody>{balls}</worldbody>
</mujoco>"""


def swings(quick: bool, progress: Progress) -> list[Outcome]:
    step, outcomes = COARSE if quick else STEP, []
    for peer in elastic():
        progress(f"trust: cradle: {peer.name}")
        outcomes.append(swing(peer, step))
    return outcomes


def elastic() -> list[Peer]:
    """None of them damped, but for MuJoCo as it is."""
    own = [ours(RUBBER)._replace(name=COULOMB), ours(RUBBER, Convex())._replace(name=CONVEX)]
    theirs = [mujoco_settings(STIFFNESS)[0], Setting("MuJoCo, stiff", f"Euler, {STIFFNESS:.3g} N/m", _undamp)]
    if hasattr(mujoco().mjtIntegrator, DISCRETE):
        theirs.append(Setting("MuJoCo, discrete", f"discrete, {STIFFNESS:.3g} N/m", _undamp_discrete))
    return [*own, *(peer_of(setting) for setting in theirs), *drake_peers(STIFFNESS, relaxation=0.0)]


def _undamp(spec: Any) -> None:
    """The square of the frequency, in place of a time constant."""
    spec.option.integrator = mujoco().mjtIntegrator.mjINT_EULER
    for geom in spec.geoms:
        geom.solref, geom.solimp = [-((np.pi / CONTACT) ** 2), 0.0], [SHARE, SHARE, 0.001, 0.5, 2.0]


def _undamp_discrete(spec: Any) -> None:
    _undamp(spec)
    spec.option.integrator = getattr(mujoco().mjtIntegrator, DISCRETE)


def swing(peer: Peer, step: float) -> Outcome:
    def begin(runner: Runner) -> None:
        runner.throw(0, np.array([SPEED, 0.0, 0.0]), np.zeros(3))

    duration = (BALLS - 1) * (APART / SPEED + 1.5 * CONTACT)
    return trace(peer, "cradle", row(step), round(duration / step), begin, _handed_on, patience=60.0)


def _handed_on(run: Traced) -> Verdict:
    along = run.rates[:, :, 0]
    last, rest = float(along[-1, -1]), float(np.abs(along[-1, :-1]).max())
    lost = float(np.abs(along.sum(axis=1) - SPEED).max())
    touching = run.way[:, 1, 0] - run.way[:, 0, 0] < 2.0 * RADIUS
    values = {"last [m/s]": last, "rest [m/s]": rest, "momentum": lost, "steps of an impact": float(touching.sum())}
    return abs(last / SPEED - 1.0) <= CLOSE and rest <= CLOSE * SPEED and lost <= KEPT, values
