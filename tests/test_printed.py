"""The paper's programs: closed forms, what their certificate says, what they cannot do."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import ContactState, Law, Printed, Status, StepProblem, demo
from pliant.printed import solve as printed
from pliant.printed.residual import kkt_residual
from tests.support.problems import PROBLEMS, many_islands
from tests.support.unreduced import read_rows

PAPERS_DAMPING = 1e6  # h B_r


def ramp_closed_form(mu: float, zeta: float) -> float:
    """Normal force of 1 kg on the ramp where friction can be bought: on the rim, above what the spring asks for."""
    E, d = PAPERS_DAMPING, PAPERS_DAMPING * demo.PULL
    return (1 + E) * d * mu / (zeta + mu**2 * (1 + (1 + E) ** 2))


def test_the_beam_is_pushed_where_nothing_presses():
    solution = pliant.solve(demo.beam(), Printed())
    np.testing.assert_allclose(solution.forces[0], [10.0 / 6.0, 20.0 / 6.0, 10.0 / 6.0], rtol=1e-12)
    assert solution.status is Status.SOLVED
    assert solution.residual < 1e-12 and solution.momentum_residual < 1e-15
    assert solution.law_residual > 0.1
    np.testing.assert_allclose(pliant.solve(demo.beam()).forces[0], [0.0, 5.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("zeta", [None, 1e-3, 1.0, 1e5, 1e12])
def test_the_ramp_block_buys_friction(zeta):
    solution = pliant.solve(demo.block(0.125), Printed(zeta=zeta))
    normal = ramp_closed_form(0.125, 100.0 if zeta is None else zeta)
    if zeta == 1e12:  # dear enough: the spring decides
        normal = demo.LOAD
    np.testing.assert_allclose(solution.forces[0], [[normal, -0.125 * normal]], rtol=1e-9)
    assert solution.status is Status.SOLVED
    assert zeta == 1e12 or solution.law_residual > 0.1


def test_the_numbers_that_the_documentation_quotes():
    assert ramp_closed_form(0.125, 100.0) == pytest.approx(20.3121, abs=5e-5)
    bought = pliant.solve(demo.block(0.125), Printed())
    assert bought.forces[0][0, 0] == pytest.approx(20.3121, abs=5e-5)
    assert abs(bought.velocity[1]) < 1e-6  # it sticks, and leaves the ramp
    assert bought.velocity[0] == pytest.approx(0.10836, abs=1e-5)
    right = pliant.solve(demo.block(0.125))
    assert right.forces[0][0, 0] == pytest.approx(9.4757, abs=5e-5)
    assert right.velocity[1] == pytest.approx(0.01355, abs=1e-5)


def test_enough_friction_sticks_as_it_should():
    solution = pliant.solve(demo.block(0.375), Printed())
    np.testing.assert_allclose(solution.forces[0], [[demo.LOAD, -demo.PULL]], rtol=1e-6)
    np.testing.assert_array_equal(solution.states[0], [ContactState.STICK])
    assert solution.law_residual < 1e-6


def test_no_friction():
    solution = pliant.solve(demo.block(0.0), Printed())
    np.testing.assert_allclose(solution.forces[0], [[demo.LOAD, 0.0]], rtol=1e-12)
    assert solution.forces[0][0, 1] == 0.0


@pytest.mark.parametrize("name", ["doubled_welds", "contradictory_welds"])
def test_bilateral_rows_alone_are_one_linear_solve(name):
    """The same as for every other solver, to the bit."""
    problem = PROBLEMS[name]()
    solution, other = pliant.solve(problem, Printed()), pliant.solve(problem)
    np.testing.assert_array_equal(np.concatenate(solution.forces), np.concatenate(other.forces))
    np.testing.assert_array_equal(solution.velocity, other.velocity)
    assert solution.residual == other.residual


@pytest.mark.parametrize("pressed", [False, True])
def test_drift_of_one_row(pressed):
    """lambda = (-K phi0 - S (G v* + e + h Gdot v0) - Mhat Gdot v0) / (1 + h S a), for a bilateral row and a spring."""
    K, B, h, m, bend, phi = 1e4, 3.0, 0.01, 2.0, -1.7, -0.02
    kind = pliant.Unilateral if pressed else pliant.Bilateral
    row = kind([[1.0, 0.0]], [phi], Law(K, B), rate_offset=0.1, curvature=[bend])
    problem = StepProblem([m, 1.0], [0.3, 0.0], [5.0, 0.0], h, [row])
    S, free = h * K + B, 0.3 + h * 5.0 / m + 0.1
    expected = (-K * phi - S * (free + h * bend) - m * bend) / (1 + h * S / m)
    np.testing.assert_allclose(pliant.solve(problem, Printed()).forces[0], [expected], rtol=1e-12)
    without = (-K * phi - S * free) / (1 + h * S / m)
    np.testing.assert_allclose(pliant.solve(problem, Printed(compensate_drift=False)).forces[0], [without], rtol=1e-12)


def test_drift_of_redundant_rows_by_least_squares():
    """Mhat does not exist: two copies of a row share its Mhat Gdot v0."""
    single = pliant.Bilateral([[1.0]], [0.0], Law(1e4), curvature=[2.0])
    double = pliant.Bilateral([[1.0], [1.0]], [0.0, 0.0], Law(5e3), curvature=[2.0, 2.0])
    one, two = (pliant.solve(StepProblem([3.0], [0.1], [1.0], 0.01, [row]), Printed()) for row in (single, double))
    np.testing.assert_allclose(one.velocity, two.velocity, rtol=1e-12)
    np.testing.assert_allclose(two.forces[0], 0.5 * one.forces[0][0], rtol=1e-12)


def test_islands_are_solved_for_themselves():
    problem = StepProblem(
        np.ones(4), np.zeros(4), [-demo.LOAD, demo.PULL] * 2, demo.STEP,
        [
            pliant.Contact(np.eye(4)[None, :2], [demo.STATIC_GAP], Law(1e10, 1.0), 0.125, name="left"),
            pliant.Contact(np.eye(4)[None, 2:], [demo.STATIC_GAP], Law(1e10, 1.0), 0.375, name="right"),
        ],
    )  # fmt: skip
    solution = pliant.solve(problem, Printed())
    assert len(solution.islands.status) == 2
    for mu, forces in zip((0.125, 0.375), solution.forces, strict=True):
        np.testing.assert_array_equal(forces, pliant.solve(demo.block(mu), Printed()).forces[0])


def test_stiff_joints_beside_contacts():
    """A rod held by a joint of 1e12 N/m, one end on a stop: moments about the joint give the force of the stop."""
    G = [[1.0, -1.0]]  # up and turning; the joint at -1, the stop at +1
    joint = pliant.Bilateral(G, [0.0], Law(1e12), name="joint")
    stop = pliant.Unilateral([[1.0, 1.0]], [-1e-3], Law(1e4), name="stop")
    problem = StepProblem([1.0, 1.0 / 3.0], [0.0, 0.0], [-9.81, 0.0], 0.01, [joint, stop])
    solution = pliant.solve(problem, Printed())
    # about the joint: inertia 4/3, lever 2; p = -0.0981 * 1.5 + h * 3 lambda
    a, S = 3.0, 0.01 * 1e4
    free = -0.01 * 9.81 * 1.5
    # but for the give of the joint, 1/(h^2 K) = 1e-8
    np.testing.assert_allclose(solution.forces[1], [(10.0 - S * free) / (1 + 0.01 * S * a)], rtol=1e-8)
    assert abs(solution.velocity[0] - solution.velocity[1]) < 1e-9
    assert solution.residual < 1e-12
    # one spring alone: minimum norm is the law
    np.testing.assert_allclose(solution.forces[1], pliant.solve(problem).forces[1], rtol=1e-9)


def test_an_ellipse_of_friction():
    contact = pliant.Contact(np.eye(3)[None], [-1e-4], Law(1e5), [[0.2, 0.6]], tangent_law=Law(0.0, 1e3))
    problem = StepProblem(np.ones(3), [0.0, 1.0, 1.0], [-9.81, 0.0, 0.0], 0.01, [contact])
    normal, r, s = pliant.solve(problem, Printed()).forces[0][0]
    assert (r / 0.2) ** 2 + (s / 0.6) ** 2 == pytest.approx(normal**2, rel=1e-9)


def test_the_residual_notices_forces_that_are_off(monkeypatch):
    """One part in a million too much of any force, and the reported residual shows it."""
    seen = []

    def spy(*answer):
        seen.append(answer)
        return kkt_residual(*answer)

    monkeypatch.setattr(printed, "kkt_residual", spy)
    for problem in (demo.beam(), demo.block(0.125), demo.block(0.375)):
        pliant.solve(problem, Printed())
        terms, force, psi, kappa = seen[-1]
        assert kkt_residual(terms, force, psi, kappa) < 1e-12
        for i in np.flatnonzero(force):
            wrong = force.copy()
            wrong[i] *= 1 + 1e-6
            assert kkt_residual(terms, wrong, psi, kappa) > 1e-8


def test_too_few_iterations_are_a_status():
    solution = pliant.solve(demo.block(0.125), Printed(max_iterations=1, tolerance=1e-300), throw=False)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.momentum_residual < 1e-15
    normal, tangent = solution.forces[0][0]
    assert abs(tangent) <= 0.125 * normal * (1 + 1e-12)
    with pytest.raises(pliant.SolveError, match="iteration limit"):
        pliant.solve(demo.block(0.125), Printed(max_iterations=1, tolerance=1e-300))


def test_nothing_to_solve():
    assert pliant.solve(StepProblem([1.0], [0.5], [1.0], 0.1), Printed()).residual == 0.0
    far = StepProblem([1.0], [0.5], [1.0], 0.1, [pliant.Unilateral([[1.0]], [10.0], Law(1e5))])
    solution = pliant.solve(far, Printed())
    assert solution.forces[0][0] == 0.0 and solution.status is Status.SOLVED


LINEAR = Law(1e4)
POINT = np.eye(3)[None]


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (pliant.Clipped([[1.0, 0, 0]], [0.0], LINEAR, -1, 1, name="motor"), r"Clipped 'motor'.*bounds.*Coulomb\(\)"),
        (
            pliant.Unilateral([[1.0, 0, 0]], [0.0], Law(1e4, exponent=1.5), name="ball"),
            r"Unilateral 'ball'.*linear laws only.*exponent=1\.5.*present deformation",
        ),
        (
            pliant.Contact(POINT, [0.0], Law(1e4, dissipation=1.0), 0.5, name="foot"),
            r"Contact 'foot'.*linear laws only.*dissipation=1",
        ),
        (
            pliant.Contact(np.ones((1, 4, 3)), [0.0], LINEAR, 0.5, name="pin"),
            r"Contact 'pin'.*one tangent or two, got d = 4.*torsion",
        ),
    ],
)
def test_what_the_paper_has_no_program_for(constraint, message):
    joint = pliant.Bilateral([[0.0, 1.0, 0.0]], [0.0], LINEAR)
    problem = StepProblem(np.ones(3), np.zeros(3), np.ones(3), 0.01, [joint, constraint])
    with pytest.raises(ValueError, match=r"Printed: constraints\[1\] \(" + message) as error:
        pliant.solve(problem, Printed())
    assert isinstance(error.value, pliant.PliantError)


@pytest.mark.parametrize("mu", [0.0, 0.125, 0.375, 0.9])
@pytest.mark.parametrize("zeta", [1e-12, 1e-6, 1.0, 1e6, 1e9, 1e10, 1e11, 1e12])
def test_the_range_of_zeta(mu, zeta):
    """Sticking and sliding, also where the terms of friction are rounding beside those of the normals."""
    assert pliant.solve(demo.block(mu), Printed(zeta=zeta)).residual < 1e-9


@pytest.mark.parametrize("gap", [0.76, 0.0])
@pytest.mark.parametrize("speed", [1e-140, 1e-150, 1e-155, 1e-162, 1e-200, 1e-310])
def test_speeds_without_a_square(speed, gap):
    contact = pliant.Contact([[[0.0, 1.0], [1.0, 0.0]]], [gap], Law(1e8, 10.0), 0.5)
    solution = pliant.solve(StepProblem([1.0, 1.0], [speed, 1.35], [0, -9.81], 0.01, [contact]), Printed())
    normal, tangent = solution.forces[0][0]
    assert abs(tangent) <= 0.5 * normal * (1 + 1e-9) < 1e-130


def test_the_remedy_is_its_own():
    with pytest.raises(
        pliant.SolveError, match=r"printed program.*zeta \(now 3\) within 1e-12 and 1e12.*use Coulomb\(\)"
    ):
        pliant.solve(demo.block(0.125), Printed(zeta=3.0, max_iterations=1, tolerance=1e-300))


@pytest.mark.parametrize("zeta", [0.0, -1.0, np.nan, np.inf, "1/h", True])
def test_zeta_is_checked(zeta):
    with pytest.raises(ValueError, match=r"Printed: zeta must be a positive number, or None for 1/h, got "):
        Printed(zeta=zeta)


def test_options_are_checked():
    with pytest.raises(ValueError, match="Printed: compensate_drift must be True or False, got 1"):
        Printed(compensate_drift=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Printed: tolerance must be"):
        Printed(tolerance=-1.0)
    with pytest.raises(TypeError):
        Printed(1.0)  # type: ignore[call-arg]
    assert Printed() == Printed(zeta=None, compensate_drift=True) != Printed(zeta=2.0)


def test_rows_are_read_as_the_solver_reads_them():
    """The reader of the independent assembly sees the rows of the flat record."""
    problem = many_islands()
    flat, rows = problem.flat(), read_rows(problem)
    np.testing.assert_array_equal(rows.phi0, flat.value)
    np.testing.assert_array_equal(rows.e, flat.offset)
