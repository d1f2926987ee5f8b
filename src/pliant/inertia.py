"""The mass matrix of a step: read, symmetrized, and proved positive definite, at the cost of its sparsity."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sparse

from pliant.errors import InputError
from pliant.inputs import Array, Matrix, canonical, floats, frozen

ASYMMETRY = 1e-12  # allowed in M_ij - M_ji, relative to sqrt(M_ii M_jj): rounding of whoever computed it
SMALL = 48  # up to this size a dense factorization costs less than finding an ordering


def read_mass(data: Any) -> Matrix:
    """(nv,) diagonal, (nv, nv) dense, or sparse -> the same form, read-only, exactly symmetric."""
    if sparse.issparse(data) and data.ndim == 2:
        mass = canonical("StepProblem: mass", data)
    else:
        mass = floats("StepProblem: mass", data)
    if mass.ndim not in (1, 2) or mass.shape[0] != mass.shape[-1] or mass.shape[0] == 0:
        raise InputError(
            "StepProblem: mass must have shape (nv, nv), dense or sparse, or (nv,) for a diagonal, nv >= 1, "
            f"got shape {mass.shape}"
        )
    diagonal = mass if mass.ndim == 1 else mass.diagonal()
    if not diagonal.min() > 0.0:
        i = int(np.argmax(diagonal <= 0.0))
        _not_positive(f"its diagonal is {diagonal[i]} at {i}")
    if mass.ndim == 1:
        return mass
    mass = _symmetrized(mass, diagonal)
    _check_positive(mass, diagonal)
    return mass


def read_stiffness(data: Any, nv: int) -> Matrix:
    """(nv,) diagonal, (nv, nv) dense, or sparse -> the same form, read-only; symmetric positive semidefinite."""
    label = "StepProblem: stiffness"
    stiffness = canonical(label, data) if sparse.issparse(data) and data.ndim == 2 else floats(label, data)
    if stiffness.shape not in ((nv,), (nv, nv)):
        raise InputError(
            f"{label} must have shape ({nv}, {nv}), dense or sparse, or ({nv},) for a diagonal, "
            f"got shape {stiffness.shape}"
        )
    if (stiffness if stiffness.ndim == 1 else stiffness.diagonal()).min() < 0.0:
        raise InputError(f"{label} must be positive semidefinite, but its diagonal has a negative entry")
    return stiffness


def times(matrix: Matrix, vector: Array) -> Array:
    """matrix @ vector, of a diagonal too."""
    return matrix * vector if matrix.ndim == 1 else matrix @ vector


def added(a: Matrix, b: Matrix) -> Matrix:
    """The sum, sparse where one of them is; diagonals may be vectors."""
    if a.ndim == b.ndim and sparse.issparse(a) == sparse.issparse(b):
        total = a + b
    elif sparse.issparse(a) or sparse.issparse(b):
        parts = (
            sparse.diags_array(part, format="csr") if part.ndim == 1 else sparse.csr_array(part) for part in (a, b)
        )
        total = sum(parts, start=sparse.csr_array(a.shape if a.ndim == 2 else b.shape))
    else:
        total = (np.diag(a) if a.ndim == 1 else a) + (np.diag(b) if b.ndim == 1 else b)
    return canonical("StepProblem: mass", total) if sparse.issparse(total) else frozen(total)


def _symmetrized(mass: Matrix, diagonal: Array) -> Matrix:
    """(M + M') / 2 where the two differ by rounding, M itself where they do not."""
    if not sparse.issparse(mass):
        skew = np.abs(mass - mass.T)
        if not skew.any():
            return mass
        root = np.sqrt(diagonal)
        ratio = skew / root[:, None] / root
        _check_skew(float(ratio.max()), np.unravel_index(int(ratio.argmax()), ratio.shape), mass)
        return frozen(0.5 * mass + 0.5 * mass.T)
    skew = abs(mass - mass.T).tocoo()
    if skew.nnz == 0 or not skew.data.any():
        return mass
    root = np.sqrt(diagonal)
    ratio = skew.data / root[skew.row] / root[skew.col]
    worst = int(ratio.argmax())
    _check_skew(float(ratio[worst]), (skew.row[worst], skew.col[worst]), mass)
    return canonical("StepProblem: mass", 0.5 * mass + 0.5 * mass.T)


def _check_skew(ratio: float, where: tuple[Any, ...], mass: Matrix) -> None:
    if ratio > ASYMMETRY:
        i, j = int(where[0]), int(where[1])
        raise InputError(
            f"StepProblem: mass must be symmetric, got {mass[i, j]} at ({i}, {j}) and {mass[j, i]} at "
            f"({j}, {i}); pass (mass + mass.T) / 2 if that is rounding"
        )


def _check_positive(mass: Matrix, diagonal: Array) -> None:
    """Cholesky, dense or banded; a pivot lost in the rounding of its diagonal entry counts as zero."""
    n = mass.shape[0]
    if n <= SMALL:
        dense = mass.toarray() if sparse.issparse(mass) else mass
        try:
            pivots = np.diagonal(np.linalg.cholesky(dense)) ** 2
        except np.linalg.LinAlgError:
            _not_positive("its Cholesky factorization fails")
        _check_pivots(pivots, diagonal, n)
    else:
        _check_banded(sparse.csr_array(mass))


def _check_banded(mass: Any) -> None:
    """Banded Cholesky in reverse Cuthill-McKee order: linear in the bodies for blocks and chains."""
    from scipy.linalg import LinAlgError, cholesky_banded
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    order = reverse_cuthill_mckee(mass, symmetric_mode=True)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    entries = mass.tocoo()
    row, col = place[entries.row], place[entries.col]
    below = row >= col
    row, col = row[below], col[below]
    band = np.zeros((int((row - col).max()) + 1, mass.shape[0]))
    band[row - col, col] = entries.data[below]
    try:
        factor = cholesky_banded(band, lower=True, check_finite=False)
    except LinAlgError:
        _not_positive("its Cholesky factorization fails")
    _check_pivots(factor[0] ** 2, band[0], len(band))


def _check_pivots(pivots: Array, diagonal: Array, length: int) -> None:
    ratio = pivots / diagonal
    if not ratio.min() > length * np.finfo(np.float64).eps:
        _not_positive(f"it is singular to working precision (a pivot of {ratio.min():.1e} of the diagonal)")


def _not_positive(why: str) -> NoReturn:
    raise InputError(
        f"StepProblem: mass must be positive definite, but {why}; give every velocity some inertia "
        "(rotor inertia, armature), and remove coordinates that move nothing"
    )
