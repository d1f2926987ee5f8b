"""What goes on for an hour: linkages that neither gain nor lose energy, and a pile that lies still."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, Final

import numpy as np

from pliant.bench.trust.mechanics import watched
from pliant.bench.trust.scene import COULOMB, Outcome, Scene, Verdict, engines, try_out
from pliant.bench.trust.swings import RATES, DoublePendulum, ball_joint, connected, hinges, level
from pliant.errors import PliantError
from pliant.inputs import Array
from pliant.simulate import simulate
from pliant.studies.four_bar import FourBar, start
from pliant.studies.measure import Jointed
from pliant.studies.peers import Peer, Runner, Setting, peer_of
from pliant.studies.scenes import GRAVITY, HARD
from pliant.studies.study import Progress
from pliant.systems.mujoco_door import mujoco

HOUR, MINUTE, SHORT = 3600.0, 60.0, 20.0  # [s]; the last of linkages in absolute coordinates: 5 ms of Python a step
FIRST: Final = 10.0  # [s] whose band of energies holds for all that follows
LINKAGE_STEP, STEP = 0.02, 0.01  # [s] of those linkages, and of models
MARGIN, OFF = 0.01, 0.05  # of the energy above the lowest: beside the band, and from the start
EACH: Final = 10  # steps between two looks at the energy of a model
STIFFNESS: Final = 1e7  # [N/m] for those who know no material
SETTLING: Final = 10.0  # [s] of the pile
STILL: Final = 1e-9, 1e-6  # [m/s] of drift over the time, and of any velocity at its end
PATIENCE: Final = 900.0  # [s] for one engine on a model
BOX: Final = 0.1  # half its side [m]; 1 kg
# with the energy above the lowest, at the start [J]
LINKAGES: Final[dict[str, tuple[Callable[[], tuple[Jointed, tuple[Array, Array]]], float]]] = {
    "double pendulum, absolute": (lambda: (DoublePendulum(), level()), 2.0 * GRAVITY),
    "four-bar, absolute": (lambda: (FourBar(), start()), 76.0),
}
MODELS: Final = {
    "double pendulum, hinges": (hinges, 2.0 * GRAVITY),
    "pendulum in space, ball": (ball_joint, 6.4),
    "pendulum in space, connect": (connected, 6.4),
}


def pile(step: float) -> str:
    """A pyramid of four, three, two and one, a millimetre apart."""
    apart = 1e-3
    places = [(2.2 * BOX * (i - 0.5 * (3 - row)), BOX + apart + row * (2.0 * BOX + apart))
              for row in range(4) for i in range(4 - row)]  # fmt: skip
    boxes = "".join(
        f'<body pos="{x:.17g} 0 {z:.17g}"><freejoint/><geom type="box" size="{BOX} {BOX} {BOX}" mass="1"/></body>'
        for x, z in places
    )
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="0.5 0 0" condim="3"/></default>
  <worldbody><geom name="floor" type="plane" size="10 10 1"/>{boxes}</worldbody>
</mujoco>"""


def run(quick: bool, progress: Progress) -> list[Outcome]:
    outcomes = []
    for case in LINKAGES:
        progress(f"trust: hour: {case}")
        outcomes.append(swung(case, SHORT if quick else HOUR))
    for peer in free_of_contact():
        progress(f"trust: hour: energy: {peer.name}")
        outcomes += [turned(peer, case, MINUTE if quick else HOUR) for case in MODELS]
    for peer in engines(STIFFNESS, HARD, drake=False):
        progress(f"trust: hour: pile: {peer.name}")
        outcomes.append(lies(peer, FIRST if quick else HOUR, PATIENCE))
    return outcomes


