"""Ctrl-C is heard, and the second core compiles: with empty caches half of a run would be waiting for the compiler.

Kernels that steps of models need are compiled by a process of its own, which leaves them in the cache; tests that do
not need them go first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

MANY = 500  # tests; for a few it is not worth it
LATER = (
    "bench",
    "plot",
    "rendering",
    "studies",
    "systems",
    "test_doctor",
    "test_examples",
    "test_faults",
    "test_run",
    "test_stage",
    "viewer",
)

_compiling: list[subprocess.Popen[bytes]] = []


def pytest_configure() -> None:
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # of a shell's background jobs: their children would be deaf
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    root = os.path.dirname(__file__)
    items.sort(key=lambda item: os.path.relpath(item.path, root).startswith(LATER))


def pytest_collection_finish(session: pytest.Session) -> None:
    if len(session.items) > MANY and not session.config.option.collectonly and not os.environ.get("NUMBA_DISABLE_JIT"):
        command = [sys.executable, "-m", "pliant", "compile"]
        _compiling.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def pytest_sessionfinish() -> None:
    for process in _compiling:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def opengl() -> None:
    """Skip where nothing can be drawn without a screen."""
    from pliant.errors import PliantError
    from pliant.rendering.opengl import open_context
    from pliant.systems.mujoco_door import mujoco

    try:
        context, room = open_context(mujoco().MjModel.from_xml_string("<mujoco/>"), (16, 16))
    except PliantError as error:
        pytest.skip(str(error))
    room.free()
    context.free()
