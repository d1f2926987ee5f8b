"""A step as a file: what comes back, what is refused."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

from pliant.constraints import Constraint, Contact
from pliant.errors import FileError
from pliant.flat import Flat, same
from pliant.laws import Law
from pliant.problem import StepProblem
from pliant.record import Record, read_one, write
from tests.support.mixed_step import mixed, one


def structure(c: Constraint) -> tuple[Any, ...]:
    compliant = isinstance(c, Contact) and c.tangent_law is not None
    dense = not sparse.issparse(c.jacobian)
    return type(c), c.name, c.count, c.dimension, c.jacobian.shape, dense, c.curvature is None, compliant


@pytest.mark.parametrize("mass", ["dense", "sparse", "diagonal"])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_a_saved_step_comes_back_to_the_bit(tmp_path, mass, sparse_rows):
    problem = mixed(3, mass=mass, sparse_rows=sparse_rows)
    problem.save(tmp_path / "step.pliant")
    loaded = StepProblem.load(str(tmp_path / "step.pliant"))
    assert same(loaded.flat(), problem.flat())
    assert [structure(c) for c in loaded.constraints] == [structure(c) for c in problem.constraints]
    assert type(loaded.mass) is type(problem.mass)
    assert loaded.mass.shape == problem.mass.shape


def test_an_empty_step_comes_back(tmp_path):
    one(step=1e-300).save(tmp_path / "step.pliant")
    assert StepProblem.load(tmp_path / "step.pliant").step == 1e-300
    free = Contact(sparse.csr_array((0, 1)), [], Law(1.0), np.zeros((0, 5)))
    one(constraints=[free]).save(tmp_path / "step.pliant")
    assert StepProblem.load(tmp_path / "step.pliant").constraints[0].dimension == 6


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.pliant"):
        StepProblem.load(tmp_path / "nothing.pliant")


@pytest.mark.parametrize("damage", ["empty", "foreign", "truncated", "flipped"])
def test_damaged_files_are_refused(tmp_path, damage):
    path = tmp_path / "step.pliant"
    mixed().save(path)
    data = bytearray(path.read_bytes())
    if damage == "empty":
        data = bytearray()
    elif damage == "foreign":
        data = bytearray(b"PK\x03\x04" * 20)
    elif damage == "truncated":
        data = data[:-10]
    else:
        data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileError, match=r"step\.pliant") as caught:
        StepProblem.load(path)
    assert isinstance(caught.value, ValueError)


def rewritten(path, header=None, **arrays) -> None:
    """The file with parts of its record replaced, checksums in order."""
    record = read_one(path)
    write(path, [Record({**record.header, **(header or {})}, {**record.arrays, **arrays})])


def unsound(flat: Flat) -> list[tuple[str, dict[str, Any]]]:
    """Changes that leave a well-formed file whose content makes no problem."""
    index = flat.jac_idx.copy()
    index[0] = 10**9
    backwards = flat.jac_ptr.copy()
    backwards[1] = backwards[-1]
    ending = np.zeros_like(flat.jac_ptr)  # SciPy looks no further if the last is 0
    ending[1:-1] = 1 << 40
    around = flat.mass_ptr.copy()  # its differences wrap around and are positive
    around[2:4] = [np.iinfo(np.int64).min + 1, np.iinfo(np.int64).min + 1]
    stiffness = flat.stiffness.copy()
    stiffness[0] = -1.0
    return [
        ("of another kind", {"header": {"content": "trajectory"}}),
        ("no layout", {"header": {"constraints": None}}),
        ("layout of nonsense", {"header": {"constraints": [1, 2]}}),
        ("too few constraints", {"header": {"constraints": []}}),
        ("index out of range", {"jac_idx": index}),
        ("pointers not monotone", {"jac_ptr": backwards}),
        ("pointers that end at 0", {"jac_ptr": ending}),
        ("pointers of the mass that end at 0", {"mass_ptr": np.r_[0, np.full(6, 1 << 40), 0]}),
        ("pointers that wrap around", {"mass_ptr": around}),
        ("negative stiffness", {"stiffness": stiffness}),
        ("short column", {"damping": flat.damping[:-1]}),
        ("wrong dtype", {"kind": flat.kind.astype(np.float64)}),
        ("zero step", {"step": np.array(0.0)}),
        ("vector step", {"step": np.zeros(2)}),
        ("one array too many", {"extra": np.zeros(2)}),
        ("contradicting bounds", {"lower": np.zeros_like(flat.lower)}),
        ("mass not positive", {"mass_val": -flat.mass_val}),
        ("mass not square", {"velocity": flat.velocity[:-1]}),
    ]


@pytest.mark.parametrize("case", range(18), ids=[name for name, _ in unsound(mixed().flat())])
def test_sound_files_with_unsound_content_are_refused(tmp_path, case):
    path = tmp_path / "step.pliant"
    problem = mixed()
    problem.save(path)
    rewritten(path, **unsound(problem.flat())[case][1])
    with pytest.raises(FileError, match=r"step\.pliant"):
        StepProblem.load(path)


@pytest.mark.parametrize("mass", ["dense", "sparse", "diagonal"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.diagonal])
def test_a_stiffness_comes_back(tmp_path, mass, form):
    plain = mixed(3, mass=mass)
    K = form(np.diag(np.arange(plain.nv, dtype=float)))
    problem = StepProblem(plain.mass, plain.velocity, plain.force, plain.step, plain.constraints, stiffness=K)
    problem.save(tmp_path / "step.pliant")
    loaded = StepProblem.load(tmp_path / "step.pliant")
    assert same(loaded.flat(), problem.flat()) and type(loaded.stiffness) is type(problem.stiffness)
    assert type(loaded.mass) is type(problem.mass) and loaded.mass.shape == problem.mass.shape
    np.testing.assert_array_equal(loaded.force, problem.force)
    assert repr(loaded) == repr(problem)
