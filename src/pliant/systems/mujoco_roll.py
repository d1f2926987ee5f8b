"""Many usual steps of one simulation in one compiled call: `roll_at`.

Between them nothing returns to Python: controls are set, and what is wanted of each step is kept, by MuJoCo's own
functions. It comes back at a step that is not usual, and now and then, so that Ctrl-C is heard.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems import mujoco_site as site
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import address, folded, ints, long_room, longs, octets
from pliant.systems.mujoco_answer import OTHERWISE, OUTRUN, SOLVED
from pliant.systems.mujoco_direct import is_known, step_at
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_engine import Options
from pliant.systems.mujoco_layout import struct
from pliant.systems.mujoco_native import clock, get_state, set_state
from pliant.systems.mujoco_site import fixed_at

WHILE: Final = 0.05  # seconds of a compiled call

# Places in a course: the next step, and how many there are; where the controls lie, how many a step has, and which they
# are; where the counters of warnings lie, how many they are, and their sum at the start (0 of them: warnings pass).
# Whether forces are left in the data by all the steps, not by the last alone; whether there are forces only, no step.
NEXT, STEPS, CONTROL, WIDTH, SPEC, WARNINGS, KINDS, WARNED, WHOLE, STAYS = range(10)
# Columns of what is kept: which state, or 0; else where the field lies; to where, and how many bytes a step.
STATE, SOURCE, TARGET, SIZE = range(4)

Kept = tuple[str | int, np.ndarray]  # a field of MjData or an mjtState, and its rows, (steps, ...)


class Course:
    """The steps of one simulation on one data: how many, with which controls, and what is kept of each."""

    def __init__(
        self,
        data: Any,
        steps: int,
        control: Array | None = None,
        spec: int = 0,
        keep: Sequence[Kept] = (),
        *,
        stops: bool = False,
    ) -> None:
        """control: (steps, n), of the components `spec`. stops: at MuJoCo's warnings; the rest repeats the last."""
        self.numbers = np.zeros(STAYS + 1, np.int64)
        self.kept = np.zeros((len(keep), 4), np.int64)
        self._data, self._control, self._keep, self._stops = data, control, keep, stops
        self.numbers[STEPS], self.numbers[SPEC] = steps, spec
        if control is not None:
            self.numbers[CONTROL], self.numbers[WIDTH] = address(control), control.shape[1]
        if stops:
            counters = data.warning.number
            self.numbers[WARNINGS : WARNED + 1] = address(counters), len(counters), counters.sum()
        for row, (what, rows) in zip(self.kept, keep, strict=True):
            row[TARGET], row[SIZE] = address(rows), rows[:1].nbytes
            if isinstance(what, str):
                row[SOURCE], self.numbers[WHOLE] = _place(data, what), 1
            else:
                row[STATE] = what

    @property
    def is_over(self) -> bool:
        return bool(self.numbers[NEXT] >= self.numbers[STEPS])

    @property
    def has_stopped(self) -> bool:
        """At a warning."""
        return self._stops and int(self._data.warning.number.sum()) != self.numbers[WARNED]

    def set_control(self, model: Any) -> None:
        """Of the next step."""
        if self._control is not None:
            mujoco().mj_setState(model, self._data, self._control[self.numbers[NEXT]], int(self.numbers[SPEC]))

    def keep(self, model: Any) -> None:
        """What is wanted of the step that has been taken, which ends it."""
        k, data = int(self.numbers[NEXT]), self._data
        for what, rows in self._keep:
            if isinstance(what, str):
                rows[k] = getattr(data, what)
            else:
                mujoco().mj_getState(model, data, rows[k], what)
        self.numbers[NEXT] += 1

    def repeat(self) -> None:
        """What was kept of the last step, for all that are not taken."""
        k = int(self.numbers[NEXT])
        for _, rows in self._keep:
            rows[k:] = rows[k - 1]
        self.numbers[NEXT] = self.numbers[STEPS]


def _place(data: Any, name: str) -> int:
    """Where a field lies."""
    value = getattr(data, name)
    return address(value) if isinstance(value, np.ndarray) else int(data._address) + _offsets()[name]


@functools.cache
def _offsets() -> dict[str, int]:
    """Of the numbers in MjData itself."""
    data = struct("mjData")
    return {name: getattr(data, name).offset for name, kind in data._fields_ if kind is ctypes.c_int}


@kernel
def step_once(place: int, stays: bool, convex: bool, tolerance: float, limit: int) -> int:
    """`roll_at`, of one step of which nothing is kept, or of none: forces alone. place: of the table; a number is
    handed over to compiled code faster than an array."""
    table, course = longs(place, site.WORDS), long_room(STAYS + 1)
    for k in range(STAYS + 1):
        course[k] = 0
    course[STEPS], course[STAYS] = 1, stays
    return roll_at(table, course, folded(table, 0, 4), convex, tolerance, limit)


@kernel
def roll_at(table: Ints, course: Ints, kept: Ints, convex: bool, tolerance: float, limit: int) -> int:
    """Steps as far as they are usual. SOLVED: to the end, to a warning, or for a while; else as `step_at`,
    or OTHERWISE, where the model is another."""
    fixed, data, begin, options = fixed_at(table), table[site.BASE], clock(), Options(convex, tolerance, limit)
    if not is_known(fixed):
        return OTHERWISE
    while course[NEXT] < course[STEPS] and _warnings(course) == course[WARNED]:
        if course[CONTROL]:
            at = course[CONTROL] + 8 * course[NEXT] * course[WIDTH]
            set_state(fixed.user, data, at, np.int32(course[SPEC]))
        whole = fixed.sensors or course[WHOLE] != 0 or course[NEXT] + 1 == course[STEPS]
        found = step_at(fixed, table, options, course[STAYS] == 0, whole)
        if found < SOLVED:
            return found
        for i in range(kept.shape[0]):
            _keep(fixed.user, data, course[NEXT], kept[i])
        course[NEXT] += 1
        if found > OUTRUN:
            return found
        if clock() - begin > WHILE:
            break
    return SOLVED


@kernel
def _warnings(course: Ints) -> int:
    """How many there have been; counters lie between other numbers."""
    total, counters = 0, ints(course[WARNINGS], 2 * course[KINDS])
    for i in range(course[KINDS]):
        total += counters[2 * i]
    return total


@kernel
def _keep(model: int, data: int, k: int, what: Ints) -> None:
    target = what[TARGET] + k * what[SIZE]
    if what[STATE]:
        get_state(model, data, target, np.int32(what[STATE]))
        return
    source, rows = octets(what[SOURCE], what[SIZE]), octets(target, what[SIZE])
    for i in range(what[SIZE]):
        rows[i] = source[i]
