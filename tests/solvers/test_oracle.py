"""`Convex` against Clarabel, and Clarabel as the last resort of both solvers."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array

import pliant
from pliant.solvers import oracle
from pliant.solvers.island import (
    Island,
    finish,
)
from pliant.solvers.oracle import cone_program
from pliant.solvers.rows import make_rows
from pliant.solvers.whiten import factor_inertia
from tests.support.exact import certificates, stacked
from tests.support.inside import outside
from tests.support.problems import PROBLEMS, hertz, many_islands, ramp_slip
from tests.support.random_contacts import random_contact_problem
from tests.support.random_problems import KINDS, random_problem

Array = np.ndarray


class Dense:
    """A step in dense arrays."""

    def __init__(self, problem: pliant.StepProblem) -> None:
        self.flat = flat = problem.flat()
        nv, m = problem.nv, problem.rows
        self.mass = csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(nv, nv)).toarray()
        self.jacobian = csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=(m, nv)).toarray()

    def velocity(self, force: Array) -> Array:
        push = self.flat.step * (self.flat.force + self.jacobian.T @ force)
        return np.asarray(self.flat.velocity + np.linalg.solve(self.mass, push))

    def by_clarabel(self) -> Array:
        """Forces (m,)."""
        flat = self.flat
        rows = make_rows(flat, factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val))
        free = self.jacobian @ self.velocity(np.zeros(len(flat.kind))) + flat.offset
        force = cone_program(rows, free)
        assert force is not None
        return force

    def distance(self, a: Array, b: Array, force: Array) -> float:
        """|a - b| in the norm of M, relative to |a|, |v0| and what all forces would do if none opposed another."""
        L = np.linalg.cholesky(self.mass)
        gross = self.flat.step * (np.abs(self.flat.force) + np.abs(self.jacobian).T @ np.abs(force))
        pushed = np.abs(np.linalg.inv(L)) @ gross
        size = [np.linalg.norm(part) for part in (L.T @ a, L.T @ self.flat.velocity, pushed)]
        return float(np.linalg.norm(L.T @ (a - b)) / max(sum(size), 1e-300))


def disagreement(problem: pliant.StepProblem) -> float:
    """Between the velocities of Convex and of Clarabel, whose forces must be inside bounds and cones."""
    dense = Dense(problem)
    force = dense.by_clarabel()
    assert outside(dense.flat, force) < 1e-12
    return dense.distance(pliant.solve(problem, pliant.Convex()).velocity, dense.velocity(force), force)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_shared_problems(name):
    # opposing forces of 1e12 N whose sum is what matters: twelve digits go that way
    assert disagreement(PROBLEMS[name]()) < (1e-4 if name == "contradictory_welds" else 1e-10)


def test_bodies_in_contact():
    assert max(disagreement(random_contact_problem(np.random.default_rng(seed))) for seed in range(60)) < 1e-8


@pytest.mark.parametrize("kinds", [(kind,) for kind in KINDS] + [KINDS], ids="-".join)
def test_every_kind_of_row(kinds):
    """All stiffnesses and steps; rows of 1e15 N/m beside soft ones cost Clarabel digits."""
    steps = [random_problem(np.random.default_rng(s), kinds=kinds, redundant=False) for s in range(25)]
    apart = [disagreement(step) for step in steps]
    assert np.median(apart) < 1e-11
    assert max(apart) < 1e-7


@pytest.mark.parametrize(("kinds", "seed"), [(("contact",), 27), (("unilateral", "contact"), 131)])
def test_forces_that_run_away_are_no_answer(kinds, seed):
    """Light bodies, long steps: 1e9 N and more that break the laws by only 1e-9 of themselves, where 1 N is right."""
    assert disagreement(random_problem(np.random.default_rng(seed), kinds=kinds, redundant=False)) < 1e-7


def test_a_large_one():
    problem = random_problem(np.random.default_rng(3), size="large")
    assert disagreement(problem) < 1e-8


def test_the_oracle_meets_the_conditions_itself():
    for seed in range(10):
        dense = Dense(random_contact_problem(np.random.default_rng(seed), contacts=6))
        force = dense.by_clarabel()
        _, law = certificates(dense.flat, dense.velocity(force), force, convex=True)
        assert law < 1e-7


def test_power_laws_from_any_start():
    """Linearised about nothing, about the answer, about far too much: the same."""
    dense = Dense(hertz())
    flat = dense.flat
    rows = make_rows(flat, factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val))
    free = dense.jacobian @ dense.velocity(np.zeros(len(flat.kind)))
    answer = dense.by_clarabel()
    for start in (answer, 1e3 * answer, np.full(len(answer), 1e-9)):
        found = cone_program(rows, free, start)
        assert found is not None
        np.testing.assert_allclose(found, answer, rtol=1e-8, atol=1e-8 * np.abs(answer).max())


@dataclass(frozen=True, kw_only=True)
class IdleCoulomb(pliant.Coulomb):
    """Leaves all the work to the last resort."""

    def _run(self, island: Island, force: Array, patient: bool) -> None:
        finish(island, force)


@dataclass(frozen=True, kw_only=True)
class IdleConvex(pliant.Convex):
    def _run(self, island: Island, force: Array, patient: bool) -> None:
        finish(island, force)


IDLE = {IdleCoulomb(): pliant.Coulomb(), IdleConvex(): pliant.Convex()}


@pytest.fixture
def only_the_fallback(monkeypatch):
    """No dense factorization before it either."""
    monkeypatch.setattr("pliant.solvers.formulation.EXACT_UNKNOWNS", 0)


@pytest.mark.usefixtures("only_the_fallback")
@pytest.mark.parametrize("idle", IDLE, ids=lambda idle: type(idle).__name__)
@pytest.mark.parametrize("name", ["ramp_slip", "many_islands", "hunt_crossley", "rolling", "everything"])
def test_the_last_resort_solves(name, idle):
    problem = PROBLEMS[name]()
    solution = pliant.solve(problem, idle)
    assert solution.status is pliant.Status.SOLVED_BY_FALLBACK
    assert solution.status.solved
    assert max(solution.residual, solution.momentum_residual) < 1e-12
    expected = pliant.solve(problem, IDLE[idle])
    np.testing.assert_allclose(solution.velocity, expected.velocity, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("only_the_fallback")
def test_it_says_which_islands_needed_help():
    islands = pliant.solve(many_islands(), IdleCoulomb()).islands
    assert set(islands.status) == {pliant.Status.SOLVED_BY_FALLBACK}


@pytest.mark.usefixtures("only_the_fallback")
def test_it_solves_nearly_every_random_contact_problem_alone():
    problems = [random_contact_problem(np.random.default_rng(seed), contacts=8) for seed in range(40)]
    for idle, least in ((IdleCoulomb(), 0.9), (IdleConvex(), 1.0)):
        statuses = [pliant.solve(problem, idle, throw=False).status for problem in problems]
        assert np.mean([status.solved for status in statuses]) >= least


@pytest.mark.usefixtures("only_the_fallback")
def test_one_iteration_is_one_iteration():
    solution = pliant.solve(ramp_slip(), IdleCoulomb(max_iterations=1), throw=False)
    assert solution.status is pliant.Status.ITERATION_LIMIT


class Panic(BaseException):
    """As a panic in compiled code comes through."""


@pytest.mark.usefixtures("only_the_fallback")
@pytest.mark.parametrize("error", [Panic("unreachable"), ArithmeticError("NumericalError"), ImportError("gone")])
def test_a_failing_cone_solver_is_survived(error, monkeypatch, caplog):
    def fail(*_: object) -> Array:
        raise error

    monkeypatch.setattr(oracle, "_clarabel", fail)
    with caplog.at_level(logging.INFO, "pliant"):
        solution = pliant.solve(ramp_slip(), IdleConvex(), throw=False)
    assert solution.status is pliant.Status.ITERATION_LIMIT
    assert solution.momentum_residual < 1e-12
    assert "the cone solver failed" in caplog.text and type(error).__name__ in caplog.text


def test_interrupts_get_through(monkeypatch):
    def stop(*_: object) -> Array:
        raise KeyboardInterrupt

    monkeypatch.setattr(oracle, "_clarabel", stop)
    with pytest.raises(KeyboardInterrupt):
        Dense(ramp_slip()).by_clarabel()


def test_numbers_beyond_double_precision_give_none():
    dense = Dense(ramp_slip())
    flat = dense.flat
    rows = make_rows(flat, factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val))
    for rate in (np.inf, np.nan, 1.7e308):
        assert cone_program(rows, np.full(len(flat.kind), rate)) is None


def test_stacked_forces_are_those_of_the_solution():
    """With compliant rows the forces are unique too."""
    problem = PROBLEMS["soft_tangent"]()
    forces = stacked(problem.flat(), pliant.solve(problem, pliant.Convex()).forces)
    np.testing.assert_allclose(Dense(problem).by_clarabel(), forces, atol=1e-8 * np.abs(forces).max())
