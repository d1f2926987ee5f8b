"""Painleve's rod, which no finite force lets slide on: friction 0 to 3, all angles, a step by hand and a motion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from pliant.bench.trust.mechanics import floor_forces, watched
from pliant.bench.trust.rod import RADIUS, SLIDING, gain, miss, regime, rod, rod_step, slide, sliding_force
from pliant.bench.trust.scene import CONVEX, COULOMB, Outcome, Scene, Verdict, engines, try_out
from pliant.errors import PliantError
from pliant.formulation import Convex, Coulomb, Formulation
from pliant.inputs import Array
from pliant.solution import ContactState
from pliant.solve import solve
from pliant.studies.peers import Peer, Runner
from pliant.studies.scenes import HARD
from pliant.studies.study import Progress

STEP, DURATION, BRIEFLY = 0.001, 0.5, 0.2  # [s]
STIFFNESS: Final = 1e7  # [N/m] for those who know no material
TURNING: Final = (0.0, 5.0)  # [rad/s], of the step by hand
TOLERANCE: Final = 1e-8  # of the laws
GROWTH: Final = 1e-2  # of the energy
WHILE, NEAR = 0.1, 1e-2  # [s] of sliding, after which the angle is [rad] near the rigid rod's
STICKS: Final = 1e-3  # [m/s], of the end, up to which it is said to stick
SOLVERS: Final[dict[str, Formulation]] = {COULOMB: Coulomb(), CONVEX: Convex()}


def run(quick: bool, progress: Progress) -> list[Outcome]:
    frictions = np.arange(0.0, 3.01, 1.0 if quick else 0.25)
    angles = np.radians(np.arange(5.0, 176.0, 34.0 if quick else 5.0))
    outcomes = [by_hand(name, turning, frictions, angles) for turning in TURNING for name in SOLVERS]
    for friction in frictions:
        for peer in engines(STIFFNESS, HARD, drake=False):
            progress(f"trust: painleve: mu {friction:g}: {peer.name}")
            steps = round((BRIEFLY if quick else DURATION) / STEP)
            outcomes.append(moves(peer, float(friction), angles, steps))
    return outcomes


def by_hand(name: str, turning: float, frictions: Iterable[float], angles: Array) -> Outcome:
    """One step from every friction and angle, its certificate computed again. Values: what is taken, by what can be."""
    worst, most, off, taken = 0.0, -np.inf, 0.0, Counter[str]()
    case = f"one step by hand, turning at {turning:g} rad/s"
    for mu in frictions:
        for angle in angles:
            problem = rod_step(angle, mu, turning, STEP)
            try:
                solution = solve(problem, SOLVERS[name])
            except PliantError as error:
                return Outcome(name, case, False, {}, f"mu {mu:g}, {np.degrees(angle):g} degrees: {error}"[:150])
            worst = max(worst, solution.residual, miss(problem, solution, lifted=name == CONVEX))
            most = max(most, gain(problem, solution.velocity))
            found: Any = solution.states[0]
            state = ContactState(int(found[0]))
            can = regime(angle, mu, turning)
            taken[f"{can}: {state.name}"] += 1
            if (can, state) == ("slides on", ContactState.SLIP):
                off = max(off, abs(solution.forces[0][0, 0] / sliding_force(angle, mu, turning) - 1.0))
    values = {
        "laws missed by": worst,
        "energy gained": most,
        "sliding force off by": off,
        **{k: float(n) for k, n in sorted(taken.items())},
    }
    return Outcome(name, case, bool(worst <= TOLERANCE and most <= GROWTH), values)


def moves(peer: Peer, friction: float, angles: Array, steps: int) -> Outcome:
    """The rod goes on from every angle; right if it is from all."""
    worst, off, taken, wrong = -np.inf, 0.0, Counter[str](), []
    case = f"rod, mu {friction:g}"
    for angle in angles:
        outcome, first = _motion(peer, case, friction, float(angle), steps)
        worst = max(worst, outcome.values.get("energy gained", np.inf))
        off = max(off, outcome.values.get("angle off by [rad]", 0.0))
        taken[f"{regime(angle, friction, 0.0)}: {first}"] += 1
        if not outcome.right:
            wrong.append(f"{np.degrees(angle):g} {outcome.words}".strip())
    values = {"energy gained": worst, "angle off by [rad]": off, "wrong angles": float(len(wrong))}
    values |= {k: float(n) for k, n in sorted(taken.items())}
    return Outcome(peer.name, case, not wrong, values, f"wrong at {', '.join(wrong[:9])} degrees" if wrong else "")


def _motion(peer: Peer, case: str, friction: float, angle: float, steps: int) -> tuple[Outcome, str]:
    """What came out, and what the end did in the first step."""
    total: list[float] = []
    first: list[str] = []

    turned: list[float] = []

    def push(runner: Any) -> None:
        runner.data.qvel[0] = SLIDING

    def look(runner: Any) -> None:
        if len(total) == 1:
            first.append(end_state(runner, angle))
        total.append(runner.energy)
        if runner.data.time <= WHILE + 0.5 * STEP:
            turned[:] = [angle + float(runner.data.qpos[2])]

    def judge(runner: Runner) -> Verdict:
        grown, off = max(total) / total[0] - 1.0, abs(turned[0] - slide(angle, friction, WHILE))
        off = 0.0 if np.isnan(off) else off
        return grown <= GROWTH and off <= NEAR, {"energy gained": grown, "angle off by [rad]": off}

    prepared = watched(peer, push, look)

    def start(xml: str) -> Runner:
        runner = prepared.start(xml)
        runner.step(1)
        runner.step(9)
        return runner

    outcome = try_out(peer._replace(start=start), case, rod(angle, friction, STEP), steps - 10, judge)
    return outcome, first[0] if first else "stopped"


def end_state(runner: Any, angle: float) -> str:
    """OPEN, STICK or SLIP, by its force and its speed, for every engine."""
    if floor_forces(runner).sum() <= 0.0:
        return ContactState.OPEN.name
    vx, _, turning = runner.data.qvel
    speed = vx + turning * ((1.0 - RADIUS) * np.sin(angle) + RADIUS)
    return ContactState.STICK.name if abs(speed) <= STICKS else ContactState.SLIP.name


SCENE = Scene(
    "painleve",
    "A rod of 2 m slides on its end on a floor of friction 0 to 3, from all angles, at 1 ms",
    f"Numbers stay finite, and energy never grows by more than {GROWTH:g} of the start's; where the rigid rod slides "
    f"on for {WHILE:g} s, the angle is then within {NEAR:g} rad of its. Steps by hand: the laws hold, computed again, "
    f"to {TOLERANCE:g}. Which of several answers is taken is counted, not judged.",
    run,
)
