"""The steppers of a model, made once: one for calls, and more for threads that step the model at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pliant.errors import InputError
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_kept import Kept
from pliant.systems.mujoco_laws import Substance, checked
from pliant.systems.mujoco_step import Stepper

_steppers: Kept[dict[Any, list[Stepper]]] = Kept()
_choosing = threading.Lock()


def stepper_of(model: Any, materials: Mapping[str, Substance] | None, compliance: str) -> Stepper:
    """The one for calls."""
    known = _steppers.get(model)
    found = known.get(compliance) if known is not None and materials is None else None  # as most calls are
    return _lanes(model, materials, compliance)[0] if found is None else found[0]


@contextmanager
def borrowed(
    model: Any, materials: Mapping[str, Substance] | None, compliance: str, lane: int = 0
) -> Iterator[Stepper]:
    """One that no other thread uses meanwhile: that of the lane, so that a thread finds its own again, or another."""
    lanes = _lanes(model, materials, compliance)
    with _choosing:
        while len(lanes) <= lane:
            lanes.append(Stepper(model, materials, compliance, says=False))
        free = (stepper for stepper in (lanes[lane], *lanes) if stepper.lock.acquire(blocking=False))
        found = next(free, None)
        if found is None:
            found = Stepper(model, materials, compliance, says=False)
            found.lock.acquire()
            lanes.append(found)
    try:
        yield found
    finally:
        found.lock.release()


def _lanes(model: Any, materials: Mapping[str, Substance] | None, compliance: str) -> list[Stepper]:
    known = _steppers.get(model)
    if known is None:
        if not isinstance(model, mujoco().MjModel):
            raise InputError(f"model must be a mujoco.MjModel, got {type(model).__name__}; pliant.load reads files")
        known = _steppers.of(model, dict)
    try:
        found = known.get(compliance if materials is None else (compliance, *materials.items()))
    except (AttributeError, TypeError):  # neither a mapping nor values that are ours: `checked` says so
        found = None
    if found is None:
        key = compliance if materials is None else (compliance, *checked(materials).items())
        found = known.setdefault(key, [Stepper(model, materials, compliance)])
    return found
