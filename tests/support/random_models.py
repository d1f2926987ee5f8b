"""Random MuJoCo models of all that pliant steps, and random states of them.

Masses, strengths and softness range over decades, bodies may start inside one another, speeds reach 100 m/s: such
models are nothing that anybody would build, and everything that a step must survive.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from tests.support.random_bodies import Bodies, assets
from tests.support.random_draws import Draws, element
from tests.support.random_links import Links

SPEEDS = (0.0, 0.1, 1.0, 1.0, 10.0, 100.0)  # [m/s]
SPINS = (0.0, 1.0, 1.0, 10.0)  # [rad/s]
OFF = ("gravity", "contact", "limit", "equality", "frictionloss", "clampctrl", "warmstart", "filterparent", "midphase",
       "nativeccd", "eulerdamp", "refsafe", "actuation", "spring", "damper")  # fmt: skip
ON = ("energy", "multiccd", "fwdinv")


def random_model(rng: np.random.Generator) -> str:
    """MJCF text of a model that MuJoCo compiles."""
    draws = Draws(rng)
    bodies = Bodies(draws)
    world, links = element("worldbody", [bodies.world()]), Links(draws, bodies.names, bodies.strength)
    parts = [
        '<compiler angle="radian" autolimits="true"/>', _option(draws), assets(draws), world,
        links.contacts(), links.section("tendon", links.tendon, 0.4, 3),
        links.section("equality", links.equality, 0.35, 3), links.section("actuator", links.actuator, 0.5, 4),
        links.section("sensor", links.sensor, 0.5, 5), _keyframe(draws, bodies.names.velocities),
    ]  # fmt: skip
    return element("mujoco", parts)


def _option(d: Draws) -> str:
    """Steps from 0.5 to 50 ms; mostly in Earth's gravity and in a vacuum."""
    flags = {name: "disable" for name in OFF if d.often(0.02)} | {name: "enable" for name in ON if d.often(0.05)}
    fluid = d.often(0.15)
    return element(
        "option", [element("flag", **flags)], timestep=d.decades(np.log10(0.0005), np.log10(0.05)),
        gravity=d.maybe(0.2, d.one_of([0.0, 10.0, 100.0]) * d.direction()), cone=d.one_of(["pyramidal", "elliptic"]),
        density=d.maybe(fluid, d.decades(0, 3)), viscosity=d.maybe(fluid, d.decades(-5, 1)),
        wind=d.maybe(fluid, d.within(-10, 10, 3)), impratio=d.maybe(0.1, d.decades(-1, 2)),
        jacobian=d.one_of(["auto", "auto", "dense", "sparse"]),
        integrator=d.one_of(["Euler", "RK4", "implicit", "implicitfast"]), solver=d.one_of(["PGS", "CG", "Newton"]),
    )  # fmt: skip


def _keyframe(d: Draws, velocities: int) -> str:
    if not d.often(0.2):
        return ""
    return element("keyframe", [element("key", time=d.within(0, 10), qvel=d.within(-1, 1, velocities))])


def random_state(rng: np.random.Generator, model: Any, data: Any) -> None:
    """Another position near that of the model or far from it, velocities, controls, forces and mocap poses."""
    if model.nkey and rng.random() < 0.5:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    size = rng.choice([0.0, 1e-3, 0.1, 1.0])
    mujoco.mj_integratePos(model, data.qpos, size * rng.uniform(-1, 1, model.nv), 1.0)
    data.qvel[:] += np.where(_slides(model), rng.choice(SPEEDS), rng.choice(SPINS)) * rng.uniform(-1, 1, model.nv)
    data.act[:] = rng.uniform(0, 1, model.na)
    data.mocap_pos[:] += size * rng.uniform(-1, 1, (model.nmocap, 3))
    if rng.random() < 0.3:
        load = rng.choice([0.1, 1.0, 10.0]) * 9.81 * float(np.median(model.body_mass[1:]))
        data.qfrc_applied[:] = load * rng.uniform(-1, 1, model.nv) * (rng.random(model.nv) < 0.3)
        data.xfrc_applied[1:] = (
            load * rng.uniform(-1, 1, (model.nbody - 1, 6)) * (rng.random((model.nbody - 1, 1)) < 0.3)
        )
    random_control(rng, model, data)


def _slides(model: Any) -> np.ndarray:
    """Which velocities are in m/s, (nv,) of bool."""
    kind, first = model.jnt_type[model.dof_jntid], model.jnt_dofadr[model.dof_jntid]
    free = (kind == mujoco.mjtJoint.mjJNT_FREE) & (np.arange(model.nv) - first < 3)
    return np.asarray((kind == mujoco.mjtJoint.mjJNT_SLIDE) | free)


def random_control(rng: np.random.Generator, model: Any, data: Any) -> None:
    """Within the ranges of controls, or now and then beyond."""
    low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [-1.0, 1.0]).T
    beyond = rng.choice([0.0, 0.0, 1.0])
    data.ctrl[:] = rng.uniform(low - beyond * (high - low), high + beyond * (high - low))
