"""`Batch`: mujoco.batch.Batch with our constraint forces."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pliant.errors import InputError
from pliant.formulation import Formulation
from pliant.systems.mujoco_calls import checked_solver
from pliant.systems.mujoco_door import mujoco, part_of_mujoco
from pliant.systems.mujoco_laws import Substance
from pliant.systems.mujoco_orders import check_callbacks, whole
from pliant.systems.mujoco_rollout import Means
from pliant.systems.mujoco_simulations import Simulations
from pliant.systems.mujoco_stats import Stats
from pliant.systems.mujoco_support import check

if TYPE_CHECKING:
    from mujoco.batch import Batch as _Base
else:
    _Base = object  # until one is made: MuJoCo is not imported for the name alone


class Batch(_Base):
    """mujoco.batch.Batch with our constraint forces: nsim simulations of a copy of model on nthread threads (0: all).

    It is a mujoco.batch.Batch: what it can do, and the names, are those: `bind`, `step`, `forward`, `reset`, `rollout`,
    `expand`, `get_data` and the rest. Steps are what a loop of `mj_step` gives, bit for bit, in any number of threads.
    persistent: a mujoco.MjData of its own for each simulation, which `get_data` copies. A simulation that fails keeps
    its state, and the call raises mujoco.batch.SimulationError at its end. materials, solver, compliance: as of
    `mj_step`.
    """

    def __new__(cls: Any, *_: Any, **__: Any) -> Any:
        check_callbacks()  # before MuJoCo's module makes models of its own, at which it would call them
        return object.__new__(_with_theirs(cls))

    def __init__(
        self,
        model: Any,
        nsim: int,
        nthread: int = 0,
        persistent: bool = False,
        *,
        materials: Mapping[str, Substance] | None = None,
        solver: Formulation | None = None,
        compliance: str = "materials",
    ) -> None:
        means = Means(materials, checked_solver(solver), compliance)
        if not isinstance(model, mujoco().MjModel):
            raise InputError(f"model must be a mujoco.MjModel, got {type(model).__name__}; pliant.load reads files")
        check(model)  # with our words, before MuJoCo's
        nsim, nthread = whole("nsim", nsim, 1), whole("nthread", nthread, 0)
        super().__init__(model, nsim, nthread, False)  # data that are kept are ours
        fields = part_of_mujoco("batch").DATA_FIELDS
        self._b = Simulations(self.__dict__["_b"], model, means, fields, persistent=persistent)

    @property
    def stats(self) -> Stats:
        """What the steps of all simulations have needed so far, as `pliant.stats` of a data."""
        found: Stats = self._b.stats()
        return found


@functools.cache
def _with_theirs(cls: Any) -> Any:
    """The class with MuJoCo's as its base."""
    theirs = part_of_mujoco("batch").Batch
    if issubclass(cls, theirs):
        return cls
    return type(cls.__name__, (cls, theirs), {"__module__": cls.__module__, "__doc__": cls.__doc__})
