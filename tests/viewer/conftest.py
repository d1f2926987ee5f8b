"""What tests of the viewer share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pliant
from pliant.cli import main

# A red ball rolls along x over the floor; a crate lies still.
ROLLING = """<mujoco model="rolling"><option timestep="0.01"/><worldbody>
  <geom name="floor" type="plane" size="3 3 1"/>
  <body pos="0 0 0.1"><freejoint/><geom name="ball" size="0.1" mass="1" rgba="1 0 0 1"/></body>
  <body pos="0.5 0.6 0.1"><freejoint/><geom name="crate" type="box" size="0.1 0.1 0.1" mass="2" rgba="0 0 1 1"/></body>
</worldbody><keyframe>
  <key name="go" qvel="1 0 0 0 10 0  0 0 0 0 0 0" qpos="0 0 .1 1 0 0 0  .5 .6 .1 1 0 0 0"/>
</keyframe></mujoco>"""


@pytest.fixture
def packages() -> None:
    pytest.importorskip("viser", reason="needs pliant[viewer]", exc_type=ImportError)
    pytest.importorskip("mjviser", reason="needs pliant[viewer]", exc_type=ImportError)


@pytest.fixture(scope="session")
def rolling(tmp_path_factory) -> Path:
    """A run of one second, in a file."""
    folder = tmp_path_factory.mktemp("rolling")
    scene, run = folder / "rolling.xml", folder / "rolling.run"
    scene.write_text(ROLLING)
    assert main(["run", str(scene), "--duration", "1", "--key", "go", "--out", str(run)]) == 0
    return run


@contextmanager
def running(view: Any) -> Iterator[Any]:
    """A view whose loop goes on beside the test."""
    loop = threading.Thread(target=view.run)
    loop.start()
    try:
        yield view
    finally:
        view.stop()
        loop.join(timeout=30.0)
        assert not loop.is_alive()


def load(run: Path) -> pliant.Trajectory:
    return pliant.Trajectory.load(run)
