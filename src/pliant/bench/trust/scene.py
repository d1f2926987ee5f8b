"""What every scene is: models, the engines that simulate them, and what is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final, NamedTuple

import numpy as np

from pliant.errors import PliantError
from pliant.formulation import Convex
from pliant.materials import Material
from pliant.studies.peers import Peer, Runner, drake_peers, mujoco_peers, ours
from pliant.studies.study import Progress

COULOMB, CONVEX = OURS = "pliant, Coulomb", "pliant, Convex"
PATIENCE: Final = 30.0  # [s] for one engine on one case
SLOW: Final = "steps in"  # the words of who was not done by then


class Outcome(NamedTuple):
    """What came out of one case. values: by name, with the unit in it, as "drift [m]". words: why, if it is not a
    number."""

    engine: str
    case: str
    right: bool
    values: dict[str, float]
    words: str = ""


@dataclass(frozen=True)
class Scene:
    """title: in a line. right: what is right, and how it is known, in words. run(quick, progress)."""

    name: str
    title: str
    right: str
    run: Callable[[bool, Progress], list[Outcome]]


Verdict = tuple[bool, dict[str, float]]
Judge = Callable[[Runner], Verdict]  # of a scene that has gone on to its end


def own(material: Material) -> list[Peer]:
    """Ours, with both solvers."""
    return [
        ours(material)._replace(name=COULOMB, settings="the material, Coulomb()"),
        ours(material, Convex())._replace(name=CONVEX, settings="the material, Convex()"),
    ]


def engines(stiffness: float, material: Material, *, dissipation: float = 0.0, drake: bool = True) -> list[Peer]:
    """Ours, MuJoCo as it is, tuned, and `discrete`, and Drake if it is installed and can have the scene: free bodies
    above planes. stiffness [N/m] and dissipation [s/m]: for those who know no material."""
    drakes = drake_peers(stiffness, dissipation=dissipation) if drake else []
    return [*own(material), *mujoco_peers(stiffness), *drakes]


def try_out(
    peer: Peer, case: str, xml: str, steps: int, judge: Judge, *, each: int = 10, patience: float = PATIENCE
) -> Outcome:
    """One engine on one case: to the end, or until it explodes, stops, or `patience` [s] has run out."""
    try:
        runner = peer.start(xml)
        begin, done = perf_counter(), 0
        while done < steps:
            count = min(each, steps - done)
            runner.step(count)
            done += count
            if not np.isfinite(runner.position).all() or (getattr(runner, "exploded", False)):
                return Outcome(peer.name, case, False, {}, "explodes")
            if perf_counter() - begin > patience:
                return Outcome(peer.name, case, False, {}, f"{done} of {steps} {SLOW} {patience:g} s")
        right, values = judge(runner)
    except (PliantError, RuntimeError, ValueError, SystemExit) as error:
        return Outcome(peer.name, case, False, {}, f"stops: {str(error).splitlines()[0][:100]}")
    return Outcome(peer.name, case, bool(right), values)
