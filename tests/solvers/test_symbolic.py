import numpy as np
import pytest
import scipy.sparse as sparse

from pliant.inputs import Array
from pliant.solvers.assemble import assemble
from pliant.solvers.cliques import block_cliques
from pliant.solvers.symbolic import Pattern, analyze
from tests.support.block_systems import (
    PURE_PYTHON,
    SHAPES,
    BlockSystem,
    arrow,
    block_system,
    chain,
    foundation,
    pile,
    robot,
    sized,
    tray,
    tree,
)


def entries_of_factor(pattern: Pattern) -> int:
    """Entries of L below the diagonal, zeros that were let in among them."""
    n, w = np.diff(pattern.row_ptr), pattern.width
    return int((w * (n - 1) - w * (w - 1) // 2).sum())


def assembled(system: BlockSystem, pattern: Pattern, symmetric: bool) -> Array:
    """P, put together again from the fronts."""
    values, work = np.full(pattern.size, np.nan), np.full(pattern.work, np.nan)
    assemble(
        *(pattern, system.mass_val, system.jac_ptr, system.jac_val, system.block_ptr, system.step),
        *(system.weight_ptr, system.weight, symmetric, values, work),
    )
    P = np.zeros((system.size, system.size))
    for s in range(pattern.parent.size):
        row = pattern.row[pattern.row_ptr[s] : pattern.row_ptr[s + 1]]
        front = values[pattern.value_ptr[s] : pattern.value_ptr[s + 1]].reshape(row.size, row.size)
        P[np.ix_(row, row)] += np.tril(front) + np.tril(front, -1).T if symmetric else front
    return P


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_every_number_finds_its_place(shape, symmetric):
    system = shape(np.random.default_rng(1), symmetric)
    pattern = analyze(*system.structure)
    P = system.matrix().toarray()
    assert np.abs(assembled(system, pattern, symmetric) - P).max() <= 1e-14 * np.abs(P).max()


@pytest.mark.parametrize("shape", SHAPES)
def test_fronts_form_a_tree(shape):
    pattern = analyze(*shape(np.random.default_rng(2), True).structure)
    rows = [pattern.row[lo:hi] for lo, hi in zip(pattern.row_ptr[:-1], pattern.row_ptr[1:], strict=True)]
    pivots = np.concatenate([row[:w] for row, w in zip(rows, pattern.width, strict=True)])
    assert sorted(pivots) == list(range(pivots.size))
    rank = np.argsort(pivots)
    for s, p in enumerate(pattern.parent):
        assert np.all(np.diff(rank[rows[s]]) > 0)
        border = slice(pattern.row_ptr[s] + pattern.width[s], pattern.row_ptr[s + 1])
        assert (p > s) if border.start < border.stop else (p == -1)
        if p >= 0:
            assert np.array_equal(rows[p][pattern.relative[border]], pattern.row[border])


def test_chains_have_linear_fill():
    small, large = (
        analyze(*chain(np.random.default_rng(3), True, n).structure) for n in (sized(100, 50), sized(400, 200))
    )
    assert large.size <= 4.2 * small.size
    assert np.diff(large.row_ptr).max() <= 24


def test_a_tray_is_eliminated_last():
    pattern = analyze(*tray(np.random.default_rng(4), True).structure)
    assert np.diff(pattern.row_ptr).max() <= 24
    assert 0 in pattern.row[pattern.row_ptr[-2] :]


@pytest.mark.parametrize("shape", [chain, pile, tree])
def test_no_more_fill_than_minimum_degree(shape):
    qdldl = pytest.importorskip("qdldl")
    system = shape(np.random.default_rng(5), True)
    theirs = qdldl.Solver(sparse.csc_matrix(system.matrix())).factors()[0].nnz
    ours = entries_of_factor(analyze(*system.structure))
    assert ours <= 1.6 * theirs  # merged fronts hold some zeros


@pytest.mark.parametrize("shape", [foundation, robot])
def test_few_velocities_or_a_full_mass_are_dense(shape):
    system = shape(np.random.default_rng(6), True)
    pattern = analyze(*system.structure)
    assert pattern.dense
    assert np.array_equal(pattern.row, np.arange(system.size))


def test_a_system_without_rows_is_its_mass():
    system = arrow(np.random.default_rng(7), True)
    pattern = analyze(*system.structure)
    assert not pattern.dense
    assert np.array_equal(assembled(system, pattern, True), system.matrix().toarray())


def test_uncoupled_velocities_need_no_more_than_their_diagonal():
    rng = np.random.default_rng(8)
    system = block_system(np.diag(np.arange(1.0, 201.0)), sparse.csr_array((0, 200)), [0], rng)
    pattern = analyze(*system.structure)
    assert entries_of_factor(pattern) == 0


def test_rows_on_the_same_velocities_are_one_clique():
    system = foundation(np.random.default_rng(9), True, sized(10_000, 50))
    ptr, var, block = block_cliques(6, system.jac_ptr, system.jac_idx, system.block_ptr)
    assert np.array_equal(ptr, [0, 6])
    assert sorted(var) == list(range(6))
    assert not block.any()


def test_cliques_are_told_apart_when_their_hashes_collide():
    rng = np.random.default_rng(10)
    n = sized(300, 60)
    sets = [rng.choice(n, rng.integers(1, 4), replace=False) for _ in range(n)]
    sets += sets[::-1]
    jac_ptr = np.append(0, np.cumsum([s.size for s in sets]))
    jac_idx = np.concatenate([np.sort(s) for s in sets])
    ptr, var, block = block_cliques(n, jac_ptr, jac_idx, np.arange(len(sets) + 1))
    for s, c in zip(sets, block, strict=True):
        assert set(s) == set(var[ptr[c] : ptr[c + 1]])
    assert ptr.size - 1 == len({frozenset(s) for s in sets})


def test_a_block_of_too_many_rows_is_refused():
    system = foundation(np.random.default_rng(11), True, 9)
    with pytest.raises(ValueError, match="block_ptr: a block has at most 8 rows, got 9"):
        analyze(*system.structure[:4], np.array([0, 9]))


@pytest.mark.skipif(PURE_PYTHON, reason="measures nothing of interest")
def test_arrays_are_what_the_compiled_kernels_were_made_for():
    dense, scattered = (analyze(*shape(np.random.default_rng(12), True).structure) for shape in (robot, chain))
    for pattern in (dense, scattered):
        for array in pattern[3:]:
            assert array.dtype == np.int64
            assert array.flags.c_contiguous
            assert array.flags.writeable
