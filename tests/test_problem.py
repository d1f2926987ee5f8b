"""StepProblem: what it keeps, what it refuses, how it prints."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

import pliant
from pliant.constraints import Bilateral, Unilateral
from pliant.errors import InputError
from pliant.flat import same
from pliant.laws import Law
from pliant.problem import StepProblem
from tests.support.mixed_step import mixed, one

EYE = np.eye(3)
SKEW = np.eye(3)
SKEW[0, 1] = 1e-3
INDEFINITE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SINGULAR = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
ARMLESS = np.diag([1.0, 0.0, 1.0])
BAD_MASS = [
    (np.ones((3, 2)), r"mass must have shape \(nv, nv\).*got shape \(3, 2\)"),
    (np.ones((3, 3, 3)), r"got shape \(3, 3, 3\)"),
    (2.0, r"got shape \(\)"),
    (np.zeros((0, 0)), r"nv >= 1, got shape \(0, 0\)"),
    ([], "nv >= 1"),
    (EYE * np.nan, "mass must be finite, got nan"),
    (np.diag([1.0, np.inf, 1.0]), "mass must be finite"),
    ([1.0, 0.0, 1.0], "positive definite, but its diagonal is 0.0 at 1"),
    ([1.0, -2.0, 1.0], "positive definite, but its diagonal is -2.0 at 1"),
    (SKEW, r"mass must be symmetric, got 0.001 at \(0, 1\) and 0.0 at \(1, 0\)"),
    (INDEFINITE, "positive definite, but its Cholesky factorization fails"),
    (SINGULAR, "positive definite"),
    (ARMLESS, "its diagonal is 0.0 at 1"),
    (None, "mass must be real numbers"),
]


@pytest.mark.parametrize(("mass", "says"), BAD_MASS)
def test_bad_masses_are_refused(mass, says):
    with pytest.raises(InputError, match=f"StepProblem: .*{says}"):
        StepProblem(mass, np.zeros(3), np.zeros(3), 0.1)


@pytest.mark.parametrize(
    ("mass", "says"),
    [(SKEW, "symmetric"), (INDEFINITE, "positive"), (SINGULAR, "positive"), (ARMLESS, "diagonal")],
)
@pytest.mark.parametrize("wide", [1, 40])
def test_bad_sparse_masses_are_refused_in_small_and_banded_form(mass, says, wide):
    blocks = sparse.block_diag([*[EYE] * wide, mass, *[EYE] * wide]).tocsr()
    with pytest.raises(InputError, match=f"StepProblem: mass must .*{says}"):
        StepProblem(blocks, np.zeros(blocks.shape[0]), np.zeros(blocks.shape[0]), 0.1)


@pytest.mark.parametrize("n", [3, 30, 60, 200])
def test_numerically_singular_masses_are_refused(n):
    thin = np.random.default_rng(n).normal(size=(n, n - 1))
    with pytest.raises(InputError, match="positive definite"):
        StepProblem(thin @ thin.T, np.zeros(n), np.zeros(n), 0.1)


@pytest.mark.parametrize("n", [2, 30, 60, 200])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_ill_scaled_masses_are_accepted(n, form):
    """Mass ratios of 1e12, in a chain: each velocity coupled to the next."""
    rng = np.random.default_rng(n)
    D = np.diag(10.0 ** rng.uniform(-6, 6, n))
    links = np.eye(n) - 0.9 * np.eye(n, k=1)
    M = D @ links @ links.T @ D
    problem = StepProblem(form(M), np.zeros(n), np.zeros(n), 0.1)
    assert problem.nv == n


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rounding_is_symmetrized(form):
    M = np.array([[1e6, 3.0], [3.0 * (1 + 1e-15), 1.0]])
    kept = StepProblem(form(M), [0.0, 0.0], [0.0, 0.0], 0.1).mass
    assert kept[0, 1] == kept[1, 0]
    assert abs(kept[0, 1] - 3.0) < 1e-14


ROW = Bilateral([[1.0]], [0.0], Law(1.0), name="hinge")
BAD = [
    ({"velocity": [0.0, 1.0]}, r"velocity must be one per row of the mass \(1,\), got shape \(2,\)"),
    ({"velocity": [np.nan]}, "velocity must be finite, got nan at index 0"),
    ({"velocity": 0.0}, r"velocity .* got shape \(\)"),
    ({"force": [[0.0]]}, r"force must be one per row of the mass \(1,\), got shape \(1, 1\)"),
    ({"force": [-np.inf]}, "force must be finite"),
    ({"force": ["pull"]}, "force must be real numbers"),
    ({"step": 0.0}, "step must be one number > 0 .s., got 0.0"),
    ({"step": -0.01}, "step must be one number > 0"),
    ({"step": np.nan}, "step must be finite"),
    ({"step": np.inf}, "step must be finite"),
    ({"step": [0.1]}, "step must be one number"),
    ({"step": None}, "step must be real numbers"),
    ({"constraints": ROW}, "constraints must be a sequence, got Bilateral 'hinge'; write .constraint."),
    ({"constraints": [ROW, None]}, r"constraints\[1\] must be a Bilateral, .* got None"),
    ({"constraints": None}, "constraints must be a sequence"),
    (
        {"constraints": [ROW, Unilateral([[1.0, 2.0]], [0.0], Law(1.0), name="stop")]},
        r"constraints\[1\] \(Unilateral 'stop'\): jacobian must have 1 columns, .* got 2",
    ),
    ({"constraints": [ROW, ROW]}, r"constraints\[0\] and constraints\[1\] are both named 'hinge'"),
]


@pytest.mark.parametrize(("change", "says"), BAD)
def test_bad_arguments_are_refused(change, says):
    with pytest.raises(InputError, match=f"StepProblem: {says}"):
        one(**change)


def test_a_problem_is_a_value():
    velocity = np.zeros(1)
    problem = one(velocity=velocity, constraints=iter([ROW]))
    velocity[0] = 5.0
    assert problem.velocity[0] == 0.0
    assert problem.constraints == (ROW,)
    with pytest.raises(AttributeError):
        problem.step = 1.0  # type: ignore[misc]
    with pytest.raises(ValueError):
        problem.force[0] = 1.0
    assert same(pickle.loads(pickle.dumps(problem)).flat(), problem.flat())


@pytest.mark.parametrize(
    ("problem", "printed"),
    [
        (one(), "StepProblem(nv=1, rows=0, step=0.1)"),
        (one(constraints=[ROW]), "StepProblem(nv=1, rows=1 (1 Bilateral), step=0.1, stiffness=1)"),
        (
            mixed(),
            "StepProblem(nv=7, rows=33 (3 Bilateral, 26 Contact, 2 Clipped, 2 Unilateral), step=0.01, "
            "stiffness=0..1e+15)",
        ),
    ],
)
def test_repr_is_short(problem, printed):
    assert repr(problem) == printed


SPRING = np.array([[2.0, -2.0], [-2.0, 2.0]])  # between two velocities, singular


def stiffened(stiffness: Any, mass: Any = (1.0, 3.0), constraints: Any = ()) -> StepProblem:
    return StepProblem(mass, [0.5, -0.25], [1.0, 0.0], 0.1, constraints, stiffness=stiffness)


@pytest.mark.parametrize("mass", [np.array([1.0, 3.0]), np.diag([1.0, 3.0]), sparse.diags_array([1.0, 3.0]).tocsr()])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_a_stiffness_joins_mass_and_force(mass, form):
    """M v1 + h^2 K v1 = M v0 + h f."""
    problem = stiffened(form(SPRING), mass)
    M = np.diag([1.0, 3.0])
    expected = np.linalg.solve(M + 0.01 * SPRING, M @ problem.velocity + 0.1 * problem.force)
    np.testing.assert_allclose(pliant.solve(problem).velocity, expected, rtol=1e-14)
    flat = problem.flat()
    np.testing.assert_allclose(flat.force, problem.force - 0.1 * SPRING @ problem.velocity, rtol=1e-15)
    assert problem.force.tolist() == [1.0, 0.0] and "geometric stiffness=-2..2" in repr(problem)


@pytest.mark.parametrize("mass", [np.array([1.0, 3.0]), np.diag([1.0, 3.0]), sparse.diags_array([1.0, 3.0]).tocsr()])
def test_a_diagonal_stiffness(mass):
    problem = stiffened([5.0, 0.0], mass)
    row = pliant.Bilateral([[1.0, 0.0]], [0.0], pliant.Law(0.0))
    np.testing.assert_allclose(problem.flat().mass_val, [1.05, 3.0], rtol=1e-15)
    shifted = stiffened([5.0, 0.0], mass, [row]).shifted([0.0], np.array([2.0, 0.0]))
    np.testing.assert_allclose(shifted.flat().force, [1.0 + 2.0 - 0.1 * 5.0 * 0.5, 0.0], rtol=1e-15)


@pytest.mark.parametrize("stiffness", [3.0, 300.0, 1e4])
def test_a_row_says_the_same_as_a_stiffness(stiffness):
    held = pliant.Bilateral([[1.0, 0.0]], [0.0], pliant.Law(stiffness))
    expected = pliant.solve(stiffened([stiffness, 0.0])).velocity
    np.testing.assert_allclose(pliant.solve(stiffened(None, constraints=[held])).velocity, expected, rtol=1e-13)


def test_beside_a_row_as_stiff_as_1e17_the_others_are_solved():
    """As docs/problems.md advises: with a stiffness that large the certificate would see nothing but its energy."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        stops = pliant.Unilateral(rng.normal(size=(12, 6)), 1e-3 * rng.normal(size=12), Law(1e8, 10.0))
        held, v0 = pliant.Bilateral(np.eye(1, 6), [0.0], Law(1e17)), rng.normal(size=6)
        moving, still = (
            pliant.solve(StepProblem(np.ones(6), v, np.zeros(6), 0.01, [stops, held])).velocity
            for v in (v0, np.append(0.0, v0[1:]))  # what is held so stands still, however it came
        )
        np.testing.assert_allclose(moving, still, atol=1e-8)


