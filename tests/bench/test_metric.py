"""Metrics, races and baselines, without a simulator."""

from __future__ import annotations

import json

import pytest

from pliant.bench.baseline import read_baseline, save_baseline
from pliant.bench.gate import gate
from pliant.bench.metric import RATIO, Metric, read_metric
from pliant.bench.race import Timing, race, ratio
from pliant.bench.table import BEGIN, END, table, write_between
from pliant.errors import FileError


@pytest.mark.parametrize(
    ("value", "better", "worse"),
    [(1.2, "less", False), (1.3, "less", True), (0.85, "more", False), (0.7, "more", True)],
)
def test_what_is_worse_than_a_baseline_of_one(value, better, worse):
    assert Metric("x", value, RATIO, better, tolerance=0.25).worse_than(1.0) == worse


def test_goals():
    assert Metric("x", 2.0).reached and Metric("x", 2.0, goal=2.0).reached and not Metric("x", 2.1, goal=2.0).reached
    assert not Metric("x", 0.9, better="more", goal=1.0).reached
    assert str(Metric("x", 2.1, "s", goal=2.0)) == "x: 2.1 s   (goal <= 2: MISSED)"


def test_a_metric_comes_back_from_json():
    for metric in (Metric("a", 1.5, "ms"), Metric("b", 0.1, RATIO, "more", 0.5, 2.0)):
        assert read_metric(json.loads(json.dumps(metric.document()))) == metric
    with pytest.raises(FileError, match="not a metric"):
        read_metric({"nonsense": 1})


def test_a_race_takes_turns_and_leaves_the_first_lap_out():
    order: list[str] = []

    def lap(name: str, seconds: float) -> float:
        order.append(name)
        return seconds if len(order) > 2 else 100.0

    timings = race({"a": lambda: lap("a", 2.0), "b": lambda: lap("b", 1.0)}, 3)
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"
    assert timings["a"].samples == [2.0] * 3 and timings["b"].median == timings["b"].least == 1.0
    assert ratio(timings["a"], timings["b"]) == 2.0 and timings["a"].spread == 0.0


def test_who_raises_is_out_and_the_others_go_on():
    def lost() -> float:
        raise RuntimeError("diverged\nat length")

    timings = race({"lost": lost, "good": lambda: 1.0}, 2)
    assert timings["lost"].why == "diverged" and timings["lost"].document() == {"why": "diverged"}
    assert timings["good"].samples == [1.0, 1.0]


def test_a_race_that_takes_long_enough_ends_after_a_round():
    assert len(race({"a": lambda: 1.0}, 5, seconds=-1.0)["a"].samples) == 1


def test_a_ratio_is_of_rounds():
    """A slow round is slow for both."""
    assert ratio(Timing([1.0, 10.0, 1.0]), Timing([2.0, 20.0, 2.0])) == 0.5


def test_a_baseline_keeps_the_suites_that_were_not_measured_again(tmp_path):
    path = tmp_path / "mine.json"
    save_baseline(path, {"one": [Metric("a", 1.0)], "two": [Metric("b", 2.0, RATIO)]})
    save_baseline(path, {"one": [Metric("a", 3.0)]})
    found = read_baseline(path)
    assert found["one"].metrics["a"].value == 3.0 and found["two"].metrics["b"].value == 2.0
    assert found["one"].differences() == [] and "numpy" in found["one"].versions


def test_files_that_are_no_baselines(tmp_path):
    path = tmp_path / "other.json"
    with pytest.raises(FileError, match="cannot read"):
        read_baseline(path)
    for text in ("nonsense", "[]", '{"suites": {"one": {}}}'):
        path.write_text(text)
        with pytest.raises(FileError, match=r"other\.json is none that"):
            read_baseline(path)


def test_the_gate_compares_ratios_and_says_what_it_cannot(tmp_path):
    before = [Metric("a: times x", 1.0, RATIO), Metric("a: times gone", 1.0, RATIO), Metric("a: time", 1.0, "ms")]
    baseline = read_baseline(save_baseline(tmp_path / "b.json", {"one": before}))
    now = [Metric("a: times x", 1.1, RATIO), Metric("a: times new", 9.0, RATIO), Metric("a: time", 100.0, "ms")]
    verdict = gate({"one": now, "unknown": []}, baseline)
    assert verdict.passed and verdict.compared == 1
    assert verdict.skipped == ["one: a: times new: not in the baseline", "one: a: times gone: not measured in this run"]
    assert not gate({"two": now}, baseline).passed  # nothing compared
    worse = gate({"one": [Metric("a: times x", 1.3, RATIO)]}, baseline)
    assert not worse.passed and "1.3, the baseline's 1, better is less, tolerance 25%" in worse.worse[0]


def test_tables_have_cases_down_and_quantities_across():
    metrics = [
        Metric("a: time", 1234.4, "ms"),
        Metric("a: times x", 2.0, RATIO),
        Metric("b: times x", 4.0, RATIO, goal=3.0),
    ]
    assert table(metrics).splitlines() == [
        "|  | time [ms] | times x |",
        "| --- | --- | --- |",
        "| a | 1234 | 2 |",
        "| b |  | 4 (goal 3) |",
    ]


def test_a_page_is_written_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_between(page, "new")
    write_between(page, "newer")
    assert page.read_text() == f"before\n{BEGIN}\n\nnewer\n\n{END}\nafter\n"
    page.write_text("no marks")
    with pytest.raises(FileError, match="to write between"):
        write_between(page, "new")
