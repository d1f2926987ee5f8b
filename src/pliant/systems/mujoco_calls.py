"""`mj_step` and its kin: MuJoCo's functions, with our constraint forces."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.errors import InputError, SolveError
from pliant.formulation import Formulation
from pliant.solution import STATUSES, Status
from pliant.systems.mujoco_answer import OTHERWISE, OUTRUN, SOLVED
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import Substance
from pliant.systems.mujoco_memory import memory_of
from pliant.systems.mujoco_otherwise import reason
from pliant.systems.mujoco_roll import Course
from pliant.systems.mujoco_solve import DEFAULT
from pliant.systems.mujoco_sound import check_finite, check_size
from pliant.systems.mujoco_stats import stats
from pliant.systems.mujoco_step import Stepper
from pliant.systems.mujoco_steppers import stepper_of

_log = logging.getLogger("pliant")


def mj_step(
    model: Any,
    data: Any,
    nstep: int = 1,
    *,
    materials: Mapping[str, Substance] | None = None,
    solver: Formulation | None = None,
    compliance: str = "materials",
) -> None:
    """mujoco.mj_step with our constraint forces: data goes `nstep` steps of model.opt.timestep on.

    materials: {name or glob: Material, Foundation or Law} of geoms, bodies, joints (their limits), tendons and
    equalities, with the prefixes "geom:", "body:", "joint:", "tendon:", "equality:". solver: `Coulomb()`, the
    default, or `Convex()`. compliance: "materials", or "model" for the springs that the model's solref stands
    for.
    """
    stepper = stepper_of(model, materials, compliance)
    solver = DEFAULT if solver is None else checked_solver(solver)
    count = nstep if nstep.__class__ is int and nstep >= 0 else _count(nstep)
    if count == 1:
        with stepper.lock:
            take_step(stepper, model, data, solver)
    elif count:
        course = Course(data, count)
        while not course.is_over:
            with stepper.lock:
                take_steps(stepper, model, data, solver, course)


def mj_step1(model: Any, data: Any) -> None:
    """mujoco.mj_step1, which computes no constraint force: all that comes before the controls are set."""
    if not isinstance(data, mujoco().MjData):
        raise InputError(f"data must be a mujoco.MjData, got {type(data).__name__}")
    check_finite(data)  # MuJoCo would start afresh
    mujoco()._functions.mj_step1(model, data)  # its own, also while mujoco.mj_step1 is ours


def mj_step2(
    model: Any,
    data: Any,
    *,
    materials: Mapping[str, Substance] | None = None,
    solver: Formulation | None = None,
    compliance: str = "materials",
) -> None:
    """mujoco.mj_step2 with our constraint forces: all that comes after the controls are set."""
    stepper, solver = stepper_of(model, materials, compliance), checked_solver(solver)
    with stepper.lock:
        take_step(stepper, model, data, solver, control=False)


def mj_forward(
    model: Any,
    data: Any,
    *,
    materials: Mapping[str, Substance] | None = None,
    solver: Formulation | None = None,
    compliance: str = "materials",
) -> None:
    """mujoco.mj_forward with our constraint forces at the present state; nothing is advanced."""
    stepper, solver = stepper_of(model, materials, compliance), checked_solver(solver)
    with stepper.lock:
        take_step(stepper, model, data, solver, advance=False)


def forget(data: Any) -> None:
    """Let the next step of data start from its state alone.

    With more than 40 rows a step also starts from the forces of the one before, if data is still in the state that
    this has left. Results differ by rounding, which chaos may magnify: a run that is to go on to the same bits as
    another, from a state that was saved, forgets when it saves.
    """
    if not isinstance(data, mujoco().MjData):
        raise InputError(f"data must be a mujoco.MjData, got {type(data).__name__}")
    memory_of(data).take(None)


def take_step(
    stepper: Stepper, model: Any, data: Any, solver: Formulation, *, control: bool = True, advance: bool = True
) -> None:
    """A step, or only its forces: in one compiled call, or through MuJoCo's arrays."""
    found = stepper.go_directly(data, solver, advance)
    if found == OTHERWISE:
        stepper.refresh(model, data)
        found = stepper.go_directly(data, solver, advance)
    if found < SOLVED:
        _take_slowly(stepper, model, data, solver, found, control=control, advance=advance)
    elif found > OUTRUN:
        _say_hard(STATUSES[found - OUTRUN], data.time - model.opt.timestep)


def take_steps(stepper: Stepper, model: Any, data: Any, solver: Formulation, course: Course) -> None:
    """Steps of a course for a while: compiled as far as they are usual, then one that is not."""
    found = stepper.go_directly(data, solver, course=course)
    if found == OTHERWISE:
        course.set_control(model)  # may be what is to be refused
        stepper.refresh(model, data)
        found = stepper.go_directly(data, solver, course=course)
    if found < SOLVED:
        course.set_control(model)
        _take_slowly(stepper, model, data, solver, found)
        course.keep(model)
    elif found > OUTRUN:
        _say_hard(STATUSES[found - OUTRUN], data.time - model.opt.timestep)


def _take_slowly(
    stepper: Stepper,
    model: Any,
    data: Any,
    solver: Formulation,
    found: int,
    *,
    control: bool = True,
    advance: bool = True,
) -> None:
    """Through MuJoCo's arrays, after compiled code has found that it is not for it."""
    check_size(data)
    why = reason(stepper.special, data, solver, found)
    answer = stepper.forward(model, data, solver, control=control)
    # Velocities without rows belong to no island, and to no status. The squares: MuJoCo turns bodies by their size.
    with np.errstate(over="ignore"):
        finite = np.isfinite(np.square(answer.velocity)).all()
    if answer.status is Status.NON_FINITE or not finite:
        raise SolveError(f"at t = {data.time:.9g} s: {Status.NON_FINITE}")
    if not advance:
        return
    counted = stats(data)
    hard = answer.status in (Status.ITERATION_LIMIT, Status.SOLVED_BY_FALLBACK)
    if hard and not counted.statuses[answer.status]:
        _say_hard(answer.status, data.time)
    counted.count(answer.status, answer.residual, answer.iterations, answer.factorizations, why)
    stepper.advance(model, data)


def _say_hard(status: Status, time: float) -> None:
    """Once for each status of a data."""
    _log.warning("at t = %.9g s: %s; counted in pliant.stats(data) from now on", time, status)


def checked_solver(solver: Formulation | None) -> Formulation:
    """The default one for None."""
    if solver is None:
        return DEFAULT
    if not isinstance(solver, Formulation):
        raise InputError(f"solver must be pliant.Coulomb(), pliant.Convex() or pliant.Printed(), got {solver!r}")
    return solver


def _count(nstep: int) -> int:
    if isinstance(nstep, bool) or not isinstance(nstep, int | np.integer) or nstep < 0:
        raise InputError(f"nstep must be a whole number >= 0, got {nstep!r}")
    return int(nstep)
