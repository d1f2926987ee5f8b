"""Files are data: whatever stands in one, it is read as what it says or refused, soon, in little memory, and nothing in
it is ever run."""

from __future__ import annotations

import functools
import json
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pliant
from pliant import record
from pliant.flat import same
from pliant.materials_file import parse_materials, read_materials
from pliant.readout import COLUMNS
from tests.support.mechanisms import Ball
from tests.support.mixed_step import mixed

ROOT = Path(__file__).parents[1]
SECONDS, BYTES = 2.0, 64 << 20
START = record._START.pack(record.MAGIC, 1)
Examples = Callable[[Callable[..., None]], Callable[..., None]]


def examples(count: int) -> Any:
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def framed(content: Any, body: bytes) -> bytes:
    """A record with checksums in order."""
    header = content if isinstance(content, bytes) else json.dumps(content).encode()
    lengths = struct.pack("<IQ", len(header), len(body))
    crc = struct.pack("<I", zlib.crc32(lengths))
    return lengths + crc + header + body + struct.pack("<I", zlib.crc32(header + body))


def parts(data: bytes) -> list[tuple[dict[str, Any], bytes]]:
    """(JSON, body) of the records of a file."""
    found, at = [], len(START)
    while at < len(data):
        n, m = struct.unpack_from("<IQ", data, at)
        header, body = data[at + 16 : at + 16 + n], data[at + 16 + n : at + 16 + n + m]
        found.append((json.loads(header), body))
        at += 20 + n + m
    return found


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


@functools.cache
def step_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        mixed().save(Path(folder) / "step")
        return (Path(folder) / "step").read_bytes()


@functools.cache
def run_file() -> bytes:
    """Two chunks, one of them with contacts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        for duration in (0.05, 0.1):
            pliant.simulate(Ball(), [0.0, 0.05], [2.0, 0.0], duration=duration, step=0.01, checkpoint=path)
        content, body = parts(path.read_bytes())[0]
        content["header"]["parameters"]["geoms"] = ["floor", ""]
        rest = [_touching(*part) for part in parts(path.read_bytes())[1:]]
    return START + b"".join(framed(*part) for part in [(content, body), *rest])


def _touching(content: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """The same chunk with a contact in its last sample."""
    arrays, at = content["arrays"], 0
    for array in arrays:
        size = 8 * int(np.prod(array[2]))
        if array[0] == "touches":
            body = body[: at + size - 8] + struct.pack("<q", 1) + body[at + size :]
        if array[0] == "touch":
            array[2] = [1, len(COLUMNS)]
            body = body[:at] + struct.pack(f"<{len(COLUMNS)}d", 0, 1, *[0.5] * (len(COLUMNS) - 3), 2) + body[at:]
            size = 8 * len(COLUMNS)
        at += size
    return content, body


SCRIBBLES = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "splice", "insert"]), st.integers(0, 1 << 30), st.binary(max_size=30)),
    min_size=1,
    max_size=4,
)


def scribbled(data: bytes, changes: list[tuple[str, int, bytes]]) -> bytes:
    """A file after accidents: flipped bits, a lost end, parts copied over others, bytes put in."""
    for kind, where, more in changes:
        at = where % max(len(data), 1)
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ (1 + where % 255)]) + data[at + 1 :]
        elif kind == "cut":
            data = data[:at]
        elif kind == "splice":
            other = (where // 7) % max(len(data), 1)
            data = data[:at] + data[other : other + 50] + data[at + 50 :]
        else:
            data = data[:at] + more + data[at:]
    return data


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
@examples(100)
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


def places(content: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside some JSON."""
    items: list[tuple[Any, Any]] = []
    if isinstance(content, dict):
        items = list(content.items())
    elif isinstance(content, list):
        items = list(enumerate(content))
    return [place for key, part in items for place in [(content, key), *places(part)]]


def crafted(data: bytes, changes: list[tuple[int, Any]]) -> bytes:
    """A file whose checksums are right and whose content is not what we write."""
    records = parts(data)
    for where, what in changes:
        content, body = records[where % len(records)]
        if where % 3 == 0 and len(body) >= 8:  # a number of an array
            at = (where // 3) % (len(body) // 8) * 8
            number = struct.pack("<d", what) if isinstance(what, float) else struct.pack("<q", where - (1 << 29))
            records[where % len(records)] = (content, body[:at] + number + body[at + 8 :])
            continue
        options = places(content)
        if options:
            container, key = options[(where // 3) % len(options)]
            if what == "drop":
                del container[key]
            elif what == "double" and isinstance(container, list):
                container.append(container[key])
            else:
                container[key] = what
    return START + b"".join(framed(content, body) for content, body in records)


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
@examples(200)
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


def claiming(folder: Path) -> list[Path]:
    """Small files that claim to be large."""
    (folder / "step").write_bytes(step_file())
    whole = record.read_one(folder / "step")
    nv, none = 60_000, np.zeros(0, np.int64)
    empty = {name: part[:0] for name, part in whole.arrays.items() if name != "step"}
    large = {
        **empty, "step": whole.arrays["step"], "velocity": np.zeros(nv), "force": np.zeros(nv),
        "mass_ptr": np.arange(nv + 1), "mass_idx": np.arange(nv), "mass_val": np.ones(nv),
        "jac_ptr": np.zeros(1, np.int64), "block_ptr": np.zeros(1, np.int64), "jac_idx": none,
    }  # fmt: skip
    wide = {"kind": "Contact", "name": "", "count": 0, "dimension": 10**15, "jacobian": "dense", "curvature": False}
    header: dict[str, Any] = {"content": "step problem", "mass": "dense", "constraints": []}
    record.write(folder / "step dense", [record.Record(header, large)])
    header = {**header, "constraints": [{**wide, "tangent_law": False}]}
    record.write(folder / "step wide", [record.Record(header, large)])
    (folder / "run").write_bytes(run_file())
    start, chunk, _ = record.read(folder / "run")
    n = 5000
    many = {
        **chunk.arrays, "time": np.zeros(n), "q": np.zeros((n, 0)), "v": np.zeros((n, 0)), "stats": np.zeros((n, 7)),
        "layout": np.zeros(n, np.int64), "force": np.zeros(0), "touches": np.zeros(n, np.int64),
        "touch": chunk.arrays["touch"][:0],
    }  # fmt: skip
    none_of_all = record.Record({**chunk.header, "layouts": [[["", 0, 1]] * 50_000]}, many)
    record.write(folder / "run many", [start, none_of_all])
    return [folder / name for name in ("step dense", "step wide", "run many")]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on memory")
def test_small_files_claim_little_memory(tmp_path):
    paths = claiming(tmp_path)
    assert all(path.stat().st_size < 4 << 20 for path in paths)
    begin = time.process_time()
    done = subprocess.run(
        [sys.executable, "-c", CLAIMS, *map(str, paths)], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0] == "StepProblem(nv=60000, rows=0, step=0.01)"
    assert said[2].startswith("refused:") and "far more constraints than forces" in said[2]
    assert time.process_time() - begin < 10.0
