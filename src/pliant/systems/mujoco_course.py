"""Many steps of one simulation: with which controls, and what is kept of each."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pliant import _engine
from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.systems.mujoco_calls import say_hard, take_steps
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_stepper import Made, stepper_of

NONE: Final = np.zeros(0)  # controls
Kept = tuple[str | int, np.ndarray]  # a field of MjData or an mjtState, and its rows, (steps, ...)


class Course:
    """The steps of one simulation on one data."""

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
        self._data, self._steps, self._control, self._spec, self._keep = data, steps, control, spec, keep
        self._next = 0
        self._warned = int(data.warning.number.sum()) if stops else -1

    def run(self, made: Made, model: Any, solver: Formulation, stop: threading.Event) -> None:
        """To the end, or until it is to stop."""
        stepper = stepper_of(self._data)
        while self._next < self._steps and not stop.is_set():
            if self._warned >= 0 and int(self._data.warning.number.sum()) != self._warned:
                self._repeat()
                return
            if solver.linearizes:
                self._go(stepper, made, model, solver)
            else:
                self._go_slowly(stepper, made, model, solver)

    def _go(self, stepper: _engine.Stepper, made: Made, model: Any, solver: Formulation) -> None:
        """In the engine, for a while."""
        control = NONE if self._control is None else self._control
        self._next, hard = stepper.roll(
            model._address, self._data._address, made.materials, self._next, self._steps, control, self._spec,
            [self._place(what, rows) for what, rows in self._keep], self._warned, solver.convex,
            float(solver.tolerance), solver.max_iterations,
        )  # fmt: skip
        if hard:
            say_hard(stepper, hard)

    def _go_slowly(self, stepper: _engine.Stepper, made: Made, model: Any, solver: Formulation) -> None:
        """One step, by a solver that the engine does not have."""
        k, data = self._next, self._data
        if self._control is not None:
            mujoco().mj_setState(model, data, self._control[k], self._spec)
        take_steps(made, stepper, model, data, solver)
        for what, rows in self._keep:
            if isinstance(what, str):
                rows[k] = getattr(data, what)
            else:
                mujoco().mj_getState(model, data, rows[k], what)
        self._next += 1

    def _place(self, what: str | int, rows: np.ndarray) -> tuple[int, int, int, int]:
        """What is kept, as the engine reads it: (state or 0, where the field lies, its rows, bytes of one)."""
        if isinstance(what, int):
            return what, 0, address(rows), rows[:1].nbytes
        value = getattr(self._data, what)
        there = address(value) if isinstance(value, np.ndarray) else _engine.field_at(self._data._address, what)
        return 0, there, address(rows), rows[:1].nbytes

    def _repeat(self) -> None:
        """What was kept of the last step, for all that are not taken."""
        for _, rows in self._keep:
            rows[self._next :] = rows[self._next - 1]
        self._next = self._steps


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])
