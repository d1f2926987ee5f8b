"""`pliant bench`: what it writes, what it refuses, and that its gate holds."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import time
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.bench import LONG, SUITES, answer, answer_scenes, clock, entrant, rollout, scenes, stack, start, step
from pliant.bench.baseline import COMMITTED, read_baseline
from pliant.bench.entrant import OURS, Entrant, failures, ratios
from pliant.bench.metric import RATIO, Metric
from pliant.bench.race import race
from pliant.bench.suite import Measured, Suite, find
from pliant.cli import main
from pliant.studies.peers import Peer, Stepped, mujoco_peers, ours, steps_of_mujoco
from pliant.systems.mujoco_load import read_spec

BALL = """<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 .1"><freejoint/><geom size=".1" mass="1"/></body></worldbody></mujoco>"""


def fake(monkeypatch: Any, suite: str, *metrics: Metric, skipped: tuple[str, ...] = ()) -> None:
    made = Suite("made up", lambda quick, progress: Measured(list(metrics), {"quick": quick}, list(skipped)))
    monkeypatch.setattr(importlib.import_module(f"pliant.bench.{suite}"), "SUITE", made)


def test_a_suite_leaves_its_metrics(tmp_path, capsys, monkeypatch):
    fake(monkeypatch, "step", Metric("a: times x", 2.5, RATIO, goal=2.0), skipped=("Drake",))
    assert main(["bench", "step", "--quick", "--out", str(tmp_path / "new" / "folder")]) == 0
    document = json.loads((tmp_path / "new" / "folder" / "step.json").read_text())
    assert document["command"] == "pliant bench step --quick" and document["quick"] and document["details"]["quick"]
    assert document["machine"]["cores"] >= 1 and document["versions"]["mujoco"] == mujoco.__version__
    assert document["metrics"] == [Metric("a: times x", 2.5, RATIO, goal=2.0).document()]
    assert document["goals_missed"] == ["a: times x"] and document["skipped"] == ["Drake"]
    out, err = capsys.readouterr()
    assert "step: a: times x: 2.5 times   (goal <= 2: MISSED)" in out and "skipped: Drake" in out and err == ""


