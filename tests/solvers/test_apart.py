"""Steps in one compiled call, island by island: few rows or many, by velocities or by forces, against `solve`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from benchmarks.scenes.chain import Chain
from benchmarks.scenes.stepping import steps
from pliant.solvers.answer import judge
from pliant.solvers.apart import solve_apart
from pliant.solvers.blocks import block_direction, make_blocks
from pliant.solvers.island import make_island
from pliant.solvers.islands import find_islands
from pliant.solvers.known import NONE_KNOWN, known_program, no_pattern
from pliant.solvers.newton import linearise_blocks
from pliant.solvers.quick import MOST
from pliant.solvers.rows import make_rows
from pliant.solvers.whiten import factor_inertia, free_gain
from tests.support.random_contacts import random_contact_problem

LAWS = {"linear": pliant.Law(1e8, 1e3), "hertz": pliant.Law(1e9, 1.0, exponent=1.5)}


def falling(count: int, law: pliant.Law, when: int) -> pliant.StepProblem:
    """A step of a crooked column that lands."""
    chain = Chain(count, spacing=1e-3, law=law, jitter=1e-4)
    for k, (problem, _) in enumerate(steps(chain, when + 1)):
        if k == when:
            return problem
    raise AssertionError


def attempt(problem: pliant.StepProblem, guess: Any = None) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray]:
    """(found, forces, velocity, tally)."""
    flat = problem.flat()
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    force, velocity, tally = np.zeros(len(flat.kind)), np.zeros(len(flat.velocity)), np.zeros(3)
    push = free_gain(inertia, flat.step, flat.force)
    start = flat.velocity if guess is None else guess
    found = solve_apart(flat, inertia, push, start, 0.0, 5e-9, 0.0, force, velocity, tally, NONE_KNOWN)
    return bool(found), force, velocity, tally


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("when", [3, 30])
@pytest.mark.parametrize("count", [10, 60])
def test_a_column_is_solved_as_by_solve(count, when, law):
    problem = falling(count, law, when)
    assert (problem.rows > MOST) == (count == 60)
    found, force, velocity, tally = attempt(problem)
    right = pliant.solve(problem)
    assert found and tally[0] < 5e-9 and tally[2] >= 1
    np.testing.assert_allclose(velocity, right.velocity, atol=1e-9)
    np.testing.assert_allclose(
        force, np.concatenate([f.ravel() for f in right.forces]), atol=1e-5 * np.abs(force).max()
    )


def test_islands_do_not_see_each_other():
    """Two columns side by side move as each of them alone, to the last bit."""
    one, two = (falling(30, LAWS["linear"], when) for when in (3, 20))
    n, m = len(one.velocity), len(two.velocity)
    mass = np.concatenate([one.flat().mass_val, two.flat().mass_val])
    assert len(mass) == n + m  # diagonal
    contacts = [
        pliant.Contact(
            np.pad(c.jacobian.toarray() if hasattr(c.jacobian, "toarray") else c.jacobian, pad).reshape(-1, 3, n + m),
            c.gap, c.law, c.friction, name=name,
        )
        for problem, name, pad in ((one, "a", ((0, 0), (0, m))), (two, "b", ((0, 0), (n, 0))))
        for c in problem.constraints
        if isinstance(c, pliant.Contact)
    ]  # fmt: skip
    both = pliant.StepProblem(
        mass, np.concatenate([one.velocity, two.velocity]), np.concatenate([one.force, two.force]), one.step, contacts
    )
    found, _, velocity, _ = attempt(both)
    assert found
    assert np.array_equal(velocity, np.concatenate([attempt(problem)[2] for problem in (one, two)]))


def test_the_direction_by_forces_solves_its_system():
    """D df = k - C missed, D = B + C (h A + E), whole."""
    flat = falling(40, LAWS["linear"], 25).flat()
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    rows = make_rows(flat, inertia)
    nv, code = len(flat.velocity), known_program(NONE_KNOWN, len(flat.velocity), rows)
    assert code.size
    blocks = make_blocks(rows, nv, code)
    push, m = free_gain(inertia, flat.step, flat.force), len(flat.kind)
    island = make_island(inertia, rows, no_pattern(), flat.velocity, push, 0.0, 10.0, 1e-10)
    rng = np.random.default_rng(0)
    force, p, missed, df = 10.0 * rng.normal(size=m), rng.normal(size=m), rng.normal(size=m), np.zeros(m)
    linearise_blocks(rows, force, p, 0.0, island.system)
    assert block_direction(rows, blocks, island.system, missed, True, df)
    Z = np.zeros((m, len(flat.velocity)))
    for i in range(m):
        Z[i, rows.idx[rows.ptr[i] : rows.ptr[i + 1]]] = rows.val[rows.ptr[i] : rows.ptr[i + 1]]
    B, C = np.zeros((m, m)), np.zeros((m, m))
    for b in range(len(rows.block_ptr) - 1):
        part, q = slice(rows.block_ptr[b], rows.block_ptr[b + 1]), slice(rows.square_ptr[b], rows.square_ptr[b + 1])
        B[part, part], C[part, part] = island.system.B[q].reshape(3, 3), island.system.C[q].reshape(3, 3)
    D = B + C @ (rows.step * Z @ Z.T)
    wanted = np.linalg.solve(D, island.system.k - C @ missed)
    np.testing.assert_allclose(df, wanted, atol=1e-6 * np.abs(wanted).max())  # E is 1e-8 of h a


def test_what_is_said_to_be_solved_is():
    """Judged from the problem and the answer, by the measure of `solve`."""
    solved = 0
    for seed in range(60):
        problem = random_contact_problem(np.random.default_rng(seed), contacts=20 if seed % 2 else 60)
        found, force, velocity, _ = attempt(problem)
        if found:
            solved += 1
            flat = problem.flat()
            inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
            momentum, law, *_ = judge(flat, inertia, force, velocity, find_islands(flat)[1])
            assert momentum < 1e-12 and law < 1e-8
    assert solved > 30
