"""The pendulum's joint at 1e15 N/m, its energy, and a loop with joints that repeat."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pliant.studies import four_bar, pendulum
from pliant.studies.measure import TREATMENTS, follow, pick
from pliant.studies.swing import Swing
from tests.support.letters import smallest


@pytest.mark.parametrize("step", [0.1, 0.02])
def test_lookahead_keeps_the_joint(step):
    case = pendulum.simulate("lookahead", step, 1.0)
    assert case["deviation"] < 1e-12 and case["given_up"] == 0 and not case["diverged"]


@pytest.mark.parametrize("drift", ["paper", "tangent"])
def test_the_others_open_it_with_the_square_of_the_step(drift):
    assert abs(pendulum.order([pendulum.simulate(drift, step, 1.0) for step in (0.01, 0.005)]) - 2.0) < 0.1


@pytest.mark.parametrize(("step", "seconds"), [(0.1, 5.0), (0.05, 20.0)])
def test_the_papers_treatment_diverges(step, seconds):
    case = pendulum.simulate("paper", step, 60.0)
    assert case["diverged"] and case["reached"] < seconds
    assert np.all(np.isfinite(case["energy"])) and max(case["energy"]) > 1e6


def test_the_papers_treatment_gains_energy_within_a_second():
    case = pendulum.simulate("paper", 0.1, 1.0)
    assert case["energy_start"] == 0.0 and 7.0 < case["energy_end"] < 8.0


def test_tangent_loses_energy_and_lookahead_keeps_it():
    lost, kept = (pendulum.simulate(drift, 0.1, 20.0) for drift in ("tangent", "lookahead"))
    assert -9.8 < lost["energy_end"] < -3.0
    assert kept["energy_lowest"] > -2.0 and kept["energy_highest"] < 2.0 and not kept["diverged"]


@pytest.mark.parametrize("drift", TREATMENTS)
def test_all_are_of_first_order_in_the_angle(drift):
    far, near = (pendulum.simulate(drift, step, 1.0)["angle_error"] for step in (0.01, 0.005))
    assert 1.7 < far / near < 2.4 and near < 0.01


def test_the_exact_swing_solves_the_pendulums_equation():
    swing = Swing.released(1.2, 3.0)
    h, t = 1e-4, np.linspace(0.05, 0.9, 7)
    second = (swing.angle(t + h) - 2.0 * swing.angle(t) + swing.angle(t - h)) / h**2
    np.testing.assert_allclose(second, -9.0 * np.sin(swing.angle(t)), atol=1e-5)
    assert swing.angle(0.5 * swing.half) == pytest.approx(1.2) and swing.speed_at(1.2) == pytest.approx(0.0, abs=1e-7)
    assert pendulum.exact_angle(0.0) == pytest.approx(0.0, abs=1e-12)


def test_the_four_bar_starts_closed_and_moves_along_its_joints():
    q, v = four_bar.start()
    system = four_bar.FourBar()
    assert np.abs(system.values(0.0, q)).max() < 1e-15
    h = 1e-6
    assert np.abs(system.values(0.0, q + h * v)).max() < 1e2 * h**2
    jacobian = np.vstack([joint.jacobian for joint in system.problem(0.0, q, v, h).constraints])
    turned = np.vstack([joint.jacobian for joint in system.problem(0.0, q + h * v, v, h).constraints])
    curvature = np.concatenate([joint.curvature for joint in system.problem(0.0, q, v, h).constraints])
    np.testing.assert_allclose((turned - jacobian) @ v / h, curvature, atol=1e-3)


@pytest.mark.parametrize("joints", [1, 2])
def test_a_loop_is_kept_closed_wherever_looking_ahead_contracts(joints):
    cases = {
        drift: follow(four_bar.FourBar(joints), *four_bar.start(), drift=drift, step=0.02, duration=2.0)
        for drift in ("tangent", "lookahead")
    }
    assert cases["lookahead"]["deviation_else"] < 1e-11
    assert 1e-3 < cases["tangent"]["deviation"] < 0.1 and cases["tangent"]["energy_end"] < 75.0


def test_doubled_joints_move_like_single_ones():
    one, two = (
        follow(four_bar.FourBar(joints), *four_bar.start(), drift="tangent", step=0.02, duration=1.0)["last_q"]
        for joints in (1, 2)
    )
    np.testing.assert_allclose(one, two, atol=1e-7)


@pytest.mark.slow
def test_the_study():
    results = pendulum.STUDY.run(True, lambda words: None)
    json.dumps(results, allow_nan=False)
    assert {case["holds"] for case in results["claims"]} == {"yes", "no", "in part: for the 1 s of the experiment"}
    assert all(len(case["energy"]) <= 500 for case in results["cases"])
    (case,) = pick(results["cases"], drift="lookahead", step=0.1, duration=60.0)
    assert case["deviation"] < 1e-12
    pictures = pendulum.STUDY.draw(results)
    assert set(pictures) == set(pendulum.STUDY.page.captions)
    assert all(smallest(figure) >= 8.0 for figure in pictures.values())
    assert all({len(row) for row in table.rows} == {len(table.head)} for table in pendulum.STUDY.page.tables(results))
