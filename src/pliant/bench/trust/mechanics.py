"""What the hard scenes measure, of every engine in the same way: forces, energy, gaps of loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.bench.trust.scene import own
from pliant.inputs import Array
from pliant.materials import Material
from pliant.studies.peers import SHARE, Peer, Runner, Setting, Stepped, mujoco_settings, peer_of
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import RIGID

WORDS = "; equalities as the contacts"


def loop_engines(material: Material) -> list[Peer]:
    """For scenes of equalities: ours leaves them as they are, RIGID; MuJoCo's are tuned with the contacts."""
    return [*own(material), *(peer_of(_tuned(setting)) for setting in mujoco_settings(RIGID))]


def _tuned(setting: Setting) -> Setting:
    """Equalities as stiff as the geoms; the default is left alone."""
    if "default" in setting.name:
        return setting

    def change(spec: Any) -> None:
        setting.change(spec)
        k = RIGID * (1.0 - SHARE) / SHARE**2
        direct = "discrete" in setting.name
        for equality in spec.equalities:
            equality.solref = [-k, -2.0 * np.sqrt(k)] if direct else [2.0 * spec.option.timestep, 1.0]
            equality.solimp = [SHARE, SHARE, 0.001, 0.5, 2.0]

    return Setting(setting.name, setting.words + WORDS, change)


def watched(peer: Peer, prepare: Callable[[Any], None], look: Callable[[Any], None]) -> Peer:
    """The same, prepared before its first step, and looked at before it and after each call of `step`."""

    def start(xml: str) -> Runner:
        runner: Any = peer.start(xml)
        prepare(runner)
        look(runner)
        inner = runner.step

        def step(count: int) -> None:
            inner(count)
            look(runner)

        runner.step = step
        return runner

    return peer._replace(start=start)


def gaps(runner: Any) -> Array:
    """How far the connects are open, in the state reached, (n,) [m]."""
    data = runner.now
    rows = data.efc_type == mujoco().mjtConstraint.mjCNSTR_EQUALITY
    return np.linalg.norm(data.efc_pos[rows].reshape(-1, 3), axis=1)


def floor_forces(runner: Any) -> Array:
    """The floor's pushes along z, one a contact [N]. The floor is the first geom of the model."""
    if not isinstance(runner, Stepped):
        return _drake_forces(runner)
    model, data, found = runner.model, runner.data, []
    for i, contact in enumerate(data.contact):
        if 0 in contact.geom:
            force = np.zeros(6)
            mujoco()._functions.mj_contactForce(model, data, i, force)
            found.append(contact.frame.reshape(3, 3)[:, 2] @ force[:3] * (1.0 if contact.geom[0] == 0 else -1.0))
    return np.array(found)


def _drake_forces(runner: Any) -> Array:
    """Of contacts of the world with a body."""
    plant = runner._plant
    results = plant.get_contact_results_output_port().Eval(runner._context)
    world, found = plant.world_body().index(), []
    for i in range(results.num_point_pair_contacts()):
        contact = results.point_pair_contact_info(i)
        if world in (contact.bodyA_index(), contact.bodyB_index()):
            sign = 1.0 if contact.bodyA_index() == world else -1.0
            found.append(sign * float(contact.contact_force()[2]))  # on B
    return np.array(found)


def equality_force(runner: Any, equality: int) -> Array:
    """The forces of one equality's rows, of the last step: (3,) [N] of a connect, (6,) of a weld."""
    data = runner.data
    kind = data.efc_type == mujoco().mjtConstraint.mjCNSTR_EQUALITY
    return np.array(data.efc_force[kind & (data.efc_id == equality)])
