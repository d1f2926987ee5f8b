"""The usual step finds a solution of few planar contacts whenever there is one; a brute-force search is the judge."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.solvers.quick import quick
from pliant.solvers.whiten import factor_inertia, free_gain

H = 0.002
OPEN, STICK = 0, 2  # else slipping, one way or the other
LAW = pliant.Law(1e8, 2e6)


def attempt(problem: pliant.StepProblem, guess: Any) -> tuple[bool, np.ndarray, np.ndarray]:
    """(found, forces, tally)."""
    flat = problem.flat()
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    force, velocity, tally = np.zeros(len(flat.kind)), np.zeros(len(flat.velocity)), np.zeros(3)
    push = free_gain(inertia, flat.step, flat.force)
    found = quick(flat, inertia, push, np.asarray(guess, dtype=float), 0.0, 5e-9, force, velocity, tally)
    return bool(found), force, tally


def every_solution(G: np.ndarray, free: np.ndarray, gap: np.ndarray, mu: float) -> list[np.ndarray]:
    """Forces of all states in which the contacts, a normal and a tangent each, can be; M = 1."""
    A, S, n = H * G @ G.T, H * 1e8 + 2e6, len(gap)
    c = -1e8 * gap - 2e6 / H * np.maximum(gap, 0.0)
    found = []
    for states in itertools.product((OPEN, STICK, 1, -1), repeat=n):
        D, r = np.eye(2 * n), np.zeros(2 * n)
        for k, state in enumerate(states):
            i, j = 2 * k, 2 * k + 1
            if state != OPEN:
                D[i], r[i] = S * A[i], c[k] - S * free[i]
                D[i, i] += 1.0
                if state == STICK:
                    D[j], r[j] = A[j], -free[j]
                else:
                    D[j, i] = -mu * state
        force = np.linalg.solve(D, r)
        rate, size = A @ force + free, np.abs(force).max() + 1e-9
        holds = []
        for k, state in enumerate(states):
            (normal, across), (p, w) = force[2 * k : 2 * k + 2], rate[2 * k : 2 * k + 2]
            if state == OPEN:
                holds.append(c[k] - S * p <= 0.0)
            elif state == STICK:
                holds.append(normal >= 0.0 and abs(across) <= mu * normal + 1e-9 * size)
            else:
                holds.append(normal >= 0.0 and state * w <= 0.0)
        if all(holds):
            found.append(force)
    return found


def make(G: np.ndarray, free: np.ndarray, gap: np.ndarray, mu: float) -> pliant.StepProblem:
    v = np.linalg.lstsq(G, free, rcond=None)[0]
    rows = pliant.Contact(G.reshape(len(gap), 2, -1), gap, LAW, mu)
    return pliant.StepProblem(np.ones(G.shape[1]), v, np.zeros(G.shape[1]), H, [rows])


def test_a_foot_that_holds_itself():
    """Heel and toe of a hopper, pressed in, friction against friction: Newton goes in circles of three."""
    A = np.array([[2.22179e-4, 9.04342e-5, 3.17969e-5, 9.03527e-5], [9.04342e-5, 3.16128e-4, -9.5425e-5, 3.16049e-4],
                  [3.17969e-5, -9.5425e-5, 2.54385e-4, -9.53297e-5],
                  [9.03527e-5, 3.16049e-4, -9.53297e-5, 3.15989e-4]])  # fmt: skip
    values, vectors = np.linalg.eigh(A / H)
    G = vectors * np.sqrt(values)
    free, gap = np.array([0.02087, -0.00025, 0.00429, -0.00026]), np.array([-0.00079, -0.00046])
    solutions = every_solution(G, free, gap, 2.0)
    found, force, tally = attempt(make(G, free, gap, 2.0), np.zeros(4))
    assert solutions and found and tally[0] < 1e-8
    assert min(np.abs(force - other).max() / np.abs(other).max() for other in solutions) < 1e-6


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
def test_whatever_has_a_solution_is_solved(mu):
    rng = np.random.default_rng(int(10 * mu))
    hard = several = 0
    for _ in range(300):
        n = int(rng.integers(1, 4))
        G = rng.normal(size=(2 * n, 2 * n + int(rng.integers(0, 2))))
        free = G @ rng.normal(size=G.shape[1])
        gap = np.where(rng.random(n) < 0.5, 1e-3, -1e-4) * rng.random(n)
        solutions = every_solution(G, free, gap, mu)
        if not solutions:
            continue
        several += len(solutions) > 1
        problem = make(G, free, gap, mu)
        found, force, tally = attempt(problem, rng.normal(size=G.shape[1]))
        assert found
        hard += tally[1] > 10
        # forces may be shared differently, what they do may not
        moved = [G.T @ other for other in solutions]
        assert min(np.abs(G.T @ force - one).max() / (np.abs(one).max() + 1.0) for one in moved) < 1e-6
    assert mu < 1.0 or (hard > 0 and several > 0)
