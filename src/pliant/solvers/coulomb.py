"""Exact Coulomb friction: the radius of the disc is mu times the normal force of the same step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from pliant.inputs import Array
from pliant.solvers.formulation import Formulation
from pliant.solvers.island import (
    Island,
    adopt,
    count,
    finish,
    has_few_rows,
    is_rigid,
    is_small,
    rescaled,
    slippery,
    softened,
    solved,
    take_best,
)
from pliant.solvers.path import interior
from pliant.solvers.stages import exact_newton, newton

SCALES = 0.3, 0.03, 1e-3, 1e-5
SOFTNESS = 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6
SHARES = 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95

Way = Callable[[Island, Array], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coulomb(Formulation):
    """The laws as they are: stick, slip, no lift while sliding. Not convex; a solution near the start is found.

    Newton from the warm start first. Where it stalls, other ways lead to other starts: springs that grow stiff little
    by little, friction that grows, the interior path, the convex program; from each of them Newton tries the laws at
    several scales.
    """

    lift = 0.0

    def _run(self, island: Island, force: Array, patient: bool) -> None:
        newton(island, force, 10.0, 1.0, 1.0)
        self._exact(island, force)
        if not solved(island) and self.searches:
            self._search(island, force, patient)
        finish(island, force)

    @staticmethod
    def _exact(island: Island, force: Array) -> None:
        for search in (True, False):
            if not solved(island) and is_rigid(island):
                exact_newton(island, force, 10, search)

    def _search(self, island: Island, force: Array, patient: bool) -> None:
        """One way after another, each from the best forces so far and with steps of its own to take."""
        soft, grip = self._soften, self._grip
        near, nearer, nearest = (partial(self._inside, spread=spread) for spread in (0.1, 0.01, 0.001))
        # what many rows do not find so takes seconds, and seldom is found; `search` has been on paths before
        ways: tuple[Way, ...] = (near, soft, grip) if patient else (soft,)
        if has_few_rows(island) or (patient and is_small(island)):
            ways = soft, near, self._from_convex, grip, self._cold, nearer, soft, grip, nearest, soft, grip
        self._rescale(island, force)
        for way in ways:
            if solved(island):
                break
            same = rescaled(island, 1.0)
            take_best(island, force)
            way(same, force)
            self._rescale(same, force)
            adopt(island, same)
            count(island, same)
        take_best(island, force)
        newton(island, force, 8.0, 1.0, 1.0)  # a path ends at the goal: the last digits, which a warm start would keep

    @staticmethod
    def _rescale(island: Island, force: Array) -> None:
        """Newton at other scales of the laws, which decide otherwise who is active on the way."""
        start = force.copy()
        for factor in SCALES:
            if solved(island):
                return
            other, same = rescaled(island, factor), rescaled(island, 1.0)
            other.motion.best[:] = force[:] = start
            for search in (True, False):
                newton(other, force, 20.0, float(search), 1.0)
                if not solved(other) and is_small(other):
                    exact_newton(other, force, 20, search)
                take_best(other, force)
                if solved(other):
                    break
            newton(same, force, 10.0, 1.0, 1.0)
            adopt(island, same)
            count(island, other, same)

    @staticmethod
    def _follow(island: Island, force: Array, path: Iterable[Island]) -> None:
        """Newton from the end of a path of other laws, each solved from the one before."""
        for other in path:
            newton(other, force, 20.0, 1.0, 1.0)
            take_best(other, force)
            if not solved(other):
                interior(other, force, 1.0, 0.01, 30.0)
                take_best(other, force)
            count(island, other)
        newton(island, force, 10.0, 1.0, 1.0)

    def _soften(self, island: Island, force: Array) -> None:
        """Springs that grow as stiff as they are."""
        self._follow(island, force, (softened(island, softness) for softness in SOFTNESS))

    def _grip(self, island: Island, force: Array) -> None:
        """Friction that grows to what it is."""
        self._follow(island, force, (slippery(island, share) for share in SHARES))

    @staticmethod
    def _inside(island: Island, force: Array, spread: float) -> None:
        """The interior path; then Newton with line search, or without, which gets over the bend of a cone where the
        search crawls."""
        interior(island, force, 1.0, spread, 30.0)
        for search in (1.0, 0.0):
            if not solved(island):
                take_best(island, force)
                newton(island, force, 8.0, search, 1.0)

    def _from_convex(self, island: Island, force: Array) -> None:
        """Newton from the answer of the convex program, which can always be had."""
        force.fill(0.0)
        interior(island, force, 0.0, 1.0, 30.0)
        newton(island, force, 10.0, 1.0, 1.0)
        self._exact(island, force)

    @staticmethod
    def _cold(island: Island, force: Array) -> None:
        """From nothing: a start may mislead."""
        force.fill(0.0)
        newton(island, force, 10.0, 1.0, 1.0)
