"""The scoreboard: its scenes, its page, and that the documentation shows what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pliant.bench import trust
from pliant.bench.trust import grid, scene, stick
from pliant.bench.trust.page import markdown
from pliant.cli import main
from pliant.materials import Material
from pliant.studies.peers import ours
from pliant.studies.scenes import HARD, stack

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("compiled")


def test_every_scene_says_what_is_right():
    names = [each.name for each in trust.scenes()]
    assert names == list(trust.SCENES)
    assert all(each.title and each.right for each in trust.scenes())


def test_one_scene_can_be_run_alone(tmp_path, capsys):
    assert main(["bench", "trust:stick", "--quick", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "trust-stick.json").read_text())
    assert list(found["details"]) == ["stick"] and found["command"] == "pliant bench trust:stick --quick"
    assert (tmp_path / "trust-stick.md").read_text().startswith("### ")
    assert main(["bench", "trust:nonsense"]) == 1
    assert "no part of trust is called 'nonsense'; there are: grid, stick" in capsys.readouterr().err


def test_the_page_tells_slow_from_wrong():
    slow = {"engine": "a", "case": "b", "right": False, "values": {}, "words": f"10 of 20 {scene.SLOW} 30 s"}
    wrong = slow | {"case": "c", "words": "explodes"}
    page = markdown({"x": {"title": "", "right": "", "outcomes": [slow, wrong]}})
    assert "**too slow**: 10 of 20" in page and "**wrong**: explodes" in page


def test_the_page_shows_what_was_measured():
    measured = json.loads((ROOT / "benchmarks/results/trust.json").read_text())
    assert list(measured["details"]) == list(trust.SCENES)
    assert markdown(measured["details"]) in (ROOT / "docs/trust.md").read_text()


@pytest.mark.parametrize("step", [1e-3, 0.1])
@pytest.mark.parametrize("modulus", [1e4, 1e13])
def test_a_dropped_sphere_rests_where_hertz_says(modulus, step):
    peer = ours(Material(modulus, 0.0, dissipation=grid.DISSIPATION))
    found = grid._try(peer, "sphere", modulus, step)
    assert found.right and found.values["away [m]"] < 1e-6


def test_what_sticks_does_not_creep():
    found = stick._drift(ours(HARD), "wall", stick.wall(stick.STEP), 1.0)
    assert found.right and found.values["speed [m/s]"] < 1e-12


@pytest.mark.parametrize(
    ("patience", "fails", "words"), [(0.0, False, "10 of 20 steps"), (9.0, True, "stops: it is gone"), (9.0, False, "")]
)
def test_an_engine_that_does_not_get_to_the_end_is_said_so(patience, fails, words):
    def judge(runner):
        if fails:
            raise RuntimeError("it is gone\nfor good")
        return True, {"height [m]": float(runner.position[0, 2])}

    found = scene.try_out(ours(HARD), "one", stack(1, 0.01), 20, judge, patience=patience)
    assert words in found.words and found.right == (not words) and found.case == "one"
