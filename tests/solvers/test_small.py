"""Small systems against NumPy."""

import numpy as np
import pytest

from pliant.solvers.small import LEFT, RIGHT, apply_small, solve_small


def made(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix that needs exchanges, and right-hand sides."""
    A = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-6, 0, (n, 1))
    A[rng.random((n, n)) < 0.2] = 0.0
    return A + np.eye(n)[rng.permutation(n)], rng.standard_normal((n, n + 1))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7])
def test_solutions_and_factors_that_serve_again(n):
    rng = np.random.default_rng(n)
    swapped = 0
    for _ in range(50):
        A, X = made(rng, n)
        work, exchange = np.full(3 * 64, 7.0), np.empty(n, np.int64)  # whatever stood there before
        work[: 8 * n].reshape(n, 8)[:, :n] = A
        work[RIGHT : RIGHT + 8 * n].reshape(n, 8)[:, : n + 1] = X
        solve_small(work, n, exchange)
        expected, digits = np.linalg.solve(A, X), 1e-13 * np.linalg.cond(A)
        found = work[RIGHT : RIGHT + 8 * n].reshape(n, 8)[:, : n + 1]
        assert np.abs(found - expected).max() < digits * np.abs(expected).max()
        U, L = np.triu(work[: 8 * n].reshape(n, 8)[:, :n]), work[LEFT : LEFT + 8 * n].reshape(n, 8)[:, :n]
        x = X[:, 0].copy()
        apply_small((U + np.tril(L, -1)).ravel(), exchange, x)
        assert np.abs(x - expected[:, 0]).max() < digits * np.abs(expected).max()
        swapped += int(np.count_nonzero(exchange != np.arange(n)))
    assert swapped > 0 or n == 1
