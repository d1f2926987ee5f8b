from fractions import Fraction

import numpy as np
import pytest

from pliant.inputs import Array
from pliant.solvers.dense import dense_factor, dense_solve, dense_solve_transposed, solve_rows, wide
from tests.support.block_systems import sized


class Factored:
    """A = inv(R) (exchanges) L U inv(C); solves return new vectors."""

    def __init__(self, A: Array) -> None:
        n = len(A)
        self.parts = (A.copy(), np.zeros(n, np.int64), np.zeros(n), np.zeros(n))
        self.failed, self.least = dense_factor(*self.parts)

    def solve(self, b: Array) -> Array:
        x = b.copy()
        dense_solve(*self.parts, x)
        return x

    def solve_transposed(self, b: Array) -> Array:
        x = b.copy()
        dense_solve_transposed(*self.parts, x)
        return x


def badly_scaled(n: int, rng: np.random.Generator) -> Array:
    rows, columns = 10.0 ** rng.uniform(-12, 12, (2, n))
    A = rng.standard_normal((n, n))
    A *= np.multiply.outer(rows, columns)
    return A


def exact_solution(A: Array, b: Array) -> Array:
    """In rational arithmetic."""
    rows = [[Fraction(x) for x in (*row, y)] for row, y in zip(A.tolist(), b.tolist(), strict=True)]
    for k in range(len(rows)):
        p = next(i for i in range(k, len(rows)) if rows[i][k] != 0)
        rows[k], rows[p] = rows[p], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k] != 0:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return np.array([float(row[-1]) for row in rows])


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 70, sized(300, 40)])
def test_badly_scaled_systems_have_small_backward_errors(n):
    rng = np.random.default_rng(n)
    A, b = badly_scaled(n, rng), rng.standard_normal(n)
    factored = Factored(A)
    assert factored.failed == -1
    for matrix, x in ((A, factored.solve(b)), (A.T, factored.solve_transposed(b))):
        assert np.all(np.abs(matrix @ x - b) <= 1e-13 * n * (np.abs(matrix) @ np.abs(x) + np.abs(b)))


def test_stiff_rows_beside_masses_lose_no_digits():
    """[[M, -h G'], [S G, I]] with S = 1e13: six velocities held by three springs and a redundant copy."""
    rng = np.random.default_rng(0)
    h, S = 1e-3, np.array([1e13, 1e13, 1e6, 1e13])
    G = rng.standard_normal((4, 6))
    G[3] = G[0]
    M = np.diag([1.0, 1.0, 1.0, 1e-3, 1e-3, 1e3])
    A = np.block([[M, -h * G.T], [S[:, None] * G, np.eye(4)]])
    b = np.append(rng.standard_normal(6), np.zeros(4))
    exact = exact_solution(A, b)
    assert np.abs(Factored(A).solve(b)[:6] - exact[:6]).max() < 1e-13 * np.abs(exact[:6]).max()


def test_equilibration_is_exact():
    rng = np.random.default_rng(1)
    n = sized(40, 20)
    A, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    columns = 2.0 ** rng.integers(-300, 300, n)
    x = Factored(A * columns).solve(b)
    assert np.array_equal(x * columns, Factored(A).solve(b))


@pytest.mark.parametrize("n", [5, 50])
def test_exact_zeros_stay_exact(n):
    rng = np.random.default_rng(2)
    A = np.zeros((2 * n, 2 * n))
    order = rng.permutation(2 * n)
    one, two = order[:n], order[n:]
    A[np.ix_(one, one)] = rng.standard_normal((n, n))
    A[np.ix_(two, two)] = rng.standard_normal((n, n))
    b = np.zeros(2 * n)
    b[one] = rng.standard_normal(n)
    factored = Factored(A)
    for x in (factored.solve(b), factored.solve_transposed(b)):
        assert x[one].all()
        assert not x[two].any()


@pytest.mark.parametrize("bad", [0.0, np.nan])
def test_a_column_without_pivot_is_named(bad):
    A = np.diag(np.arange(1.0, 41.0))
    A[35, 35] = bad
    assert Factored(A).failed == 35


def test_the_least_pivot_tells_how_near_singular():
    A = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-10]])
    assert 1e-11 < Factored(A).least < 1e-9
    assert Factored(np.ones((2, 2))).failed == 1


def by_rows(A: Array, b: Array) -> Array:
    n, x = len(A), np.zeros(len(A))
    whole = np.zeros((n, wide(n)))
    whole[:, :n], whole[:, n] = A, b
    solve_rows(whole, x)
    return x


@pytest.mark.parametrize("n", [0, 1, 2, 5, 7, 8, 9, 15, 16, 30, 64])
def test_small_systems_are_solved_by_rows(n):
    rng = np.random.default_rng(n)
    A, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    if n > 1:
        A[0, 0] = 0.0
    x = by_rows(A, b)
    assert np.abs(A @ x - b).max(initial=0.0) <= 1e-9 * np.abs(x).max(initial=1.0)


def test_small_systems_that_have_no_solution_come_to_an_end():
    for worst in (0.0, np.nan, np.inf):
        A = np.eye(9)
        A[4:] = worst
        with np.errstate(all="ignore"):
            assert not np.all(np.isfinite(by_rows(A, np.ones(9))))
