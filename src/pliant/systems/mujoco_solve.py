"""A step of a model, solved without the objects around it, and never to more energy than there is."""

from __future__ import annotations

import functools
from typing import Final, NamedTuple

import numpy as np

from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solution import Status
from pliant.solvers.convex import Convex
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.driver import MANY_ROWS, is_sane, solve_islands, takes_quick
from pliant.solvers.formulation import Formulation
from pliant.solvers.known import NONE_KNOWN
from pliant.solvers.quick import MOST, QUICK
from pliant.solvers.whiten import factor_inertia, free_gain
from pliant.systems.mujoco_attempt import WIDER, attempt, attempt_room, gains
from pliant.systems.mujoco_flat import Efc, Extra, Mass, Touch, jacobian_room, make_flat
from pliant.systems.mujoco_nearby import Nearby
from pliant.systems.mujoco_site import address

SEVERITY: Final = (Status.NON_FINITE, Status.ITERATION_LIMIT, Status.SOLVED_BY_FALLBACK)
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

    def _room(self) -> tuple[Array, Array, Ints]:
        """(velocity, force, memory to work in) of `attempt`."""
        _, mass, v0, _, _, efc, _, extra = self.parts
        m, nv = len(efc.type) + len(extra.table), len(v0)
        words = attempt_room(nv, m, len(mass.idx), len(mass.factor_idx), jacobian_room(nv, efc, extra, m))
        return np.empty(nv), np.empty(m), np.empty(words, np.int64)

    def solve(self, solver: Formulation, guess: Array, start: Array = NO_START, rough: float = 0.0) -> Answer:
        """What the usual step finds, solved or not. guess: (nv,), a velocity near that of the end of the step. start:
        forces near the answer's, (m,), if there are some. rough: a residual above which a long search is worth it."""
        if takes_quick(solver):
            tally, goal = np.zeros(3), QUICK * solver.tolerance
            velocity, force, desk = self._room()
            good = attempt(
                *self.parts, guess, start, solver.lift, goal, rough, tally, NONE_KNOWN, velocity, force, address(desk)
            )
            if good or (tally[1] > 0.0 and is_sane(force) and is_sane(velocity)):
                status = Status.SOLVED if good else Status.ITERATION_LIMIT
                return Answer(velocity, force, status, tally[0], int(tally[1]), int(tally[2]))
        return solve_flat(self.flat, solver, guess, start, search=False, resort=False)


@np.errstate(all="ignore")  # velocities of what is not finite
def solve_flat(
    flat: Flat,
    solver: Formulation,
    guess: Array,
    start: Array = NO_START,
    *,
    search: bool = True,
    resort: bool = True,
) -> Answer:
    """The same, with all that the solvers have. start: forces of a step not unlike this one, (m,), which tell many rows
    more than a velocity does. search: else with the usual step only. resort: else whatever that finds.

    As in `attempt`, of many rows those that are open and far from closing are left out at first, and what is no answer
    of some is none of more."""
    if len(flat.kind) <= MOST:
        return _solve_some(flat, solver, guess, NO_START, search, resort)
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    free = flat.velocity + free_gain(inertia, flat.step, flat.force)
    nearby = Nearby(flat, np.column_stack([flat.velocity, free, guess]))
    force = start.copy() if len(start) and is_sane(start) else np.zeros(len(flat.kind))
    for again in range(WIDER + 1):
        if again == WIDER:
            nearby.rows[:] = True
        answer = _solve_some(nearby.part(), solver, guess, force[nearby.rows], search, resort)
        force[:], force[nearby.rows] = 0.0, answer.force
        if not (answer.status.solved or resort) or not nearby.widen(answer.velocity):
            break
    return answer._replace(force=force)


def _solve_some(flat: Flat, solver: Formulation, guess: Array, start: Array, search: bool, resort: bool) -> Answer:
    """Coulomb's law can have several answers where bodies jam, and some of them throw the bodies with forces out of
    nothing (Painleve). An answer with more energy than motion and springs hold is not taken, nor one that is none: the
    convex program's is, which can always be had and should not gain any, and the step counts as solved by the fallback.
    If that does gain some, Coulomb's is kept.
    """
    if isinstance(solver, Convex):
        return _solve(flat, solver, guess, start, search or resort)
    answer = _solve(flat, solver, guess, start, search)
    if not (resort or answer.status.solved):
        return answer
    will_do = answer.status.solved or not solver.searches
    if will_do and not gains(flat, answer.velocity, answer.force):
        return answer
    other = _solve(flat, Convex(), guess, NO_START, True)
    if search and not answer.status.solved and len(flat.kind) > MANY_ROWS and other.status.solved:
        # whether a path comes through hangs on where it begins, more than on how long one searches on
        again = _solve(flat, solver, other.velocity, NO_START, True)
        if again.status.solved and not gains(flat, again.velocity, again.force):
            return again
    if not other.status.solved or gains(flat, other.velocity, other.force):
        return answer
    return other._replace(status=Status.SOLVED_BY_FALLBACK)


@np.errstate(all="ignore")
def _solve(flat: Flat, solver: Formulation, guess: Array, start: Array, search: bool) -> Answer:
    force = start.copy() if len(start) else np.zeros(len(flat.kind))
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    velocity = flat.velocity + free_gain(inertia, flat.step, flat.force)
    islands = solve_islands(flat, inertia, solver, force, velocity, guess, brief=not search)
    return Answer(
        velocity,
        force + 0.0,
        next((status for status in SEVERITY if status in islands.status), Status.SOLVED),
        float(islands.residual.max(initial=0.0)),
        int(islands.iterations.sum()),
        int(islands.factorizations.sum()),
    )
