"""From the flat record back to a problem: the same bits, or a message that helps."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

import pliant
from pliant.errors import InputError
from pliant.flat import INTEGER_FIELDS, Flat, same
from pliant.laws import Law
from pliant.problem import StepProblem
from pliant.solve import start_forces
from tests.support.mixed_step import mixed, one
from tests.support.problems import PROBLEMS
from tests.support.random_problems import random_problem

LEFT_OUT = ("curvature", "constraint", "ids")


def from_outside(problem: StepProblem) -> dict[str, object]:
    """As recorders elsewhere write it: a mapping without what only constraints know."""
    return {name: part for name, part in problem.flat()._asdict().items() if name not in LEFT_OUT} | {"origin": "there"}


@pytest.mark.parametrize("mass", ["dense", "sparse", "diagonal"])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_there_and_back_to_the_bit(mass, sparse_rows):
    problem = mixed(3, mass=mass, sparse_rows=sparse_rows)
    again = StepProblem.from_flat(problem.flat())
    assert same(again.flat(), problem.flat())
    assert [type(c) for c in again.constraints] == [type(c) for c in problem.constraints]
    assert [c.count for c in again.constraints] == [c.count for c in problem.constraints]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_small_step_has_the_same_answer(name):
    problem = PROBLEMS[name]()
    again = StepProblem.from_flat(problem.flat()._asdict())
    assert same(again.flat(), problem.flat())
    ours, theirs = pliant.solve(problem), pliant.solve(again)
    np.testing.assert_array_equal(ours.velocity, theirs.velocity)


def test_names_are_lost_and_with_them_a_warm_start_by_name(tmp_path):
    """`save` keeps them."""
    problem = one(constraints=[pliant.Bilateral([[1.0]], [0.1], Law(10.0), name="spring")])
    solution, again = pliant.solve(problem), StepProblem.from_flat(problem.flat())
    problem.save(tmp_path / "step")
    assert again.constraints[0].name == "" and solution.forces[0] != 0.0
    assert start_forces(again, solution).tolist() == [0.0]
    assert start_forces(StepProblem.load(tmp_path / "step"), solution).tolist() == solution.forces[0].tolist()
    assert start_forces(again, pliant.solve(again)).tolist() == solution.forces[0].tolist()  # by its place


def test_random_steps_from_outside_have_the_same_answer():
    for seed in range(30):
        problem = random_problem(np.random.default_rng(seed))
        again = StepProblem.from_flat(from_outside(problem))
        for name in ("kind", "value", "offset", "stiffness", "friction", "lower", "upper", "jac_val", "block_ptr"):
            np.testing.assert_array_equal(getattr(again.flat(), name), getattr(problem.flat(), name), err_msg=name)
        np.testing.assert_array_equal(
            pliant.solve(again, throw=False).velocity, pliant.solve(problem, throw=False).velocity
        )


def test_rows_from_outside_are_constraints():
    problem = PROBLEMS["everything"]()
    again = StepProblem.from_flat(from_outside(problem))
    contacts = [c for c in again.constraints if isinstance(c, pliant.Contact)]
    assert contacts and all(c.friction.shape == (c.count, c.dimension - 1) for c in contacts)
    assert any(c.tangent_law is not None for c in contacts) or np.isinf(problem.flat().stiffness).any()


def test_a_normal_alone_is_a_unilateral_row():
    stop = pliant.Unilateral([[1.0]], [-1e-3], Law(1e4))
    flat = one(constraints=[stop]).flat()
    again = StepProblem.from_flat(flat._replace(kind=np.array([3])))
    assert isinstance(again.constraints[0], pliant.Unilateral)


def test_padding_is_left_out():
    problem = PROBLEMS["everything"]()
    flat = problem.flat()
    padded = problem.flat(rows=problem.rows + 3, blocks=len(flat.block_ptr) + 5, entries=len(flat.jac_idx) + 7)
    assert same(StepProblem.from_flat(padded).flat(), flat)


def test_constraints_without_rows_keep_the_numbers_of_the_others():
    empty = pliant.Bilateral(np.zeros((0, 1)), [], Law(1.0))
    last = pliant.Unilateral([[1.0]], [0.0], Law(1.0))
    flat = one(constraints=[empty, empty, last]).flat()
    assert same(StepProblem.from_flat(flat).flat(), flat)
    with pytest.raises(InputError, match=r"from_flat: constraint must rise from 0.*leave the field out"):
        StepProblem.from_flat(flat._replace(constraint=np.array([2**60])))


def test_a_small_record_claims_no_memory():
    nv = 20_000
    rows = sparse.csr_array(([1.0], ([0], [nv - 1])), shape=(1, nv))
    problem = StepProblem(np.ones(nv), np.zeros(nv), np.zeros(nv), 0.1, [pliant.Bilateral(rows, [0.0], Law(1.0))])
    again = StepProblem.from_flat(problem.flat())
    assert sparse.issparse(again.constraints[0].jacobian) and same(again.flat(), problem.flat())


BAD: dict[str, tuple[Any, str]] = {
    "no record": (3, "record must be a pliant.flat.Flat or a mapping"),
    "a field is missing": ({"step": 0.1}, r"mass_ptr, mass_idx.*docs/problems.md"),
    "step": ({"step": -1.0}, "step must be one number > 0"),
    "no step": ({"step": "soon"}, "step must be one number > 0.*'soon'"),
    "kind": ({"kind": np.array([7, 3, 4, 4])}, r"kind must be 0 \(bilateral\).*got 7 in row 0"),
    "a tangent alone": ({"kind": np.array([4, 3, 4, 4])}, "block 0 must be one row, or a row of kind NORMAL"),
    "a normal inside": ({"kind": np.array([1, 3, 3, 4])}, "block 1 must be one row, or a row of kind NORMAL"),
    "a kind that is no number": ({"kind": np.array([0.5] * 4)}, r"kind must be a vector of integers.*np.asarray\(kind"),
    "one value too few": ({"value": np.zeros(3)}, "value must have one entry per row, 4 like kind, got 3"),
    "nan": ({"value": np.full(4, np.nan)}, "must be finite, got nan"),
    "stiffness": ({"stiffness": np.full(4, -1.0)}, "stiffness must be >= 0"),
    "rigid row": ({"stiffness": np.full(4, np.inf)}, "stiffness must be finite but on tangents.*row 0"),
    "bounds": ({"lower": np.full(4, -2.0)}, r"lower must be .* kind .*CLIPPED \(2\)"),
    "columns": ({"jac_idx": np.array([0, 9, 0, 1])}, "jac_idx must rise within each row and lie in 0..2"),
    "negative columns": ({"jac_idx": np.array([-1, 0, 0, 1])}, "jac_idx must rise within each row"),
    "pointers": ({"jac_ptr": np.array([0, 4, 2, 3, 4])}, "jac_ptr must rise from 0 and end within the 4"),
    "pointers beyond": ({"jac_ptr": np.array([0, 1, 2, 3, 2**62])}, "jac_ptr must rise from 0 and end within the 4"),
    "no pointers": ({"jac_ptr": np.zeros(0, int)}, "jac_ptr must rise from 0"),
    "blocks": ({"block_ptr": np.array([0, 1])}, "block_ptr must end at the number of rows, 4"),
    "mass columns": ({"mass_idx": np.array([0, 1, 5])}, "mass_idx must rise within each row and lie in 0..2"),
    "mass pointers": ({"mass_ptr": np.array([0, 1, 2])}, "mass_ptr must have 4 entries"),
    "mass": ({"mass_val": np.array([1.0, -1.0, 1.0])}, "mass must be positive definite"),
    "force": ({"force": np.zeros(2)}, r"force must be one per row of the mass \(3,\)"),
    "an exponent along": ({"exponent": np.array([1.0, 1.0, 1.5, 1.0])}, "exponent must be 1.0 on tangents.*row 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_records_say_which_field(name):
    change, says = BAD[name]
    stop = pliant.Unilateral([[1.0, 0.0, 0.0]], [0.0], Law(1e4))
    contact = pliant.Contact(np.eye(3)[None], [0.0], Law(1e4), 0.5)
    record = change
    if isinstance(change, dict) and name != "a field is missing":
        record = StepProblem(np.ones(3), np.zeros(3), np.zeros(3), 0.1, [stop, contact]).flat()._asdict() | change
    with pytest.raises(InputError, match=says):
        StepProblem.from_flat(record)


def test_hostile_records_are_refused_or_solved():
    """Numbers of every kind in every field: an InputError, or a solution with a status."""
    rng = np.random.default_rng(0)
    hostile = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, 1e-300])
    whole = np.array([0, 1, -1, 2, 3, 4, 5, 2**62, -(2**62)])
    solved = refused = 0
    for draw in range(600):
        flat = random_problem(np.random.default_rng(draw % 40)).flat()
        fields = flat._asdict()
        for name in rng.choice(Flat._fields, size=rng.integers(1, 3), replace=False).tolist():
            part = np.array(fields[name])
            if part.size == 0 or name == "step":
                continue
            at = rng.integers(part.size, size=rng.integers(1, 4))
            part[at] = rng.choice(whole if name in INTEGER_FIELDS else hostile, size=len(at))
            fields[name] = part
        try:
            problem = StepProblem.from_flat(fields)
        except InputError:
            refused += 1
            continue
        solution = pliant.solve(problem, throw=False)
        assert isinstance(solution.status, pliant.Status)
        solved += 1
    assert refused > 100 and solved > 100
