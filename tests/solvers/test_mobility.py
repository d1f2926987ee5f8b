"""A = G inv(M) G' by every way, the factors behind it, and the dense solve of small steps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

from pliant.solvers import mobility, whiten
from pliant.solvers.dense import wide


def tree(n: int, rng: np.random.Generator) -> np.ndarray:
    """The mass matrix of a tree: row i has entries at its ancestors."""
    L = np.zeros((n, n))
    ancestors: list[list[int]] = []
    for i in range(n):
        parent = int(rng.integers(-1, i)) if i else -1
        ancestors.append([*ancestors[parent], parent] if parent >= 0 else [])
        L[i, ancestors[i]] = rng.standard_normal(len(ancestors[i]))
        L[i, i] = rng.uniform(0.5, 2.0)
    return L.T @ L


def crowd(n: int, rng: np.random.Generator) -> np.ndarray:
    """Coupled at random: no tree."""
    A = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.3)
    return A @ A.T + np.eye(n)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_trees_have_the_factor_that_any_matrix_has(n, seed):
    rng = np.random.default_rng(seed)
    M = sparse.csr_array(tree(n, rng))
    parts = (M.indptr.astype(np.int64), M.indices.astype(np.int64), M.data)
    assert whiten._is_tree(*parts[:2])
    found, expected = whiten.factor_inertia(*parts), whiten._factor_any(*parts)
    for a, b in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(found.parent, expected.parent)
    np.testing.assert_allclose(found.val, expected.val, rtol=1e-13)


@pytest.mark.parametrize("make", [tree, crowd])
@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_other_numbers_on_a_known_pattern_have_the_same_factor(n, make):
    """Bit for bit, also where the pattern has entries that M has not."""
    rng = np.random.default_rng(n)
    M = sparse.csr_array(make(n, rng))
    ptr, idx = M.indptr.astype(np.int64), M.indices.astype(np.int64)
    known = whiten.factor_inertia(ptr, idx, M.data)
    places = {(i, int(idx[e])): e for i in range(n) for e in range(ptr[i], ptr[i + 1])}
    columns = np.repeat(np.arange(n), np.diff(known.ptr))
    source = np.array([places.get((n - 1 - j, n - 1 - i), -1) for i, j in zip(known.idx, columns, strict=True)])
    M.data += M.data * (M.indices == np.repeat(np.arange(n), np.diff(M.indptr)))  # a heavier diagonal
    expected, again = whiten.factor_inertia(ptr, idx, M.data), known._replace(val=np.full(len(known.val), np.nan))
    whiten.factor_again(again._replace(mass_val=M.data), source)
    np.testing.assert_array_equal(again.val, expected.val)


def test_what_is_no_tree_is_known_as_such():
    chain = sparse.csr_array(np.eye(4) + np.eye(4, k=1) + np.eye(4, k=-1))  # row 3 has 2, but not what row 2 has
    assert not whiten._is_tree(chain.indptr.astype(np.int64), chain.indices.astype(np.int64))


@pytest.mark.parametrize("make", [tree, crowd])
@pytest.mark.parametrize("n", [1, 7, 64, 65, 90])
def test_mobility_is_that_of_dense_algebra(n, make):
    rng = np.random.default_rng(n)
    dense = make(n, rng)
    M = sparse.csr_array(dense)
    G = sparse.csr_array(rng.standard_normal((12, n)) * (rng.random((12, n)) < 0.4))
    inertia = whiten.factor_inertia(M.indptr.astype(np.int64), M.indices.astype(np.int64), M.data)
    A = np.empty((12, wide(12)))
    mobility.find_mobility(inertia, G.indptr.astype(np.int64), G.indices.astype(np.int64), G.data, A)
    expected = G @ np.linalg.solve(dense, G.toarray().T)
    np.testing.assert_allclose(A[:, :12], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert not A[:, 12:].any()
    x, y = rng.standard_normal(12), np.zeros(12)
    mobility.multiply(A, 0.1, x, y)
    np.testing.assert_allclose(y, 0.1 * A[:, :12] @ x, rtol=1e-12, atol=1e-12)
