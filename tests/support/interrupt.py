"""Ctrl-C into the middle of something long."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


def check_ctrl_c(code: str) -> None:
    """The code, in a process of its own, says "begins" and, within a second of Ctrl-C, "stopped"; then it ends well."""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "begins\n"
            time.sleep(0.3)
            begin = time.perf_counter()
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "stopped\n"
            assert time.perf_counter() - begin < 1.0
            assert child.wait(10) == 0
        finally:
            child.kill()
