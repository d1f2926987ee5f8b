"""A chain of 200 links with a mass of 1000 links at its end, hanging and swung, in two ways of writing it down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from pliant.bench.trust.mechanics import equality_force, gaps, loop_engines, watched
from pliant.bench.trust.scene import Outcome, Scene, Verdict, try_out
from pliant.inputs import Array
from pliant.studies.peers import Peer, Runner
from pliant.studies.scenes import GRAVITY, HARD
from pliant.studies.study import Progress

LINKS, FEW = 200, 20
LENGTH, MASS = 0.05, 0.01  # [m], [kg] of a link
END: Final = 1000.0  # links, the mass at the end
ANGLE: Final = np.radians(30.0)  # at which it is released
SHORT, LONG = 0.001, 0.002  # [s]: see `fastest`
DURATION, BRIEFLY = 1.5, 0.5  # [s]; a quarter of a swing takes 1.6 s
STRETCH: Final = 1e-3  # of the length
TENSION: Final = 1e-3  # of the weight
GAIN, LOSS = 1e-2, 5e-2  # of the energy of the swing
Model = Callable[[int, float, float], str]


def connects(links: int, angle: float, step: float) -> str:
    """Free bodies in a row, each held to the one before it by a `connect` at its upper end."""
    along = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    bodies = "".join(
        f'<body name="{i}" pos="{_text((i + 0.5) * LENGTH * along)}"><freejoint/>{_link(i, links, along)}</body>'
        for i in range(links)
    )
    closed = "".join(
        f'<connect body1="{i}" {f"""body2="{i - 1}" """ if i else ""}anchor="{_text(-0.5 * LENGTH * along)}"/>'
        for i in range(links)
    )
    return _whole(links, step, bodies, f"<equality>{closed}</equality>")


def hinges(links: int, angle: float, step: float) -> str:
    """A tree: each link hangs on the one before it by a hinge."""
    along = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    text = ""
    for i in reversed(range(links)):
        place = _text(0.5 * LENGTH * along if i == 0 else LENGTH * along)
        joint = f'<joint axis="0 1 0" pos="{_text(-0.5 * LENGTH * along)}"/>'
        text = f'<body name="{i}" pos="{place}">{joint}{_link(i, links, along)}{text}</body>'
    return _whole(links, step, text, "")


def _link(i: int, links: int, along: Array) -> str:
    """A rod, as a capsule that touches nothing; the last has the mass at its end."""
    half = 0.5 * LENGTH * along
    rod = f'<geom type="capsule" fromto="{_text(-half)} {_text(half)}" size="0.005" mass="{MASS}"/>'
    return rod + (f'<geom size="0.05" pos="{_text(half)}" mass="{END * MASS}"/>' if i == links - 1 else "")


def _whole(links: int, step: float, bodies: str, more: str) -> str:
    return f"""
<mujoco>
  <size memory="{64 + links}M"/>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>{bodies}</worldbody>
  {more}
</mujoco>"""


def _text(point: Array) -> str:
    return " ".join(f"{x:.17g}" for x in point)


def weight(links: int) -> float:
    """[N], the tension at the top of the hanging chain."""
    return (links + END) * MASS * GRAVITY


def swing(links: int) -> float:
    """[J] that the straight chain gives back from its release to the lowest place."""
    length = links * LENGTH
    return (0.5 * links + END) * MASS * GRAVITY * length * (1.0 - float(np.cos(ANGLE)))


def fastest(links: int) -> float:
    """[rad/s], of the rods that turn to and fro in turns: sqrt(12 T / m l). A scheme that takes the directions of
    the start of the step is stable up to steps of 2 over it, 1.19 ms here."""
    return float(np.sqrt(12.0 * weight(links) / (MASS * LENGTH)))


CASES: Final[dict[str, tuple[Model, float, float]]] = {
    "connects, hanging, 1 ms": (connects, 0.0, SHORT),
    "connects, swung, 1 ms": (connects, ANGLE, SHORT),
    "connects, swung, 2 ms": (connects, ANGLE, LONG),
    "hinges, swung, 1 ms": (hinges, ANGLE, SHORT),
}


def run(quick: bool, progress: Progress) -> list[Outcome]:
    links, outcomes = FEW if quick else LINKS, []
    for case, (model, angle, step) in CASES.items():
        steps = round((BRIEFLY if quick else DURATION) / step)
        for peer in loop_engines(HARD):
            progress(f"trust: chain: {case}: {peer.name}")
            outcomes.append(follow(peer, case, model(links, angle, step), links, steps))
    return outcomes


def follow(peer: Peer, case: str, xml: str, links: int, steps: int) -> Outcome:
    """The swung one by its length and energy on the way, the hanging one also by the tension at its top."""
    total: list[float] = []
    wide: list[float] = []

    def look(runner: Any) -> None:
        total.append(runner.energy)
        wide.append(stretch(runner, links))

    def judge(runner: Runner) -> Verdict:
        kept = (np.array(total) - total[0]) / swing(links)
        values = {"longer by": max(wide), "energy, most": kept.max(), "energy, least": kept.min()}
        right = values["longer by"] <= STRETCH and kept.max() <= GAIN and kept.min() >= -LOSS
        if "hanging" in case:
            values["tension over weight"] = np.linalg.norm(equality_force(runner, 0)) / weight(links)
            right = right and abs(values["tension over weight"] - 1.0) <= TENSION
        return bool(right), {name: float(value) for name, value in values.items()}

    return try_out(watched(peer, lambda runner: None, look), case, xml, steps, judge, each=25)


def stretch(runner: Any, links: int) -> float:
    """Of the length: what all joints are open by, together. A tree has none that could open."""
    return float(gaps(runner).sum()) / (links * LENGTH)


SCENE = Scene(
    "chain",
    "200 links of 5 cm and 10 g with 10 kg at the end, released straight, hanging or at 30 degrees",
    f"All joints together open by at most {STRETCH:g} of the length; the energy stays between {LOSS:g} below and "
    f"{GAIN:g} above that of the start, in parts of the swing's; the hanging chain's tension at the top is within "
    f"{TENSION:g} of the weight.",
    run,
)
