"""Contacts on a long way: those that only seem to close, or at another time, and impacts that would spin a body."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.solution import Status
from pliant.systems._compile import kernel
from pliant.systems.mujoco_assembled import Assembled
from pliant.systems.mujoco_flat import Efc, Touch, row_gap, row_rates
from pliant.systems.mujoco_reach import BENT, SPUN, Reach
from pliant.systems.mujoco_solve import Answer

LEAST: Final = 1e-12  # [m/s]
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
    late = {p: c for p, c in _open_pairs(data, step.open, answer.force).items() if reach.bends(data, p)}
    seen = step.rows.efc.pos
    pos, way, near, other = seen.copy(), data.qvel, answer, step
    for again in range(2):
        missed = {p: c for p, c in late.items() if not _follow(reach, data, step, way, p, c, pos)}
        if np.array_equal(pos, seen):
            return answer, step
        if again and len(missed) == len(late):
            break
        other = step._replace(step=step.step.at(pos))
        near = other.step.solve(solver, near.velocity, near.force)
        if not missed or near.status is Status.NON_FINITE:
            break
        late, way = missed, near.velocity
    return near, other


def _follow(
    reach: Reach, data: Any, step: Assembled, v: Array, pair: tuple[int, int], contacts: list[int], pos: Array
) -> bool:
    """`stretch`, of contacts between two geoms that move with v; whether they meet."""
    h, _, _, _, shift, efc, touch, _ = step.step.parts
    speed = reach.approach(data, v, pair) + LEAST
    margin = float(data.contact.includemargin[contacts[0]])
    time = reach.touch_time(data, v + shift, pair, margin, speed)
    return bool(stretch(efc, touch, data.contact.efc_address[contacts], v, shift, time, NEVER * h * speed, pos))


@kernel
def stretch(
    efc: Efc, touch: Touch, heads: np.ndarray, v: Array, shift: Array, time: float, never: float, pos: Array
) -> bool:
    """Write into pos the gaps of rows that close at a time, as far as that is not the one at which they seem to at the
    velocity v; of those that do not, never or more. False: they do not."""
    seeming = np.inf
    for i in heads:
        rate, more, _ = row_rates(efc, i, v, shift, shift)
        seeming = min(seeming, row_gap(efc, touch, i) / max(-(rate + more + efc.offset[i]), 1e-100))
    ratio = time / seeming if seeming > 0.0 else 1.0
    for i in heads:
        pos[i] = efc.pos[i]
        if time == np.inf:
            pos[i] += max(1.0, never) - row_gap(efc, touch, i)
        elif abs(ratio - 1.0) > BENT:
            pos[i] += (ratio - 1.0) * row_gap(efc, touch, i)
    return bool(time < np.inf)


def _open_pairs(data: Any, open_: np.ndarray, force: Array) -> dict[tuple[int, int], list[int]]:
    """The pairs of geoms with an open contact that receives a force, and all their open contacts that have rows."""
    head, geom = data.contact.efc_address, data.contact.geom
    pairs: dict[tuple[int, int], list[int]] = {}
    for c in np.flatnonzero(open_ & (head >= 0)):
        pairs.setdefault((int(geom[c, 0]), int(geom[c, 1])), []).append(int(c))
    return {pair: contacts for pair, contacts in pairs.items() if np.any(force[head[contacts]] > 0.0)}
