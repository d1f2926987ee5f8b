"""Kernels behind a pointer: the same answers, compiled when they are entered, found on disk by the next process."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

from pliant import _linkage
from pliant._compile import kernel
from pliant._linkage import separate
from pliant.inputs import Array
from pliant.solvers.rows import Rows
from tests.test_compile import run, toy

__all__ = ["toy"]  # the fixture

FAR = """
from typing import NamedTuple
from pliant import _linkage
from pliant._compile import kernel
from pliant._linkage import separate
from pliant.inputs import Array, Ints

class Pair(NamedTuple):
    values: Array
    places: Ints
    factor: float

@separate
@kernel
def add_up(pair: Pair, out: Array) -> bool:
    out[0] = 0.0
    for i in pair.places:
        if i < 0:
            raise ValueError("a place before the first")
        out[0] += pair.factor * pair.values[i]
    return out[0] > 0.0
"""
NEAR = """
import numpy as np
from pliant import _linkage
from pliant._compile import kernel
from toy.far import Pair, add_up

@kernel
def total(places, enter):
    out, pair = np.zeros(1), Pair(np.array([1.0, 2.0, 4.0]), places, 0.5)
    return out[0] if enter and not add_up(pair, out) else out[0]
"""
REPORT = """
import numpy as np
from toy.near import total
from toy.far import add_up, Pair
from pliant import _compile
seen = [total(np.array([0, 2]), False), _compile.cache_misses()]
seen += [total(np.array([0, 2]), True), _compile.cache_misses()]
out = np.zeros(1)
assert add_up(Pair(np.ones(2), np.array([1]), 3.0), out) and out[0] == 3.0
try:
    total(np.array([-1]), True)
except ValueError as error:
    seen.append(str(error))
print(*seen, sep="|")
"""


def test_it_is_compiled_when_it_is_entered_and_then_kept(toy: Path):
    (toy / "toy" / "far.py").write_text(FAR)
    (toy / "toy" / "near.py").write_text(NEAR)
    first, second = (run(toy, REPORT).stdout.strip().split("|") for _ in range(2))
    assert [float(first[0]), float(first[2])] == [0.0, 2.5]
    assert int(first[3]) == int(first[1]) + 1  # the caller was there before
    assert first[4] == "a place before the first"
    assert second == [first[0], "0", first[2], "0", first[4]]


@separate
@kernel
def halve(x: Array) -> float:
    return 0.5 * x[0]


@kernel
def halve_numbers(x: Any) -> Any:
    return halve(x)


def test_other_arguments_than_the_annotations_say_are_refused():
    assert halve_numbers(np.ones(1)) == 0.5
    with pytest.raises(numba.TypingError, match=r"halve\.door takes"):
        halve_numbers(np.ones(1, np.int64))


@separate
@kernel
def twice(x: Array) -> float:
    return 2.0 * x[0]


@kernel
def twice_numbers(x: Any) -> Any:
    return twice(x)


def test_a_compilation_that_is_interrupted_is_tried_again(monkeypatch, caplog):
    """Ctrl-C comes through compiled code as what it is; any other failure as an error."""
    (door,) = (door for door in _linkage._doors if door._dispatcher.py_func.__name__ == "twice")
    made = door._dispatcher
    assert halve_numbers(np.ones(1)) == 0.5  # other doors stay open

    def fail(error: BaseException) -> None:
        def compile_(arguments: Any) -> None:
            raise error

        monkeypatch.setattr(door, "_dispatcher", SimpleNamespace(py_func=made.py_func, compile=compile_))

    fail(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        twice_numbers(np.ones(1))
    fail(ValueError("no"))
    with pytest.raises(RuntimeError, match="could not be compiled"):
        twice_numbers(np.ones(1))
    assert "cannot be compiled" in caplog.text and "ValueError: no" in caplog.text
    monkeypatch.undo()
    assert twice_numbers(np.ones(1)) == 2.0


def test_without_compilation_it_is_the_plain_function():
    def plain(rows: Rows) -> float:
        return rows.step

    assert separate(plain) is plain
