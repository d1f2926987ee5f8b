"""Other simulators on the scenes of the studies: MuJoCo as it is, and Drake where it is installed.

Every runner takes the text of a model and offers `step(count)`, `position` (n, 3) of its free bodies and `speed`, their
largest. What goes wrong inside raises; `watch` says how far it got.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from pliant.inputs import Array
from pliant.materials import Material
from pliant.studies.scenes import HARD
from pliant.systems.mujoco_calls import mj_step
from pliant.systems.mujoco_door import mujoco

DISCRETE: Final = "mjINT_DISCRETE"
SHARE: Final = 0.9999  # of MuJoCo's impedance, d: the closer to 1 the stiffer


class Runner(Protocol):
    """A scene that goes on."""

    def step(self, count: int) -> None: ...
    @property
    def position(self) -> Array: ...
    @property
    def speed(self) -> float: ...


class Peer(NamedTuple):
    """name, settings in words, and what makes a runner of the text of a model."""

    name: str
    settings: str
    start: Callable[[str], Runner]


class Stepped:
    """A model stepped by MuJoCo or by us."""

    def __init__(self, xml: str, step: Callable[[Any, Any, int], None], change: Callable[[Any], None]) -> None:
        spec = mujoco().MjSpec.from_string(xml)
        change(spec)
        self.model = spec.compile()
        self.data, self._step = mujoco().MjData(self.model), step
        self._free = np.flatnonzero(self.model.jnt_type == 0)

    def step(self, count: int) -> None:
        self._step(self.model, self.data, count)

    @property
    def position(self) -> Array:
        return np.array([self.data.qpos[a : a + 3] for a in self.model.jnt_qposadr[self._free]])

    @property
    def speed(self) -> float:
        return float(np.abs(self.data.qvel).max())


def ours(material: Material = HARD) -> Peer:
    def start(xml: str) -> Runner:
        return Stepped(xml, lambda m, d, n: mj_step(m, d, n, materials={"geom:*": material}), lambda spec: None)

    return Peer("pliant", "the material", start)


def mujoco_peers(stiffness: float) -> list[Peer]:
    """stiffness: [N/m] of a contact of 1 kg, for `discrete`, which takes one."""

    def plain(spec: Any) -> None:
        spec.option.integrator = mujoco().mjtIntegrator.mjINT_EULER

    def stiff(spec: Any) -> None:
        plain(spec)
        spec.option.cone, spec.option.impratio = mujoco().mjtCone.mjCONE_ELLIPTIC, 100.0
        for geom in spec.geoms:
            geom.solref, geom.solimp = [2.0 * spec.option.timestep, 1.0], [SHARE, SHARE, 0.001, 0.5, 2.0]

    def discrete(spec: Any) -> None:
        stiff(spec)
        spec.option.integrator = getattr(mujoco().mjtIntegrator, DISCRETE)
        k = stiffness * (1.0 - SHARE) / SHARE**2  # K = k d / R, R = (1 - d) / d of 1 / (1 kg)
        for geom in spec.geoms:
            geom.solref = [-k, -2.0 * np.sqrt(k)]

    def peer(name: str, settings: str, change: Callable[[Any], None]) -> Peer:
        return Peer(name, settings, lambda xml: Stepped(xml, _mujoco_step, change))

    found = [
        peer("MuJoCo, default", "Euler, solref 0.02 1", plain),
        peer("MuJoCo, stiff", f"Euler, solref 2h 1, solimp {SHARE}, elliptic, impratio 100", stiff),
    ]
    if hasattr(mujoco().mjtIntegrator, DISCRETE):
        found.append(peer("MuJoCo, discrete", f"discrete, {stiffness:g} N/m by solref, the rest as stiff", discrete))
    return found


def _mujoco_step(model: Any, data: Any, count: int) -> None:
    mujoco()._functions.mj_step(model, data, count)  # its own, whatever is patched


def drake_peers(stiffness: float) -> list[Peer]:
    """None if Drake is not installed."""
    if importlib.util.find_spec("pydrake") is None:
        return []
    from pliant.studies.drake_peer import SCHEMES, Simulated

    def peer(scheme: str) -> Peer:
        return Peer(
            f"Drake, {scheme}", f"point contact, {stiffness:g} N/m", lambda xml: Simulated(xml, scheme, stiffness)
        )

    return [peer(scheme) for scheme in SCHEMES]


def watch(runner: Runner, steps: int, each: int, seconds: float) -> Iterator[tuple[int, Array, float]]:
    """(steps so far, positions, speed) after every `each` steps; ends early after `seconds` of time."""
    begin, done = perf_counter(), 0
    while done < steps and perf_counter() - begin < seconds:
        count = min(each, steps - done)
        runner.step(count)
        done += count
        yield done, runner.position, runner.speed
