"""Spheres in a column: exactly aligned it stands, jittered it falls at the rate of its fastest mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant.studies import scenes, stack
from pliant.studies.peers import Peer, mujoco_peers, ours
from pliant.studies.stack_modes import growth, mode
from pliant.systems.mujoco_stats import stats
from tests.support.letters import smallest


def check(case: dict[str, Any]) -> None:
    assert case["lateral"] == 0.0 and case["speed"] < 1e-9
    assert case["closest"] > -1e-3  # nothing went through: indentations are micrometres
    assert case["worst_error"] < 1e-3 and case["bottom_error"] < 1e-3


@pytest.mark.parametrize("count", [10, 50])
def test_the_aligned_column_stands(count):
    check(stack.aligned(count, 5.0, lambda _: None))


@pytest.mark.slow
@pytest.mark.parametrize("count", [100, 200, 400])
def test_tall_columns_stand_for_a_minute(count):
    check(stack.aligned(count, 60.0, lambda _: None))


@pytest.mark.parametrize("count", [10, 25, 100])
def test_jitter_grows_at_the_rate_of_the_fastest_mode(count):
    case = stack.jittered(count)
    assert case["measured"] == pytest.approx(case["rate"], rel=0.05)
    assert max(case["part"]) > 1e3 * stack.JITTER


def test_rates_by_hand():
    """Two spheres: the upper rolls on the lower, which rolls on the floor. By Lagrange's equation, in one angle."""
    rate, _ = mode(2)
    # x0 = r w0, x1 - x0 = r (w0 + w1), so r w1 = x1 - 2 x0, and 2 T = 1.4 x0'^2 + x1'^2 + 0.4 (x1' - 2 x0')^2
    M = np.array([[1.4 + 1.6, -0.8], [-0.8, 1.4]])
    K = 9.81 / 0.2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert rate == pytest.approx(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).max()), rel=1e-12)
    assert mode(10)[0] == pytest.approx(20.0, rel=0.02) and mode(100)[0] == pytest.approx(81.0, rel=0.01)


def test_growth_of_an_exponential():
    time = np.linspace(0.0, 1.0, 101)
    assert growth(time, 1e-9 * np.cosh(20.0 * time)) == pytest.approx(20.0, rel=1e-3)


class Raising:
    """A peer that gives up."""

    def step(self, count: int) -> None:
        raise RuntimeError("no convergence")


def fates(position: Any, speed: float = 0.0) -> str:
    return stack._fate(np.array(position, dtype=float), speed)


def test_what_becomes_of_peers():
    assert fates([[0, 0, 0.1], [0, 0, 0.3]]) == ""
    assert fates([[0, 0, 0.1], [0, 0, 0.15]]) == "tunnels"
    assert fates([[0, 0, 0.1], [0.2, 0, 0.3]]) == "topples"
    assert fates([[0, 0, np.nan], [0, 0, 0.3]]) == "explodes"
    raising: Any = Raising()
    assert stack.rival(Peer("x", "", lambda _: raising), 3)["outcome"] == "fails: RuntimeError"
    assert stack.rival(ours(), 5)["outcome"] == "stands"
    assert all(stack.rival(peer, 3)["outcome"] for peer in mujoco_peers(1e10))


def test_the_study(tmp_path, monkeypatch):
    monkeypatch.setattr(stack, "FEW", (10, 25))
    monkeypatch.setattr(stack, "QUICK", (10,))
    results = stack.run(True, lambda _: None)
    assert results["claims"][0]["holds"] == "yes"
    (figure,) = stack.STUDY.draw(results).values()
    figure.savefig(tmp_path / "stack.png")
    assert smallest(figure) >= 8.0
    assert all({len(row) for row in table.rows} == {len(table.head)} for table in stack.STUDY.page.tables(results))


@pytest.mark.parametrize(
    ("names", "outcome", "holds"),
    [
        (["MuJoCo", "Drake, SAP"], "stands", "no"),
        (["MuJoCo", "Drake, SAP"], "topples", "yes"),
        (["MuJoCo"], "topples", "in part: of those that ran"),
    ],
)
def test_what_is_said_of_others_names_them_and_who_is_missing(names, outcome, holds):
    found = stack._elsewhere([{"peer": name, "count": 50, "outcome": outcome} for name in ["pliant", *names]])
    assert found["holds"] == holds and all(f"{name}: {outcome}" in found["measured"] for name in names)
    assert ('pip install "pliant[peers]"' in found["measured"]) == (len(names) == 1)


def test_scenes_are_models_as_they_are():
    for xml in (scenes.incline(0.3, 0.01), scenes.pinch(0.01)):
        assert pliant.load(xml).model.nv >= 6


@pytest.mark.xfail(reason="Newton starts from a velocity, not from the forces of the step before")
def test_an_impact_through_many_spheres_and_rest_take_few_iterations():
    runner: Any = ours(scenes.HARD).start(scenes.stack(100, stack.STEP))
    counted, taken = stats(runner.data), []
    for _ in range(160):
        before = counted.iterations
        runner.step(1)
        taken.append(counted.iterations - before)
    assert max(taken[90:110]) <= 12  # contacts that close one because of the other are found at once
    assert max(taken[150:]) <= 2
