"""A step as it is solved, and what it was made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.flat import Flat
from pliant.inputs import Array
from pliant.systems.mujoco_rows import Rows
from pliant.systems.mujoco_smooth import Smooth
from pliant.systems.mujoco_solve import Step


class Assembled(NamedTuple):
    step: Step
    rows: Rows
    open: np.ndarray  # (ncon,) contacts that are beyond their margin
    smooth: Smooth
    push: Array | None  # (nv,) see mujoco_spin
    shift: Array | None
    other: Flat | None = None  # where contacts bounce

    @property
    def flat(self) -> Flat:
        return self.step.flat if self.other is None else self.other
