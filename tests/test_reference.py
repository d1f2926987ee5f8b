"""The method in NumPy: closed forms, random problems, and the certificate of right and of wrong answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant import demo, reference
from pliant.reference import law_residual, momentum_residual, solve
from tests.support.exact import agreement, certificates, refine, stacked
from tests.support.extended import Reference
from tests.support.inside import outside
from tests.support.problems import GRAVITY, PLANE, PROBLEMS
from tests.support.random_contacts import random_contact_problem
from tests.support.random_problems import random_problem
from tests.support.tiny_rows import FACTORS, ROWS, open_under_load, tiny_row_problem

RIGHT = 1e-12


def on_the_ground(
    law: pliant.Law, gap: float, friction: float, push: float = 0.0, mass: float = 2.0
) -> pliant.StepProblem:
    """A point of so many kg, at rest, pushed along x [N]."""
    contact = pliant.Contact(PLANE, [gap], law, friction)
    return pliant.StepProblem([mass] * 3, np.zeros(3), [push, 0.0, -mass * GRAVITY], 0.01, [contact])


def certify(problem: pliant.StepProblem, found: reference.Reference) -> None:
    """Converged, inside bounds and cones, and certified by what it reports and at 50 digits."""
    flat = problem.flat()
    force = stacked(flat, found.forces)
    assert found.converged and found.law_residual < 1e-10 and found.momentum_residual < RIGHT
    assert outside(flat, force) < 1e-9
    momentum, law = certificates(flat, found.velocity, force)
    assert agree(found.law_residual, law) and agree(found.momentum_residual, momentum)


def agree(ours: float, true: float) -> bool:
    """Within a factor 10 of each other, or both below 1e-12."""
    return max(ours, true) < RIGHT or max(ours, true) <= 10.0 * min(ours, true)


# Closed forms


def test_the_beam_rests_on_its_middle_spring():
    np.testing.assert_allclose(solve(demo.beam()).forces[0], [0.0, 5.0, 0.0], atol=1e-14)


def test_the_block_on_the_ramp():
    slips, sticks = solve(demo.block(0.125)), solve(demo.block(0.375))
    assert slips.forces[0][0, 0] == pytest.approx(9.4757, abs=5e-5)
    assert slips.velocity[1] == pytest.approx(0.01355, abs=5e-6)
    assert abs(sticks.velocity[1]) < 1e-15
    assert sticks.forces[0][0, 1] == pytest.approx(-GRAVITY * np.sin(demo.SLOPE), rel=1e-13)


def test_the_crate_of_the_readme():
    found = pliant.reference.solve(on_the_ground(pliant.Law(1e10, 1.0), 0.0, 0.5, push=8.0))
    assert found.forces[0].round(3).tolist() == [[19.62, -8.0, 0.0]]
    assert found.converged and found.law_residual < RIGHT


def test_a_crate_pushed_too_hard_slips():
    found = solve(on_the_ground(pliant.Law(1e8), -2 * GRAVITY / 1e8, 0.5, push=12.0))
    np.testing.assert_allclose(found.forces[0][0], [19.62, -9.81, 0.0], rtol=1e-9)
    assert found.velocity[0] == pytest.approx(0.01 * (12.0 - 9.81) / 2, rel=1e-9)


def test_a_sphere_at_rest_on_a_hertz_contact():
    K, weight = 4 / 3 * 1e11 * np.sqrt(0.1), 2 * GRAVITY
    depth = (weight / K) ** (2 / 3)
    found = solve(on_the_ground(pliant.Law(K, exponent=1.5), -depth, 0.3))
    assert found.forces[0][0, 0] == pytest.approx(weight, rel=1e-12)
    assert np.abs(found.velocity).max() < 1e-14


def test_a_limit_stops_and_a_motor_gives_what_it_can():
    """By hand: the limit's spring and damper in one step; the motor at its bound."""
    h, m, v0, K, B = 1e-3, 2.0, -0.3, 1e5, 10.0
    limit = pliant.Unilateral([[1.0, 0.0]], [-1e-4], pliant.Law(K, B))
    motor = pliant.Clipped([[0.0, 1.0]], [0.0], pliant.Law(0.0, 1e6), -2.0, 2.0, rate_offset=-1.0)
    found = solve(pliant.StepProblem([m, m], [v0, 0.0], [0.0, 0.0], h, [limit, motor]))
    v1 = (m * v0 + h * K * 1e-4) / (m + h * (h * K + B))
    np.testing.assert_allclose(found.velocity, [v1, h * 2.0 / m], rtol=1e-14)
    np.testing.assert_allclose([found.forces[0][0], found.forces[1][0]], [K * 1e-4 - (h * K + B) * v1, 2.0], rtol=1e-14)


