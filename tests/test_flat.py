"""The flat record of a step: lowered, against a loop that is slow and plain, and padded."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

from pliant import flat as f
from pliant.constraints import Bilateral, Clipped, Contact, Unilateral
from pliant.errors import InputError
from pliant.flat import same
from pliant.laws import Law
from pliant.problem import StepProblem
from tests.support.mixed_step import mixed, one


def lowered_slowly(problem: StepProblem) -> dict[str, list[Any]]:
    """Row by row, entry by entry, from the attributes of the constraints."""
    out: dict[str, list[Any]] = {name: [] for name in (*f.ROW_FIELDS, "jac_idx", "jac_val")}
    out["jac_ptr"], out["block_ptr"] = [0], [0]
    for index, c in enumerate(problem.constraints):
        G = c.jacobian.toarray() if sparse.issparse(c.jacobian) else np.asarray(c.jacobian)
        G = G.reshape(c.count, c.dimension, problem.nv)
        for i in range(c.count):
            for k in range(c.dimension):
                row = slow_row(c, i, k)
                row.update(constraint=index, ids=c.ids[i])
                for name, value in row.items():
                    out[name].append(value)
                for j in range(problem.nv):
                    if G[i, k, j] != 0.0:
                        out["jac_idx"].append(j)
                        out["jac_val"].append(G[i, k, j])
                out["jac_ptr"].append(len(out["jac_idx"]))
            out["block_ptr"].append(len(out["kind"]))
    return out


def entry(parameter, i: int, k: int) -> float:
    """Of a scalar, (n,) or (n, d-1) parameter."""
    array = np.asarray(parameter)
    return float(array if array.ndim == 0 else array[i] if array.ndim == 1 else array[i, k])


def slow_row(c, i: int, k: int) -> dict[str, float]:
    law, tangent = c.law, None
    row = {"lower": -np.inf, "upper": np.inf, "friction": 0.0, "exponent": 1.0, "dissipation": 0.0}
    if isinstance(c, Contact):
        row["offset"] = c.rate_offset[i, k]
        row["curvature"] = 0.0 if c.curvature is None else c.curvature[i, k]
        row["value"] = c.gap[i] if k == 0 else c.stretch[i, k - 1]
        row["kind"] = f.NORMAL if k == 0 else f.TANGENT
        tangent = k > 0
    else:
        row["offset"], row["value"] = c.rate_offset[i], c.value[i]
        row["curvature"] = 0.0 if c.curvature is None else c.curvature[i]
        row["kind"] = {Bilateral: f.BILATERAL, Unilateral: f.UNILATERAL, Clipped: f.CLIPPED}[type(c)]
    if tangent:
        row["friction"] = c.friction[i, k - 1]
        law = c.tangent_law
        row["stiffness"] = np.inf if law is None else entry(law.stiffness, i, k - 1)
        row["damping"] = 0.0 if law is None else entry(law.damping, i, k - 1)
        return row
    for name in ("stiffness", "damping", "exponent", "dissipation"):
        row[name] = entry(getattr(law, name), i, 0)
    if row["kind"] in (f.UNILATERAL, f.NORMAL):
        row["lower"] = 0.0
    if isinstance(c, Clipped):
        row["lower"], row["upper"] = c.lower[i], c.upper[i]
    return row


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_lowering_agrees_with_the_loop(seed, sparse_rows):
    problem = mixed(seed, sparse_rows=sparse_rows)
    flat = problem.flat()
    for name, expected in lowered_slowly(problem).items():
        assert np.array_equal(getattr(flat, name), expected), name


@pytest.mark.parametrize("form", ["dense", "sparse", "diagonal"])
def test_mass_lowers_to_csr(form):
    flat = mixed(mass=form).flat()
    nv = len(flat.velocity)
    rebuilt = sparse.csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(nv, nv))
    rebuilt.check_format(full_check=True)
    expected = mixed(mass="dense").mass
    expected = np.diag(np.diagonal(expected)) if form == "diagonal" else expected
    assert np.array_equal(rebuilt.toarray(), expected)


def test_the_record_is_plain_arrays():
    flat = mixed().flat()
    assert type(flat.step) is float
    for name, array in flat._asdict().items():
        if name != "step":
            assert array.dtype == (np.int64 if name in f.INTEGER_FIELDS else np.float64), name
            assert array.flags.c_contiguous
            assert array.flags.writeable, f"{name}: compiled code would see another type"


def test_lowering_is_done_once():
    problem = mixed()
    assert problem.flat() is problem.flat()


@pytest.mark.parametrize("constraints", [(), [Bilateral(np.zeros((0, 1)), [], Law(1.0))]])
def test_no_rows(constraints):
    flat = one(constraints=constraints).flat()
    assert flat.block_ptr.tolist() == flat.jac_ptr.tolist() == [0]
    assert len(flat.kind) == len(flat.jac_val) == 0


def test_zero_rows_of_the_jacobian_stay_rows():
    flat = one(constraints=[Bilateral([[0.0], [1.0]], [0.0, 0.0], Law(1.0))]).flat()
    assert flat.jac_ptr.tolist() == [0, 0, 1]


def test_split_gives_every_constraint_its_rows():
    problem = mixed()
    parts = problem.split(np.arange(problem.rows))
    assert [part.shape for part in parts] == [(3,), (4, 3), (2,), (2,), (0,), (2, 6), (1, 2)]
    assert np.array_equal(np.concatenate([part.ravel() for part in parts]), np.arange(problem.rows))
    assert [p.shape for p in problem.split(np.ones((problem.rows + 5, 2)))[:2]] == [(3, 2), (4, 3, 2)]
    with pytest.raises(InputError, match="values must have 33 rows"):
        problem.split(np.ones(3))


# Padding


def test_padding_adds_inert_rows_and_free_velocities():
    problem = mixed()
    flat, nv, m = problem.flat(), problem.nv, problem.rows
    nb, nnz, nnz_mass = len(flat.block_ptr) - 1, len(flat.jac_idx), len(flat.mass_idx)
    padded = problem.flat(rows=m + 3, velocities=nv + 2, blocks=nb + 7, entries=nnz + 4, mass_entries=nnz_mass + 5)
    assert padded.velocity.tolist() == [*flat.velocity, 0.0, 0.0]
    assert padded.force.tolist() == [*flat.force, 0.0, 0.0]
    assert padded.mass_ptr.tolist() == [*flat.mass_ptr, nnz_mass + 1, nnz_mass + 2]
    assert padded.mass_idx.tolist() == [*flat.mass_idx, nv, nv + 1, 0, 0, 0]
    assert padded.mass_val.tolist() == [*flat.mass_val, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert padded.jac_ptr.tolist() == [*flat.jac_ptr, nnz, nnz, nnz]
    assert padded.jac_idx.tolist() == [*flat.jac_idx, 0, 0, 0, 0]
    assert padded.jac_val.tolist() == [*flat.jac_val, 0.0, 0.0, 0.0, 0.0]
    assert padded.block_ptr.tolist() == [*flat.block_ptr, m + 1, m + 2, m + 3, *[m + 3] * 4]
    for name, fill in f.ROW_FIELDS.items():
        assert getattr(padded, name).tolist() == [*getattr(flat, name), fill, fill, fill], name
        assert getattr(padded, name).dtype == getattr(flat, name).dtype


@pytest.mark.parametrize("argument", ["rows", "velocities", "blocks", "entries", "mass_entries"])
def test_padding_to_the_size_it_has_changes_nothing_and_to_less_is_refused(argument):
    problem = mixed()
    flat = problem.flat()
    size = {
        "rows": len(flat.kind),
        "velocities": problem.nv,
        "blocks": len(flat.block_ptr) - 1,
        "entries": len(flat.jac_idx),
        "mass_entries": len(flat.mass_idx),
    }[argument]
    assert same(problem.flat(**{argument: size}), flat)
    with pytest.raises(InputError, match=f"flat: {argument} must be at least {size} .*, got {size - 1}"):
        problem.flat(**{argument: size - 1})


def test_blocks_and_mass_entries_must_hold_the_padding_of_rows_and_velocities():
    problem = one()
    with pytest.raises(InputError, match="blocks must be at least 2"):
        problem.flat(rows=2, blocks=1)
    with pytest.raises(InputError, match="mass_entries must be at least 3"):
        problem.flat(velocities=3, mass_entries=2)


def test_a_padded_record_can_be_padded_again():
    problem = mixed()
    twice = f.pad(f.pad(problem.flat(), rows=40, velocities=9), rows=50, velocities=12, entries=500)
    assert same(twice, problem.flat(rows=50, velocities=12, entries=500))
    with pytest.raises(InputError, match="pad both at once"):
        f.pad(f.pad(problem.flat(), mass_entries=99), velocities=9)
