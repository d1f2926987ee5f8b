"""Ctrl-C is heard; what several folders need to draw."""

from __future__ import annotations

import signal

import pytest


def pytest_configure() -> None:
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # of a shell's background jobs: their children would be deaf
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
