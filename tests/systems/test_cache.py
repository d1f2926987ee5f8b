"""Compiled code is found again: what one process compiled, the next one only loads."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import pytest

SCRIPT = """
import pliant
from pliant.systems._compile import cache_misses, kernels
from tests.support.models import ZOO, shaken

for name in ZOO:
    for solver in (pliant.Coulomb(), pliant.Convex()):
        model, data = shaken(name)
        pliant.mj_step(model, data, solver=solver)
        pliant.mj_step(model, data, 20, solver=solver)
assert len(kernels()) > 50
print(cache_misses())
"""


def misses(**environment: str) -> int:
    """Signatures compiled by a process that runs the script."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return int(ran.stdout)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_second_process_compiles_nothing():
    misses()
    assert misses() == 0


@pytest.mark.slow
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_compiling_ahead_of_time_leaves_nothing_to_compile(tmp_path):
    folder = {"PLIANT_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pliant", "compile"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **folder})
    assert str(tmp_path) in ran.stdout and ran.stderr.count("compiling for this machine") == 1
    assert misses(**folder) == 0
