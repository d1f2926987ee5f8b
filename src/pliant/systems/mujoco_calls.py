"""`mj_step` and its kin: MuJoCo's functions, with our constraint forces."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pliant import _engine
from pliant.errors import InputError, SolveError
from pliant.formulation import Coulomb, Formulation
from pliant.solution import STATUSES, Status
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import Substance
from pliant.systems.mujoco_orders import check_belongs
from pliant.systems.mujoco_stepper import Made, made_of, outcome, solve_elsewhere, stepper_of

DEFAULT: Final = Coulomb()
BLOWN_UP: Final = 1e10  # mjMAXVAL
MOST: Final = 2**31 - 1  # steps in a call
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
    made, stepper = made_of(model, materials, compliance), stepper_of(data)
    count = nstep if nstep.__class__ is int and 0 <= nstep <= MOST else _count(nstep)
    take_steps(made, stepper, model, data, checked_solver(solver), count)


def mj_step1(model: Any, data: Any) -> None:
    """mujoco.mj_step1, which computes no constraint force: all that comes before the controls are set."""
    if not isinstance(model, mujoco().MjModel):
        raise InputError(f"model must be a mujoco.MjModel, got {type(model).__name__}; pliant.load reads files")
    check_belongs(model, data)
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
    made, stepper = made_of(model, materials, compliance), stepper_of(data)
    take_steps(made, stepper, model, data, checked_solver(solver), control=False)


def mj_forward(
    model: Any,
    data: Any,
    *,
    materials: Mapping[str, Substance] | None = None,
    solver: Formulation | None = None,
    compliance: str = "materials",
) -> None:
    """mujoco.mj_forward with our constraint forces at the present state; nothing is advanced."""
    made, stepper = made_of(model, materials, compliance), stepper_of(data)
    take_steps(made, stepper, model, data, checked_solver(solver), advance=False)


def take_steps(
    made: Made,
    stepper: _engine.Stepper,
    model: Any,
    data: Any,
    solver: Formulation,
    count: int = 1,
    *,
    control: bool = True,
    advance: bool = True,
) -> None:
    """Steps, or one's forces alone. control: whether the user's callback for controls is called."""
    m, d = model._address, data._address
    if solver.linearizes:
        tolerance, limit = float(solver.tolerance), solver.max_iterations
        hard = stepper.step(m, d, made.materials, count, solver.convex, tolerance, limit, control, advance)
        if hard:
            say_hard(stepper, hard)
        return
    for _ in range(count):
        stepper.begin(m, d, made.materials, control)
        try:
            solve_elsewhere(stepper, solver)
            if outcome(stepper).status is Status.NON_FINITE:
                raise SolveError(f"at t = {data.time:.9g} s: {Status.NON_FINITE}")
            hard = stepper.finish(advance)
        finally:
            stepper.end()
        if hard:
            say_hard(stepper, hard)


def say_hard(stepper: _engine.Stepper, status: int) -> None:
    """Once for each status of a data."""
    time = stepper.totals()[-1]
    _log.warning("at t = %.9g s: %s; counted in pliant.stats(data) from now on", time, STATUSES[status])


def checked_solver(solver: Formulation | None) -> Formulation:
    """The default one for None."""
    if solver is None:
        return DEFAULT
    if not isinstance(solver, Formulation):
        raise InputError(f"solver must be pliant.Coulomb(), pliant.Convex() or pliant.Printed(), got {solver!r}")
    return solver


def check_finite(data: Any) -> None:
    """Raise InputError for a state, controls or applied forces with nan or inf, SolveError for a state that has blown
    up: what the engine looks at before a step."""
    for name in ("qpos", "qvel", "ctrl", "qfrc_applied", "xfrc_applied"):
        array = getattr(data, name)
        if not np.isfinite(array).all():
            where = int(np.argmax(~np.isfinite(array)))
            raise InputError(
                f"data.{name} must be finite, got {array.flat[where]} at {where}, t = {data.time:.9g} s: "
                "mujoco.mj_resetData starts afresh"
            )
        if name in ("qpos", "qvel") and np.abs(array).max(initial=0.0) > BLOWN_UP:
            where = int(np.argmax(np.abs(array) > BLOWN_UP))
            raise SolveError(
                f"at t = {data.time:.9g} s: the motion has blown up: data.{name} at {where} is {array[where]:.9g}, "
                "beyond 1e+10, MuJoCo's limit; take a smaller step, or look for what feeds it"
            )


def _count(nstep: int) -> int:
    if isinstance(nstep, bool) or not isinstance(nstep, int | np.integer) or not 0 <= nstep <= MOST:
        raise InputError(f"nstep must be a whole number >= 0, at most {MOST}, got {nstep!r}")
    return int(nstep)
