"""Momentum and the pieces of the laws in one sparse matrix, factored with pivoting.

    [ M     -G'                    ] (dv1, h dlambda) = (M dv0 + h df, k)
    [ C G   (L + C (R + E) - T) / h]

Slower than the factors of `linear`, but it keeps G to the last bit, so that forces come out right on
redundant rows of 1e15 N/m, and serves for the transpose as it is.

E, the least compliance, is for rigid rows only: they may be redundant, or all but redundant, as the feet of a
box on the floor are, and would then carry opposing forces of any size to enforce what the normals enforce
already. Where they are not, E is taken back: each round of x := inv(A) (b + E x) removes eight digits of it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solvers.compensated import add_matvec2, add_matvec2_transposed
from pliant.solvers.pieces import Pieces

LEAST: Final = 1e-8  # compliance of rigid rows, relative to h a
LEAST_ROUNDS: Final = 3  # a fixed number, so that the transpose is that of the same map
ROUNDS: Final = 8  # of refinement at most; two are the rule
SETTLED: Final = 1e-15  # a correction that ends it, relative to the largest entry


class Saddle:
    """The factored matrix of nv velocities and m rows; all vectors are columns, (nv, k) and (m, k)."""

    def __init__(self, flat: Flat, pieces: Pieces, mobility: Array) -> None:
        nv, m = len(flat.velocity), len(flat.kind)
        self._step = flat.step
        self._mass = sparse.csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(nv, nv))
        G = sparse.csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=(m, nv))
        a = mobility[pieces.rigid]
        least = np.zeros(m)
        least[pieces.rigid] = LEAST * np.where(a > 0.0, flat.step * a, 1.0)
        self._least = np.concatenate([np.zeros(nv), least / flat.step])[:, None]  # as it stands in the matrix
        B = pieces.hold + pieces.drag @ _diagonal(pieces.compliance + least) - pieces.share
        self._turn = pieces.drag @ G
        self._matrix = sparse.block_array([[self._mass, -G.T], [self._turn, B / flat.step]], format="csr")
        self._row_scale, self._col_scale = _equilibrate(self._matrix)
        scaled = _diagonal(self._row_scale[:, 0]) @ self._matrix @ _diagonal(self._col_scale[:, 0])
        self._factors = splu(scaled.tocsc())

    def solve(self, velocity: Array, force: Array, k: Array) -> tuple[Array, Array]:
        """(dv1, dlambda) from dv0, df and k."""
        nv = len(velocity)
        hi, lo = np.zeros((2, nv + len(k), k.shape[1]))
        hi[nv:] = k
        if velocity.any():
            _add(self._mass, 1.0, velocity, hi, lo)
        if force.any():
            _add(_diagonal(np.ones(nv)), self._step, force, hi, lo)
        x = self._rigid(hi, lo, "N")
        return x[:nv], x[nv:] / self._step

    def solve_transposed(self, velocity: Array, forces: Array) -> tuple[Array, Array, Array]:
        """Cotangents of v0, f and k from those of v1 and lambda."""
        hi = np.concatenate([velocity, forces / self._step])
        x = self._rigid(hi, np.zeros_like(hi), "T")
        y, z = x[: len(velocity)], x[len(velocity) :]
        # M y = u - (C G)' z, whichever is summed from smaller terms
        direct, size = self._mass @ y, abs(self._mass) @ np.abs(y)
        other, bound = velocity - self._turn.T @ z, np.abs(velocity) + abs(self._turn).T @ np.abs(z)
        return np.where(size <= bound, direct, other), self._step * y, z

    def _rigid(self, hi: Array, lo: Array, trans: str) -> Array:
        """x with A x = hi + lo, or A' x, as if there were no least compliance, but for rows that need it."""
        x = first = self._refined(hi, lo, trans)
        for _ in range(LEAST_ROUNDS if self._least.any() else 0):
            x = first + self._refined(self._least * x, np.zeros_like(x), trans)
        return x

    def _refined(self, hi: Array, lo: Array, trans: str) -> Array:
        """x with A x = hi + lo, or A' x, residuals in twofold precision: as exact as the matrix itself."""
        before, after = self._row_scale, self._col_scale
        if trans == "T":
            before, after = after, before
        scaled = self._factors.solve(before * (hi + lo), trans)
        x = after * scaled
        for _ in range(ROUNDS):
            a, b = hi.copy(), lo.copy()
            _add(self._matrix, -1.0, x, a, b, transposed=trans == "T")
            more = self._factors.solve(before * (a + b), trans)
            x += after * more
            if np.all(np.abs(more).max(axis=0) <= SETTLED * np.abs(scaled).max(axis=0)):
                break
        return np.asarray(x)


def _diagonal(x: Array) -> Any:
    return sparse.diags_array(x, format="csr")


def _add(A: Any, factor: float, x: Array, hi: Array, lo: Array, *, transposed: bool = False) -> None:
    """(hi, lo) += factor A x, or A' x, in twofold precision, column by column."""
    ptr, idx = A.indptr.astype(np.int64), A.indices.astype(np.int64)
    add = add_matvec2_transposed if transposed else add_matvec2
    for j in range(x.shape[1]):
        a, b = hi[:, j].copy(), lo[:, j].copy()
        add(ptr, idx, A.data, factor, x[:, j].copy(), a, b)
        hi[:, j], lo[:, j] = a, b


def _equilibrate(A: Any) -> tuple[Array, Array]:
    """Powers of two (n, 1) that bring columns, then rows, to a largest entry in [1/2, 1)."""
    size = abs(A)
    col = _power_of_two(size.max(axis=0).toarray().ravel())
    row = _power_of_two((size @ _diagonal(col)).max(axis=1).toarray().ravel())
    return row[:, None], col[:, None]


def _power_of_two(x: Array) -> Array:
    """The power of two that brings x into [1/2, 1); 1 for 0."""
    exponent = np.frexp(np.where(x > 0.0, x, 0.5))[1]
    return np.asarray(np.ldexp(1.0, np.clip(-exponent, -1000, 1000)))
