"""The box on a slope: distances, forces and rest, as Coulomb and Hertz say; and a capsule that is pinched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pliant.materials import Material
from pliant.studies import incline
from pliant.studies.peers import Stepped, mujoco_peers, ours
from pliant.studies.scenes import FEET, GRAVITY, PINCH_CONTROL, pinch
from tests.support.letters import smallest


@pytest.mark.parametrize("step", incline.STEPS)
@pytest.mark.parametrize("friction", [0.0, 0.125, 0.25])
def test_it_slides_as_far_as_the_scheme_says(friction, step):
    case = incline.slide(friction, step, ours())
    assert case["ahead_by_scheme"] == pytest.approx(1.0, abs=0.02)
    assert case["largest_friction"] == 0.0 if friction == 0.0 else case["opposes"]


def check(rest: dict[str, Any]) -> None:
    assert rest["drift"] < 1e-8 and rest["sticks"] and rest["sum_error"] < 1e-9
    uphill, downhill = incline.loads()
    assert uphill == pytest.approx(2.147, abs=1e-3) and downhill == pytest.approx(2.591, abs=1e-3)
    for name, load in zip(FEET, (uphill, uphill, downhill, downhill), strict=True):
        assert rest["force"][name] == pytest.approx(load, rel=1e-6)
    assert rest["mean_indentation"] == pytest.approx(3.2e-7, rel=0.02)


@pytest.mark.parametrize("step", incline.STEPS)
def test_at_rest(step):
    check(incline.rest(step, 10.0, lambda _: None))


@pytest.mark.slow
@pytest.mark.parametrize("step", incline.STEPS)
def test_at_rest_for_a_quarter_of_an_hour(step):
    check(incline.rest(step, 1000.0, lambda _: None))


def creep(peer: Any, step: float = 0.01) -> float:
    """Of the capsule, pinched for 1 s without weight, then held for 1 s, then for 5 s more [m/s]."""
    runner: Stepped = peer.start(pinch(step))
    runner.model.opt.gravity[2], runner.data.ctrl[:] = 0.0, PINCH_CONTROL
    runner.step(round(1.0 / step))
    runner.model.opt.gravity[2] = -GRAVITY
    runner.step(round(1.0 / step))
    height = runner.position[0, 2]
    runner.step(round(5.0 / step))
    return float(abs(runner.position[0, 2] - height)) / 5.0


@pytest.mark.parametrize("material", [Material(2e11, 0.0), Material(1e7, 0.49)], ids=["hard", "rubber"])
@pytest.mark.parametrize("step", [0.01, 0.002])
def test_a_pinched_capsule_does_not_creep(material, step):
    assert creep(ours(material), step) < 1e-9


def test_peers_creep():
    """So that the scene means something: the same capsule under MuJoCo's forces."""
    assert all(creep(peer) > 1e-8 for peer in mujoco_peers(1e6))


def test_the_study(tmp_path):
    """Drawn from short runs; peers as they are installed."""
    results = incline.run(True, lambda _: None)
    assert {case["holds"] for case in results["claims"]} == {"yes", "no"}
    assert [case["holds"] for case in results["claims"]].count("no") == 2  # 1/mu, and 1e-8 m
    (figure,) = incline.STUDY.draw(results).values()
    figure.savefig(tmp_path / "incline.png")
    assert smallest(figure) >= 8.0
    assert all({len(row) for row in table.rows} == {len(table.head)} for table in incline.STUDY.page.tables(results))
    assert np.isfinite(results["hertz_indentation"]).all()
