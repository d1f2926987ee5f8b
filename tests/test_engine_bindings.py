"""What crosses into the engine: records from arrays, hostile inputs."""

from typing import Any

import numpy as np
import pytest

import pliant
from pliant import _engine
from pliant.flat import Flat, same
from pliant.laws import Law
from pliant.problem import StepProblem
from tests.support.problems import PROBLEMS


def solve(record: _engine.Record) -> tuple[Any, ...]:
    return _engine.solve(record, None, None, False, 1e-8, 100)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_record_of_arrays_is_that_of_the_problem(name):
    problem = PROBLEMS[name]()
    record = _engine.from_arrays(*problem.flat())
    assert same(Flat(*record.arrays()), problem.flat())
    np.testing.assert_array_equal(solve(record)[0], pliant.solve(problem).velocity)


def test_padding_changes_no_answer():
    problem = PROBLEMS["everything"]()
    flat = problem.flat(rows=problem.rows + 4, velocities=problem.nv + 2, mass_entries=len(problem.flat().mass_idx) + 9)
    velocity, force, *_ = solve(_engine.from_arrays(*flat))
    expected = pliant.solve(problem)
    np.testing.assert_allclose(velocity[: problem.nv], expected.velocity, rtol=1e-12, atol=1e-14)
    assert not force[problem.rows :].any() and not velocity[problem.nv :].any()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"mass_idx": np.array([0, 1, 9])}, "mass_idx must rise within each row"),
        ({"jac_ptr": np.array([0, 2, 1, 3])}, "jac_ptr must rise"),
        ({"jac_ptr": np.array([1, 1, 2, 3])}, "jac_ptr must rise from 0"),
        ({"jac_ptr": np.zeros(0, np.int64)}, "jac_ptr must have at least one entry"),
        ({"jac_idx": np.array([0, 1, -1])}, "jac_idx must rise"),
        ({"block_ptr": np.array([0, 2])}, "block_ptr must end at the number of rows"),
        ({"kind": np.array([3, 4, 9])}, "kind must be one of 0 to 5"),
        ({"kind": np.array([4, 4, 4])}, "block 0 must be one row"),
        ({"value": np.zeros(2)}, "value has 2 entries, expected 3"),
        ({"step": 0.0}, "step must be a number > 0"),
        ({"step": np.nan}, "step must be a number > 0"),
        ({"velocity": np.zeros(0), "force": np.zeros(0)}, "velocity must have at least one|mass_ptr has"),
    ],
)
def test_arrays_that_make_no_record(change, says):
    contact = pliant.Contact(np.eye(3)[None], [0.0], Law(1e4), 0.5)
    flat = StepProblem(np.ones(3), np.zeros(3), np.zeros(3), 0.1, [contact]).flat()._replace(**change)
    with pytest.raises(ValueError, match=says):
        _engine.from_arrays(*flat)


def test_arrays_of_other_types_are_refused():
    flat = PROBLEMS["beam"]().flat()
    with pytest.raises(TypeError, match="value must be a contiguous array of float64"):
        _engine.from_arrays(*flat._replace(value=flat.value.astype(np.float32)))
    with pytest.raises(TypeError, match="kind must be a contiguous array of int64"):
        _engine.from_arrays(*flat._replace(kind=flat.kind.tolist()))
    with pytest.raises(TypeError, match="force must be a contiguous array"):
        _engine.from_arrays(*flat._replace(force=np.zeros(2 * len(flat.force))[::2]))
    with pytest.raises(ValueError, match="expected the fields"):
        _engine.from_arrays(*flat[:-1])


def test_starts_of_the_wrong_length_are_refused():
    record = PROBLEMS["beam"]().record
    with pytest.raises(ValueError, match="guess must have"):
        _engine.solve(record, np.zeros(7), None, False, 1e-8, 100)
    with pytest.raises(ValueError, match="start must have"):
        _engine.solve(record, None, np.zeros(7), False, 1e-8, 100)


NUMBERS = [[1.0, 2.0], (1, 2), range(3), np.arange(4)[::2], np.float32(0.5), True, 3, [], np.zeros((2, 0)), [[1, 2.5]]]


@pytest.mark.parametrize("data", NUMBERS)
def test_numbers_become_a_copy_that_is_read_only(data):
    found = _engine.finite_reals(data)
    assert found is not None
    np.testing.assert_array_equal(found, np.asarray(data, dtype=float))
    assert found.dtype == np.float64 and found.flags.c_contiguous and not found.flags.writeable
    assert not (isinstance(data, np.ndarray) and np.shares_memory(found, data))


@pytest.mark.parametrize(
    "data", [None, "1.0", ["a"], [[1], [1, 2]], {1: 2}, object(), 1j, [np.nan], np.inf, [1e400], 10**400, [None]]
)
def test_what_are_no_finite_numbers(data):
    assert _engine.finite_reals(data) is None


class Lender:
    """Lends its own array out."""

    def __init__(self) -> None:
        self.own = np.ones(3)

    def __array__(self, dtype=None, copy=None):
        return self.own


def test_a_lent_array_stays_writable():
    lender = Lender()
    found = _engine.finite_reals(lender)
    assert lender.own.flags.writeable and not np.shares_memory(found, lender.own)


def test_no_rows_and_no_constraints():
    for constraints in ([], [pliant.Bilateral(np.zeros((0, 2)), [], Law(1.0))]):
        solution = pliant.solve(StepProblem([1.0, 2.0], [0.0, 1.0], [1.0, 0.0], 0.1, constraints))
        np.testing.assert_allclose(solution.velocity, [0.1, 1.0], rtol=1e-15)
        assert solution.status is pliant.Status.SOLVED and solution.islands.status == ()


@pytest.mark.parametrize("size", [1e300, 1e-300, 1e150, 5e-324])
def test_numbers_at_the_edge_have_a_status(size):
    for field in range(4):
        mass, velocity, force, gap = np.ones(3), np.zeros(3), np.zeros(3), 0.0
        if field == 0:
            mass = np.full(3, size)
        elif field == 1:
            velocity = np.full(3, -size)
        elif field == 2:
            force = np.full(3, -size)
        else:
            gap = -size
        floor = pliant.Contact(np.eye(3)[None], [gap], Law(1e8, 1.0), 0.5)
        solution = pliant.solve(StepProblem(mass, velocity, force, 0.01, [floor, floor]), throw=False)
        assert isinstance(solution.status, pliant.Status)
        assert solution.status.solved == bool(solution.residual < 1e-8)
