"""Who answers: ours, MuJoCo over a grid of its settings, and Drake; each family has its own reference."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any, Final, NamedTuple

from pliant.bench.answer_scenes import Scene
from pliant.bench.entrant import OURS, SCHEMES
from pliant.materials import DEFAULT_MATERIAL
from pliant.studies.peers import DISCRETE, Peer, Setting, drake_peers, mujoco_peers, ours, peer_of, stiffen
from pliant.systems.mujoco_door import mujoco

STIFFNESS: Final = 1e8  # [N/m] of our default material: everybody's in the references
DISSIPATION: Final = 100.0  # [s/m] of Drake's contacts, so that little bounces, as with the default material
INTEGRATORS: Final = {"Euler": "mjINT_EULER", "implicitfast": "mjINT_IMPLICITFAST", "discrete": DISCRETE}
SOLREFS: Final = {"2h": None, "0.02": 0.02}  # time constants [s]
IMPRATIOS: Final = (1.0, 10.0, 100.0)
MUJOCO, DRAKE = "MuJoCo", "Drake"


class Engine(NamedTuple):
    """peer: as it is raced. family: whose physics. reference: of the family, for a tiny step."""

    family: str
    peer: Peer
    reference: Peer


def engines(scene: Scene) -> list[Engine]:
    """All that are installed and can have the scene."""
    found = [Engine(OURS, ours(DEFAULT_MATERIAL), ours(DEFAULT_MATERIAL))]
    # the last is `discrete` where there is one: with a stiffness, not a time constant of 2h, it converges as h shrinks
    stiffest = mujoco_peers(STIFFNESS)[-1]
    found += [Engine(MUJOCO, peer, stiffest) for peer in (*grid(), stiffest)]
    drakes = [peer for peer in drake_peers(STIFFNESS, dissipation=DISSIPATION) if peer.name.endswith(SCHEMES)]
    return found + [Engine(DRAKE, peer, drakes[-1]) for peer in drakes if scene.free]


def grid() -> list[Peer]:
    """MuJoCo's integrators, time constants and ratios of impedance; elliptic cones, solimp near 1."""
    here = {word: name for word, name in INTEGRATORS.items() if hasattr(mujoco().mjtIntegrator, name)}
    found = []
    for (word, integrator), (solref, constant), impratio in product(here.items(), SOLREFS.items(), IMPRATIOS):
        name = f"MuJoCo, {word}, solref {solref}, impratio {impratio:g}"
        change = partial(_change, integrator=integrator, constant=constant, impratio=impratio)
        found.append(peer_of(Setting(name, name, change)))
    return found


def _change(spec: Any, *, integrator: str, constant: float | None, impratio: float) -> None:
    spec.option.integrator = getattr(mujoco().mjtIntegrator, integrator)
    stiffen(spec, 2.0 * spec.option.timestep if constant is None else constant, impratio)
