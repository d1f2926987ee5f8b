"""From constraints to the flat record, without a loop over rows.

A system asks for one in every step, and most of it stays the same: what follows from a law and a number of rows alone
is kept and shared by the records of many steps, whose arrays nobody writes to.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy.sparse as sparse

from pliant._compile import kernel
from pliant.constraints import Bilateral, Clipped, Constraint, Contact, ScalarConstraint, Unilateral
from pliant.flat import BILATERAL, CLIPPED, INTEGER_FIELDS, NORMAL, ROW_FIELDS, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array, Ints, Matrix
from pliant.laws import Law

Csr = tuple[Ints, Ints, Array]  # ptr, idx, val
Columns = dict[str, np.ndarray]

KIND = {Bilateral: BILATERAL, Unilateral: UNILATERAL, Clipped: CLIPPED}


def lower(mass: Matrix, velocity: Array, force: Array, step: float, constraints: Sequence[Constraint]) -> Flat:
    """The flat record of a validated problem."""
    mass_ptr, mass_idx, mass_val = csr_of(mass)
    jac_ptr, jac_idx, jac_val = _stack([csr_of(constraint.jacobian) for constraint in constraints])
    return Flat(
        step, mass_ptr, mass_idx, mass_val, velocity.copy(), force.copy(), jac_ptr, jac_idx, jac_val,
        _block_ptr(constraints), **_join([_columns(index, c) for index, c in enumerate(constraints)]),
    )  # fmt: skip


def csr_of(matrix: Matrix) -> Csr:
    """CSR of a diagonal (nv,), a dense (..., nv) array with its rows stacked, or a canonical csr_array."""
    if sparse.issparse(matrix):
        return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.copy()
    if matrix.ndim == 1:
        return _counting(len(matrix) + 1), _counting(len(matrix)), matrix.copy()
    return _compressed(matrix if matrix.ndim == 2 else matrix.reshape(-1, matrix.shape[-1]))


@kernel
def _compressed(matrix: Array) -> Csr:
    rows, nv = matrix.shape
    ptr, count = np.empty(rows + 1, np.int64), 0
    ptr[0] = 0
    for i in range(rows):
        for j in range(nv):
            count += matrix[i, j] != 0.0
        ptr[i + 1] = count
    idx, val = np.empty(count, np.int64), np.empty(count)
    for i in range(rows):
        at = ptr[i]
        for j in range(nv):
            if matrix[i, j] != 0.0:
                idx[at], val[at] = j, matrix[i, j]
                at += 1
    return ptr, idx, val


@lru_cache(maxsize=16)
def _counting(n: int) -> Ints:
    """0..n-1, shared."""
    return np.arange(n, dtype=np.int64)


def _stack(parts: list[Csr]) -> Csr:
    """One CSR matrix of the rows of all."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(part[0][-1] for part in parts)])
    ptr = [np.zeros(1, np.int64)] + [part[0][1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    idx = [np.zeros(0, np.int64)] + [part[1] for part in parts]
    val = [np.zeros(0)] + [part[2] for part in parts]
    return np.concatenate(ptr), np.concatenate(idx), np.concatenate(val)


def _join(parts: list[Columns]) -> Columns:
    """The columns of all rows."""
    if len(parts) == 1:
        return parts[0]
    none = _filled(0)
    return {name: np.concatenate([none[name], *(part[name] for part in parts)]) for name in ROW_FIELDS}


def _filled(rows: int) -> Columns:
    """Columns of INERT rows."""
    return {
        name: np.full(rows, fill, dtype=np.int64 if name in INTEGER_FIELDS else np.float64)
        for name, fill in ROW_FIELDS.items()
    }


def _block_ptr(constraints: Sequence[Constraint]) -> Ints:
    if not any(isinstance(c, Contact) for c in constraints):
        return _counting(sum(c.count for c in constraints) + 1)
    sizes = np.repeat([c.dimension for c in constraints], [c.count for c in constraints])
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _columns(index: int, constraint: Constraint) -> Columns:
    """The columns of one constraint, the index-th of its step."""
    if isinstance(constraint, ScalarConstraint):
        return _lower_scalar(index, constraint)
    rows = _filled(constraint.rows)
    rows["constraint"][:] = index
    if isinstance(constraint, Contact):
        _lower_contact(constraint, rows)
    return rows


def _lower_scalar(index: int, constraint: ScalarConstraint) -> Columns:
    rows = _of_law(constraint.law, KIND[type(constraint)], constraint.count, index).copy()
    rows["value"] = constraint.value.copy()
    rows["offset"] = constraint.rate_offset.copy()
    rows["ids"] = constraint.ids.copy()
    if isinstance(constraint, Clipped):
        rows["lower"], rows["upper"] = constraint.lower.copy(), constraint.upper.copy()
    if constraint.curvature is not None:
        rows["curvature"] = constraint.curvature.copy()
    return rows


@lru_cache(maxsize=16)
def _of_law(law: Law, kind: int, n: int, index: int) -> Columns:
    """What follows from these alone; of the rest what INERT rows hold."""
    rows = _filled(n)
    rows["kind"][:], rows["constraint"][:] = kind, index
    rows["stiffness"][:] = law.stiffness
    rows["damping"][:] = law.damping
    rows["exponent"][:] = law.exponent
    rows["dissipation"][:] = law.dissipation
    rows["lower"][:] = 0.0 if kind == UNILATERAL else -np.inf
    rows["upper"][:] = np.inf
    return rows


def _lower_contact(contact: Contact, rows: Columns) -> None:
    # Views of shape (n, d): column 0 the normals, the others the tangents.
    grid = {name: column.reshape(contact.count, contact.dimension) for name, column in rows.items()}
    law, tangent = contact.law, contact.tangent_law
    grid["kind"][:, 0], grid["kind"][:, 1:] = NORMAL, TANGENT
    grid["value"][:, 0], grid["value"][:, 1:] = contact.gap, contact.stretch
    grid["offset"][:] = contact.rate_offset
    grid["stiffness"][:, 0] = law.stiffness
    grid["stiffness"][:, 1:] = np.inf if tangent is None else _per_contact(tangent.stiffness)
    grid["damping"][:, 0] = law.damping
    grid["damping"][:, 1:] = 0.0 if tangent is None else _per_contact(tangent.damping)
    grid["exponent"][:, 0] = law.exponent
    grid["dissipation"][:, 0] = law.dissipation
    grid["lower"][:, 1:] = -np.inf
    grid["upper"][:] = np.inf
    grid["friction"][:, 1:] = contact.friction
    grid["curvature"][:] = 0.0 if contact.curvature is None else contact.curvature
    grid["ids"][:] = contact.ids[:, None]


def _per_contact(values: float | Array) -> float | Array:
    """(n,) holds for all tangents of a contact."""
    return values[:, None] if isinstance(values, np.ndarray) and values.ndim == 1 else values
