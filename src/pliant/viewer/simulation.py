"""A model that is stepped while one looks, and what can be changed about it meanwhile."""

from __future__ import annotations

import copy
import dataclasses
import logging
import math
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.laws import Law
from pliant.materials import DEFAULT_MATERIAL, Foundation, Material
from pliant.readout import COLUMNS
from pliant.solution import Status
from pliant.systems.mujoco_calls import checked_solver, mj_forward, mj_step
from pliant.systems.mujoco_contacts import contact_rows
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_friction import PairFriction, sliding
from pliant.systems.mujoco_laws import Laws, Substance, checked, model_materials, names
from pliant.systems.mujoco_pulls import PullReader
from pliant.systems.mujoco_start import overlap
from pliant.systems.mujoco_stats import stats
from pliant.systems.mujoco_stepper import outcome, stepper_of
from pliant.viewer.history import Curves, History, Pair
from pliant.viewer.moment import Moment, energy_of, pairs_of, place_bodies

_log = logging.getLogger("pliant")
EVERYTHING: Final = "geom:*"
NOTHING: Final = np.zeros((0, len(COLUMNS)))


class Simulation:
    """model, data: what is stepped. shown: the same, with bodies placed where the step has led them. overlap: of bodies
    at the start, in words."""

    def __init__(
        self,
        model: Any,
        *,
        materials: Mapping[str, Substance] | None = None,
        solver: Formulation | None = None,
        compliance: str = "materials",
        start: Any = None,
    ) -> None:
        """materials, solver, compliance: as of `mj_step`. start: a mujoco.MjData to begin from, and to come back to."""
        self.model, self.solver, self._compliance = model, checked_solver(solver), compliance
        self.materials = {**model_materials(model), **checked(materials)}
        self._unnamed = not self.materials
        self.data, self.shown = mujoco().MjData(model), mujoco().MjData(model)
        self._pulls, self._friction = PullReader(model), self._mixed(self.materials)
        self._start = mujoco().MjData(model) if start is None else copy.copy(start)
        mujoco().mj_copyData(self.data, model, self._start)
        # what cannot be stepped is refused before there is anything to look at
        self._forward()
        self._seen = self._counts()
        self._stepped, self._worst, self._owed = False, 0.0, 0.0
        self._history = History()

    @property
    def time(self) -> float:
        return float(self.data.time)

    @property
    def step_size(self) -> float:
        return float(self.model.opt.timestep)

    @property
    def geoms(self) -> list[str]:
        return names(self.model, "geom")

    @property
    def pairs(self) -> list[Pair]:
        """Geoms that have touched."""
        return self._history.pairs

    @property
    def ended(self) -> bool:
        return False

    def go(self, seconds: float, until: float) -> bool:
        """Simulate so many seconds, or as many as there is time for before `until` on the clock; whether it moved."""
        self._owed += seconds
        moved = False
        while self._owed >= self.step_size * (1.0 - 1e-9):
            self.step()
            self._owed -= self.step_size
            moved = True
            if perf_counter() > until:  # what cannot be kept up with is let go
                self._owed = min(self._owed, self.step_size)
                break
        return moved

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            mj_step(self.model, self.data, **self._how)
            self._stepped, self._worst = True, max(self._worst, outcome(stepper_of(self.data)).residual)

    def reset(self, key: int | None = None) -> None:
        """To the start, or to a key frame of this number."""
        mj = mujoco()
        if key is None:
            mj.mj_copyData(self.data, self.model, self._start)
        else:
            mj.mj_resetDataKeyframe(self.model, self.data, key)
        self._forward()
        self._stepped, self._seen = False, self._counts()
        self._history.clear()

    def look(self) -> Moment:
        """The state now, and how the steps went since the last look."""
        self._place()
        seen = self._counts()
        added, residual = seen - self._seen, self._worst
        self._seen, self._worst = seen, 0.0
        counts = added[: len(Status)]
        worst = max((k for k, n in enumerate(counts) if n > 0), default=None)
        rows = contact_rows(self.model, self.data, self.data.qvel) if self._stepped else NOTHING
        moment = Moment(
            self.time, rows, self._friction.of(pairs_of(rows)),
            self._pulls.read(self.data) if self._stepped else {},
            None if worst is None else list(Status)[worst], residual,
            float(added[len(Status)] / max(counts.sum(), 1.0)), energy_of(self.model, self.shown),
        )  # fmt: skip
        if self._stepped:
            self._history.add(moment)
        return moment

    def curves(self, pair: Pair | None) -> Curves:
        """What there is to plot, of the last moments that were looked at."""
        return self._history.curves(pair)

    def choices(self) -> dict[str, Substance]:
        """Materials that can be changed; that of everything where none is named."""
        return dict(self.materials) if self.materials else {EVERYTHING: DEFAULT_MATERIAL}

    def change(
        self,
        key: str,
        *,
        modulus: float | None = None,
        friction: float | None = None,
        step: float | None = None,
        solver: Formulation | None = None,
    ) -> None:
        """From the next step on: another modulus [Pa] (of a Law: stiffness [N/m]) and coefficient of friction of a
        material of `choices`, another step [s], another solver. All or nothing."""
        if step is not None and not (math.isfinite(step) and step > 0.0):
            raise InputError(f"the step must be a positive number of seconds, got {step:g}")
        new = _changed(self.choices()[key], modulus, friction)
        if self._unnamed and isinstance(new, Material):  # of which only its time to settle, B / K, was ever chosen
            damping = DEFAULT_MATERIAL.damping * new.youngs_modulus / DEFAULT_MATERIAL.youngs_modulus
            new = dataclasses.replace(new, damping=damping)
        materials = {**self.choices(), key: new}
        mixed = self._mixed(materials)  # checks them, too
        self.solver = checked_solver(solver or self.solver)
        self.materials, self._friction = materials, mixed
        self.model.opt.timestep = self.step_size if step is None else step

    def _counts(self) -> Array:
        """Steps by how they ended, and iterations."""
        counted = stats(self.data)
        return np.array([*counted.statuses.values(), counted.iterations], float)

    @property
    def _how(self) -> dict[str, Any]:
        return {"materials": self.materials or None, "solver": self.solver, "compliance": self._compliance}

    def _forward(self) -> None:
        mj_forward(self.model, self.data, **self._how)
        self.overlap = overlap(self.model, self.data)
        if self.overlap:
            _log.warning("%s", self.overlap)

    def _mixed(self, materials: Mapping[str, Substance]) -> PairFriction:
        return PairFriction(self.model, sliding(self.model, Laws(self.model, materials, self._compliance).friction))

    def _place(self) -> None:
        d, s = self.data, self.shown
        s.time, s.qpos[:], s.qvel[:] = d.time, d.qpos, d.qvel
        s.mocap_pos[:], s.mocap_quat[:] = d.mocap_pos, d.mocap_quat
        place_bodies(self.model, s)


def _changed(old: Substance, modulus: float | None, friction: float | None) -> Substance:
    if isinstance(old, Law):
        stiffness = old.stiffness if modulus is None else modulus
        return Law(stiffness, old.damping, exponent=old.exponent, dissipation=old.dissipation)
    changes = {"youngs_modulus": modulus, "friction": friction}
    return dataclasses.replace(old, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]


def stiffness_of(substance: Substance) -> tuple[str, float]:
    """What `change` takes as the modulus, by name."""
    if isinstance(substance, Material | Foundation):
        return "Young's modulus [Pa]", substance.youngs_modulus
    return "Stiffness [N/m]", float(np.asarray(substance.stiffness))
