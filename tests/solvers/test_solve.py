"""What every solver must keep: the laws, momentum, bounds, certificates, warm starts, statuses, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

import pliant
from pliant import ContactState, Law, Status, StepProblem
from pliant.solvers.formulation import Formulation
from tests.support.exact import certificates, stacked
from tests.support.inside import outside
from tests.support.problems import GRAVITY, PLANE, PROBLEMS, beam, everything, many_islands, ramp_slip, ramp_stick
from tests.support.random_contacts import random_contact_problem
from tests.support.random_problems import random_problem

SOLVERS = [pliant.Coulomb(), pliant.Convex()]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)


def agree(reported: float, true: float) -> bool:
    """Within a factor 10 of each other, or both below 1e-12."""
    return max(reported, true) < 1e-12 or max(reported, true) <= 10.0 * min(reported, true)


def assert_certified(problem: StepProblem, solution: pliant.Solution, solver: Formulation) -> None:
    """The residuals that a solution reports are those that its forces and velocity have at 50 digits."""
    flat = problem.flat()
    force = stacked(flat, solution.forces)
    answer = flat, solution.velocity, force
    momentum, law = certificates(*answer, scale="compliant")
    _, own = certificates(*answer, convex=isinstance(solver, pliant.Convex), scale="compliant")
    assert agree(solution.momentum_residual, momentum)
    assert agree(solution.law_residual, law)
    assert agree(solution.residual, own)


@every_solver
@pytest.mark.parametrize("name", PROBLEMS)
def test_conformity(name, solver):
    problem = PROBLEMS[name]()
    flat = problem.flat()
    solution = pliant.solve(problem, solver)
    force = stacked(flat, solution.forces)
    assert solution.status is Status.SOLVED
    assert solution.residual < 1e-12
    assert solution.momentum_residual < 1e-12
    assert outside(flat, force) < 1e-12
    assert_certified(problem, solution, solver)
    if isinstance(solver, pliant.Coulomb):
        assert solution.residual == pytest.approx(solution.law_residual, abs=1e-13)
    G = csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=(problem.rows, problem.nv))
    impulse = flat.step * (G.T @ force)
    gross = flat.step * (abs(G).T @ np.abs(force))
    assert np.all(np.abs(solution.impulse - impulse) <= 1e-15 * gross)
    assert [part.shape for part in solution.forces] == [
        (c.count, c.dimension) if isinstance(c, pliant.Contact) else (c.count,) for c in problem.constraints
    ]
    assert len(solution.states) == len(solution.stretch) == len(problem.constraints)
    assert len(solution.islands.status) == len(solution.islands.residual)


@every_solver
def test_conformity_of_random_problems(solver):
    for seed in range(20):
        problem = random_problem(np.random.default_rng(seed), strong=0.0)
        solution = pliant.solve(problem, solver)
        assert solution.momentum_residual < 1e-12
        assert outside(problem.flat(), stacked(problem.flat(), solution.forces)) < 1e-12
        assert_certified(problem, solution, solver)


@every_solver
def test_the_beam_rests_on_its_middle_spring(solver):
    np.testing.assert_allclose(pliant.solve(beam(), solver).forces[0], [0.0, 5.0, 0.0], atol=1e-14)


def test_the_block_on_the_ramp():
    slips, sticks = pliant.solve(ramp_slip()), pliant.solve(ramp_stick())
    assert slips.forces[0][0, 0] == pytest.approx(9.4757, abs=5e-5)
    assert slips.velocity[1] == pytest.approx(0.01355, abs=5e-6)
    assert abs(sticks.velocity[1]) < 1e-15
    assert slips.states[0] == [ContactState.SLIP] and sticks.states[0] == [ContactState.STICK]


@every_solver
def test_the_form_of_the_matrices_does_not_matter(solver):
    """Diagonal, dense and sparse mass; dense and sparse Jacobians."""
    given = many_islands()
    ground, rod = given.constraints
    sparse_rows = [
        pliant.Contact(csr_array(ground.jacobian.reshape(15, 18)), ground.gap, ground.law, ground.friction),
        pliant.Bilateral(coo_array(rod.jacobian), rod.value, rod.law),
    ]
    expected = pliant.solve(given, solver)
    dense = np.diag(given.mass)
    for mass in (dense, csr_array(dense), given.mass):
        for rows in (given.constraints, sparse_rows):
            solution = pliant.solve(StepProblem(mass, given.velocity, given.force, given.step, rows), solver)
            np.testing.assert_allclose(solution.velocity, expected.velocity, rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(solution.forces[0], expected.forces[0], rtol=1e-12, atol=1e-12)


@every_solver
def test_idle_rows_and_velocities_do_not_matter(solver):
    """As padding has them: unit masses at rest that nothing touches, rows that move nothing and carry nothing."""
    given = everything()
    mass = np.eye(given.nv + 3)
    mass[: given.nv, : given.nv] = given.mass
    idle = pliant.Clipped(np.zeros((4, given.nv + 3)), np.zeros(4), Law(), 0.0, 0.0)
    rows = [idle, *(_wider(constraint, 3) for constraint in given.constraints)]
    padded = StepProblem(mass, np.pad(given.velocity, (0, 3)), np.pad(given.force, (0, 3)), given.step, rows)
    solution, expected = pliant.solve(padded, solver), pliant.solve(given, solver)
    assert not solution.velocity[given.nv :].any() and not solution.forces[0].any()
    np.testing.assert_allclose(solution.velocity[: given.nv], expected.velocity, rtol=1e-12)
    for force, right in zip(solution.forces[1:], expected.forces, strict=True):
        np.testing.assert_allclose(force, right, rtol=1e-9, atol=1e-9)


def _wider(constraint: Any, extra: int) -> Any:
    """The same constraint over `extra` more velocities."""
    G = np.concatenate([constraint.jacobian, np.zeros((*constraint.jacobian.shape[:-1], extra))], axis=-1)
    if isinstance(constraint, pliant.Contact):
        options = {"tangent_law": constraint.tangent_law}
        return pliant.Contact(G, constraint.gap, constraint.law, constraint.friction, **options)
    bounds = (constraint.lower, constraint.upper) if isinstance(constraint, pliant.Clipped) else ()
    return type(constraint)(G, constraint.value, constraint.law, *bounds)


@every_solver
@pytest.mark.parametrize("name", ["springs", "one_weld", "doubled_welds", "contradictory_welds", "random"])
def test_bilateral_rows_cost_one_linear_solve(name, solver):
    if name == "springs":
        springs = pliant.Bilateral(np.eye(3) - np.eye(3, k=1), [1e-3, 0.0, -1e-3], Law([1e2, 1e5, 1e8], 1.0))
        problems = [StepProblem(np.ones(3), np.ones(3), np.ones(3), 0.01, [springs])]
    elif name == "one_weld":
        weld = pliant.Bilateral(np.eye(3), np.zeros(3), Law(1e15))
        problems = [StepProblem(np.ones(3), np.ones(3), np.ones(3), 0.01, [weld])]
    elif name == "random":
        problems = [random_problem(np.random.default_rng(seed), kinds=("bilateral",)) for seed in range(20)]
    else:
        problems = [PROBLEMS[name]()]
    for problem in problems:
        solution = pliant.solve(problem, solver)
        assert np.all(solution.islands.factorizations == 1)
        assert np.all(solution.islands.iterations == 1)


# Anytime


@every_solver
def test_one_iteration_gives_exact_momentum_and_forces_inside(solver):
    limited = 0
    for seed in range(60):
        problem = random_contact_problem(np.random.default_rng(seed))
        once = type(solver)(max_iterations=1)
        solution = pliant.solve(problem, once, throw=False)
        assert solution.momentum_residual < 1e-12
        assert outside(problem.flat(), stacked(problem.flat(), solution.forces)) < 1e-12
        assert (solution.status is Status.ITERATION_LIMIT) == (solution.residual >= once.tolerance)
        assert solution.islands.iterations.max() <= 2  # one, and one more where it met the tolerance
        if solution.status is Status.ITERATION_LIMIT:
            limited += 1
            assert_certified(problem, solution, solver)
            with pytest.raises(pliant.SolveError, match="iteration limit") as error:
                pliant.solve(problem, once)
            assert error.value.problem is problem
            assert error.value.solution is not None
            np.testing.assert_array_equal(error.value.solution.velocity, solution.velocity)
    assert limited > 20


@every_solver
def test_random_problems_stopped_early(solver):
    for seed in range(40):
        problem = random_problem(np.random.default_rng(seed))
        for most in (1, 2, 5):
            solution = pliant.solve(problem, type(solver)(max_iterations=most), throw=False)
            assert solution.momentum_residual < 1e-12
            assert outside(problem.flat(), stacked(problem.flat(), solution.forces)) < 1e-12


@every_solver
def test_the_tolerance_decides_the_status(solver):
    problem = random_contact_problem(np.random.default_rng(1))
    assert pliant.solve(problem, type(solver)(tolerance=1e-3)).residual < 1e-3
    once = type(solver)(max_iterations=1, tolerance=1e3)
    assert pliant.solve(problem, once).status is Status.SOLVED


# Exact zeros, equal bits


@every_solver
def test_a_column_of_spheres_stays_aligned(solver):
    """Nothing pushes sideways: the lateral velocities and forces are 0.0, not 1e-17."""
    n = 12
    rows = np.zeros((n, 3, 3 * n))
    for k in range(n):
        rows[k, :, 3 * k : 3 * k + 3] = PLANE[0]
        if k:
            rows[k, :, 3 * k - 3 : 3 * k] = -PLANE[0]
    gaps = -GRAVITY / 1e9 * np.arange(n, 0, -1) * np.linspace(0.5, 1.5, n)
    column = pliant.Contact(rows, gaps, Law(1e9, 10.0), 0.5)
    velocity = np.zeros((n, 3))
    velocity[:, 2] = np.linspace(-0.01, 0.02, n)
    weight = np.tile([0.0, 0.0, -GRAVITY], n)
    solution = pliant.solve(StepProblem(np.ones(3 * n), velocity.ravel(), weight, 0.01, [column]), solver)
    assert np.all(solution.velocity.reshape(n, 3)[:, :2] == 0.0)
    assert np.all(solution.forces[0][:, 1:] == 0.0)
    assert solution.forces[0][:, 0].any()


@every_solver
def test_what_is_not_pushed_carries_no_force(solver):
    """A welded frame at rest beside a busy body, in the same problem and in the same constraints."""
    weld = np.array([[1.0, -1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]])
    mass = np.array([[2.0, 0.3, 0.0, 0.0], [0.3, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.5, 3.0]])
    rows = pliant.Bilateral(weld, [0.0, 0.0, 0.0, 1e-3], Law(1e13, 3.0))
    solution = pliant.solve(StepProblem(mass, [0.0, 0.0, 1.0, -1.0], [0.0, 0.0, 5.0, 0.0], 0.01, [rows]), solver)
    assert np.all(solution.velocity[:2] == 0.0) and np.all(solution.forces[0][:3] == 0.0)
    assert solution.forces[0][3] != 0.0


@every_solver
def test_the_same_problem_gives_the_same_bits(solver):
    problem = random_contact_problem(np.random.default_rng(4))
    first, again = pliant.solve(problem, solver), pliant.solve(problem, solver)
    assert first.velocity.tobytes() == again.velocity.tobytes()
    assert first.forces[0].tobytes() == again.forces[0].tobytes()


# Warm starts


def plate(ids: Any, names: tuple[str, str] = ("feet", "hinge")) -> StepProblem:
    """A plate on feet, of which `ids` tells number and places, held by a hinge; it is pushed and slides."""
    ids = np.asarray(ids)
    x, y = np.cos(2.4 * ids) * (1.0 + 0.1 * ids), np.sin(2.4 * ids) * (1.0 + 0.1 * ids)
    rows = np.zeros((len(ids), 3, 6))
    rows[:, 0, 2], rows[:, 0, 3], rows[:, 0, 4] = 1.0, y, -x
    rows[:, 1, 0], rows[:, 1, 5] = 1.0, -y
    rows[:, 2, 1], rows[:, 2, 5] = 1.0, x
    gaps = -1e-6 * (1.0 + np.sin(3.0 * ids))
    feet = pliant.Contact(rows, gaps, Law(1e6, 10.0), 0.4, ids=ids, name=names[0])
    hinge = pliant.Bilateral([[1.0, 0.5, 0.0, 0.0, 0.0, 0.3]], [1e-4], Law(1e4), name=names[1])
    velocity = [0.002, 0.01, -0.001, 0.0, 0.02, 0.03]
    push = [3.0, 1.0, -GRAVITY, 0.5, 0.0, 0.0]
    return StepProblem([1.0, 1.0, 1.0, 0.2, 0.2, 0.4], velocity, push, 0.01, [feet, hinge])


IDS = np.arange(7)


@every_solver
@pytest.mark.parametrize(
    "ids",
    [IDS, IDS[::-1], [3, 0, 6, 1, 5, 2, 4], IDS[2:], [*IDS, 7, 8], [20, 4, 2, 0], [30, 31, 32]],
    ids=["same", "reversed", "permuted", "removed", "added", "some", "none"],
)
def test_warm_starts_change_the_work_not_the_answer(ids, solver):
    before = pliant.solve(plate(IDS), solver)
    problem = plate(ids)
    cold, warm = pliant.solve(problem, solver), pliant.solve(problem, solver, warm_start=before)
    assert warm.status is Status.SOLVED
    np.testing.assert_allclose(warm.velocity, cold.velocity, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(warm.forces[0], cold.forces[0], rtol=1e-6, atol=1e-6)
    if set(ids) == set(IDS):  # it starts from the answer, in whatever order
        assert warm.iterations == 1 < cold.iterations


@every_solver
def test_constraints_are_found_by_name(solver):
    problem = plate(IDS)
    before = pliant.solve(problem, solver)
    rows = problem.constraints[::-1]
    swapped = StepProblem(problem.mass, problem.velocity, problem.force, problem.step, rows)
    warm = pliant.solve(swapped, solver, warm_start=before)
    assert warm.iterations == 1 < before.iterations
    np.testing.assert_allclose(warm.forces[1], before.forces[0], rtol=1e-9, atol=1e-9)
    # without names the position counts: another kind there is another constraint
    plain = plate(IDS, names=("", ""))
    rows = plain.constraints[::-1]
    swapped = StepProblem(plain.mass, plain.velocity, plain.force, plain.step, rows)
    warm = pliant.solve(swapped, solver, warm_start=pliant.solve(plain, solver))
    np.testing.assert_allclose(warm.velocity, before.velocity, rtol=1e-9, atol=1e-12)


@every_solver
@pytest.mark.parametrize("other", ["hertz", "many_islands", "no_rows", "contradictory_welds"])
def test_an_unrelated_solution_does_no_harm(other, solver):
    problem = plate(IDS, names=("", ""))
    cold = pliant.solve(problem, solver)
    for start in (pliant.solve(PROBLEMS[other](), solver), pliant.solve(PROBLEMS[other]())):
        warm = pliant.solve(problem, solver, warm_start=start)
        np.testing.assert_allclose(warm.velocity, cold.velocity, rtol=1e-7, atol=1e-9)


def test_a_failed_step_may_be_the_start_of_the_next():
    problem = random_contact_problem(np.random.default_rng(0))
    poor = pliant.solve(problem, pliant.Coulomb(max_iterations=1), throw=False)
    assert pliant.solve(problem, warm_start=poor).status is Status.SOLVED


@every_solver
def test_settled_steps_cost_one_factorization(solver):
    """A block at rest, stepped: each warm start is the answer of the same problem."""
    last = pliant.solve(ramp_stick(), solver)
    for _ in range(3):
        last = pliant.solve(ramp_stick(), solver, warm_start=last)
        assert last.factorizations <= 1


# Contact states and the stretch that goes on


def test_contact_states():
    """Free of the ground, held by friction, pulled along; other kinds have none."""
    rows = np.zeros((3, 3, 9))
    for k in range(3):
        rows[k, :, 3 * k : 3 * k + 3] = PLANE[0]
    feet = pliant.Contact(rows, [1.0, -GRAVITY / 1e6, -GRAVITY / 1e6], Law(1e6), 0.5)
    tie = pliant.Bilateral(np.zeros((1, 9)), [0.0], Law(1.0))
    pull = np.tile([0.0, 0.0, -GRAVITY], 3)
    pull[[0, 3, 6]] = 1.0, 0.4 * GRAVITY, 0.6 * GRAVITY
    solution = pliant.solve(StepProblem(np.ones(9), np.zeros(9), pull, 0.01, [tie, feet]))
    assert solution.states[0] is None
    assert list(solution.states[1]) == [ContactState.OPEN, ContactState.STICK, ContactState.SLIP]
    assert solution.stretch == (None, None)


def test_the_stretch_of_soft_tangents_over_two_steps():
    """By hand. Stick: m (v1 - v0) = h (f - K s0 - (h K + B) v1), s1 = s0 + h v1. Slip: the force is mu n against
    the motion, and the bristles relax: K s1 + B (s1 - s0) / h = mu n."""
    h, m, K, B, mu, pull = 0.01, 2.0, 3e3, 20.0, 0.5, 8.0
    load = m * GRAVITY

    def step(velocity: float, stretch: float, force: float) -> tuple[StepProblem, pliant.Solution]:
        contact = pliant.Contact(
            np.eye(2)[None, ::-1], [-load / 1e6], Law(1e6), mu, tangent_law=Law(K, B), stretch=[[stretch]]
        )
        problem = StepProblem([m, m], [velocity, 0.0], [force, -load], h, [contact])
        return problem, pliant.solve(problem)

    v, s = 0.0, 0.0
    for _ in range(2):
        _, solution = step(v, s, pull)
        v1 = (m * v + h * (pull - K * s)) / (m + h * (h * K + B))
        assert solution.velocity[0] == pytest.approx(v1, rel=1e-12)
        assert solution.states[0] == [ContactState.STICK]
        assert solution.stretch[0] == pytest.approx(np.array([[s + h * v1]]), rel=1e-12)
        v, s = v1, solution.stretch[0][0, 0]
    _, solution = step(v, s, 40.0)
    assert solution.states[0] == [ContactState.SLIP]
    assert solution.forces[0][0] == pytest.approx([load, -mu * load], rel=1e-12)
    assert solution.velocity[0] == pytest.approx(v + h * (40.0 - mu * load) / m, rel=1e-12)
    assert solution.stretch[0][0, 0] == pytest.approx((mu * load + B / h * s) / (K + B / h), rel=1e-12)


# Errors and statuses


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
    with pytest.raises(ValueError, match="warm_start must be an earlier pliant.Solution, got ndarray"):
        pliant.solve(beam(), warm_start=np.zeros(3))


@every_solver
@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("tolerance", [0.0, -1e-8, np.nan, np.inf, "small", None]),
        ("max_iterations", [0, -1, 1.5, True, "many", None]),
    ],
)
def test_options_are_checked(option, values, solver):
    for value in values:
        with pytest.raises(ValueError, match=rf"{type(solver).__name__}: {option} must be .*got {value!r}"):
            type(solver)(**{option: value})
    with pytest.raises(TypeError):
        type(solver)(1e-8)  # options are keyword-only


def test_the_base_class_is_no_solver():
    with pytest.raises(TypeError, match=r"use Coulomb\(\) or Convex\(\)"):
        pliant.solve(beam(), Formulation())


def test_solvers_are_values():
    assert pliant.Coulomb() == pliant.Coulomb(tolerance=1e-8, max_iterations=100) != pliant.Coulomb(tolerance=1e-6)
    assert repr(pliant.Convex()) == "Convex(tolerance=1e-08, max_iterations=100)"
    with pytest.raises(AttributeError):
        pliant.Coulomb().tolerance = 1.0


def test_statuses_carry_their_message():
    solved = {Status.SOLVED, Status.SOLVED_BY_FALLBACK}
    for status in Status:
        assert status.solved == (status in solved)
        assert str(status) == status.value
        assert str(status).split(":")[0].split(",")[0] in (
            "solved", "iteration limit", "non-finite numbers in the answer"
        )  # fmt: skip
    assert "max_iterations" in str(Status.ITERATION_LIMIT)
    assert "cone solver" in str(Status.SOLVED_BY_FALLBACK)


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
    with pytest.raises(pliant.SolveError, match="non-finite") as error:
        pliant.solve(problem, solver)
    assert error.value.problem is problem
    assert pliant.solve(problem, solver, throw=False).status is Status.NON_FINITE
