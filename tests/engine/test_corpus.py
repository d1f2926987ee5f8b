"""Recorded steps of robots and piles: nearly all are solved, the rest by the convex program, certificates are true."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import pliant
from benchmarks.corpus import FOLDER, read
from pliant import reference

SAMPLE = 20  # every so manyth answer is judged by the reference


@pytest.mark.skipif(not (FOLDER / "robots.npz").exists(), reason="recorded steps are in the repository only")
@pytest.mark.parametrize(
    ("name", "share", "factorizations"),
    [("robots", 0.997, {50: 3, 90: 22, 99: 100}), ("piles", 0.96, {})],
)
def test_recorded_steps(name, share, factorizations):
    statuses: Counter[pliant.Status] = Counter()
    work = []
    for number, step in enumerate(read(FOLDER / f"{name}.npz")):
        solution = pliant.solve(step.problem, guess=step.guess, throw=False)
        statuses[solution.status] += 1
        work.append(solution.factorizations)
        assert solution.momentum_residual < 1e-12
        if number % SAMPLE == 0:
            flat, force = step.problem.flat(), np.concatenate([np.zeros(0), *map(np.ravel, solution.forces)])
            asked = reference.law_residual(flat, force).max(initial=0.0)
            assert max(asked, solution.residual) < 3e-11 or 0.1 < asked / solution.residual < 10.0
    assert statuses[pliant.Status.SOLVED] >= share * len(work)
    assert set(statuses) <= {pliant.Status.SOLVED, pliant.Status.SOLVED_BY_FALLBACK}
    for percent, most in factorizations.items():
        assert np.percentile(work, percent) <= most
