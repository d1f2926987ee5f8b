"""Blocks that are eliminated one by one: the same steps, and the same rates, as those of the whole matrix."""

import numpy as np
import pytest

import pliant
from pliant.solvers.blocks import block_direction, block_rates, make_blocks
from pliant.solvers.island import make_island
from pliant.solvers.known import NONE_KNOWN, known_program, no_pattern
from pliant.solvers.newton import linearise_blocks
from pliant.solvers.program import find_program, read_program
from pliant.solvers.rows import Rows, make_rows
from pliant.solvers.whiten import factor_inertia, free_gain

BODIES = 12


def neighbours(kind: str, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Pairs of bodies, -1 for the world: a chain, one whose ends meet, a tree, and a chain of two contacts a link."""
    line = [(k - 1, k) for k in range(BODIES)]
    if kind == "ring":
        return [*line, (0, BODIES - 1)]
    if kind == "tree":
        return [(int(rng.integers(-1, k)), k) for k in range(BODIES)]
    return line * 2 if kind == "double" else line


def problem(kind: str, sizes: tuple[int, ...], rng: np.random.Generator) -> pliant.StepProblem:
    """Bodies of six velocities each, with blocks of these sizes in turn."""
    nv = 6 * BODIES
    constraints: list[pliant.Unilateral | pliant.Contact] = []
    for i, (a, b) in enumerate(neighbours(kind, rng)):
        d = sizes[i % len(sizes)]
        G = np.zeros((1, d, nv))
        for body in (a, b):
            if body >= 0:
                G[0, :, 6 * body : 6 * body + 6] = rng.normal(size=(d, 6))
        law = pliant.Law(10.0 ** rng.uniform(2.0, 10.0), 1.0)
        name = f"{i}"
        if d == 1:
            constraints.append(pliant.Unilateral(G[0], rng.normal(size=1) * 1e-3, law, name=name))
        else:
            constraints.append(pliant.Contact(G, rng.normal(size=1) * 1e-3, law, 0.7, name=name))
    mass = rng.uniform(0.1, 10.0, nv)
    return pliant.StepProblem(mass, rng.normal(size=nv), rng.normal(size=nv), 0.01, constraints)


def dense(rows: Rows, nv: int) -> np.ndarray:
    Z = np.zeros((len(rows.law), nv))
    for i in range(len(Z)):
        Z[i, rows.idx[rows.ptr[i] : rows.ptr[i + 1]]] = rows.val[rows.ptr[i] : rows.ptr[i + 1]]
    return rows.step * Z @ Z.T


@pytest.mark.parametrize("kind", ["chain", "ring", "tree", "double"])
@pytest.mark.parametrize("sizes", [(3,), (1,), (3, 1), (2, 3), (4, 1)], ids=str)
def test_a_step_is_that_of_the_whole_matrix(kind, sizes):
    rng = np.random.default_rng(len(sizes) + len(kind))
    flat = problem(kind, sizes, rng).flat()
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    rows, nv, m = make_rows(flat, inertia), len(flat.velocity), len(flat.kind)
    code = find_program(rows, nv)
    assert code.size and read_program(code).size == max(sizes)
    blocks, hA = make_blocks(rows, nv, code), dense(rows, nv)
    push = free_gain(inertia, flat.step, flat.force)
    island = make_island(inertia, rows, no_pattern(), flat.velocity, push, 0.0, 10.0, 1e-10)
    force, p, missed, df = 10.0 * rng.normal(size=m), rng.normal(size=m), rng.normal(size=m), np.zeros(m)
    block_rates(rows, blocks, force, df)
    np.testing.assert_allclose(df, hA @ force, atol=1e-12 * np.abs(hA @ force).max())
    linearise_blocks(rows, force, p, 0.0, island.system)
    assert block_direction(rows, blocks, island.system, missed, True, df)
    B, C = np.zeros((m, m)), np.zeros((m, m))
    for b in range(len(rows.block_ptr) - 1):
        part, q = slice(rows.block_ptr[b], rows.block_ptr[b + 1]), slice(rows.square_ptr[b], rows.square_ptr[b + 1])
        n = part.stop - part.start
        B[part, part], C[part, part] = island.system.B[q].reshape(n, n), island.system.C[q].reshape(n, n)
    wanted = np.linalg.solve(B + C @ hA, island.system.k - C @ missed)
    np.testing.assert_allclose(df, wanted, atol=1e-5 * np.abs(wanted).max())  # the least compliance is 1e-8 of h a
    again = np.zeros(m)
    assert block_direction(rows, blocks, island.system, missed, False, again)
    assert np.array_equal(df, again)


def test_bodies_with_many_contacts_are_for_the_velocities():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(20, 3, 6))
    contact = pliant.Contact(G, np.zeros(20), pliant.Law(1e6), 0.5)
    flat = pliant.StepProblem(np.ones(6), np.zeros(6), np.zeros(6), 0.01, [contact]).flat()
    rows = make_rows(flat, factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val))
    assert find_program(rows, 6).size == 0


def test_programs_come_back_as_they_were():
    known = np.zeros(100_000, np.int64)
    for seed in (0, 1, 0, 1):
        rng = np.random.default_rng(seed)
        flat = problem("tree", (3,), rng).flat()
        rows = make_rows(flat, factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val))
        found = known_program(known, len(flat.velocity), rows)
        assert np.array_equal(found, known_program(NONE_KNOWN, len(flat.velocity), rows))
        if seed and known[0] > 1:
            assert np.shares_memory(known_program(known, len(flat.velocity), rows), known)
