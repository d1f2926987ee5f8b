"""Other simulators on the scenes of the studies: MuJoCo as it is, and Drake where it is installed.

Every runner takes a model, text or file, and offers `step(count)`, `position` (n, 3) of its free bodies, `speed`, their
largest, `velocity` (n, 6) in the world, which `throw` sets, and `pose`, positions and quaternions of its bodies. What
goes wrong inside raises; `watch` says how far it got.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.materials import Material
from pliant.studies.scenes import HARD
from pliant.systems.mujoco_calls import mj_step
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_load import read_spec

DISCRETE: Final = "mjINT_DISCRETE"
SHARE: Final = 0.9999  # of MuJoCo's impedance, d: the closer to 1 the stiffer


class Runner(Protocol):
    """A scene that goes on."""

    def step(self, count: int) -> None: ...
    @property
    def position(self) -> Array: ...
    @property
    def speed(self) -> float: ...
    @property
    def velocity(self) -> Array: ...
    def throw(self, body: int, linear: Array, angular: Array) -> None: ...
    @property
    def pose(self) -> tuple[Array, Array]: ...


class Peer(NamedTuple):
    """name, settings in words, and what makes a runner of the text of a model."""

    name: str
    settings: str
    start: Callable[[str], Runner]


class Stepped:
    """A model stepped by MuJoCo or by us."""

    def __init__(self, spec: Any, step: Callable[[Any, Any, int], None], change: Callable[[Any], None]) -> None:
        """spec: a mujoco.MjSpec, to which `change` is done."""
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

    @property
    def energy(self) -> float:
        """Of motion and height, from the origin [J]."""
        calls, data = mujoco()._functions, self.now
        calls.mj_energyPos(self.model, data)
        calls.mj_energyVel(self.model, data)
        return float(data.energy.sum())

    @property
    def now(self) -> Any:
        """Data of the state reached, for looking at: those of a step are of its start."""
        data, calls = self._looked_at, mujoco()._functions
        data.qpos[:], data.qvel[:] = self.data.qpos, self.data.qvel
        calls.mj_fwdPosition(self.model, data)
        calls.mj_fwdVelocity(self.model, data)
        return data

    @functools.cached_property
    def _looked_at(self) -> Any:
        return mujoco().MjData(self.model)

    @property
    def velocity(self) -> Array:
        """Of the free bodies, (n, 6): linear [m/s] and angular [rad/s], in the world."""
        return np.array([self._moving(int(joint)) for joint in self._free]).reshape(-1, 6)

    def throw(self, body: int, linear: Array, angular: Array) -> None:
        """Give the free body of this number a velocity, as `velocity` has it."""
        a = self.model.jnt_dofadr[self._free[body]]
        self.data.qvel[a : a + 3], self.data.qvel[a + 3 : a + 6] = linear, self._turn(int(self._free[body])).T @ angular

    def _moving(self, joint: int) -> Array:
        a = self.model.jnt_dofadr[joint]
        return np.append(self.data.qvel[a : a + 3], self._turn(joint) @ self.data.qvel[a + 3 : a + 6])

    def _turn(self, joint: int) -> Array:
        """R of a free body, from its quaternion."""
        a, turn = self.model.jnt_qposadr[joint], np.zeros(9)
        mujoco()._functions.mju_quat2Mat(turn, self.data.qpos[a + 3 : a + 7])
        return turn.reshape(3, 3)

    @property
    def exploded(self) -> bool:
        """MuJoCo then counts a warning and starts afresh, from another state."""
        kinds = mujoco().mjtWarning
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        return any(self.data.warning[int(kind)].number for kind in bad)

    @property
    def pose(self) -> tuple[Array, Array]:
        """Of all bodies: positions (n, 3) [m], unit quaternions (n, 4)."""
        mujoco()._functions.mj_kinematics(self.model, self.data)  # a step leaves those of its start
        return self.data.xpos[1:].copy(), self.data.xquat[1:].copy()


class Setting(NamedTuple):
    """Of MuJoCo: name, in words, and what it changes in a mujoco.MjSpec."""

    name: str
    words: str
    change: Callable[[Any], None]


def ours(material: Material = HARD, solver: Formulation | None = None) -> Peer:
    materials = {"geom:*": material}

    def step(model: Any, data: Any, count: int) -> None:
        mj_step(model, data, count, materials=materials, solver=solver)

    return Peer("pliant", "the material", lambda xml: Stepped(read_spec(xml), step, lambda spec: None))


def mujoco_settings(stiffness: float) -> list[Setting]:
    """stiffness: [N/m] of a contact of 1 kg, for `discrete`, which takes one."""

    def plain(spec: Any) -> None:
        spec.option.integrator = mujoco().mjtIntegrator.mjINT_EULER

    def stiff(spec: Any) -> None:
        plain(spec)
        stiffen(spec, 2.0 * spec.option.timestep, 100.0)

    def discrete(spec: Any) -> None:
        stiff(spec)
        spec.option.integrator = getattr(mujoco().mjtIntegrator, DISCRETE)
        k = stiffness * (1.0 - SHARE) / SHARE**2  # K = k d / R, R = (1 - d) / d of 1 / (1 kg)
        for geom in spec.geoms:
            geom.solref = [-k, -2.0 * np.sqrt(k)]

    found = [
        Setting("MuJoCo, default", "Euler, solref 0.02 1", plain),
        Setting("MuJoCo, stiff", f"Euler, solref 2h 1, solimp {SHARE}, elliptic, impratio 100", stiff),
    ]
    if hasattr(mujoco().mjtIntegrator, DISCRETE):
        found.append(Setting("MuJoCo, discrete", f"discrete, {stiffness:g} N/m by solref, the rest as stiff", discrete))
    return found


def stiffen(spec: Any, time_constant: float, impratio: float) -> None:
    """Contacts of the time constant [s] and nearly all of the impedance, elliptic cones."""
    spec.option.cone, spec.option.impratio = mujoco().mjtCone.mjCONE_ELLIPTIC, impratio
    for geom in spec.geoms:
        geom.solref, geom.solimp = [time_constant, 1.0], [SHARE, SHARE, 0.001, 0.5, 2.0]


def mujoco_peers(stiffness: float) -> list[Peer]:
    """MuJoCo's own step, as `mujoco_settings` say."""
    return [peer_of(setting) for setting in mujoco_settings(stiffness)]


def peer_of(setting: Setting) -> Peer:
    return Peer(setting.name, setting.words, lambda xml: Stepped(read_spec(xml), steps_of_mujoco, setting.change))


def steps_of_mujoco(model: Any, data: Any, count: int) -> None:
    """MuJoCo's own, whatever is patched."""
    mujoco()._functions.mj_step(model, data, count)


def drake_peers(stiffness: float, *, dissipation: float = 0.0, relaxation: float | None = None) -> list[Peer]:
    """None if Drake is not installed. dissipation: of Hunt and Crossley [s/m]. relaxation: of SAP [s], else its own."""
    if importlib.util.find_spec("pydrake") is None:
        return []
    from pliant.studies.drake_peer import RELAXATION, SCHEMES, Simulated

    time = RELAXATION if relaxation is None else relaxation

    def peer(scheme: str) -> Peer:
        return Peer(
            f"Drake, {scheme}",
            f"point contact, {stiffness:g} N/m",
            lambda xml: Simulated(xml, scheme, stiffness, dissipation, time),
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
