"""A step as a file: the flat record, and a header that says how its rows make up constraints.

Reading believes nothing: a checksum proves that the bytes were meant, not that they make a problem.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse

from pliant.constraints import Bilateral, Clipped, Constraint, Contact, Unilateral
from pliant.errors import FileError, InputError
from pliant.flat import INTEGER_FIELDS, Flat
from pliant.inputs import Matrix
from pliant.laws import Law
from pliant.record import RUN, Record, read, read_one, write

CONTENT = "step problem"
DENSE = 1 << 22  # entries, and SPARSE of them for each that is stored: dense matrices beyond stay sparse
SPARSE = 100
SCALAR_KINDS: dict[str, Any] = {"Bilateral": Bilateral, "Unilateral": Unilateral}
Path = str | os.PathLike[str]
Parts = tuple[Matrix, Any, Any, float, tuple[Constraint, ...]]  # the arguments of StepProblem


def save_step(path: Path, mass: Matrix, constraints: Sequence[Constraint], flat: Flat) -> None:
    """Write one step to a new file."""
    header = {
        "content": CONTENT,
        "mass": _form(mass),
        "constraints": [_layout(constraint) for constraint in constraints],
    }
    write(path, [Record(header, {name: np.asarray(array) for name, array in flat._asdict().items()})])


def load_step(path: Path) -> tuple[Parts, Flat]:
    """The arguments that built the problem, and the flat record it must lower to."""
    content = next((record.header.get("content") for record in read(path)), None)
    if content == RUN:
        raise FileError(f"{os.fspath(path)}: expected a {CONTENT}, found a run; pliant.Trajectory.load reads it")
    record = read_one(path)
    if content != CONTENT:
        raise FileError(f"{os.fspath(path)}: expected a {CONTENT}, found {content!r}")
    try:
        flat = _flat(record)
        nv = len(flat.velocity)
        mass = _matrix(flat.mass_ptr, flat.mass_idx, flat.mass_val, nv)
        form, layouts = record.header["mass"], record.header["constraints"]
        dense = _may_be_dense(flat)
        if form == "diagonal":
            mass = mass.diagonal()
        elif form != "sparse" and dense:
            mass = mass.toarray()
        constraints = _constraints(layouts, flat, dense)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise FileError(f"{os.fspath(path)}: the record does not make a step problem: {error}") from error
    return (mass, flat.velocity, flat.force, flat.step, constraints), flat


def _may_be_dense(flat: Flat) -> bool:
    """Whether dense matrices are in proportion to the file: a small one must not claim the memory of the machine."""
    size = (len(flat.velocity) + len(flat.kind)) * len(flat.velocity)
    return size <= max(DENSE, SPARSE * (len(flat.mass_val) + len(flat.jac_val)))


def _form(matrix: Matrix) -> str:
    if sparse.issparse(matrix):
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


def _flat(record: Record) -> Flat:
    """The arrays by name, each of the type it must have."""
    arrays = dict(record.arrays)
    step = float(arrays.pop("step"))
    for name, array in arrays.items():
        expected = np.int64 if name in INTEGER_FIELDS else np.float64
        if array.dtype != expected or array.ndim != 1:
            raise InputError(f"{name} must be a vector of {expected.__name__}, got {array.dtype} {array.shape}")
    return Flat(step=step, **arrays)


def _matrix(ptr: Any, idx: Any, val: Any, columns: int) -> Any:
    # SciPy's own check leaves the pointers out if the last one is 0; out of range, memory is written out of bounds
    rises = len(ptr) > 0 and ptr[0] == 0 and np.all(ptr[:-1] <= ptr[1:]) and ptr[-1] == len(idx) == len(val)
    if not (rises and np.all((idx >= 0) & (idx < columns))):
        raise InputError("a matrix has entries outside of it")
    return sparse.csr_array((val, idx, ptr), shape=(len(ptr) - 1, columns))


def _constraints(layouts: Any, flat: Flat, dense: bool) -> tuple[Constraint, ...]:
    jacobian = _matrix(flat.jac_ptr, flat.jac_idx, flat.jac_val, len(flat.velocity))
    built, start = [], 0
    for layout in layouts:
        count, dimension = layout["count"], layout["dimension"]
        end = start + count * dimension
        if count < 0 or dimension < 1 or end > len(flat.kind):
            raise InputError(f"{layout['name']!r} claims rows {start}:{end} of {len(flat.kind)}")
        built.append(_constraint(layout, jacobian[start:end], flat, slice(start, end), dense))
        start = end
    return tuple(built)


def _constraint(layout: dict[str, Any], jacobian: Any, flat: Flat, rows: slice, dense: bool) -> Constraint:
    contact = layout["kind"] == "Contact"
    shape = (layout["count"], layout["dimension"]) if contact else (layout["count"],)
    column = {name: getattr(flat, name)[rows].reshape(shape) for name in ("value", "offset", "curvature", "ids")}
    options: dict[str, Any] = {
        "rate_offset": column["offset"],
        "name": layout["name"],
        "curvature": column["curvature"] if layout["curvature"] else None,
        "ids": column["ids"][:, 0] if contact else column["ids"],
    }
    if layout["jacobian"] == "dense" and dense:
        jacobian = jacobian.toarray().reshape(*shape, len(flat.velocity))
    if contact:
        return _contact(layout, jacobian, flat, rows, options)
    if layout["kind"] == "Clipped":
        law = _law(flat, rows, shape, np.s_[:])
        return Clipped(jacobian, column["value"], law, flat.lower[rows], flat.upper[rows], **options)
    kind = SCALAR_KINDS[layout["kind"]]
    built: Constraint = kind(jacobian, column["value"], _law(flat, rows, shape, np.s_[:]), **options)
    return built


def _contact(layout: dict[str, Any], jacobian: Any, flat: Flat, rows: slice, options: Any) -> Contact:
    shape = (layout["count"], layout["dimension"])
    value = flat.value[rows].reshape(shape)
    return Contact(
        jacobian,
        value[:, 0],
        _law(flat, rows, shape, np.s_[:, 0]),
        flat.friction[rows].reshape(shape)[:, 1:],
        tangent_law=_law(flat, rows, shape, np.s_[:, 1:]) if layout["tangent_law"] else None,
        stretch=value[:, 1:],
        **options,
    )


def _law(flat: Flat, rows: slice, shape: tuple[int, ...], part: Any) -> Law:
    """The law of the normals, of the tangents, or of scalar rows: `part` of the rows seen in `shape`."""
    K, B, p, alpha = (
        column[rows].reshape(shape)[part] for column in (flat.stiffness, flat.damping, flat.exponent, flat.dissipation)
    )
    return Law(K, B, exponent=p, dissipation=alpha)
