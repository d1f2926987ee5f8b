import numpy as np
import pytest
import scipy.sparse as sparse

from pliant.inputs import Array
from pliant.solvers.assemble import assemble
from pliant.solvers.factor import factor
from pliant.solvers.solve import solve, solve_transposed
from pliant.solvers.symbolic import Pattern, analyze
from tests.support.block_systems import (
    SHAPES,
    BlockSystem,
    block_system,
    chain,
    contacts,
    pile,
    sized,
)


class Factored:
    """A system through all phases; solves return new vectors."""

    def __init__(self, system: BlockSystem, symmetric: bool, tiny: float = 0.0) -> None:
        self.pattern: Pattern = analyze(*system.structure)
        self.values = np.full(self.pattern.size, np.nan)
        self.work = np.full(self.pattern.work, np.nan)
        assemble(
            *(self.pattern, system.mass_val, system.jac_ptr, system.jac_val, system.block_ptr, system.step),
            *(system.weight_ptr, system.weight, symmetric, self.values, self.work),
        )
        self.failed, self.ratio = factor(self.pattern, self.values, symmetric, tiny, self.work)

    def solve(self, b: Array) -> Array:
        x = b.copy()
        solve(self.pattern, self.values, x, self.work)
        return x

    def solve_transposed(self, b: Array) -> Array:
        x = b.copy()
        solve_transposed(self.pattern, self.values, x, self.work)
        return x


def backward_error(P: Array, x: Array, b: Array) -> float:
    return float(np.max(np.abs(P @ x - b) / (np.abs(P) @ np.abs(x) + np.abs(b))))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_solves_have_small_backward_errors(shape, symmetric, seed):
    rng = np.random.default_rng(seed)
    system = shape(rng, symmetric)
    P, b = system.matrix().toarray(), rng.standard_normal(system.size)
    factored = Factored(system, symmetric)
    assert factored.failed == -1
    assert backward_error(P, factored.solve(b), b) < 1e-13
    assert backward_error(P.T, factored.solve_transposed(b), b) < 1e-13


def test_symmetric_and_general_factors_agree():
    rng = np.random.default_rng(10)
    system = pile(rng, True)
    b = rng.standard_normal(system.size)
    assert np.allclose(Factored(system, True).solve(b), Factored(system, False).solve(b), rtol=1e-11, atol=0.0)


@pytest.mark.parametrize("shape", [chain, pile])
def test_agrees_with_qdldl(shape):
    qdldl = pytest.importorskip("qdldl")
    rng = np.random.default_rng(11)
    system = shape(rng, True)
    b = rng.standard_normal(system.size)
    x = qdldl.Solver(sparse.csc_matrix(system.matrix())).solve(b)
    assert np.allclose(Factored(system, True).solve(b), x, rtol=1e-9, atol=1e-12 * np.abs(x).max())


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 25, sized(150, 30)])
@pytest.mark.parametrize("symmetric", [True, False])
def test_dense_fronts_of_any_width(n, symmetric):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    rows = 3 * (n // 3) + 3
    system = block_system(
        A @ A.T + np.eye(n), rng.standard_normal((rows, n)), np.arange(0, rows + 1, 3), rng, symmetric
    )
    P, b = system.matrix().toarray(), rng.standard_normal(n)
    factored = Factored(system, symmetric)
    assert factored.pattern.dense
    assert backward_error(P, factored.solve(b), b) < 1e-13
    assert backward_error(P.T, factored.solve_transposed(b), b) < 1e-13


@pytest.mark.parametrize("bodies", [4, 30])
@pytest.mark.parametrize("symmetric", [True, False])
def test_exact_zeros_stay_exact(bodies, symmetric):
    """A column of spheres: sideways and vertical velocities share the blocks, but are uncoupled."""
    rng = np.random.default_rng(12)
    system = contacts([(k - 1, k) for k in range(bodies)], bodies, 3, rng, symmetric)
    vertical = system.jac_idx % 6 == 2
    normal = np.repeat(np.arange(3 * bodies) % 3 == 0, np.diff(system.jac_ptr))
    system.jac_val[vertical != normal] = 0.0
    for k in range(bodies):
        H = system.weight[9 * k : 9 * k + 9].reshape(3, 3)
        H[0, 1:] = H[1:, 0] = 0.0
    b = np.zeros(system.size)
    b[2::6] = rng.standard_normal(bodies)
    factored = Factored(system, symmetric)
    for x in (factored.solve(b), factored.solve_transposed(b)):
        assert np.all(x[2::6] != 0.0)
        assert not x[np.arange(x.size) % 6 != 2].any()


def test_bodies_that_do_not_touch_do_not_mix():
    rng = np.random.default_rng(13)
    system = contacts([(0, 1), (1, 2), (3, 4), (4, 5), (6, -1)], 8, 3, rng, True)
    b = np.zeros(48)
    b[18:36] = rng.standard_normal(18)
    x = Factored(system, True).solve(b)
    assert not x[:18].any()
    assert x[18:36].all()
    assert not x[36:].any()


@pytest.mark.parametrize("symmetric", [True, False])
def test_blocks_without_weight_are_not_read(symmetric):
    rng = np.random.default_rng(14)
    system = chain(rng, symmetric, 12)
    system.weight[9:27] = 0.0
    b = rng.standard_normal(system.size)
    x = Factored(system, symmetric).solve(b)
    system.jac_val[system.jac_ptr[3] : system.jac_ptr[9]] = np.inf
    assert np.array_equal(Factored(system, symmetric).solve(b), x)
    assert np.isfinite(x).all()


def diagonal_system(diagonal: Array) -> BlockSystem:
    """P = diag(diagonal), made of unit masses and one row for each velocity."""
    n = diagonal.size
    system = block_system(np.eye(n), np.eye(n), np.arange(n + 1), np.random.default_rng(0))
    return system._replace(weight=(diagonal - 1.0) / system.step)


@pytest.mark.parametrize("n", [10, 40])
@pytest.mark.parametrize("bad", [0.0, -2.0, np.nan, np.inf])
def test_a_pivot_that_is_not_positive_is_named(n, bad):
    diagonal = np.full(n, 2.0)
    diagonal[7] = bad
    with np.errstate(invalid="ignore"):  # 0 * inf, where the kernels run as plain Python
        assert Factored(diagonal_system(diagonal), True).failed == 7
        assert Factored(diagonal_system(diagonal), False).failed == (-1 if bad == -2.0 else 7)


@pytest.mark.parametrize("symmetric", [True, False])
def test_cancelled_pivots_are_reported(symmetric):
    M = np.eye(30)
    M[3, 4] = M[4, 3] = 1.0
    M[4, 4] = 1.0 + 1e-13
    system = block_system(M, sparse.csr_array((0, 30)), [0], np.random.default_rng(0))
    good, bad = Factored(system, symmetric), Factored(system, symmetric, tiny=1e-12)
    assert good.failed == -1
    assert 5e-14 < good.ratio < 2e-13
    assert bad.failed in (3, 4)


def test_the_same_numbers_give_the_same_bits():
    rng = np.random.default_rng(15)
    system = pile(rng, False)
    b = rng.standard_normal(system.size)
    assert np.array_equal(Factored(system, False).solve(b), Factored(system, False).solve(b))
