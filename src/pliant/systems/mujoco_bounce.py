"""Restitution: contacts that bounce leave with a share of the speed at which they met.

Newton's rule, v+ = -e v-, enters as the offset of the row's rate. v- is the speed at the moment of touch, somewhere
within the step, and v1 that at the end of the step at which all of e^2 of the height is reached again: a step of this
scheme, v1 = v0 - h g, x1 = x0 + h v1, keeps v^2/2 + g x - g h v/2 in free fall, g the acceleration along the normal, so

    v-^2 = v0^2 + 2 g gap + g h |v0|,      v1^2 + g h v1 + 2 g gap = e^2 v-^2.

In the step in which it bounces a contact is rigid: how deep it goes in between is not seen.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solvers.formulation import Formulation
from pliant.solvers.whiten import factor_inertia, free_gain
from pliant.systems.mujoco_assembled import Assembled
from pliant.systems.mujoco_solve import Answer, solve_flat
from pliant.systems.mujoco_surfaces import BOUNCE, FAST

RIGID: Final = 1e15  # [N/m]
MORE: Final = 1e-9  # of the energy, by which it may grow


def bounce(
    material: Array, data: Any, solver: Formulation, step: Assembled, answer: Answer
) -> tuple[Answer, Assembled]:
    """Solve again with restitution where contacts that push came fast, unless they would gain energy."""
    head, contacts = data.contact.efc_address, np.flatnonzero(data.contact.efc_address >= 0)
    contacts = contacts[answer.force[head[contacts]] > 0.0]
    e, fast = _rule(material, data.contact.geom[contacts])
    some = contacts[e > 0.0]
    flat = _bounced(step.flat, head[some], e[e > 0.0], fast[e > 0.0]) if len(some) else None
    if flat is None:
        return answer, step
    other = solve_flat(flat, solver, answer.velocity)
    if _grows(flat, other.velocity):
        return answer, step
    return other, step._replace(other=flat)


def _rule(material: Array, pairs: Ints) -> tuple[Array, Array]:
    """e of every pair of geoms, (n,), and the speed from which it holds: of the material with the larger e."""
    one, two = material[pairs[:, 0]], material[pairs[:, 1]]
    first = one[:, BOUNCE] >= two[:, BOUNCE]
    return np.where(first, one[:, BOUNCE], two[:, BOUNCE]), np.where(first, one[:, FAST], two[:, FAST])


def _bounced(flat: Flat, rows: Ints, e: Array, fast: Array) -> Flat | None:
    """The step with the rates that contacts, given by their first rows, are to leave with; None: no one bounces."""
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    gained = free_gain(inertia, flat.step, flat.force)
    value, offset, stiffness = flat.value.copy(), flat.offset.copy(), flat.stiffness.copy()
    damping, exponent, dissipation = flat.damping.copy(), flat.exponent.copy(), flat.dissipation.copy()
    found = False
    for i, share, least in zip(rows, e, fast, strict=True):
        entries = slice(flat.jac_ptr[i], flat.jac_ptr[i + 1])
        G, columns = flat.jac_val[entries], flat.jac_idx[entries]
        speed, pull = -float(G @ flat.velocity[columns] + offset[i]), -float(G @ gained[columns]) / flat.step
        leaving = _leaving(flat.step, share, least, speed, pull, max(value[i], 0.0))
        if leaving > 0.0:
            value[i], stiffness[i], damping[i], exponent[i], dissipation[i] = 0.0, RIGID, 0.0, 1.0, 0.0
            offset[i] -= leaving
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
