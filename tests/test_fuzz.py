"""Files are data: whatever stands in one, it is read as what it says or refused, soon, in little memory, and nothing in
it is ever run."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pliant
from pliant.flat import same
from pliant.materials_file import parse_materials, read_materials
from tests.support.harmed_files import claiming, crafted, run_file, scribbled, step_file
from tests.support.mixed_step import mixed

ROOT = Path(__file__).parents[1]
SECONDS, BYTES = 2.0, 64 << 20


def examples(count: int) -> Any:
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def whole_step(path: Path) -> pliant.StepProblem:
    return pliant.StepProblem.load(path)


def whole_run(path: Path) -> pliant.Trajectory:
    """A run with all that is read only when it is asked for."""
    run = pliant.Trajectory.load(path)
    assert len(run) == len(run.q) == len(run.v) == len(run.forces) + 1 == len(run.stats["status"]) + 1
    assert repr(run) and len(run.pressure) <= len(run.contacts)
    return run


def bounded(read: Callable[[], Any]) -> Any:
    """What it reads, or None for what it refuses; either within the bounds."""
    begin = time.process_time()
    tracemalloc.start()
    try:
        return read()
    except pliant.PliantError:
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert time.process_time() - begin < SECONDS and peak < BYTES


SCRIBBLES = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "splice", "insert"]), st.integers(0, 1 << 30), st.binary(max_size=30)),
    min_size=1,
    max_size=4,
)


def step_is_refused_or_the_same(tmp_path: Path, changes: Any) -> None:
    path = tmp_path / "step"
    path.write_bytes(scribbled(step_file(), changes))
    found = bounded(partial(whole_step, path))
    assert found is None or same(found.flat(), mixed().flat())


def run_is_refused_or_a_beginning(tmp_path: Path, changes: Any) -> None:
    path = tmp_path / "run"
    path.write_bytes(run_file())
    whole = pliant.Trajectory.load(path).q
    path.write_bytes(scribbled(run_file(), changes))
    found = bounded(partial(whole_run, path))
    assert found is None or found.q.tobytes() in (whole[: len(found)].tobytes(), np.delete(whole, 5, 0).tobytes())


@given(changes=SCRIBBLES)
@examples(150)
def test_a_step_after_accidents(tmp_path, changes):
    step_is_refused_or_the_same(tmp_path, changes)


@given(changes=SCRIBBLES)
@examples(60)
def test_a_run_after_accidents(tmp_path, changes):
    run_is_refused_or_a_beginning(tmp_path, changes)


@pytest.mark.slow
@given(changes=SCRIBBLES)
@examples(5000)
def test_a_step_after_many_accidents(tmp_path, changes):
    step_is_refused_or_the_same(tmp_path, changes)


@pytest.mark.slow
@given(changes=SCRIBBLES)
@examples(3000)
def test_a_run_after_many_accidents(tmp_path, changes):
    run_is_refused_or_a_beginning(tmp_path, changes)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
CRAFTS = st.lists(
    st.tuples(st.integers(0, 1 << 30), JUNK | st.sampled_from(["drop", "double"])), min_size=1, max_size=3
)


def crafted_step_is_refused_or_a_problem(tmp_path: Path, changes: Any) -> None:
    path = tmp_path / "step"
    path.write_bytes(crafted(step_file(), changes))
    found = bounded(partial(whole_step, path))
    if found is not None:
        found.save(tmp_path / "again")
        assert same(pliant.StepProblem.load(tmp_path / "again").flat(), found.flat())


def crafted_run_is_refused_or_a_run(tmp_path: Path, changes: Any) -> None:
    path = tmp_path / "run"
    path.write_bytes(crafted(run_file(), changes))
    bounded(partial(whole_run, path))


@given(changes=CRAFTS)
@examples(200)
def test_a_step_that_was_crafted(tmp_path, changes):
    crafted_step_is_refused_or_a_problem(tmp_path, changes)


@given(changes=CRAFTS)
@examples(120)
def test_a_run_that_was_crafted(tmp_path, changes):
    crafted_run_is_refused_or_a_run(tmp_path, changes)


@pytest.mark.slow
@given(changes=CRAFTS)
@examples(8000)
def test_many_steps_that_were_crafted(tmp_path, changes):
    crafted_step_is_refused_or_a_problem(tmp_path, changes)


@pytest.mark.slow
@given(changes=CRAFTS)
@examples(8000)
def test_many_runs_that_were_crafted(tmp_path, changes):
    crafted_run_is_refused_or_a_run(tmp_path, changes)


def test_the_files_that_are_changed_here_are_sound(tmp_path):
    (tmp_path / "step").write_bytes(step_file())
    assert same(whole_step(tmp_path / "step").flat(), mixed().flat())
    (tmp_path / "run").write_bytes(run_file())
    run = whole_run(tmp_path / "run")
    assert len(run) == 11 and run.complete and list(run.contacts["geom2"]) == ["#1", "#1"]


GOOD = """
floor: steel
geom:tyre*: {substance: rubber, friction: 0.9}
ball: &a {youngs_modulus: 3e9, restitution: 0.6}
sole: {youngs_modulus: 1e6, depth: 0.01, elements: 200, side: -z}
other: *a
joint:knee: {stiffness: 1e5, damping: 100}
"""
WORDS = st.sampled_from(
    [
        *(
            "&a ",
            "*a",
            "<<: *a",
            "[",
            "]",
            "{",
            "}",
            ":",
            "- ",
            "? ",
            "!x ",
            "|\n",
            ">",
            "%TAG ! !",
            "---",
            "...",
            "\t",
        ),
        *("#", "'", '"', "\x00", "1e999", ".nan", "-1", "9" * 5000, "{? [1] : 2}", "\u2028", "é"),
        "!!python/object/apply:os.system [echo]",
    ]
)


def yaml_is_refused_or_materials(changes: Any) -> None:
    text = GOOD
    for where, what, cut in changes:
        at = where % (len(text) + 1)
        text = text[:at] + what + text[at + cut :]
    found = bounded(partial(parse_materials, text, "x.yaml"))
    kinds = (pliant.Material, pliant.Foundation, pliant.Law)
    assert found is None or all(isinstance(k, str) and isinstance(m, kinds) for k, m in found.items())


SCRAWLS = st.lists(
    st.tuples(st.integers(0, 1 << 20), WORDS | st.text(max_size=6), st.integers(0, 20)), min_size=1, max_size=5
)


@given(changes=SCRAWLS)
@examples(150)
def test_materials_with_scrawls(changes):
    yaml_is_refused_or_materials(changes)


@pytest.mark.slow
@given(changes=SCRAWLS)
@examples(10_000)
def test_materials_with_many_scrawls(changes):
    yaml_is_refused_or_materials(changes)


LAUGHS = "a: &a {b: 1}\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{f'*{chr(97 + i)}, ' * 9}]\n" for i in range(9))
BOMBS = {
    "laughs": LAUGHS,
    "nested lists": "a: " + "[" * 100_000,
    "nested maps": "a: " + "{b: " * 30_000,
    "nested dashes": "- " * 60_000,
    "itself": "a: &x {youngs_modulus: *x}",
    "itself as key": "a: &x {*x : 1}",
    "long": "a" * (1 << 22),
    "many": "".join(f"a{i}: steel\n" for i in range(100_000)),
    "a call": "a: !!python/object/apply:os.system ['touch broken']",
    "a call in a field": "a: {youngs_modulus: !!python/object/apply:os.system ['touch broken']}",
    "a name": "a: !!python/name:os.system steel",
    "a number with a tag": "a: {youngs_modulus: !!python/name:os.system 1e9}",
    "a key with a call": "? !!python/object/apply:os.system ['touch broken']\n: steel",
    "a field that is a list": "a: {[1]: 2}",
    "a field twice": "a: {youngs_modulus: 1e9, youngs_modulus: 1e8}",
}


@pytest.mark.parametrize("case", BOMBS)
def test_yaml_that_means_harm(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(BOMBS[case])
    begin = time.process_time()
    with pytest.raises(pliant.FileError, match=r"x\.yaml"):
        read_materials("x.yaml")
    assert time.process_time() - begin < SECONDS and not Path("broken").exists()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without an end")
def test_a_file_without_an_end_is_not_read_to_it():
    for read in (read_materials, whole_step, whole_run):
        with pytest.raises(pliant.FileError, match="/dev/zero"):
            read(Path("/dev/zero"))


CLAIMS = """
import resource, sys
import pliant
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for path in sys.argv[1:]:
    try:
        print(pliant.StepProblem.load(path) if "step" in path else len(pliant.Trajectory.load(path).forces))
    except pliant.FileError as error:
        print("refused:", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on memory")
def test_small_files_claim_little_memory(tmp_path):
    paths = claiming(tmp_path)
    assert all(path.stat().st_size < 4 << 20 for path in paths)
    command = [sys.executable, "-c", CLAIMS, *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0] == "StepProblem(nv=60000, rows=0, step=0.01)"
    assert said[2].startswith("refused:") and "far more constraints than forces" in said[2]
