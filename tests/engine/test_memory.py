"""A warm solve asks for no memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pliant._engine import build_info

HERE = Path(__file__).parent
COMPILER = os.environ.get("CXX", "c++")


@pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD")
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason="needs a C++ compiler to build the counter")
@pytest.mark.skipif(bool(build_info()["sanitizers"]), reason="the sanitizers count for themselves")
def test_a_warm_solve_allocates_nothing(tmp_path):
    """Neither for the same step again, nor for steps that take turns, nor for known steps in another order."""
    counter = tmp_path / "count_new.so"
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", counter, HERE / "count_new.cc"], check=True)
    found = subprocess.run(
        [sys.executable, "-m", "tests.engine.warm_solves"],
        env=os.environ | {"LD_PRELOAD": str(counter)},
        capture_output=True,
        text=True,
        check=True,
        cwd=HERE.parents[1],
    )
    first, same, alternating, other = map(int, found.stdout.split())
    assert first > 0, "nothing was counted"
    assert (same, alternating, other) == (0, 0, 0)
