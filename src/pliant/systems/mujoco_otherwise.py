"""Why a step goes through MuJoCo's arrays and not in one compiled call, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pliant.formulation import Formulation
from pliant.systems.mujoco_answer import UNUSUAL
from pliant.systems.mujoco_layout import layout
from pliant.systems.mujoco_native import callbacks_set, library

HARD: Final = "a bounce, or an impact that spins a body"


def reason(special: Sequence[str], data: Any, solver: Formulation, found: int) -> str:
    """special: what the model has that compiled steps are not for. found: what the compiled call said."""
    callbacks = library()
    if layout() is None:
        return "MuJoCo's memory is not known"
    if callbacks is None:
        return "MuJoCo's library is not open to compiled code"
    if special:
        return f"the model has {', '.join(special)}"
    if not solver.linearizes:
        return f"the solver is {type(solver).__name__}"
    if found == UNUSUAL:
        return HARD
    called = callbacks_set(callbacks)
    if called:
        return f"callbacks are set: {', '.join(called)}"
    full = 2 * data.maxuse_arena > data.narena
    return "the arena is more than half full" if full else "more rows than there was room for"
