"""The judge is judged: the extended-precision reference on problems solved by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import pliant
from tests.support.exact import HIGH, INSIDE, LOW, agreement, certificates, refine, stacked
from tests.support.extended import BITS, Reference, to_extended
from tests.support.random_problems import random_problem

GRAVITY, SLOPE = 9.81, np.radians(15.0)


def from_nothing(problem: pliant.StepProblem, **options: Any) -> Any:
    """The exact solution, looked for from zero forces."""
    flat = problem.flat()
    return refine(flat, flat.velocity, np.zeros(len(flat.kind)), **options)


def rounded(exact: Any) -> tuple[np.ndarray, np.ndarray]:
    return exact.velocity.astype(float), exact.forces.astype(float)


def assert_exact(actual: Any, expected: Fraction) -> None:
    """To 50 digits."""
    with ctx.workprec(BITS):
        right = arb(fmpq(expected.numerator, expected.denominator))
        assert float(abs(actual - right)) <= 1e-50 * abs(float(expected))


def block_on_ramp(mu: float) -> pliant.StepProblem:
    """1 kg at rest at its static indentation; velocities along the slope and out of it."""
    normal = GRAVITY * np.cos(SLOPE)
    law = pliant.Law(1e10, 1.0)
    contact = pliant.Contact([[[0.0, 1.0], [1.0, 0.0]]], [-normal / 1e10], law, mu)
    return pliant.StepProblem(np.ones(2), np.zeros(2), [GRAVITY * np.sin(SLOPE), -normal], 0.01, [contact])


def sliding_point(speed: float, mu: float, **options: Any) -> pliant.StepProblem:
    """1 kg on the flat, moving along both tangents."""
    contact = pliant.Contact(np.eye(3)[None, [2, 0, 1]], [-1e-5], pliant.Law(1e6, 1.0), mu, **options)
    return pliant.StepProblem(np.ones(3), [0.6 * speed, 0.8 * speed, -0.1], [0.0, 0.0, -GRAVITY], 0.01, [contact])


def test_three_spring_beam_rests_on_the_middle_one():
    jacobian = [[1.0, -1.0], [1.0, 0.0], [1.0, 1.0]]
    springs = pliant.Unilateral(jacobian, [0.0, -1e-3, 0.0], pliant.Law(1e4))
    exact = from_nothing(pliant.StepProblem([1.0, 1 / 3], np.zeros(2), np.zeros(2), 0.01, [springs]))
    assert exact.residual < 1e-40
    np.testing.assert_allclose(exact.forces.astype(float), [0.0, 5.0, 0.0], rtol=1e-15)
    assert list(exact.sets) == [LOW, INSIDE, LOW]


def test_ramp_block_slides():
    exact = from_nothing(block_on_ramp(0.125))
    velocity, forces = rounded(exact)
    assert exact.residual < 1e-40
    assert forces[0] == pytest.approx(9.4757, abs=5e-5)
    assert velocity[0] == pytest.approx(0.01355, abs=5e-6)
    assert list(exact.sets) == [HIGH, HIGH]


def test_ramp_block_sticks():
    exact = from_nothing(block_on_ramp(0.375))
    velocity, forces = rounded(exact)
    assert exact.residual < 1e-40
    assert abs(velocity[0]) < 1e-50
    assert forces[1] == pytest.approx(-GRAVITY * np.sin(SLOPE), rel=1e-14)


def test_contact_that_slips_matches_the_closed_form():
    exact = from_nothing(sliding_point(5.0, 0.3))
    h, mu, S = 0.01, 0.3, 0.01 * 1e6 + 1.0
    normal = (1e6 * 1e-5 + S * (0.1 + h * GRAVITY)) / (1 + h * S)
    velocity, forces = rounded(exact)
    np.testing.assert_allclose(forces, normal * np.array([1.0, -mu * 0.6, -mu * 0.8]), rtol=1e-13)
    np.testing.assert_allclose(velocity[:2], (5.0 - h * mu * normal) * np.array([0.6, 0.8]), rtol=1e-13)


def test_contact_that_sticks_cancels_the_tangential_motion():
    exact = from_nothing(sliding_point(1e-4, 0.3))
    assert exact.residual < 1e-40
    np.testing.assert_allclose(exact.forces[1:].astype(float), [-0.006, -0.008], rtol=1e-13)
    assert np.abs(exact.velocity[:2].astype(float)).max() < 1e-50


def test_soft_tangent_carries_its_spring_force():
    law = pliant.Law(1e3, 2.0)
    exact = from_nothing(sliding_point(0.1, 0.9, tangent_law=law, stretch=[[1e-3, -2e-3]]))
    velocity, forces = rounded(exact)
    S = 0.01 * 1e3 + 2.0
    np.testing.assert_allclose(forces[1:], [-1.0, 2.0] - S * velocity[:2], rtol=1e-12)
    assert list(exact.sets) == [INSIDE] * 3


def test_associated_cone_lifts_a_sliding_body():
    problem = sliding_point(5.0, 0.3)
    exact = from_nothing(problem, convex=True)
    velocity, forces = rounded(exact)
    rate = velocity[2] - 0.3 * np.hypot(*velocity[:2])
    assert forces[0] == pytest.approx(1e6 * 1e-5 - (0.01 * 1e6 + 1.0) * rate, rel=1e-11)
    assert velocity[2] == pytest.approx(0.3 * np.hypot(*velocity[:2]), rel=0.02)
    assert certificates(problem.flat(), velocity, forces, convex=True)[1] < 1e-15
    assert certificates(problem.flat(), velocity, forces)[1] > 1e-3


def test_contradictory_pair_matches_fractions():
    K, h, m, v0 = 1e15, 0.01, 2.0, 0.3
    pair = pliant.Bilateral([[1.0], [1.0]], [0.0, 1e-3], pliant.Law(K))
    problem = pliant.StepProblem([m], [v0], [1.0], h, [pair])
    exact = from_nothing(problem)
    S, pull = Fraction(h) * Fraction(K), -Fraction(K) * Fraction(1e-3)
    velocity = (Fraction(m) * Fraction(v0) + Fraction(h) * (1 + pull)) / (Fraction(m) + 2 * Fraction(h) * S)
    assert_exact(exact.velocity[0], velocity)
    assert_exact(exact.forces[0], -S * velocity)
    assert_exact(exact.forces[1], pull - S * velocity)
    # Forces of 5e11 N oppose each other: 1e-16 of them is 3e-8 of the impulse, and that is allowed.
    velocity_off, impulse_off = agreement(problem.flat(), *rounded(exact)[:1], 0.01 * rounded(exact)[1].sum(), exact)
    assert velocity_off < 1
    assert impulse_off < 1


def test_redundant_rigid_contacts_keep_the_given_share():
    contact = pliant.Contact(
        [[[0.0, 1.0], [1.0, 0.0]]] * 2, [-1e-6] * 2, pliant.Law(1e7), 0.5, rate_offset=[[0.0, 0.25]] * 2
    )
    flat = pliant.StepProblem(np.ones(2), [-0.24, 0.0], [0.0, -10.0], 0.01, [contact]).flat()
    forces = np.array([5.0, -0.9, 5.0, -0.1])
    exact = refine(flat, [-0.25, 0.0], forces)
    assert exact.same_sets
    assert float(exact.velocity[0]) == -0.25
    np.testing.assert_allclose(exact.forces[[1, 3]].astype(float), [-0.9, -0.1], rtol=1e-12)


def test_power_law_satisfies_its_equation():
    K, p, alpha, B, h, gap = 1e9, 1.5, 0.4, 3.0, 1e-3, -1e-6
    law = pliant.Law(K, B, exponent=p, dissipation=alpha)
    exact = from_nothing(pliant.StepProblem([1.0], [-0.2], [-9.81], h, [pliant.Unilateral([[1.0]], [gap], law)]))
    assert exact.residual < 1e-40
    velocity, forces = rounded(exact)
    depth = -gap - h * velocity[0]
    rate = (depth + gap) / h
    assert forces[0] == pytest.approx(K * depth**p * (1 + alpha * rate) + B * rate, rel=1e-11)


def test_rest_without_forces_is_no_answer_for_a_pressed_spring():
    spring = pliant.Unilateral([[1.0]], [-1e-3], pliant.Law(1e4))
    flat = pliant.StepProblem([1.0], [0.0], [0.0], 0.01, [spring]).flat()
    assert certificates(flat, [0.0], [0.0]) == (0.0, 1.0)


def test_wrong_sets_are_noticed_and_mended():
    flat = block_on_ramp(0.125).flat()
    exact = refine(flat, np.zeros(2), [9.4757, -0.1], [INSIDE, INSIDE])
    assert not exact.same_sets
    assert exact.residual < 1e-40
    assert list(exact.sets) == [HIGH, HIGH]


def test_padding_changes_nothing():
    problem = random_problem(np.random.default_rng(5))
    flat = problem.flat()
    padded = problem.flat(rows=len(flat.kind) + 3, velocities=len(flat.velocity) + 2)
    forces = stacked(padded, [np.linspace(-1.0, 2.0, len(flat.kind))])
    velocity = np.concatenate([flat.velocity, np.zeros(2)])
    ours = certificates(padded, velocity, forces)
    assert ours == certificates(flat, flat.velocity, forces[: len(flat.kind)])


def solved(count: int) -> list[Any]:
    """Random steps that the reference happens to solve from nothing."""
    problems = [random_problem(np.random.default_rng(seed)) for seed in range(count)]
    both = [(problem.flat(), from_nothing(problem)) for problem in problems]
    return [(flat, exact) for flat, exact in both if exact.residual < 1e-40]


def test_certificates_of_rounded_and_of_wrong_answers():
    answers = solved(40)
    assert len(answers) > 20
    right, wrong = [], []
    for flat, exact in answers:
        velocity, forces = rounded(exact)
        right.append(certificates(flat, velocity, forces)[1])
        if np.any(forces):
            again = refine(flat, velocity, forces)
            assert again.same_sets
            assert max(agreement(flat, velocity, again.impulse.astype(float), again)) < 0.1
            x, i, more = Reference(flat), np.argmax(np.abs(forces)), forces.copy()
            more[i] *= 1 + 1e-6
            wrong.append(certificates(flat, velocity, more, reference=x)[1])
            if float(x.a[i]) > 0.0:  # what the wrong force moves, and a few times that where friction passes it on
                with ctx.workprec(BITS):
                    norm = x.energy_norms(to_extended(more))[x.islands[i]]
                moved = 1e-6 * flat.step * np.sqrt(float(x.a[i])) * abs(forces[i]) / norm
                assert wrong[-1] <= 10 * moved + 1e-10
    # Forces that cancel count a hundred-thousandth: 1e-16 of them is 1e-11.
    assert np.median(right) < 1e-16 and max(right) < 1e-10
    assert 1e-7 < np.median(wrong) < 1e-5


def test_answers_that_are_not_finite_fail():
    problem = block_on_ramp(0.125)
    exact, flat = from_nothing(problem), problem.flat()
    assert certificates(flat, np.zeros(2), [np.nan, 0.0]) == (np.inf, np.inf)
    assert agreement(flat, [np.nan, 0.0], [np.nan, 0.0], exact) == (np.inf, np.inf)


def test_agreement_sees_a_velocity_wrong_by_1e_8():
    problem = block_on_ramp(0.125)
    exact = from_nothing(problem)
    velocity, impulse = exact.velocity.astype(float), exact.impulse.astype(float)
    assert max(agreement(problem.flat(), velocity, impulse, exact)) < 1e-3
    assert agreement(problem.flat(), velocity * (1 + 1e-8), impulse, exact)[0] > 1
    assert agreement(problem.flat(), velocity, impulse * (1 + 1e-8), exact)[1] > 1
