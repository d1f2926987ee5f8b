"""Contacts on a long way: those that only seem to close, or at another time, and impacts that would spin a body."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solvers.formulation import Formulation
from pliant.systems.mujoco_assembled import Assembled
from pliant.systems.mujoco_reach import BENT, SPUN, Reach
from pliant.systems.mujoco_solve import Answer, solve_flat

NEVER: Final = 100.0  # times what the geoms come nearer to each other in the step: a gap that does not close


def centre(reach: Reach, model: Any, data: Any, answer: Answer) -> bool:
    """Move contacts whose impact would turn a body by radians within the step into line with its centre of mass,
    where they turn nothing; whether there were any. About such a contact, whose place and normal are those of the
    start, the rest of the body would go through what it hits."""
    contacts, found = data.contact, False
    turns = reach.turns(data, answer.velocity - data.qvel)
    if turns.max(initial=0.0) < SPUN:
        return False
    for c in np.flatnonzero(contacts.efc_address >= 0):
        pair = contacts.geom[c]
        if pair.min() < 0 or answer.force[contacts.efc_address[c]] <= 0.0 or not reach.bent(*pair):
            continue
        body = max(model.geom_bodyid[pair], key=lambda b: turns[b])
        if turns[body] > SPUN:
            n, centre = contacts.frame[c, :3], data.xipos[body]
            contacts.pos[c] = centre + n * (n @ (contacts.pos[c] - centre))
            found = True
    return found


def follow_open(
    reach: Reach, data: Any, solver: Formulation, step: Assembled, answer: Answer
) -> tuple[Answer, Assembled]:
    """Solve again where open contacts that receive a force do not touch, or do so at another time than it seems.

    Geoms are followed as they come; those that miss each other then, once more on their way without the contacts
    between them, on which others may have thrown them. Gaps shrink or grow as the time of their touch does.
    """
    pairs = {p: c for p, c in _open_pairs(data, step.open, answer.force).items() if reach.bends(data, p)}
    if not pairs:
        return answer, step
    flat, before = step.flat, step.flat.value
    value = before.copy()
    missed = [p for p, c in pairs.items() if not _stretch(reach, data, step, flat.velocity, p, c, value)]
    loose, near = None, answer
    if missed:
        other = flat._replace(value=value)
        loose = near = solve_flat(other, solver, answer.velocity, answer.force, search=False, resort=False)
        met = [_stretch(reach, data, step, loose.velocity, p, pairs[p], value) for p in missed]
        loose = None if any(met) else loose
    if np.array_equal(value, before):
        return answer, step
    step = step._replace(other=flat._replace(value=value))
    return loose or solve_flat(step.flat, solver, near.velocity, near.force, search=False, resort=False), step


def _stretch(
    reach: Reach, data: Any, step: Assembled, v: Array, pair: tuple[int, int], contacts: list[int], value: Array
) -> bool:
    """Write into `value` the gaps between two geoms that move with v, far too wide if they miss each other; whether
    they meet."""
    seen, rows = step.flat.value, data.contact.efc_address[contacts]
    speed = reach.approach(data, v, pair) + 1e-12
    margin = float(data.contact.includemargin[contacts[0]])
    time = reach.touch_time(data, v if step.shift is None else v + step.shift, pair, margin, speed)
    if not np.isfinite(time):
        value[rows] = max(1.0, NEVER * step.flat.step * speed)
        return False
    seeming = min(seen[i] / max(-_rate(step.flat, i, v), 1e-100) for i in rows)
    ratio = time / seeming if seeming > 0.0 else 1.0
    value[rows] = seen[rows] * (ratio if abs(ratio - 1.0) > BENT else 1.0)
    return True


def _open_pairs(data: Any, open_: np.ndarray, force: Array) -> dict[tuple[int, int], list[int]]:
    """The pairs of geoms with an open contact that receives a force, and all their open contacts that have rows."""
    head, geom = data.contact.efc_address, data.contact.geom
    pairs: dict[tuple[int, int], list[int]] = {}
    for c in np.flatnonzero(open_ & (head >= 0)):
        pairs.setdefault((int(geom[c, 0]), int(geom[c, 1])), []).append(int(c))
    return {pair: contacts for pair, contacts in pairs.items() if np.any(force[head[contacts]] > 0.0)}


def _rate(flat: Flat, i: int, v: Array) -> float:
    """G v + e of a row."""
    entries = slice(flat.jac_ptr[i], flat.jac_ptr[i + 1])
    return float(flat.jac_val[entries] @ v[flat.jac_idx[entries]]) + float(flat.offset[i])
