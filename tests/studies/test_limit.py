"""The limited pendulum: dead at large steps, elastic at small ones, never more than it had."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pliant.studies import limit
from pliant.studies.limit_impact import FALL, FREQUENCY, closed_form, impact
from tests.support.letters import smallest

PHASES = [0.0, 0.3, 0.7, 0.95]


def restitution(h: float) -> float:
    return float(np.mean([impact(h, phase).back for phase in PHASES])) / FALL.speed


def test_the_speed_given_back_rises_to_all_of_it():
    given = [restitution(h) for h in (1e-5, 1e-6, 1e-7, 1e-8)]
    assert given[0] < 0.01 and given[3] > 0.98
    assert np.all(np.diff(given) > 0.1)


@pytest.mark.parametrize("h", [1e-4, 1e-5, 3e-6, 1e-6, 2e-7, 1e-7])
def test_it_is_that_of_implicit_euler_on_the_spring(h):
    for phase in (0.1, 0.45, 0.8):
        found = impact(h, phase).back / FALL.speed
        assert found == pytest.approx(closed_form(h, phase), abs=10.0 * h**1.5)


def test_the_loss_falls_with_the_step():
    lost = [1.0 - restitution(h) for h in (4e-8, 2e-8, 1e-8)]
    assert lost[0] / lost[1] == pytest.approx(2.0, abs=0.1) and lost[1] / lost[2] == pytest.approx(2.0, abs=0.05)
    assert lost[2] == pytest.approx(0.5 * np.pi * 1e-8 * FREQUENCY, rel=0.02)


@pytest.mark.parametrize("h", [1e-3, 1e-5, 1e-6, 1e-7])
def test_an_impact_gains_no_energy(h):
    gravity = 20.0 * h**2  # taken at the start of the free step before
    assert all(impact(h, phase).growth <= 1e-12 + gravity for phase in PHASES)


@pytest.mark.parametrize("h", [1e-2, 1e-3])
def test_a_whole_run_ends_dead_on_the_limit(h):
    run = limit.whole(h)
    assert run["complete"] and abs(run["theta"][-1]) < 1e-5 and run["lowest"] > -1e-6
    assert run["fastest_out"] < 1e-5 and run["energy_highest"] <= run["energy_start"] and run["energy_end"] < 1e-8


def test_bounces_are_lower_each_time():
    run = limit.bounces(1e-7)
    theta = np.array(run["theta"])
    assert 0.8 < min(run["restitutions"]) and max(run["restitutions"]) < 0.9
    assert theta[0] == pytest.approx(0.5 * np.pi) and theta.min() >= -1e-12
    peaks = theta[1:-1][(theta[1:-1] > theta[:-2]) & (theta[1:-1] > theta[2:])]
    assert len(peaks) == 2 and peaks[1] < peaks[0] < 0.5 * np.pi


@pytest.mark.slow
def test_the_study():
    results = limit.STUDY.run(True, lambda words: None)
    json.dumps(results, allow_nan=False)
    assert [case["holds"] for case in results["claims"]] == ["yes"] * 4
    pictures = limit.STUDY.draw(results)
    assert set(pictures) == set(limit.STUDY.page.captions) and smallest(pictures["limit"]) >= 8.0
    assert all({len(row) for row in table.rows} == {len(table.head)} for table in limit.STUDY.page.tables(results))
