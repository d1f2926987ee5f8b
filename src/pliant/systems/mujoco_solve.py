"""A step of a model, solved without the objects around it."""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.errors import PliantError
from pliant.flat import INTEGER_FIELDS, ROW_FIELDS, Flat
from pliant.formulation import Coulomb, Formulation
from pliant.inputs import Array
from pliant.problem import StepProblem
from pliant.solution import STATUSES, Status
from pliant.solve import solve
from pliant.systems._intrinsics import address
from pliant.systems.mujoco_engine import FAILED, TALLY, Options, engine_room, solve_record
from pliant.systems.mujoco_flat import Efc, Extra, Mass, Touch, make_flat

DEFAULT: Final = Coulomb()
NO_START: Final = np.zeros(0)


class Answer(NamedTuple):
    """velocity (nv,), force per row (m,), and how it went."""

    velocity: Array
    force: Array
    status: Status
    residual: float
    iterations: int
    factorizations: int


class Step:
    """A step: M, v0, f, what free bodies turn by, and the rows. `flat` is made when somebody asks for it."""

    def __init__(
        self, h: float, mass: Mass, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra
    ) -> None:
        self.parts = (h, mass, v0, f, shift, efc, touch, extra)

    @functools.cached_property
    def flat(self) -> Flat:
        return make_flat(*self.parts)

    def at(self, pos: Array) -> Step:
        """The same with its rows at other places."""
        h, mass, v0, f, shift, efc, touch, extra = self.parts
        return Step(h, mass, v0, f, shift, efc._replace(pos=pos), touch, extra)

    def solve(self, solver: Formulation, guess: Array, start: Array = NO_START) -> Answer:
        """guess: (nv,), a velocity near that of the end of the step. start: forces near the answer's, (m,), if there
        are some."""
        return solve_flat(self.flat, solver, guess, start)


def solve_flat(flat: Flat, solver: Formulation, guess: Array, start: Array = NO_START) -> Answer:
    """The answer to a record, never with more energy than there is. guess, start: as of `Step.solve`."""
    if not solver.linearizes:
        return _elsewhere(flat, solver)
    nv, m = len(flat.velocity), len(flat.kind)
    velocity, force, tally = np.empty(nv), np.empty(m), np.zeros(TALLY)
    options = Options(solver.convex, float(solver.tolerance), solver.max_iterations)
    desk = np.empty(engine_room(nv, m), np.int64)
    status = solve_record(flat, guess, start, options, velocity, force, tally, address(desk))
    if status == FAILED:
        raise PliantError("no memory is left for the solve of this step")
    return Answer(velocity, force, STATUSES[status], float(tally[0]), int(tally[1]), int(tally[2]))


def free_gain(flat: Flat, force: Array) -> Array:
    """h inv(M) f, (nv,): what the engine finds from rest without any row."""
    none, nothing, ptr = np.zeros(0), np.zeros(0, np.int64), np.zeros(1, np.int64)
    rows: dict[str, Any] = {name: nothing if name in INTEGER_FIELDS else none for name in ROW_FIELDS}
    still = np.zeros(len(force))
    free = flat._replace(velocity=still, force=force, jac_ptr=ptr, jac_idx=nothing, jac_val=none, block_ptr=ptr, **rows)
    return solve_flat(free, DEFAULT, still).velocity


def _elsewhere(flat: Flat, solver: Formulation) -> Answer:
    """By `Printed()`, which the engine does not have."""
    found = solve(StepProblem.from_flat(flat), solver, throw=False)
    force = np.concatenate([NO_START, *(part.ravel() for part in found.forces)])
    return Answer(found.velocity, force, found.status, found.residual, found.iterations, found.factorizations)
