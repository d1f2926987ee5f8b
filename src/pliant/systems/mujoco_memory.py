"""The forces of the step before, from which the next one starts where it has many rows.

A velocity does not tell how redundant contacts share a load; the forces of the step before do. They are kept with the
data, for as long as it is in the state that the step has left: whoever sets another state starts anew. Contacts are
matched within a pair of geoms by the nearest place, in the frame of the second geom, and friction turns with it; other
rows by what they belong to. It is a start, no more: what is wrong with it costs iterations.

A memory is one array of numbers, for compiled code and for batches, which keep one for each simulation:

    contacts, other rows, qpos, qvel, what is kept of each contact (CONTACT numbers), of each other row (OTHER)
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from pliant.inputs import Array
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import address, room
from pliant.systems.mujoco_kept import Kept
from pliant.systems.mujoco_kinds import ELLIPTIC, FRICTIONLESS

FEW_ROWS: Final = 40  # up to here a velocity is start enough
CONTACTS, OTHERS, STATE = range(3)  # places: how many there are, and where the state begins
# Of a contact: its geoms; its place, and then its forces: along the normal, tangential, of torsion, of rolling.
ONE, TWO, PLACE, NORMAL, SLIDING, TORSION, ROLLING, TAKEN = 0, 1, 2, 5, 6, 9, 10, 13
CONTACT = 14
TYPE, ID, FORCE = range(3)  # of another row
OTHER = 3
EXTRA = -1  # the type of rows that MuJoCo does not have; their number is their id


class Marks(NamedTuple):
    """By what rows are known again: what MuJoCo's are of, (m,), how many follow after them, and where contacts are."""

    type: np.ndarray  # (m,)
    id: np.ndarray  # (m,)
    extras: int
    pair: np.ndarray  # (ncon, 2) geoms
    pos: Array  # (ncon, 3)
    frame: Array  # (ncon, 9) the normal first
    head: np.ndarray  # (ncon,) the first row, -1 where there is none
    dim: np.ndarray  # (ncon,) how many there are
    xpos: Array  # (ngeom, 3)
    xmat: Array  # (ngeom, 9)


def marks_of(data: Any, type: np.ndarray, id: np.ndarray, extras: int) -> Marks:
    """Of the rows that data has now."""
    found = data.contact
    spots = found.geom.copy(), found.pos.copy(), found.frame.copy(), found.efc_address.copy(), found.dim.copy()
    return Marks(type, id, extras, *spots, data.geom_xpos, data.geom_xmat)


