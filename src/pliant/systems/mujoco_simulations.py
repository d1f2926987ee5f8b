"""The simulations of a batch, and their calls with our forces.

It stands in the place of the compiled object within mujoco.batch.Batch, which goes on holding states, counters of
warnings, fields of models and buffers of outputs: there is one memory, and one set of names.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from pliant.errors import InputError, PliantError
from pliant.inputs import Array
from pliant.systems.mujoco_calls import take_steps
from pliant.systems.mujoco_course import Course, Kept
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_orders import check_callbacks, whole
from pliant.systems.mujoco_rollout import Means
from pliant.systems.mujoco_stats import Stats
from pliant.systems.mujoco_stepper import Made, made_of, stepper_of
from pliant.systems.mujoco_threads import share

NONE: Final = 0  # mujoco.mjtStage.mjSTAGE_NONE
Task = Callable[[int, Made, Any, Any, threading.Event], None]  # for the simulation in that place of the call


class Simulations:
    """rows: MuJoCo's object, which has what is not here."""

    def __init__(self, rows: Any, model: Any, means: Means, fields: frozenset[str], *, persistent: bool) -> None:
        """fields: of MjData, those that can be bound and recorded."""
        self._rows, self._means, self._fields, self.persistent = rows, means, fields, persistent
        self._common = copy.copy(model)  # the user's may be changed from now on
        self._given: Any = None  # the models of set_models
        self._own: dict[int, Any] = {}  # models of simulations, once fields are expanded
        self._expanded = False
        self._datas: dict[int, tuple[Any, np.ndarray]] = {}  # of simulations if persistent, else of threads
        self._bound: dict[str, np.ndarray] = {}
        self._state, self._warning, self._status = rows.state(), rows.warning(), rows.status()
        self._messages: dict[int, str] = {}  # of the last call, if it was one of ours
        self._integration = int(mujoco().mjtState.mjSTATE_INTEGRATION)
        self._pool = ThreadPoolExecutor(rows.nthread - 1, "pliant") if rows.nthread > 1 else None
        self._made(self._common)  # refuses what cannot be stepped

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)

    def output(self, name: str) -> Any:
        """MuJoCo's buffer of a bound field, which is filled from now on."""
        raw = self._rows.output(name)
        if raw is not None and name in self._fields:
            value = np.asarray(getattr(self._data(0)[0], name))
            kind = value.dtype if value.ndim else np.dtype(np.int32)
            self._bound[name] = raw.view(kind).reshape(len(raw), *value.shape)
        return raw

    def expand(self, name: str) -> Any:
        raw = self._rows.expand(name)
        self._expanded = self._expanded or raw is not None
        return raw

    def set_const(self, ids: Any) -> int:
        self._expanded = True
        return self._theirs(ids, self._rows.set_const(ids))

    def set_models(self, models: Any) -> None:
        self._rows.set_models(models)
        self._given = models

    def jac(self, ids: Any, *arguments: Any) -> int:
        return self._theirs(ids, self._rows.jac(ids, *arguments))

    def ray(self, ids: Any, *arguments: Any) -> int:
        return self._theirs(ids, self._rows.ray(ids, *arguments))

    def get_data(self, sim: int, data: Any) -> None:
        if self.persistent and sim in self._datas:
            mujoco().mj_copyData(data, self._common, self._datas[sim][0])
        else:
            self._rows.get_data(sim, data)
        if 0 <= sim < len(self._state):
            mujoco().mj_setState(self._common, data, self._state[sim], self._integration)

    def error(self, sim: int) -> str:
        return self._messages[sim] if sim in self._messages else str(self._rows.error(sim))

    def stats(self) -> Stats:
        """Of all the data together."""
        return Stats(*(stepper_of(data) for data, _ in self._datas.values()))

    def step(self, ids: Any, nstep: int, stage: int) -> int:
        steps = whole("nstep", nstep, 1)
        _check_stage(stage)

        def task(_: int, made: Made, model: Any, data: Any, stop: threading.Event) -> None:
            Course(data, steps).run(made, model, self._means.solver, stop)
            self._compute(made, model, data, stage)

        return self._call(ids, task)

    def forward(self, ids: Any, stage: int) -> int:
        _check_stage(stage)

        def task(_: int, made: Made, model: Any, data: Any, __: threading.Event) -> None:
            self._compute(made, model, data, stage)

        return self._call(ids, task)

    def reset(self, ids: Any, key: Any, stage: int) -> int:
        _check_stage(stage)
        failed = self._theirs(ids, self._rows.reset(ids, key, NONE))
        for sim in self._chosen(ids) if self.persistent else ():
            if sim in self._datas:
                mujoco().mj_resetData(self._common, self._datas[sim][0])
        return failed if failed or stage == NONE else self.forward(ids, stage)

    def rollout(self, ids: Any, nstep: int, control: Array | None, spec: int, records: Iterable[Any]) -> int:
        steps, records = whole("nstep", nstep, 1), list(records)
        if control is not None and spec & ~int(mujoco().mjtState.mjSTATE_USER):
            raise InputError(f"control_spec must have bits of mujoco.mjtState.mjSTATE_USER only, got {spec}")
        for name, _, _ in records:
            if name is not None and name not in self._fields:
                raise InputError(f"{name} cannot be recorded: its size changes from step to step")

        def task(k: int, made: Made, model: Any, data: Any, stop: threading.Event) -> None:
            keep: list[Kept] = [(state if name is None else name, rows[k]) for name, state, rows in records]
            keep = [(what, rows) for what, rows in keep if rows.size]
            course = Course(data, steps, None if control is None else control[k], spec, keep, stops=True)
            course.run(made, model, self._means.solver, stop)

        return self._call(ids, task)

    def _compute(self, made: Made, model: Any, data: Any, stage: int) -> None:
        """The stages of a forward call up to one; forces come in the last."""
        if stage == NONE:
            return
        mj = mujoco()
        if stage == int(mj.mjtStage.mjSTAGE_ACC):
            take_steps(made, stepper_of(data), model, data, self._means.solver, advance=False)
            return
        energy = int(model.opt.enableflags) & int(mj.mjtEnableBit.mjENBL_ENERGY)
        mj.mj_fwdPosition(model, data)
        mj.mj_sensorPos(model, data)
        if energy:
            mj.mj_energyPos(model, data)
        if stage >= int(mj.mjtStage.mjSTAGE_VEL):
            mj.mj_fwdVelocity(model, data)
            mj.mj_sensorVel(model, data)
            if energy:
                mj.mj_energyVel(model, data)

    def _call(self, ids: Any, task: Task) -> int:
        """A task for each simulation, shared by the threads; returns how many failed. These keep their state."""
        check_callbacks()
        chosen, threads = self._chosen(ids), self._rows.nthread
        places = iter(range(len(chosen)))
        fixed = self._expanded or isinstance(self._given, list)  # then a simulation stays with its thread

        def work(lane: int, stop: threading.Event) -> None:
            if fixed:
                for k in range(lane, len(chosen), threads):
                    self._of_its_own(k, chosen[k], lane, task, stop)
                return
            model = self._model(0)
            made = self._made(model)
            for k in places:
                self._one(k, chosen[k], lane, made, model, task, stop)

        share(work, threads if len(chosen) > 1 else 1, self._pool if len(chosen) > 1 else None)
        return int(np.count_nonzero(self._status[chosen]))

    def _of_its_own(self, k: int, sim: int, lane: int, task: Task, stop: threading.Event) -> None:
        """With a model that is only the simulation's."""
        model = self._model(sim)
        try:
            made = self._made(model)
        except PliantError as error:  # the model cannot be stepped
            self._status[sim], self._messages[sim] = 1, str(error)
            return
        self._one(k, sim, lane, made, model, task, stop)

    def _one(self, k: int, sim: int, lane: int, made: Made, model: Any, task: Task, stop: threading.Event) -> None:
        if stop.is_set():
            return
        data, warnings = self._data(sim if self.persistent else lane)
        self._status[sim], self._messages[sim] = 0, ""
        try:
            mujoco().mj_setState(model, data, self._state[sim], self._integration)
            warnings[:] = self._warning[sim]
            task(k, made, model, data, stop)
        except (PliantError, mujoco().FatalError, mujoco().UnexpectedError) as error:
            self._status[sim], self._messages[sim] = 1, str(error)
            return
        if stop.is_set():
            return  # in the middle of it
        mujoco().mj_getState(model, data, self._state[sim], self._integration)
        self._warning[sim] = warnings
        for name, rows in self._bound.items():
            rows[sim] = getattr(data, name)

    def _made(self, model: Any) -> Made:
        return made_of(model, self._means.materials, self._means.compliance)

    def _chosen(self, ids: Any) -> Any:
        return np.arange(len(self._state)) if ids is None else ids

    def _model(self, sim: int) -> Any:
        if self._given is not None:
            return self._given[sim] if isinstance(self._given, list) else self._given
        if not self._expanded:
            return self._common
        if sim not in self._own:
            self._own[sim] = copy.copy(self._common)
        self._rows.get_model(sim, self._own[sim])
        return self._own[sim]

    def _data(self, key: int) -> tuple[Any, np.ndarray]:
        """With its warnings."""
        found = self._datas.get(key)
        if found is None:
            data = mujoco().MjData(self._common)
            found = self._datas[key] = data, _warnings(data)
        return found

    def _theirs(self, ids: Any, failed: int) -> int:
        """After a call of MuJoCo's: the messages are its own."""
        for sim in self._chosen(ids):
            self._messages.pop(int(sim), None)
        return failed


def _warnings(data: Any) -> np.ndarray:
    """(kinds, 2) of data.warning: lastinfo, number."""
    first = data.warning.lastinfo
    return np.lib.stride_tricks.as_strided(first, (len(first), 2), (first.strides[0], first.itemsize))


def _check_stage(stage: int) -> None:
    known = mujoco().mjtStage
    if not NONE <= stage <= int(known.mjSTAGE_ACC):
        raise InputError(f"stage must be one of mujoco.mjtStage, got {stage}")
