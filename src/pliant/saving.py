"""A step as a file: the flat record, and a header that says how its rows make up constraints.

Reading believes nothing: a checksum proves that the bytes were meant, not that they make a problem.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.constraints import Constraint, Contact
from pliant.errors import FileError, InputError
from pliant.flat import INTEGER_FIELDS, Flat
from pliant.from_flat import Arguments, Layout, constraints_of, matrix_of, may_be_dense
from pliant.inputs import Matrix, is_sparse
from pliant.record import RUN, Record, read, read_one, write

if TYPE_CHECKING:
    from pliant.problem import StepProblem

CONTENT = "step problem"
GIVEN = "given_"  # how arrays begin that are not those of the flat record: mass, force and stiffness as they were given
Path = str | os.PathLike[str]


def save_step(path: Path, problem: StepProblem) -> None:
    """Write one step to a new file."""
    header = {
        "content": CONTENT,
        "mass": _form(problem.mass),
        "constraints": [_layout(constraint) for constraint in problem.constraints],
    }
    arrays = {name: np.asarray(array) for name, array in problem.flat()._asdict().items()}
    if problem.stiffness is not None:
        header["stiffness"] = _form(problem.stiffness)
        arrays[f"{GIVEN}force"] = problem.force
        arrays |= _compressed("mass", problem.mass) | _compressed("stiffness", problem.stiffness)
    write(path, [Record(header, arrays)])


def _compressed(name: str, matrix: Matrix) -> dict[str, Any]:
    """By its rows, as the arrays of a file."""
    from scipy.sparse import csr_array, diags_array

    csr = csr_array(diags_array(matrix) if matrix.ndim == 1 else matrix)
    parts = {"ptr": csr.indptr.astype(np.int64), "idx": csr.indices.astype(np.int64), "val": csr.data}
    return {f"{GIVEN}{name}_{part}": array for part, array in parts.items()}


def load_step(path: Path) -> tuple[Arguments, Matrix | None, Flat]:
    """The arguments that built the problem, its stiffness, and the flat record it must lower to."""
    content = next((record.header.get("content") for record in read(path)), None)
    if content == RUN:
        raise FileError(f"{os.fspath(path)}: expected a {CONTENT}, found a run; pliant.Trajectory.load reads it")
    record = read_one(path)
    if content != CONTENT:
        raise FileError(f"{os.fspath(path)}: expected a {CONTENT}, found {content!r}")
    try:
        given = {name: array for name, array in record.arrays.items() if name.startswith(GIVEN)}
        flat = _flat(record)
        dense, form = may_be_dense(flat), record.header.get("stiffness")
        layouts = [_read_layout(layout) for layout in record.header["constraints"]]
        constraints = constraints_of(layouts, flat, dense)
        stiffness, force = None, flat.force
        arrays = flat._asdict()
        if form is not None:
            arrays, force = {name.removeprefix(GIVEN): array for name, array in given.items()}, given[f"{GIVEN}force"]
            stiffness = _matrix("stiffness", form, arrays, len(flat.velocity), dense)
        mass = _matrix("mass", record.header["mass"], arrays, len(flat.velocity), dense)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise FileError(f"{os.fspath(path)}: the record does not make a step problem: {error}") from error
    return (mass, flat.velocity, force, flat.step, constraints), stiffness, flat


def _matrix(name: str, form: str, arrays: dict[str, Any], nv: int, dense: bool) -> Matrix:
    """A square matrix in the form in which it was given, if it may be dense."""
    ptr, idx, val = (arrays[f"{name}_{part}"] for part in ("ptr", "idx", "val"))
    matrix = matrix_of(name, ptr, idx, val, nv, dense and form != "sparse")
    if form == "diagonal":
        return matrix if matrix.ndim == 1 else matrix.diagonal()
    if matrix.ndim == 2:
        return matrix
    if form == "dense" and dense:
        return np.diag(matrix)
    from scipy.sparse import diags_array

    return diags_array(matrix, format="csr")


def _form(matrix: Matrix) -> str:
    if is_sparse(matrix):
        return "sparse"
    return "diagonal" if matrix.ndim == 1 else "dense"


def _layout(constraint: Constraint) -> dict[str, Any]:
    """What the flat record does not say."""
    return {
        "kind": type(constraint).__name__,
        "name": constraint.name,
        "count": constraint.count,
        "dimension": constraint.dimension,
        "jacobian": _form(constraint.jacobian),
        "curvature": constraint.curvature is not None,
        "tangent_law": isinstance(constraint, Contact) and constraint.tangent_law is not None,
    }


def _read_layout(layout: Any) -> Layout:
    return Layout(
        layout["kind"],
        layout["count"],
        layout["dimension"],
        layout["name"],
        layout["jacobian"] == "dense",
        layout["curvature"],
        layout["tangent_law"],
    )


def _flat(record: Record) -> Flat:
    """The arrays by name, each of the type it must have."""
    arrays = {name: array for name, array in record.arrays.items() if not name.startswith(GIVEN)}
    step = float(arrays.pop("step"))
    for name, array in arrays.items():
        expected = np.int64 if name in INTEGER_FIELDS else np.float64
        if array.dtype != expected or array.ndim != 1:
            raise InputError(f"{name} must be a vector of {expected.__name__}, got {array.dtype} {array.shape}")
    return Flat(step=step, **arrays)