class Memory:
    """numbers: see above; after `make_room` another array with the same in it. place: where they lie, and how many they
    are, for compiled code."""

    def __init__(self, data: Any) -> None:
        self._state = STATE + len(data.qpos) + len(data.qvel)
        self.place = np.zeros(2, np.int64)
        self._use(np.zeros(self._state))

    def _use(self, numbers: Array) -> None:
        self.numbers = numbers
        self.place[:] = address(numbers), len(numbers)

    def make_room(self, rows: int) -> None:
        """For so many rows at least."""
        more = self._state + CONTACT * rows - len(self.numbers)
        if more > 0:
            self._use(np.concatenate([self.numbers, np.zeros(more)]))

    def start(self, data: Any, marks: Marks) -> Array:
        """`recall`; empty: nothing."""
        start = np.empty(len(marks.type) + marks.extras)
        return start if recall(self.numbers, data.qpos, data.qvel, marks, start) else start[:0]

    def keep(self, data: Any, marks: Marks, force: Array) -> None:
        """`remember`, and the state now."""
        self.make_room(len(force))
        remember(self.numbers, len(data.qpos), len(data.qvel), marks, force)
        keep_state(self.numbers, data.qpos, data.qvel)

    def copy(self) -> Array | None:
        """What there is, for `take`; None: nothing."""
        if is_empty(self.numbers):
            return None
        contacts, others = self.numbers[[CONTACTS, OTHERS]].astype(int)
        return self.numbers[: self._state + CONTACT * contacts + OTHER * others].copy()

    def take(self, kept: Array | None) -> None:
        """In the place of what there is."""
        forget(self.numbers)
        if kept is not None:
            self.make_room(-(-(len(kept) - self._state) // CONTACT))
            self.numbers[: len(kept)] = kept


_memories: Kept[Memory] = Kept()


def memory_of(data: Any) -> Memory:
    """The one that belongs to a data."""
    return _memories.of(data, lambda: Memory(data))


@kernel
def forget(memory: Array) -> None:
    memory[CONTACTS] = memory[OTHERS] = 0.0


@kernel
def is_empty(memory: Array) -> bool:
    return bool(memory[CONTACTS] + memory[OTHERS] == 0.0)


@kernel
def keep_state(memory: Array, qpos: Array, qvel: Array) -> None:
    """The state after the step whose forces are there, if there are any."""
    if is_empty(memory):
        return
    for i in range(qpos.size):
        memory[STATE + i] = qpos[i]
    for j in range(qvel.size):
        memory[STATE + qpos.size + j] = qvel[j]


@kernel
def remember(memory: Array, nq: int, nv: int, marks: Marks, force: Array) -> None:
    """Keep the forces of all rows, if these are many."""
    forget(memory)
    type, at, rows = marks.type, STATE + nq + nv, force.size
    if rows <= FEW_ROWS or at + CONTACT * rows > memory.size:
        return
    for c in range(marks.head.size):
        i, n = marks.head[c], marks.dim[c]
        if i < 0 or marks.pair[c, 1] < 0:
            continue
        entry = memory[at : at + CONTACT]
        entry[ONE], entry[TWO] = marks.pair[c, 0], marks.pair[c, 1]
        _place(marks, c, entry)
        for k in range(NORMAL, CONTACT):
            entry[k] = 0.0
        entry[NORMAL] = force[i]
        if n > 2:
            _inwards(marks, c, force[i + 1], force[i + 2], entry[SLIDING : SLIDING + 3])
        if n > 3:
            entry[TORSION] = force[i + 3]
        if n > 5:
            _inwards(marks, c, force[i + 4], force[i + 5], entry[ROLLING : ROLLING + 3])
        memory[CONTACTS] += 1.0
        at += CONTACT
    for i in range(rows):
        kind, number = (type[i], marks.id[i]) if i < type.size else (EXTRA, i - type.size)
        if not _is_contact(kind):
            memory[at + TYPE], memory[at + ID], memory[at + FORCE] = kind, number, force[i]
            memory[OTHERS] += 1.0
            at += OTHER


@kernel
def recall(memory: Array, qpos: Array, qvel: Array, marks: Marks, start: Array) -> bool:
    """Fill start, one for each row, with what is remembered of them, else 0; False: nothing is, of this state."""
    if start.size <= FEW_ROWS or is_empty(memory) or not _is_state(memory, qpos, qvel):
        return False
    first, count = STATE + qpos.size + qvel.size, int(memory[CONTACTS])
    for i in range(start.size):
        start[i] = 0.0
    for k in range(count):
        memory[first + CONTACT * k + TAKEN] = 0.0
    there, here = 0, room(CONTACT)
    for c in range(marks.head.size):
        i, n = marks.head[c], marks.dim[c]
        if i < 0 or marks.pair[c, 1] < 0:
            continue
        here[ONE], here[TWO] = marks.pair[c, 0], marks.pair[c, 1]
        found = _find_pair(memory, first, count, there, here)
        if found < 0:
            continue
        there = found  # contacts come in much the same order
        _place(marks, c, here)
        near = _nearest(memory, first, count, there, here)
        if near < 0:
            continue
        entry = memory[first + CONTACT * near : first + CONTACT * (near + 1)]
        entry[TAKEN], start[i] = 1.0, entry[NORMAL]
        if n > 2:
            start[i + 1], start[i + 2] = _outwards(marks, c, entry[SLIDING : SLIDING + 3])
        if n > 3:
            start[i + 3] = entry[TORSION]
        if n > 5:
            start[i + 4], start[i + 5] = _outwards(marks, c, entry[ROLLING : ROLLING + 3])
    _recall_others(memory, first + CONTACT * count, marks, start)
    return True


@kernel
def _recall_others(memory: Array, at: int, marks: Marks, start: Array) -> None:
    """Rows of one thing follow in the same order, and so do things."""
    type, k, count = marks.type, 0, int(memory[OTHERS])
    for i in range(start.size):
        kind, number = (type[i], marks.id[i]) if i < type.size else (EXTRA, i - type.size)
        if _is_contact(kind):
            continue
        for j in range(k, count):
            entry = memory[at + OTHER * j : at + OTHER * (j + 1)]
            if entry[TYPE] == kind and entry[ID] == number:
                start[i], k = entry[FORCE], j + 1
                break


@kernel(inline=True)
def _is_contact(kind: int) -> bool:
    return kind in (ELLIPTIC, FRICTIONLESS)


@kernel
def _is_state(memory: Array, qpos: Array, qvel: Array) -> bool:
    same = True
    for i in range(qpos.size):
        same = same and memory[STATE + i] == qpos[i]
    for j in range(qvel.size):
        same = same and memory[STATE + qpos.size + j] == qvel[j]
    return same


@kernel
def _place(marks: Marks, c: int, entry: Array) -> None:
    """Of contact c, in the frame of its second geom."""
    at, turn, pos = marks.xpos[marks.pair[c, 1]], marks.xmat[marks.pair[c, 1]], marks.pos[c]
    x, y, z = pos[0] - at[0], pos[1] - at[1], pos[2] - at[2]
    for k in range(3):
        entry[PLACE + k] = turn[k] * x + turn[3 + k] * y + turn[6 + k] * z


@kernel
def _inwards(marks: Marks, c: int, f: float, g: float, entry: Array) -> None:
    """f along the first tangent of contact c and g along the second, in the frame of its second geom."""
    turn, frame = marks.xmat[marks.pair[c, 1]], marks.frame[c]
    x, y, z = f * frame[3] + g * frame[6], f * frame[4] + g * frame[7], f * frame[5] + g * frame[8]
    for k in range(3):
        entry[k] = turn[k] * x + turn[3 + k] * y + turn[6 + k] * z


@kernel
def _outwards(marks: Marks, c: int, entry: Array) -> tuple[float, float]:
    """And back, to tangents that may be others."""
    turn, frame, f, g = marks.xmat[marks.pair[c, 1]], marks.frame[c], 0.0, 0.0
    for k in range(3):
        x = turn[3 * k] * entry[0] + turn[3 * k + 1] * entry[1] + turn[3 * k + 2] * entry[2]
        f += frame[3 + k] * x
        g += frame[6 + k] * x
    return f, g


@kernel
def _find_pair(memory: Array, first: int, count: int, there: int, here: Array) -> int:
    """The first contact of these two geoms, from `there` on and then from the start; -1: there is none."""
    for k in range(count):
        i = there + k if there + k < count else there + k - count
        if _is_pair(memory, first + CONTACT * i, here):
            return i
    return -1


@kernel(inline=True)
def _is_pair(memory: Array, at: int, here: Array) -> bool:
    return memory[at + ONE] == here[ONE] and memory[at + TWO] == here[TWO]


@kernel
def _nearest(memory: Array, first: int, count: int, there: int, here: Array) -> int:
    """Of the contacts of these geoms from `there` on, the nearest that is not taken; -1: all are."""
    near, least, i = -1, np.inf, there
    while i < count and _is_pair(memory, first + CONTACT * i, here):
        entry, way = memory[first + CONTACT * i : first + CONTACT * (i + 1)], 0.0
        for k in range(PLACE, PLACE + 3):
            way += (entry[k] - here[k]) ** 2
        if entry[TAKEN] == 0.0 and way < least:
            near, least = i, way
        i += 1
    return near
