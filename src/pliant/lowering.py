"""From constraints to the flat record, without a loop over rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse

from pliant.constraints import Bilateral, Clipped, Constraint, Contact, ScalarConstraint, Unilateral
from pliant.flat import BILATERAL, CLIPPED, INTEGER_FIELDS, NORMAL, ROW_FIELDS, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array, Ints, Matrix

Csr = tuple[Ints, Ints, Array]  # ptr, idx, val
Columns = dict[str, np.ndarray]

KIND = {Bilateral: BILATERAL, Unilateral: UNILATERAL, Clipped: CLIPPED}


def lower(mass: Matrix, velocity: Array, force: Array, step: float, constraints: Sequence[Constraint]) -> Flat:
    """The flat record of a validated problem."""
    m = sum(constraint.rows for constraint in constraints)
    columns: Columns = {
        name: np.full(m, fill, dtype=np.int64 if name in INTEGER_FIELDS else np.float64)
        for name, fill in ROW_FIELDS.items()
    }
    start = 0
    for index, constraint in enumerate(constraints):
        rows = {name: column[start : start + constraint.rows] for name, column in columns.items()}
        rows["constraint"][:] = index
        if isinstance(constraint, Contact):
            _lower_contact(constraint, rows)
        elif isinstance(constraint, ScalarConstraint):
            _lower_scalar(constraint, rows)
        start += constraint.rows
    mass_ptr, mass_idx, mass_val = csr_of(mass)
    jac_ptr, jac_idx, jac_val = _stack([csr_of(constraint.jacobian) for constraint in constraints])
    return Flat(
        step, mass_ptr, mass_idx, mass_val, velocity.copy(), force.copy(), jac_ptr, jac_idx, jac_val,
        _block_ptr(constraints), **columns,
    )  # fmt: skip


def csr_of(matrix: Matrix) -> Csr:
    """CSR of a diagonal (nv,), a dense (..., nv) array with its rows stacked, or a canonical csr_array."""
    if sparse.issparse(matrix):
        return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.copy()
    if matrix.ndim == 1:
        n = len(matrix)
        return np.arange(n + 1, dtype=np.int64), np.arange(n, dtype=np.int64), matrix.copy()
    flat, nv = matrix.reshape(-1), matrix.shape[-1]
    starts = np.arange(flat.size // max(nv, 1) + 1, dtype=np.int64) * nv
    nonzero = flat != 0.0
    if nonzero.all():
        return starts, np.tile(np.arange(nv, dtype=np.int64), len(starts) - 1), flat.copy()
    # Positions of the nonzeros in the raveled array, already sorted by row, then by column.
    at = np.flatnonzero(nonzero)
    return np.searchsorted(at, starts), at % nv, flat[at]


def _stack(parts: list[Csr]) -> Csr:
    """One CSR matrix of the rows of all."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(part[0][-1] for part in parts)])
    ptr = [np.zeros(1, np.int64)] + [part[0][1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    idx = [np.zeros(0, np.int64)] + [part[1] for part in parts]
    val = [np.zeros(0)] + [part[2] for part in parts]
    return np.concatenate(ptr), np.concatenate(idx), np.concatenate(val)


def _block_ptr(constraints: Sequence[Constraint]) -> Ints:
    sizes = np.repeat([c.dimension for c in constraints], [c.count for c in constraints])
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _lower_scalar(constraint: ScalarConstraint, rows: Columns) -> None:
    rows["kind"][:] = KIND[type(constraint)]
    rows["value"][:] = constraint.value
    rows["offset"][:] = constraint.rate_offset
    rows["stiffness"][:] = constraint.law.stiffness
    rows["damping"][:] = constraint.law.damping
    rows["exponent"][:] = constraint.law.exponent
    rows["dissipation"][:] = constraint.law.dissipation
    rows["lower"][:] = constraint.lower if isinstance(constraint, Clipped) else _floor(constraint)
    rows["upper"][:] = constraint.upper if isinstance(constraint, Clipped) else np.inf
    rows["curvature"][:] = 0.0 if constraint.curvature is None else constraint.curvature
    rows["ids"][:] = constraint.ids


def _floor(constraint: ScalarConstraint) -> float:
    return 0.0 if isinstance(constraint, Unilateral) else -np.inf


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