# Problems of all kinds


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_problems_that_every_solver_must_pass(name):
    problem = PROBLEMS[name]()
    certify(problem, solve(problem))


def test_random_problems():
    """Nearly all; answers agree with the exact ones."""
    missed = []
    for seed in range(60):
        problem = random_problem(np.random.default_rng(seed), strong=0.0)
        flat, found = problem.flat(), solve(problem)
        if not found.converged:
            missed.append(seed)
            continue
        force, x = stacked(flat, found.forces), Reference(flat)
        certify(problem, found)
        exact = refine(flat, found.velocity, force, reference=x)
        if exact.same_sets:
            impulse = flat.step * x.G_double.T @ force
            assert max(agreement(flat, found.velocity, impulse, exact, reference=x)) <= 1.0
    assert len(missed) <= 1


def test_random_contacts():
    found = [solve(random_contact_problem(np.random.default_rng(seed))) for seed in range(60)]
    assert sum(answer.converged for answer in found) >= 58
    assert max(answer.momentum_residual for answer in found) < RIGHT  # also where the laws are not met


def test_the_interior_path_alone_comes_near():
    """It is the second resort; here it is the only one."""
    solved = 0
    for seed in range(30):
        step = reference.Step(random_contact_problem(np.random.default_rng(seed)).flat())
        with np.errstate(all="ignore"):
            solved += reference.best(step, reference.interior(step), 150)[1] < 1e-6
    assert solved >= 28


def test_what_is_beyond_double_precision_does_not_converge():
    spring = pliant.Unilateral([[1.0]], [-1e200], pliant.Law(1e300))
    found = solve(pliant.StepProblem([1.0], [0.0], [0.0], 0.01, [spring]))
    assert not found.converged and not found.law_residual < 1.0


# The certificate


def test_the_certificate_is_that_of_50_digits():
    """Of right answers and of answers that are wrong by more and more, by Coulomb's law and by the associated cone."""
    for make, count in ((random_problem, 15), (random_contact_problem, 10)):
        for seed in range(count):
            rng = np.random.default_rng(seed)
            problem = make(rng)
            flat, found = problem.flat(), solve(problem)
            right, x = stacked(flat, found.forces), Reference(flat)
            for off in (0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0):
                force = right * (1.0 + off * rng.normal(size=len(right)))
                for convex in (False, True):
                    momentum, law = certificates(flat, found.velocity, force, convex=convex, reference=x)
                    assert agree(law_residual(flat, force, convex=convex).max(initial=0.0), law), (seed, off)
                    assert agree(momentum_residual(flat, found.velocity, force), momentum), (seed, off)


def test_the_residual_is_an_error_in_the_energy_norm():
    """A force of d N too much on a free body moves it by h d / m: measured against what moves it in the step."""
    problem = on_the_ground(pliant.Law(1e8), -2 * GRAVITY / 1e8, 0.5, mass=2.0)
    flat = problem.flat()
    assert law_residual(flat, np.array([2 * GRAVITY, 0.0, 0.0])) < RIGHT
    for more in (1e-6, 1e-3):
        wrong = law_residual(flat, np.array([2 * GRAVITY * (1 + more), 0.0, 0.0]))
        np.testing.assert_allclose(wrong, [more], rtol=1e-3)


