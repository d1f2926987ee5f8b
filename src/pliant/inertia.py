"""The mass and the stiffness of a step: read, symmetrized, and proved definite, at the cost of their sparsity."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from pliant._engine import is_sound_mass
from pliant.errors import InputError
from pliant.inputs import Array, Matrix, canonical, compressed, floats, frozen, is_sparse

ASYMMETRY = 1e-12  # allowed in M_ij - M_ji, relative to sqrt(M_ii M_jj): rounding of whoever computed it
SLACK = 1e-12  # of the diagonal, by which a semidefinite stiffness may fall short: the same rounding
SMALL = 48  # up to this size a dense factorization costs less than finding an ordering


def read_mass(data: Any) -> Matrix:
    """(nv,) diagonal, (nv, nv) dense, or sparse -> the same form, read-only, exactly symmetric."""
    if is_sparse(data) and data.ndim == 2:
        mass = canonical("StepProblem: mass", data)
    else:
        mass = floats("StepProblem: mass", data)
        if is_sound_mass(mass):
            return mass
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
    mass = _symmetrized("mass", mass, np.sqrt(diagonal))
    _check_positive(mass)
    return mass


def read_stiffness(data: Any, nv: int) -> Matrix:
    """(nv,) diagonal, (nv, nv) dense, or sparse -> the same form, read-only, symmetric positive semidefinite."""
    label = "StepProblem: stiffness"
    stiffness = canonical(label, data) if is_sparse(data) and data.ndim == 2 else floats(label, data)
    if stiffness.shape not in ((nv,), (nv, nv)):
        raise InputError(
            f"{label} must have shape ({nv}, {nv}), dense or sparse, or ({nv},) for a diagonal, like the mass, "
            f"got shape {stiffness.shape}"
        )
    diagonal = stiffness if stiffness.ndim == 1 else stiffness.diagonal()
    if diagonal.min() < 0.0:
        i = int(np.argmin(diagonal))
        _not_semidefinite(f"its diagonal is {diagonal[i]} at {i}")
    if stiffness.ndim == 1:
        return stiffness
    root = np.sqrt(diagonal)
    there = diagonal > 0.0
    stiffness = _symmetrized("stiffness", stiffness, np.where(there, root, max(float(root.max()), 1.0)))
    if np.any(abs(stiffness)[~there].sum()):
        _not_semidefinite("an entry stands beside a 0 on its diagonal")
    # raised by a little more than rounding, what is semidefinite is definite
    part = stiffness if there.all() else stiffness[there][:, there]
    little = max(SLACK, 4.0 * nv * np.finfo(np.float64).eps)
    if there.any() and _pivots(added(part, little * diagonal[there])) is None:
        _not_semidefinite("it has a negative eigenvalue")
    return stiffness


def _not_semidefinite(why: str) -> NoReturn:
    raise InputError(
        f"StepProblem: stiffness must be positive semidefinite, but {why}; pass its positive part, or leave out "
        "what drives the motion apart"
    )


def entries(matrix: Matrix) -> Array:
    """Those that are stored."""
    return matrix.data if is_sparse(matrix) else matrix


def times(matrix: Matrix, vector: Array) -> Array:
    """matrix @ vector, of a diagonal too; vector (nv,) or columns (nv, n)."""
    return (matrix * vector.T).T if matrix.ndim == 1 else matrix @ vector


def added(a: Matrix, b: Matrix) -> Matrix:
    """The sum, as sparse as both are; diagonals may be vectors."""
    if a.ndim == b.ndim and is_sparse(a) == is_sparse(b):
        total = a + b
    elif is_sparse(a) or is_sparse(b):
        from scipy.sparse import csr_array, diags_array

        parts = (diags_array(part, format="csr") if part.ndim == 1 else csr_array(part) for part in (a, b))
        total = sum(parts, start=csr_array(a.shape if a.ndim == 2 else b.shape))
    else:
        total = (np.diag(a) if a.ndim == 1 else a) + (np.diag(b) if b.ndim == 1 else b)
    return compressed(total) if is_sparse(total) else frozen(total)


def _symmetrized(name: str, mass: Matrix, root: Array) -> Matrix:
    """(M + M') / 2 where the two differ by rounding, M itself where they do not; root: of the diagonal."""
    if not is_sparse(mass):
        skew = np.abs(mass - mass.T)
        if not skew.any():
            return mass
        ratio = skew / root[:, None] / root
        _check_skew(name, float(ratio.max()), np.unravel_index(int(ratio.argmax()), ratio.shape), mass)
        return frozen(0.5 * mass + 0.5 * mass.T)
    skew = abs(mass - mass.T).tocoo()
    if skew.nnz == 0 or not skew.data.any():
        return mass
    ratio = skew.data / root[skew.row] / root[skew.col]
    worst = int(ratio.argmax())
    _check_skew(name, float(ratio[worst]), (skew.row[worst], skew.col[worst]), mass)
    return canonical(f"StepProblem: {name}", 0.5 * mass + 0.5 * mass.T)


def _check_skew(name: str, ratio: float, where: tuple[Any, ...], mass: Matrix) -> None:
    if ratio > ASYMMETRY:
        i, j = int(where[0]), int(where[1])
        raise InputError(
            f"StepProblem: {name} must be symmetric, got {mass[i, j]} at ({i}, {j}) and {mass[j, i]} at "
            f"({j}, {i}); pass ({name} + {name}.T) / 2 if that is rounding"
        )


def _check_positive(mass: Matrix) -> None:
    """A pivot lost in the rounding of its diagonal entry counts as zero."""
    pivots = _pivots(mass)
    if pivots is None:
        _not_positive("its Cholesky factorization fails")
    if not pivots.min() > len(pivots) * np.finfo(np.float64).eps:
        _not_positive(f"it is singular to working precision (a pivot of {pivots.min():.1e} of the diagonal)")


def _pivots(matrix: Matrix) -> Array | None:
    """Of the Cholesky factorization, over the entries of the diagonal; None where it fails."""
    if matrix.shape[0] > SMALL:
        return _banded_pivots(matrix)
    dense = matrix.toarray() if is_sparse(matrix) else matrix
    try:
        return np.diagonal(np.linalg.cholesky(dense)) ** 2 / dense.diagonal()
    except np.linalg.LinAlgError:
        return None


def _banded_pivots(matrix: Any) -> Array | None:
    """Banded Cholesky in reverse Cuthill-McKee order: linear in the bodies for blocks and chains."""
    from scipy.linalg import LinAlgError, cholesky_banded
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    matrix = csr_array(matrix)
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    stored = matrix.tocoo()
    row, col = place[stored.row], place[stored.col]
    below = row >= col
    row, col = row[below], col[below]
    band = np.zeros((int((row - col).max()) + 1, matrix.shape[0]))
    band[row - col, col] = stored.data[below]
    try:
        factor = cholesky_banded(band, lower=True, check_finite=False)
    except LinAlgError:
        return None
    return np.asarray(factor[0] ** 2 / band[0])


def _not_positive(why: str) -> NoReturn:
    raise InputError(
        f"StepProblem: mass must be positive definite, but {why}; give every velocity some inertia "
        "(rotor inertia, armature), and remove coordinates that move nothing"
    )
