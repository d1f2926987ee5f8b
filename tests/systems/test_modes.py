"""The kernels once more with bounds checked, and once more as plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
KERNELS = ["test_mujoco_memory.py", "test_mujoco_spin.py", "test_mujoco_state.py"]


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"])
def test_kernels_pass_with(setting: str):
    files = [str(TESTS / name) for name in KERNELS]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        env={**os.environ, setting: "1"},
        cwd=TESTS.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:]