def swung(case: str, duration: float) -> Outcome:
    """With `lookahead`; of rows that hold both ways the two solvers have one answer."""
    made, scale = LINKAGES[case]
    system, (q, v) = made()
    begin = perf_counter()
    try:
        run = simulate(system, q, v, duration=duration, step=LINKAGE_STEP, drift="lookahead")
    except PliantError as error:
        return Outcome(COULOMB, case, False, {}, f"stops: {str(error).splitlines()[0][:100]}")
    energy = np.array([sum(system.energy(0.0, q, v).values()) for q, v in zip(run.q, run.v, strict=True)])
    gap = max(float(np.abs(phi).max()) for q in run.q for phi in system.values(0.0, q))
    right, values = band(energy, LINKAGE_STEP, scale)
    given_up = float(run.stats["gave_up"].sum())
    values |= {"joints [m]": gap, "given up": given_up, "computed in [s]": perf_counter() - begin}
    return Outcome(COULOMB, case, right, values)


def band(energy: Array, each: float, scale: float) -> Verdict:
    """Whether the means of ten seconds stay among the energies of the first ten, and near the start."""
    n = min(round(FIRST / each), len(energy))
    low, high = float(energy[: n + 1].min()), float(energy[: n + 1].max())
    means = energy[: len(energy) // n * n].reshape(-1, n).mean(axis=1)
    values = {
        "low of the first 10 s [J]": low, "high [J]": high, "lowest mean [J]": float(means.min()),
        "highest mean [J]": float(means.max()), "last mean [J]": float(means[-1]),
        "lowest [J]": float(energy.min()), "highest [J]": float(energy.max()),
    }  # fmt: skip
    kept = means.min() >= low - MARGIN * scale and means.max() <= high + MARGIN * scale
    return bool(kept and np.abs(means - energy[0]).max() <= OFF * scale), values


def free_of_contact() -> list[Peer]:
    """All that differ where nothing touches, and MuJoCo's integrator of fourth order."""

    def fourth(spec: Any) -> None:
        spec.option.integrator = mujoco().mjtIntegrator.mjINT_RK4

    peers = [peer for peer in engines(STIFFNESS, HARD, drake=False) if peer.name != "MuJoCo, stiff"]
    return [*peers, peer_of(Setting("MuJoCo, RK4", "RK4", fourth))]


def turned(peer: Peer, case: str, duration: float) -> Outcome:
    """A model without contacts; what explodes has no band."""
    model, scale = MODELS[case]
    energy: list[float] = []

    def push(runner: Any) -> None:
        runner.data.qvel[:] = RATES[model]

    def look(runner: Any) -> None:
        energy.append(runner.energy)

    def judge(runner: Runner) -> Verdict:
        return band(np.array(energy), EACH * STEP, scale)

    steps = round(duration / STEP)
    return try_out(watched(peer, push, look), case, model(STEP), steps, judge, each=EACH, patience=PATIENCE)


def lies(peer: Peer, duration: float, patience: float) -> Outcome:
    begin: list[Array] = []

    def start(text: str) -> Runner:
        runner = peer.start(text)
        runner.step(round(SETTLING / STEP))
        begin.append(runner.position)
        return runner

    judge = partial(_still, begin, duration)
    steps = round(duration / STEP)
    return try_out(
        peer._replace(start=start), "pile of 10 boxes", pile(STEP), steps, judge, each=100, patience=patience
    )


def _still(begin: list[Array], duration: float, runner: Runner) -> Verdict:
    way = float(np.linalg.norm(runner.position - begin[0], axis=1).max())
    lowest = float(runner.position[:, 2].min()) - BOX
    values = {"drift [m]": way, "speed [m/s]": runner.speed, "sunk by [m]": -lowest}
    return way <= STILL[0] * duration and runner.speed <= STILL[1], values


SCENE = Scene(
    "hour",
    "A double pendulum, a four-bar loop, a pendulum in space for an hour, and a pile of boxes",
    "Nothing damps the linkages: means of ten seconds stay among the energies of the first ten, to 1 % of the energy "
    "above the lowest, and within 5 % of it from the start. Those in absolute coordinates go through "
    "`pliant.simulate` with `lookahead`, in steps of 20 ms; the others are models, in steps of 10 ms, whose "
    "coordinates are angles, a quaternion, or those of a free body. The pile, ten seconds after it was dropped, "
    "drifts by at most 1e-9 m/s, and moves below 1e-6 m/s.",
    run,
)
