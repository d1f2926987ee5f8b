"""The kernels once more with bounds checked, and once more as plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
KERNELS = [
    "test_broad.py", "test_compensated.py", "test_dense.py", "test_factor.py", "test_symbolic.py", "test_warm_start.py",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"])
def test_kernels_pass_with(setting: str):
    files = [str(TESTS / "solvers" / name) for name in KERNELS] + [str(TESTS / "test_demo.py")]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        env={**os.environ, setting: "1"},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:]