def test_no_stiffness_is_none():
    assert stiffened(None).stiffness is None
    zero = stiffened(np.zeros((2, 2)))
    np.testing.assert_array_equal(pliant.solve(zero).velocity, pliant.solve(stiffened(None)).velocity)


@pytest.mark.parametrize(
    ("stiffness", "says"),
    [
        (np.ones(3), r"must have shape \(2, 2\), dense or sparse, or \(2,\) for a diagonal, like the mass"),
        (np.ones((3, 3)), r"must have shape \(2, 2\)"),
        ([1.0, -1.0], "must be positive semidefinite, but its diagonal is -1.0 at 1; pass its positive part"),
        ([[1.0, 2.0], [2.0, 1.0]], "must be positive semidefinite, but it has a negative eigenvalue"),
        ([[0.0, 2.0], [2.0, 1.0]], "an entry stands beside a 0 on its diagonal"),
        ([[1.0, 0.5], [0.0, 1.0]], r"must be symmetric, got 0.5 at \(0, 1\)"),
        (sparse.csr_array([[1.0, 2.0], [2.0, 1.0]]), "negative eigenvalue"),
        ([np.nan, 1.0], "must be finite, got nan at index 0"),
        ("stiff", "must be real numbers"),
    ],
)
def test_bad_stiffness_is_refused(stiffness, says):
    with pytest.raises(InputError, match=f"StepProblem: stiffness .*{says}"):
        stiffened(stiffness)


@pytest.mark.parametrize("n", [3, 60])
def test_stiffness_of_low_rank_is_semidefinite(n):
    thin = np.random.default_rng(n).normal(size=(n, 2))
    problem = StepProblem(np.ones(n), np.zeros(n), np.zeros(n), 0.1, stiffness=thin @ thin.T)
    np.testing.assert_array_equal(problem.stiffness, thin @ thin.T)
