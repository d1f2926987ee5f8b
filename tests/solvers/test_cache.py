"""Compiled code is found again: what one process compiled, the next one only loads."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest

# Every stage of both solvers: hard contacts reach the sweeps, the interior path and the dense Newton.
SCRIPT = """
import numpy as np
import pliant
from pliant._compile import cache_misses, kernels
from tests.support.random_contacts import random_contact_problem
from tests.support.random_problems import random_problem

for seed in range(6):
    for problem in (random_contact_problem(np.random.default_rng(seed)), random_problem(np.random.default_rng(seed))):
        for solver in (pliant.Coulomb(), pliant.Convex()):
            pliant.solve(problem, solver, throw=False)
assert len(kernels()) > 50
print(cache_misses())
"""


def misses() -> int:
    """Signatures compiled by a process that runs the script."""
    return int(subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_second_process_compiles_nothing():
    misses()
    assert misses() == 0
