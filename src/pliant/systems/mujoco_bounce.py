"""Restitution: contacts that bounce leave with a share of the speed at which they met.

Newton's rule, v+ = -e v-, enters as the offset of the row's rate. v- is the speed at the moment of touch, somewhere
within the step, and v1 that at the end of the step at which all of e^2 of the height is reached again: a step of this
scheme, v1 = v0 - h g, x1 = x0 + h v1, keeps v^2/2 + g x - g h v/2 in free fall, g the acceleration along the normal, so

    v-^2 = v0^2 + 2 g gap + g h |v0|,      v1^2 + g h v1 + 2 g gap = e^2 v-^2.

In the step in which it bounces a contact is rigid: how deep it goes in between is not seen.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from pliant.flat import Flat
from pliant.formulation import Formulation
from pliant.inputs import Array, Ints
from pliant.systems.mujoco_assembled import Assembled
from pliant.systems.mujoco_solve import Answer, free_gain, solve_flat
from pliant.systems.mujoco_surfaces import BOUNCE, FAST

RIGID: Final = 1e15  # [N/m]
SHARES: Final = (1.0, 0.98, 0.95, 0.9, 0.8, 0.6, 0.3)  # of e, that are tried
MORE: Final = 1e-9  # of the energy, by which it may grow


def bounce(
    material: Array, turning: Array | None, data: Any, solver: Formulation, step: Assembled, answer: Answer
) -> tuple[Answer, Assembled]:
    """Solve again with restitution where contacts that push came fast; with less of it, where that would gain energy.

    turning: (nv,) the forces of inertia by which free bodies turn, which do no work; None: none does.
    """
    head, contacts = data.contact.efc_address, np.flatnonzero(data.contact.efc_address >= 0)
    contacts = contacts[answer.force[head[contacts]] > 0.0]
    e, fast = _rule(material, data.contact.geom[contacts])
    some = contacts[e > 0.0]
    if not len(some):
        return answer, step
    turned = _turned(step.flat, turning)
    for share in SHARES:
        flat = _bounced(step.flat, turned, head[some], share * e[e > 0.0], fast[e > 0.0])
        if flat is None:
            break
        other = solve_flat(flat, solver, answer.velocity)
        if not _grows(flat._replace(velocity=turned.velocity, force=turned.force), other.velocity):
            return other, step._replace(other=flat)
    return answer, step


def _rule(material: Array, pairs: Ints) -> tuple[Array, Array]:
    """e of every pair of geoms, (n,), and the speed from which it holds: of the material with the larger e."""
    one, two = material[pairs[:, 0]], material[pairs[:, 1]]
    first = one[:, BOUNCE] >= two[:, BOUNCE]
    return np.where(first, one[:, BOUNCE], two[:, BOUNCE]), np.where(first, one[:, FAST], two[:, FAST])


class Turned(NamedTuple):
    """What free bodies have after they have turned, which takes no energy: v0 + h inv(M) turning; other forces."""

    velocity: Array
    force: Array
    gained: Array  # (nv,) h inv(M) force


def _turned(flat: Flat, turning: Array | None) -> Turned:
    velocity, force = flat.velocity, flat.force
    if turning is not None:
        velocity, force = velocity + free_gain(flat, turning), force - turning
    return Turned(velocity, force, free_gain(flat, force))


def _bounced(flat: Flat, turned: Turned, rows: Ints, e: Array, fast: Array) -> Flat | None:
    """The step with the rates that contacts, given by their first rows, are to leave with; None: no one bounces."""
    value, offset, stiffness = flat.value.copy(), flat.offset.copy(), flat.stiffness.copy()
    damping, exponent, dissipation = flat.damping.copy(), flat.exponent.copy(), flat.dissipation.copy()
    found = False
    for i, share, least in zip(rows, e, fast, strict=True):
        entries = slice(flat.jac_ptr[i], flat.jac_ptr[i + 1])
        G, columns = flat.jac_val[entries], flat.jac_idx[entries]
        # without the offset, by which bodies that turn go on average: energy is that of the velocity at the ends
        speed, pull = (-float(G @ part[columns]) for part in (turned.velocity, turned.gained / flat.step))
        leaving = _leaving(flat.step, share, least, speed, pull, max(value[i], 0.0))
        if leaving > 0.0:
            value[i], stiffness[i], damping[i], exponent[i], dissipation[i] = 0.0, RIGID, 0.0, 1.0, 0.0
            offset[i] = -leaving
            found = True
    if not found:
        return None
    return flat._replace(
        value=value, offset=offset, stiffness=stiffness, damping=damping, exponent=exponent, dissipation=dissipation
    )


def _leaving(h: float, e: float, least: float, speed: float, g: float, gap: float) -> float:
    """v1; 0: it does not bounce."""
    touch = speed**2 + 2.0 * g * gap + g * h * speed
    if speed <= least or touch <= least**2:
        return 0.0
    inside = (0.5 * g * h) ** 2 + e**2 * touch - 2.0 * g * gap
    return float(np.sqrt(inside) - 0.5 * g * h) if inside > 0.0 else 0.0


def _grows(flat: Flat, v: Array) -> bool:
    """Whether v has more energy than motion and springs held before, and the forces f, along the mean velocity, add."""
    pressed = (flat.value < 0.0) & (flat.stiffness < np.inf)
    more = flat.exponent[pressed] + 1.0
    held = flat.stiffness[pressed] * np.abs(flat.value[pressed]) ** more / more
    before = _kinetic(flat, flat.velocity) + 0.5 * flat.step * flat.force @ (flat.velocity + v) + held.sum()
    after = _kinetic(flat, v)
    return bool(after > before + MORE * (_kinetic(flat, flat.velocity) + after))


def _kinetic(flat: Flat, v: Array) -> float:
    row = np.repeat(np.arange(len(v)), np.diff(flat.mass_ptr))
    return 0.5 * float(np.sum(flat.mass_val * v[row] * v[flat.mass_idx]))
