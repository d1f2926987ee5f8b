"""From the flat record back to constraints: the inverse of `StepProblem.flat`.

Rows of one constraint follow each other. Where the record does not say which they are, items of one kind and one
dimension that follow each other make up one constraint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from pliant.constraints import Bilateral, Clipped, Constraint, Contact, Unilateral
from pliant.errors import InputError
from pliant.flat import BILATERAL, CLIPPED, INERT, INTEGER_FIELDS, NORMAL, ROW_FIELDS, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array, Ints, Matrix
from pliant.laws import Law

OPTIONAL: Final = ("curvature", "constraint", "ids")
EMPTY: Final = 10_000  # constraints without rows at most that a record may leave room for
DENSE: Final = 1 << 22  # entries, and SPARSE of them for each that is stored: dense matrices beyond stay sparse
SPARSE: Final = 100
NAMES: Final = {BILATERAL: "Bilateral", UNILATERAL: "Unilateral", CLIPPED: "Clipped", NORMAL: "Contact"}
BOUNDS: Final = {  # (lower, upper) that a kind has; those of CLIPPED are given
    BILATERAL: (-np.inf, np.inf),
    UNILATERAL: (0.0, np.inf),
    NORMAL: (0.0, np.inf),
    TANGENT: (-np.inf, np.inf),
}
Arguments = tuple[Matrix, Array, Array, float, tuple[Constraint, ...]]  # of StepProblem


@dataclass(frozen=True, slots=True)
class Layout:
    """What the flat record does not say of the rows of a constraint, or not in one place."""

    kind: str
    count: int
    dimension: int
    name: str = ""
    dense: bool = True
    curvature: bool = False
    tangent_law: bool = False


def arguments_of(record: Any) -> Arguments:
    """The arguments of the StepProblem whose flat record this is."""
    try:
        return _arguments(record)
    except InputError as error:
        raise InputError(f"from_flat: {error}") from error


def _arguments(record: Any) -> Arguments:
    given = _fields_of(record)
    named = "constraint" in given and "ids" in given
    flat = _without_padding(read_fields({name: given[name] for name in Flat._fields if name in given}))
    _check_rows(flat)
    dense, nv = may_be_dense(flat), len(flat.velocity)
    mass = matrix_of("mass", flat.mass_ptr, flat.mass_idx, flat.mass_val, nv, dense)
    constraints = constraints_of(list(_layouts(flat, named)), flat, dense, numbered=named)
    return mass, flat.velocity, flat.force, flat.step, constraints


def _fields_of(record: Any) -> Mapping[str, Any]:
    if isinstance(record, Flat):
        return record._asdict()
    if isinstance(record, Mapping):
        missing = [name for name in Flat._fields if name not in record and name not in OPTIONAL]
        if missing:
            raise InputError(f"{', '.join(missing)} must be there; docs/problems.md says what each holds")
        return record
    raise InputError(f"record must be a pliant.flat.Flat or a mapping with its fields, got {type(record).__name__}")


def read_fields(given: Mapping[str, Any]) -> Flat:
    """The fields as arrays of the types they must have; what may be missing is filled in."""
    fields = {name: _field(name, given[name]) for name in given if name != "step"}
    try:
        step = float(given["step"])
    except (TypeError, ValueError) as error:
        raise InputError(f"step must be one number > 0 [s], got {given['step']!r}") from error
    rows = len(fields["kind"])
    for name in OPTIONAL:
        kind = np.int64 if name in INTEGER_FIELDS else np.float64
        fields.setdefault(name, np.zeros(rows, kind))
    for name in ROW_FIELDS:
        if len(fields[name]) != rows:
            raise InputError(f"{name} must have one entry per row, {rows} like kind, got {len(fields[name])}")
    return Flat(step=step, **fields)


def _field(name: str, data: Any) -> np.ndarray:
    whole = name in INTEGER_FIELDS
    expected = "integers" if whole else "real numbers"
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise InputError(f"{name} must be a vector of {expected}, got {error}") from error
    if array.ndim != 1 or (array.dtype.kind not in ("iu" if whole else "fiu") and array.size):
        raise InputError(
            f"{name} must be a vector of {expected}, got {array.dtype} of shape {array.shape}; "
            f"pass np.asarray({name}, {'np.int64' if whole else 'float'})"
        )
    return array.astype(np.int64 if whole else np.float64)


def _without_padding(flat: Flat) -> Flat:
    """Without INERT rows and empty blocks. Velocities stay: those of padding look like others."""
    check_pointers("block_ptr", flat.block_ptr, len(flat.kind), "rows")
    check_pointers("jac_ptr", flat.jac_ptr, len(flat.jac_idx), "entries of jac_idx")
    if len(flat.jac_ptr) != len(flat.kind) + 1:
        raise InputError(f"jac_ptr must have {len(flat.kind) + 1} entries, one more than rows, got {len(flat.jac_ptr)}")
    if flat.block_ptr[-1] != len(flat.kind):
        raise InputError(f"block_ptr must end at the number of rows, {len(flat.kind)}, got {flat.block_ptr[-1]}")
    there = flat.kind != INERT
    size = np.diff(flat.block_ptr)
    if there.all() and size.all():
        return flat
    if np.any(np.diff(flat.jac_ptr)[~there]):
        raise InputError("jac_ptr must leave INERT rows (kind 5) without entries: they are padding")
    left = np.concatenate([[0], np.cumsum(there)])  # rows that are left before each
    ends = left[flat.block_ptr]
    columns = {name: getattr(flat, name)[there] for name in ROW_FIELDS}
    pointers = np.concatenate([flat.jac_ptr[:-1][there], flat.jac_ptr[-1:]])
    return flat._replace(jac_ptr=pointers, block_ptr=np.unique(ends), **columns)


def check_pointers(name: str, ptr: Ints, entries: int, what: str) -> None:
    """Raise unless they rise from 0 and stay within the entries."""
    if not (len(ptr) and ptr[0] == 0 and np.all(ptr[:-1] <= ptr[1:]) and ptr[-1] <= entries):
        raise InputError(
            f"{name} must rise from 0 and end within the {entries} {what}; it is where each row or block "
            "begins, and where the last one ends"
        )


def _check_rows(flat: Flat) -> None:
    """Raise unless every row has a kind, its place in a block, and the bounds of its kind."""
    unknown = (flat.kind < BILATERAL) | (flat.kind > TANGENT)
    if unknown.any():
        i = int(np.argmax(unknown))
        raise InputError(
            "kind must be 0 (bilateral), 1 (unilateral), 2 (clipped), 3 (normal), 4 (tangent) or 5 (padding), "
            f"got {flat.kind[i]} in row {i}"
        )
    head = np.zeros(len(flat.kind), bool)
    head[flat.block_ptr[:-1]] = True
    size = np.diff(flat.block_ptr)
    misplaced = head == (flat.kind == TANGENT)
    lone = (flat.kind[flat.block_ptr[:-1]] != NORMAL) & (size > 1)
    if misplaced.any() or lone.any():
        block = (
            int(np.argmax(lone))
            if lone.any()
            else int(np.searchsorted(flat.block_ptr, np.argmax(misplaced), "right")) - 1
        )
        raise InputError(
            f"block_ptr: block {block} must be one row, or a row of kind NORMAL (3) with its rows of kind "
            "TANGENT (4) behind it"
        )
    for kind, bounds in BOUNDS.items():
        mine = flat.kind == kind
        for name, bound in zip(("lower", "upper"), bounds, strict=True):
            bad = mine & (getattr(flat, name) != bound)
            if bad.any():
                i = int(np.argmax(bad))
                raise InputError(
                    f"{name} must be {bound} on rows of kind {kind}, got {getattr(flat, name)[i]} in row "
                    f"{i}; rows with bounds of their own are of kind CLIPPED (2)"
                )
    tangent = flat.kind == TANGENT
    for name, should in (("exponent", 1.0), ("dissipation", 0.0)):
        bad = tangent & (getattr(flat, name) != should)
        if bad.any():
            raise InputError(f"{name} must be {should} on tangents, got another in row {np.argmax(bad)}")
    stiff = np.isinf(flat.stiffness)
    bad = stiff & ~(tangent & (flat.damping == 0.0))
    if bad.any():
        raise InputError(
            f"stiffness must be finite but on tangents without damping, where it says that there is no "
            f"tangential compliance; got inf in row {np.argmax(bad)}"
        )


def _layouts(flat: Flat, named: bool) -> Iterator[Layout]:
    """Of each run of items that make up one constraint."""
    head, size = flat.block_ptr[:-1], np.diff(flat.block_ptr)
    if not len(head):
        return
    kind = np.where(size == 1, np.where(flat.kind[head] == NORMAL, UNILATERAL, flat.kind[head]), flat.kind[head])
    stiff = np.isinf(flat.stiffness)
    held = np.where(size > 1, ~stiff[np.minimum(head + 1, len(stiff) - 1)], False)  # by a tangent law
    columns = [kind, size, held, *([flat.constraint[head]] if named else [])]
    starts = np.flatnonzero(np.any([np.diff(column) != 0 for column in columns], axis=0)) + 1
    bounds = [0, *starts.tolist(), len(head)]
    last = -1
    for first, end in pairwise(bounds):
        if named:
            index = int(flat.constraint[head[first]])
            if not last < index <= last + EMPTY:
                raise InputError(
                    "constraint must rise from 0, one number for the rows of one kind that make up a constraint, "
                    f"got {index} after {last} in row {head[first]}; leave the field out to group rows by kind"
                )
            yield from (Layout("Bilateral", 0, 1) for _ in range(last + 1, index))  # those without rows
            last = index
        rows = slice(head[first], flat.block_ptr[end])
        curved = flat.curvature[rows].view(np.int64).any()
        yield Layout(
            NAMES[int(kind[first])],
            end - first,
            int(size[first]),
            curvature=bool(curved),
            tangent_law=bool(held[first]),
        )


def may_be_dense(flat: Flat) -> bool:
    """Whether dense matrices are in proportion to the record: a small one must not claim the memory of the machine."""
    size = (len(flat.velocity) + len(flat.kind)) * len(flat.velocity)
    return size <= max(DENSE, SPARSE * (len(flat.mass_val) + len(flat.jac_val)))


def matrix_of(name: str, ptr: Ints, idx: Ints, val: Array, columns: int, dense: bool) -> Matrix:
    """Rows in compressed form as a vector if only their diagonal is there, dense, or sparse."""
    check_pointers(f"{name}_ptr", ptr, len(idx), f"entries of {name}_idx")
    if len(val) != len(idx):
        raise InputError(f"{name}_val must have {len(idx)} entries like {name}_idx, got {len(val)}")
    rows, entries = len(ptr) - 1, int(ptr[-1])
    if name == "mass" and rows != columns:
        raise InputError(f"mass_ptr must have {columns + 1} entries, one more than velocity, got {len(ptr)}")
    idx, val = idx[:entries], val[:entries]
    row = np.repeat(np.arange(rows), np.diff(ptr))
    outside = (idx < 0) | (idx >= columns)
    unsorted = np.zeros(entries, bool)
    unsorted[1:] = (row[1:] == row[:-1]) & (idx[1:] <= idx[:-1])
    if outside.any() or unsorted.any():
        i = int(np.argmax(outside | unsorted))
        raise InputError(
            f"{name}_idx must rise within each row and lie in 0..{columns - 1}, got {idx[i]} in row {row[i]}"
        )
    if name == "mass" and entries == columns and np.array_equal(idx, row):
        return val
    if dense:
        matrix = np.zeros((rows, columns))
        matrix[row, idx] = val
        return matrix
    from scipy.sparse import csr_array

    return csr_array((val, idx, ptr), shape=(rows, columns))


def constraints_of(layouts: list[Layout], flat: Flat, dense: bool, *, numbered: bool = True) -> tuple[Constraint, ...]:
    """The constraints that these layouts make of the rows; numbered: whether the record has their ids."""
    jacobian = matrix_of("jac", flat.jac_ptr, flat.jac_idx, flat.jac_val, len(flat.velocity), dense)
    built, start = [], 0
    for layout in layouts:
        end = start + layout.count * layout.dimension
        if layout.count < 0 or layout.dimension < 1 or end > len(flat.kind):
            raise InputError(f"{layout.name!r} claims rows {start}:{end} of {len(flat.kind)}")
        built.append(_constraint(layout, jacobian[start:end], flat, slice(start, end), numbered))
        start = end
    return tuple(built)


def _constraint(layout: Layout, jacobian: Matrix, flat: Flat, rows: slice, numbered: bool) -> Constraint:
    contact = layout.kind == "Contact"
    shape = (layout.count, layout.dimension) if contact else (layout.count,)
    column = {name: getattr(flat, name)[rows].reshape(shape) for name in ("value", "offset", "curvature", "ids")}
    ids = column["ids"][:, 0] if contact else column["ids"]
    if contact and np.any(column["ids"] != ids[:, None]):
        raise InputError("ids must be the same for all rows of a contact")
    options: dict[str, Any] = {
        "rate_offset": column["offset"],
        "name": layout.name,
        "curvature": column["curvature"] if layout.curvature else None,
        "ids": ids if numbered else None,
    }
    if isinstance(jacobian, np.ndarray):
        jacobian = _given(jacobian, layout.dense, shape)
    if contact:
        return _contact(layout, jacobian, flat, rows, options)
    law = _law(flat, rows, shape, np.s_[:])
    if layout.kind == "Clipped":
        return Clipped(jacobian, column["value"], law, flat.lower[rows], flat.upper[rows], **options)
    kind: Any = {"Bilateral": Bilateral, "Unilateral": Unilateral}[layout.kind]
    built: Constraint = kind(jacobian, column["value"], law, **options)
    return built


def _given(jacobian: Array, dense: bool, shape: tuple[int, ...]) -> Matrix:
    """Rows as they were given."""
    if dense:
        return jacobian.reshape(*shape, jacobian.shape[1])
    from scipy.sparse import csr_array

    return csr_array(jacobian)


def _contact(layout: Layout, jacobian: Matrix, flat: Flat, rows: slice, options: Any) -> Contact:
    shape = (layout.count, layout.dimension)
    value = flat.value[rows].reshape(shape)
    return Contact(
        jacobian,
        value[:, 0],
        _law(flat, rows, shape, np.s_[:, 0]),
        flat.friction[rows].reshape(shape)[:, 1:],
        tangent_law=_law(flat, rows, shape, np.s_[:, 1:]) if layout.tangent_law else None,
        stretch=value[:, 1:],
        **options,
    )


def _law(flat: Flat, rows: slice, shape: tuple[int, ...], part: Any) -> Law:
    """The law of the normals, of the tangents, or of scalar rows: `part` of the rows seen in `shape`."""
    K, B, p, alpha = (
        column[rows].reshape(shape)[part] for column in (flat.stiffness, flat.damping, flat.exponent, flat.dissipation)
    )
    return Law(K, B, exponent=p, dissipation=alpha)