def test_suites_that_do_not_exist_are_named(tmp_path, capsys):
    assert main(["bench", "step", "nonsense", "--out", str(tmp_path / "x")]) == 1
    assert f"no suite is called 'nonsense'; there are: {', '.join(SUITES)}" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_the_list(capsys):
    assert main(["bench", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*SUITES, *LONG]
    assert list(find(())) == list(SUITES)


def test_a_run_that_is_stopped_keeps_what_is_finished(tmp_path, capsys, monkeypatch):
    def stop(quick, progress):
        raise KeyboardInterrupt

    fake(monkeypatch, "step", Metric("a", 1.0))
    monkeypatch.setattr(stack, "SUITE", Suite("stopped", stop))
    assert main(["bench", "step", "stack", "--out", str(tmp_path)]) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["step.json"]
    assert capsys.readouterr().err == "pliant bench: stopped; finished: step\n"


def test_a_baseline_of_ones_own(tmp_path, capsys, monkeypatch):
    mine = tmp_path / "mine.json"
    command = ["bench", "step", "--out", str(tmp_path), "--baseline", str(mine)]
    assert main(command) == 1 and "cannot read" in capsys.readouterr().err
    fake(monkeypatch, "step", Metric("a: times x", 2.0, RATIO), Metric("a: time", 1.0, "ms"))
    assert main(["bench", "step", "--out", str(tmp_path), "--save", str(mine)]) == 0
    fake(monkeypatch, "step", Metric("a: times x", 2.1, RATIO), Metric("a: time", 99.0, "ms"))
    assert main([*command, "--gate"]) == 0  # times are not gated
    assert "(baseline 2)" in capsys.readouterr().out
    fake(monkeypatch, "step", Metric("a: times x", 2.6, RATIO))
    assert main(command) == 0  # nobody asked for the gate
    capsys.readouterr()
    assert main([*command, "--gate"]) == 1
    out, err = capsys.readouterr()
    assert "WORSE: step: a: times x: 2.6, the baseline's 2" in err and "1 ratios compared, 1 worse" in out
    fake(monkeypatch, "step", Metric("b: times x", 1.0, RATIO))
    assert main([*command, "--gate"]) == 1  # a gate that compares nothing guards nothing
    out, err = capsys.readouterr()
    assert "nothing to compare" in err and "skipped: step: a: times x: not measured in this run" in out


def test_another_machine_is_said(tmp_path, capsys, monkeypatch):
    fake(monkeypatch, "step", Metric("a: times x", 2.0, RATIO))
    mine = tmp_path / "mine.json"
    assert main(["bench", "step", "--out", str(tmp_path), "--save", str(mine)]) == 0
    document = json.loads(mine.read_text())
    document["suites"]["step"]["machine"]["processor"] = "an abacus"
    mine.write_text(json.dumps(document))
    capsys.readouterr()
    assert main(["bench", "step", "--out", str(tmp_path), "--baseline", str(mine), "--gate"]) == 0
    assert "gate: not the baseline's processor an abacus: it is" in capsys.readouterr().out


@pytest.fixture
def ball(monkeypatch):
    """The suite `step` with one small robot, and no rollouts."""
    monkeypatch.setattr(step, "robots", lambda: ({"ball": lambda: read_spec(BALL)}, []))
    monkeypatch.setattr(step, "_hard_block", lambda rounds, measured: None)
    monkeypatch.setattr(step, "SETTLE", 20)
    monkeypatch.setattr(step, "STEPS", 20)


@pytest.mark.usefixtures("ball")
def test_a_slowed_step_does_not_pass_the_gate(tmp_path, capsys, monkeypatch):
    mine = str(tmp_path / "mine.json")
    command = ["bench", "step", "--quick", "--out", str(tmp_path)]
    assert main([*command, "--save", mine]) == 0
    fast = pliant.mj_step

    def slow(*given: Any, **options: Any) -> None:
        time.sleep(0.005)
        fast(*given, **options)

    monkeypatch.setattr(pliant, "mj_step", slow)
    capsys.readouterr()
    assert main([*command, "--baseline", mine, "--gate"]) == 1
    assert "WORSE: step: ball: times MuJoCo, default: " in capsys.readouterr().err


def test_what_is_not_installed_is_skipped_and_said(monkeypatch):
    monkeypatch.setattr(entrant, "drake_peers", lambda stiffness, dissipation: [])
    peers, missing = entrant.rivals(1e8)
    assert all(peer.name.startswith("MuJoCo") for peer in peers) and missing == [entrant.NO_DRAKE]

    def none(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "distribution", none)
    found, missing = scenes.robots()
    assert found == {} and "its robots: gymnasium is not installed" in missing


def test_a_real_race():
    entrants = {peer.name: Entrant(peer, BALL, 20, patience=9.0, each=5) for peer in (ours(), *mujoco_peers(1e8))}
    timings = race({name: each.lap for name, each in entrants.items()}, 2)
    assert failures("ball", timings) == [] and all(each.reached == 20 for each in entrants.values())
    found = ratios("ball", timings, goals={"MuJoCo, default": 1e-9})
    assert [metric.name for metric in found] == [f"ball: times {name}" for name in entrants if name != OURS]
    assert all(metric.gated and metric.value > 0.0 for metric in found) and not found[0].reached


def test_a_lap_is_cut_short_where_patience_ends():
    slow = Entrant(ours(), BALL, 1000, patience=0.0, each=5)
    assert slow.lap() > 0.0 and slow.reached == 6 and slow.cut_short
    entrants = {OURS: slow, "other": Entrant(mujoco_peers(1e8)[0], BALL, 6, patience=9.0, each=5)}
    timings = race({name: each.lap for name, each in entrants.items()}, 1)
    *times, cut = entrant.scene_metrics("ball", entrants, timings)
    assert len(times) == 2 and cut.name == "ball: times other, cut short" and not cut.gated


def test_who_explodes_has_no_lap():
    def thrown(model: Any, data: Any, count: int) -> None:
        data.qvel[:] = np.nan
        steps_of_mujoco(model, data, count)

    mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file here
    try:
        bad = Peer("bad", "", lambda xml: Stepped(read_spec(xml), thrown, lambda spec: None))
        timings = race({"bad": Entrant(bad, BALL, 5, patience=9.0, each=1).lap}, 1)
    finally:
        mujoco.set_mju_user_warning(None)
    assert timings["bad"].why == "explodes"


def test_the_clock_sees_sleep():
    begin = clock.seconds()
    time.sleep(0.05)
    assert 0.045 < clock.seconds() - begin < 5.0


def test_growth_is_a_power():
    heights = {str(n): {"a": {"median": 3.0 * n**1.5}, "b": {"why": "explodes"}} for n in (10, 20, 40)}
    (metric,) = stack.exponents(heights)
    assert metric.value == pytest.approx(1.5) and metric.name == "a: exponent"


def test_a_pose_and_another():
    here = np.zeros((2, 3)), np.array([[1.0, 0.0, 0.0, 0.0]] * 2)
    there = (
        np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 4.0]]),
        np.array([[-1.0, 0, 0, 0], [np.sqrt(0.5), np.sqrt(0.5), 0, 0]]),
    )
    assert answer.apart(here, there) == pytest.approx((5.0, 90.0))
    lost = np.full((2, 3), np.nan), here[1]
    assert answer.apart(here, lost) == (np.inf, 0.0)
    pile, box = answer_scenes.SCENES["pile of 8"], answer_scenes.SCENES["dropped box"]
    assert answer.wrong_by(pile, here, there) == pytest.approx((2.5, 0.0))  # of the centre
    assert answer.wrong_by(pile, here, lost) == (np.inf, 0.0)
    assert answer.wrong_by(box, here, there) == answer.apart(here, there)