def test_every_island_has_its_own():
    problem = PROBLEMS["many_islands"]()
    force = stacked(problem.flat(), solve(problem).forces)
    right = law_residual(problem.flat(), force)
    force[6] += 1.0  # the normal force of the third point, tied to nobody
    wrong = law_residual(problem.flat(), force)
    assert len(right) == 4 and right.max() < RIGHT
    assert np.count_nonzero(wrong > 1e-3) == 1 and np.count_nonzero(wrong < RIGHT) == 3


def test_a_law_broken_where_nothing_moves_counts_in_full():
    spring = pliant.Unilateral([[1.0]], [-1e-3], pliant.Law(1e4))
    flat = pliant.StepProblem([1.0], [0.0], [0.0], 0.01, [spring]).flat()
    assert law_residual(flat, np.zeros(1)) == [1.0]
    open_row = pliant.Unilateral([[1.0]], [1e-3], pliant.Law(1e4))
    flat = pliant.StepProblem([1.0], [0.0], [0.0], 0.01, [open_row]).flat()
    assert law_residual(flat, np.zeros(1)) == [0.0]


def test_rows_that_move_nothing_count_by_their_forces():
    """c = 1 N at rest: a force of 1.5 N is off by 0.5 of the 2.5 N that are there."""
    still = pliant.Unilateral([[0.0]], [-1e-3], pliant.Law(1e3))
    flat = pliant.StepProblem([1.0], [1.0], [0.0], 0.01, [still]).flat()
    assert law_residual(flat, np.array([1.0])) == [0.0]
    np.testing.assert_allclose(law_residual(flat, np.array([1.5])), [0.5 / 2.5])


def test_a_power_law_that_is_open_under_load_is_seen_however_stiff():
    """Against the value of the law alone a force of 1 N in a gap of 1 cm would score 5e-10 at 1e18 N/m."""
    for K in (1e6, 1e12, 1e18):
        row = pliant.Unilateral([[1.0]], [1e-2], pliant.Law(K, exponent=1.5))
        flat = pliant.StepProblem([1.0], [0.1], [0.0], 0.01, [row]).flat()
        assert law_residual(flat, np.zeros(1)) == [0.0]
        assert law_residual(flat, np.ones(1)) > 1e-2


def test_the_certificate_takes_a_problem_or_its_record():
    problem = demo.block(0.125)
    found = solve(problem)
    force = stacked(problem.flat(), found.forces)
    assert law_residual(problem, force) == law_residual(problem.flat(), force) == [found.law_residual]
    assert momentum_residual(problem, found.velocity, force) == found.momentum_residual


@pytest.mark.parametrize("wrong", [None, "a step", np.zeros(3)])
def test_what_is_no_step_is_refused(wrong):
    for ask in (
        lambda: solve(wrong),
        lambda: law_residual(wrong, np.zeros(1)),
        lambda: momentum_residual(wrong, np.zeros(1), np.zeros(1)),
    ):
        with pytest.raises(pliant.InputError, match=rf"must be a pliant\.StepProblem.*, got {type(wrong).__name__}"):
            ask()


def test_what_is_not_finite_scores_infinity():
    flat = demo.block(0.125).flat()
    assert law_residual(flat, np.array([np.nan, 0.0])) == [np.inf]
    assert momentum_residual(flat, np.zeros(2), np.array([np.inf, 0.0])) == np.inf


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("factor", FACTORS)
def test_no_contact_is_open_under_load_behind_a_tiny_row(row, factor):
    solved = 0
    for seed in range(10):
        problem = tiny_row_problem(seed, row, factor)
        flat, found = problem.flat(), solve(problem)
        normal = found.forces[0][:, 0]
        carried = open_under_load(problem, found.velocity, found.forces[0])
        solved += found.converged
        assert not found.converged or carried.max() <= 1e-6 * normal.max()
        for k in np.flatnonzero(open_under_load(problem, found.velocity, np.ones_like(found.forces[0]))):
            wrong = stacked(flat, found.forces)
            wrong[3 * k] += max(1.0, normal.max())
            assert law_residual(flat, wrong).max() > 1e-6
    assert solved >= 9


def test_it_is_short():
    """The page to read after the paper."""
    lines = Path(reference.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 300 and max(map(len, lines)) <= 120
