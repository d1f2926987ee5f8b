"""`rollout`: many simulations, from a state each, with controls that are known beforehand."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.systems.mujoco_calls import checked_solver
from pliant.systems.mujoco_course import Course
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import Substance
from pliant.systems.mujoco_orders import Orders, as_given, check_callbacks, inferred
from pliant.systems.mujoco_stepper import made_of
from pliant.systems.mujoco_threads import pool_of, share


class Means(NamedTuple):
    """What steps are taken with, as of `mj_step`."""

    materials: Mapping[str, Substance] | None
    solver: Formulation
    compliance: str


def rollout(
    model: Any,
    data: Any,
    initial_state: Array,
    control: Array | None = None,
    *,
    control_spec: int | None = None,
    skip_checks: bool = False,
    nstep: int | None = None,
    initial_warmstart: Array | None = None,
    state: Array | None = None,
    sensordata: Array | None = None,
    chunk_size: int | None = None,
    persistent_pool: bool = False,
    materials: Mapping[str, Substance] | None = None,
    solver: Formulation | None = None,
    compliance: str = "materials",
) -> tuple[Any, Any]:
    """mujoco.rollout.rollout with our constraint forces: n simulations of `nstep` steps each.

    Every simulation is what a loop of `mj_step` gives, bit for bit, in any number of threads. n and nstep follow from
    the arrays; an array with 1 in their place holds for all.

    model: a mujoco.MjModel, or n of them with the same sizes. data: a mujoco.MjData, or one of each thread.
    initial_state: (n, nstate), of mjSTATE_FULLPHYSICS. control: (n, nstep, ncontrol), set before each step.
    control_spec: the mjtState that it holds, default mjSTATE_CTRL. skip_checks: arrays have their full shape, nothing
    is made. initial_warmstart: (n, nv), default 0. state: (n, nstep, nstate), sensordata: (n, nstep, nsensordata), to
    be filled; they are returned. chunk_size: how many simulations a thread takes at a time. persistent_pool: threads
    are kept for the next time. materials, solver, compliance: as of `mj_step`.
    """
    check_callbacks()
    means = Means(materials, checked_solver(solver), compliance)
    spec = int(mujoco().mjtState.mjSTATE_CTRL) if control_spec is None else int(control_spec)
    orders = (as_given if skip_checks else inferred)(
        model, data, initial_state, control, spec, nstep, initial_warmstart, state, sensordata, chunk_size
    )
    if orders.steps:
        _carry_out(orders, means, persistent_pool)
    return orders.state, orders.sensordata


def _carry_out(orders: Orders, means: Means, persistent: bool) -> None:
    n, chunk = orders.simulations, orders.chunk
    chunks = iter([range(k, min(k + chunk, n)) for k in range(0, n, chunk)])

    for model in orders.models:
        made_of(model, means.materials, means.compliance)  # refuses what cannot be stepped

    def work(lane: int, stop: threading.Event) -> None:
        for mine in chunks:  # the next that no thread has taken
            for k in mine:
                _simulate(orders, means, k, lane, stop)

    threads = min(len(orders.datas), orders.simulations)
    with pool_of(threads, persistent=persistent) as pool:
        share(work, threads, pool)


def _simulate(orders: Orders, means: Means, k: int, lane: int, stop: threading.Event) -> None:
    model, data = orders.model(k), orders.datas[lane]
    if stop.is_set():
        return
    _prepare(orders, model, data, k)
    course = Course(data, orders.steps, orders.control_of(k), orders.spec, list(_kept(orders, k)), stops=True)
    try:
        course.run(made_of(model, means.materials, means.compliance), model, means.solver, stop)
    except Exception as error:
        error.add_note(f"in simulation {k} of the rollout")
        raise


def _kept(orders: Orders, k: int) -> Iterator[tuple[str | int, np.ndarray]]:
    if orders.state is not None:
        yield int(mujoco().mjtState.mjSTATE_FULLPHYSICS), orders.state[k]
    if orders.sensordata is not None and orders.sensordata.size:
        yield "sensordata", orders.sensordata[k]


def _prepare(orders: Orders, model: Any, data: Any, k: int) -> None:
    """The initial state; inputs that `control` does not set are those of the model."""
    mj, kind = mujoco(), mujoco().mjtState
    for name in ("ctrl", "qfrc_applied", "xfrc_applied"):
        if not orders.spec & int(getattr(kind, f"mjSTATE_{name.upper()}")):
            getattr(data, name)[:] = 0.0
    moved = np.flatnonzero(model.body_mocapid >= 0)
    for name in ("pos", "quat"):
        if len(moved) and not orders.spec & int(getattr(kind, f"mjSTATE_MOCAP_{name.upper()}")):
            getattr(data, f"mocap_{name}")[model.body_mocapid[moved]] = getattr(model, f"body_{name}")[moved]
    if not orders.spec & int(kind.mjSTATE_EQ_ACTIVE):
        data.eq_active[:] = model.eq_active0
    mj.mj_setState(model, data, orders.initial[k if len(orders.initial) > 1 else 0], int(kind.mjSTATE_FULLPHYSICS))
    data.qacc_warmstart[:] = 0.0 if orders.warm is None else orders.warm[k if len(orders.warm) > 1 else 0]
    data.warning.number[:] = 0