def test_a_right_answer_is_no_luck():
    def entry(step: float, lands: bool, engine: str = "MuJoCo, a", family: str = "MuJoCo") -> dict[str, Any]:
        return {"engine": engine, "family": family, "step": step, "lands": lands, "seconds": {"median": 1e-3 / step}}

    lucky = [entry(0.001, True), entry(0.002, True), entry(0.005, False), entry(0.01, True)]
    assert answer.landing(lucky)["MuJoCo, a"]["step"] == 0.002
    both = answer.metrics("x", [*lucky, entry(0.004, True, OURS, OURS)])
    assert {m.name: m.value for m in both} == pytest.approx(
        {
            "x: pliant": 4.0,
            "x: MuJoCo": 2.0,
            "x: step, pliant": 4.0,
            "x: step, MuJoCo": 2.0,
            "x: over MuJoCo's best": 2.0,
        }
    )
    assert answer.metrics("x", [entry(0.001, False)]) == []


def test_answers_of_a_ball_at_rest(monkeypatch):
    monkeypatch.setattr(answer, "FEW", (0.05,))
    monkeypatch.setattr(answer, "SMALL", 0.01)
    scene = answer_scenes.Scene(lambda h: BALL.replace("0.01", str(h)), free=False)
    found = answer.measure("ball", scene, True, lambda text: None)
    assert found["missing"] == {} and found["doubt"]["pliant"][0] < 1e-6
    assert len(found["entries"]) > 12 and found["entries"][0]["lands"]
    assert {"answer"} == set(answer.draw({"duration": 1.0, "near": 0.01, "scenes": {"ball": found}}))


@pytest.mark.parametrize("text", [scenes.drop(0.01), scenes.pile(30, 0.01)], ids=["drop", "pile"])
def test_nothing_touches_at_the_start(text):
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0


def test_rollouts_are_raced_thread_by_thread(monkeypatch):
    from mujoco.rollout import rollout as theirs

    monkeypatch.setattr(pliant, "rollout", theirs, raising=False)
    monkeypatch.setattr(rollout, "cores", lambda: 2)
    for name, value in {"STATES": 2, "STEPS": 5, "SETTLE": 5}.items():
        monkeypatch.setattr(rollout, name, value)
    names = [metric.name for metric in rollout.run(True, lambda text: None).metrics]
    assert names[1] == "2 states, 1 thread: times mujoco.rollout" and "2 threads: faster than with one" in names[-1]
    monkeypatch.setattr(rollout, "cores", lambda: 1)
    measured = rollout.run(True, lambda text: None)
    assert len(measured.metrics) == 2 and measured.skipped == ["2 threads: this process may use 1 core"]


@pytest.mark.usefixtures("ball")
def test_a_step_is_also_raced_in_rollouts(monkeypatch):
    from mujoco.rollout import rollout as theirs

    monkeypatch.setattr(pliant, "rollout", theirs, raising=False)
    names = [metric.name for metric in step.run(True, lambda text: None).metrics]
    assert "ball: times MuJoCo, default" in names and "ball: times MuJoCo, default, rollout" in names


def test_the_programs_of_start_run():
    assert all(start._python(code) == "" for code in start.PROGRAMS.values())


def test_the_committed_baseline_is_that_of_the_page():
    from pliant.bench.table import markdown
    from tests.test_docs import ROOT

    page = ROOT / "docs" / "performance.md"
    if not page.exists():
        pytest.skip("an installed package has no pages")
    baseline = read_baseline(COMMITTED)
    assert markdown(baseline) in page.read_text(encoding="utf-8"), "run: pliant bench --table docs/performance.md"
    assert set(baseline) <= set(SUITES)
