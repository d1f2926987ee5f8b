"""What the formulations share: the options and their checks, the last digits, the last resort."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.errors import InputError
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.problem import StepProblem
from pliant.solution import Status
from pliant.solvers.island import LINEAR, RESIDUAL, Island, cancellation, finish
from pliant.solvers.oracle import fall_back
from pliant.solvers.stages import exact_newton, newton, solve_linear

# Above this residual the pivoted dense factorization is tried, for islands of at most so many unknowns.
EXACT_RESIDUAL = 1e-12
EXACT_UNKNOWNS = 1200
SMALL_ROWS = 200  # up to here a dense factorization costs next to nothing: ask for more
NEARLY = 1e-9  # a residual that refinement may still bring to rounding
CANCELLATION = 1e5  # forces so many times larger than what they do are those of rows that contradict each other
ROUGH = 1e-4  # a residual that will do on the way to an answer

SEARCH = 20  # max_iterations from which on there is more than one attempt


def exact_residual(rows: int) -> float:
    """The residual of an answer that needs no more digits."""
    return EXACT_RESIDUAL if rows > SMALL_ROWS else 0.01 * EXACT_RESIDUAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Formulation:
    """tolerance: the residual at which a step counts as solved. max_iterations: the steps that each attempt may take
    with each method: Newton, the interior path, the dense Newton. Below 20 there is one attempt and no last resort."""

    tolerance: float = 1e-8
    max_iterations: int = 100

    lift: ClassVar[float]
    linearizes: ClassVar[bool] = True  # whether `linearize` takes its answers

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not (isinstance(self.tolerance, int | float) and 0.0 < self.tolerance < math.inf):
            raise InputError(f"{name}: tolerance must be a positive number such as 1e-8, got {self.tolerance!r}")
        whole = isinstance(self.max_iterations, int) and not isinstance(self.max_iterations, bool)
        if not (whole and self.max_iterations >= 1):
            raise InputError(f"{name}: max_iterations must be a whole number >= 1, got {self.max_iterations!r}")

    def explain(self, status: Status) -> str:
        """What a status means here, and what to do about it."""
        return str(status)

    def _check(self, problem: StepProblem) -> None:
        """Raise InputError for constraints that this formulation cannot take."""

    def _solve(self, flat: Flat, island: Island, force: Array, patient: bool) -> Status:
        """Solve one island from `force`, in place, with its velocity and tally. patient: whether more than a hundred
        rows are worth a long search."""
        if island.motion.tally[LINEAR]:
            solve_linear(island, force)
        else:
            self._run(island, force, patient)
            if len(force) + len(island.motion.v) <= EXACT_UNKNOWNS:
                self._make_exact(island, force)
        if island.motion.tally[RESIDUAL] < self.tolerance:
            return Status.SOLVED
        helped = self.searches and fall_back(island, force, self.tolerance, patient)
        return Status.SOLVED_BY_FALLBACK if helped else Status.ITERATION_LIMIT

    @property
    def searches(self) -> bool:
        """Whether a step that the first attempt does not solve is worth others."""
        return self.max_iterations >= SEARCH

    def _run(self, island: Island, force: Array, patient: bool) -> None:
        """Newton and its kin on one island whose rows have bounds or cones."""
        raise TypeError(f"{type(self).__name__} is not a solver; use Coulomb() or Convex()")

    def _make_exact(self, island: Island, force: Array) -> None:
        """The last digits: sums in twofold precision on the sparse factors; the pivoted dense factorization where these
        cannot have done: stalled, or forces that cancel."""
        cancels = cancellation(island.rows, force, *np.empty((2, len(island.motion.v)))) > CANCELLATION
        limit = exact_residual(len(force))
        if limit < island.motion.tally[RESIDUAL] < NEARLY and not cancels and self.max_iterations > 1:
            newton(island, force, 2.0, 0.0, 1.0)  # `finish` has left it in twofold precision
            finish(island, force)
        for search in (False, True):
            if (cancels or island.motion.tally[RESIDUAL] > limit) and self.max_iterations > 1:
                exact_newton(island, force, 30, search)
                finish(island, force)
            cancels = False
