"""What a solve says when it is asked for nonsense, or cannot do what it is asked."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sparse

import pliant
from pliant import Law, Status, StepProblem
from tests.support.problems import PLANE, beam
from tests.support.random_problems import random_problem
from tests.support.solvers import every_solver


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("a problem",), "problem"),
        ((None,), "problem"),
        ((beam(), "coulomb"), "solver"),
        ((beam(), pliant.Coulomb), "solver"),
    ],
)
def test_arguments_of_solve_are_checked(arguments, named):
    with pytest.raises(ValueError, match=rf"^{named} must be .*got ") as error:
        pliant.solve(*arguments)
    assert isinstance(error.value, pliant.PliantError)


def test_a_warm_start_is_a_solution():
    with pytest.raises(ValueError, match=r"warm_start must be an earlier pliant\.Solution, got ndarray"):
        pliant.solve(beam(), warm_start=np.zeros(3))  # type: ignore[arg-type]


@every_solver
@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("tolerance", [0.0, -1e-8, np.nan, np.inf, 10**400, True, np.True_, "small", None]),
        ("max_iterations", [0, -1, 1.5, True, np.True_, np.float64(5.0), 2**31, 10**400, "many", None]),
    ],
)
def test_options_are_checked(option, values, solver):
    for value in values:
        named = rf"{type(solver).__name__}: {option} must be .*got {re.escape(repr(value))}"
        with pytest.raises(ValueError, match=named):
            type(solver)(**{option: value})
    with pytest.raises(TypeError):
        type(solver)(1e-8)  # options are keyword-only


@every_solver
def test_options_may_be_any_numbers(solver):
    """Of NumPy, too; they become Python's."""
    made = type(solver)(tolerance=np.float32(1e-8), max_iterations=np.int64(50))
    assert type(made.tolerance) is float and type(made.max_iterations) is int
    assert made == type(solver)(tolerance=float(np.float32(1e-8)), max_iterations=50)
    assert pliant.solve(beam(), made).status is Status.SOLVED


def test_no_number_of_iterations_is_too_large_to_count():
    """Tiers take multiples of it: with 2**31 - 1 a step that only the convex program answers was at the limit."""
    problem = random_problem(np.random.default_rng(1072), size="large")
    assert pliant.solve(problem, pliant.Coulomb(max_iterations=2**31 - 1), throw=False).status.solved


def test_solvers_are_values():
    assert pliant.Coulomb() == pliant.Coulomb(tolerance=1e-8, max_iterations=100) != pliant.Coulomb(tolerance=1e-6)
    assert repr(pliant.Convex()) == "Convex(tolerance=1e-08, max_iterations=100)"
    with pytest.raises(AttributeError):
        pliant.Coulomb().tolerance = 1.0  # type: ignore[misc]


def test_statuses_carry_their_message():
    solved = {Status.SOLVED, Status.SOLVED_BY_FALLBACK}
    for status in Status:
        assert status.solved == (status in solved)
        assert str(status) == status.value
        assert str(status).split(":")[0].split(",")[0] in (
            "solved", "iteration limit", "non-finite numbers in the answer"
        )  # fmt: skip
    assert "max_iterations" in str(Status.ITERATION_LIMIT)
    assert "convex program" in str(Status.SOLVED_BY_FALLBACK)


def _sliding(force: float, mass: float = 1.0, step: float = 0.01) -> StepProblem:
    contact = pliant.Contact(PLANE, [-1e-3], Law(1e6, 1.0), 0.5)
    return StepProblem(np.full(3, mass), np.zeros(3), [force, 0.0, -force], step, [contact])


@every_solver
@pytest.mark.parametrize(
    "problem",
    [
        _sliding(1e300),
        _sliding(1e308, step=100.0),
        _sliding(1e10, mass=1e-300, step=1.0),
        StepProblem([1e-10, 1.0], np.zeros(2), [1e308, 1.0], 1.0, []),
        StepProblem([1.0], [0.0], [1.0], 0.01, [pliant.Bilateral([[1.0]], [1e10], Law(1e300))]),
        StepProblem([1.0], [0.0], [1.0], 0.01, [pliant.Bilateral([[1e200]], [1.0], Law(1e3))]),
    ],
    ids=["squares", "h f", "f over m", "without rows", "K phi", "inverse mass"],
)
def test_numbers_beyond_double_precision_are_an_error(problem, solver):
    """Without a warning on the way, which would be an error here."""
    assert pliant.solve(problem, solver, throw=False).status is Status.NON_FINITE
    with pytest.raises(pliant.SolveError, match="non-finite") as error:
        pliant.solve(problem, solver)
    assert error.value.problem is problem


@every_solver
@pytest.mark.parametrize("form", [np.asarray, np.diag, lambda K: sparse.csr_array(np.diag(K))])
@pytest.mark.parametrize(("step", "speed"), [(1e3, 1.0), (0.01, 1e10), (1e200, 0.0)], ids=["h^2 K", "h K v0", "h^2"])
def test_a_stiffness_beyond_double_precision_is_that_error(form, step, speed, solver):
    """However it is given."""
    row = pliant.Unilateral([[1.0, 0.0]], [-0.1], Law(1e8))
    stiffness = form(np.array([1e308, 0.0]))
    problem = StepProblem([1.0, 1.0], [speed, 0.0], [0.0, 0.0], step, [row], stiffness=stiffness)
    with pytest.raises(pliant.SolveError, match="non-finite"):
        pliant.solve(problem, solver)
