"""`pliant view`: a model read, served on this machine alone, stepped with our forces, and closed again."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import pliant
from pliant import viewer
from pliant.cli import main
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_load import read_model

ARM = """<mujoco><worldbody>
  <body name="arm" pos="0 0 1"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/></body>
</worldbody></mujoco>"""
CHROMIUM = shutil.which("chromium")


@pytest.fixture
def packages():
    pytest.importorskip("viser", reason="needs pliant[viewer]", exc_type=ImportError)
    pytest.importorskip("mjviser", reason="needs pliant[viewer]", exc_type=ImportError)


@pytest.fixture
def arm(tmp_path) -> Path:
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    return file


def test_a_model_is_read_with_the_step_and_the_floor_that_were_asked_for(arm):
    model = read_model(arm, step=0.02, floor=True)
    assert model.opt.timestep == 0.02
    assert model.geom("floor").type[0] == mujoco().mjtGeom.mjGEOM_PLANE


def test_a_fixed_body_can_be_set_free():
    model = read_model('<mujoco><worldbody><body><geom size="1"/></body></worldbody></mujoco>', floating=True)
    assert list(model.jnt_type) == [mujoco().mjtJoint.mjJNT_FREE]


@pytest.mark.parametrize("step", [0.0, -0.01, float("nan"), float("inf")])
def test_a_step_that_is_none_is_refused(arm, step):
    with pytest.raises(pliant.InputError, match="step must be a positive number"):
        read_model(arm, step=step)


@pytest.mark.usefixtures("packages")
def test_it_listens_on_this_machine_alone(arm):
    view = viewer.View(read_model(arm), port=0)
    try:
        assert view.url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(view.url) as page:
            assert b"<html" in page.read(2000)
        port = int(view.url.rsplit(":", 1)[1])
        with socket.socket() as probe:  # were it bound to every address, this one would be taken
            probe.bind(("127.0.0.2", port))
    finally:
        view.close()


@pytest.mark.usefixtures("packages")
def test_it_steps_with_our_forces_until_interrupted(arm, monkeypatch):
    steps, forwards = [], []

    def step(model, data):
        forwards.append(mujoco().mj_forward.__name__)
        pliant.mj_step(model, data)
        steps.append(data.time)
        if len(steps) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(viewer, "mj_step", step)
    view = viewer.View(read_model(arm, step=0.01), port=0)
    before = mujoco().mj_forward, signal.getsignal(signal.SIGINT)
    view.run()
    assert steps[:5] == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05])
    assert pliant.stats(view.data).steps >= 6  # and those that only looked
    assert (mujoco().mj_forward, signal.getsignal(signal.SIGINT)) == before
    with pytest.raises(OSError):
        urllib.request.urlopen(view.url, timeout=1.0)


@contextmanager
def command(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`pliant view` as a process of its own, and its address."""
    source = str(Path(pliant.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pliant", "view", "--no-browser", "--port", "0", *arguments],
        env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert found
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("packages")
def test_the_command_serves_until_ctrl_c(arm):
    with command(str(arm), "--floor") as (process, address):
        with urllib.request.urlopen(address) as page:
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30.0) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("packages")
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_shows_it_running(arm, tmp_path):
    assert CHROMIUM
    software = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]  # no graphics card
    with command(str(arm)) as (_, address):
        page = subprocess.run(
            [CHROMIUM, "--headless=new", "--no-sandbox", *software, f"--user-data-dir={tmp_path}",
             "--virtual-time-budget=20000", "--dump-dom", address],
            capture_output=True, text=True, timeout=120.0, check=True,
        ).stdout  # fmt: skip
    steps = re.search(r"Steps:</strong>\s*(\d+)", page)
    assert steps and int(steps[1]) > 0
    assert "<canvas" in page


@pytest.mark.parametrize("package", ["viser", "mjviser"])
def test_without_the_extra_it_says_how_to_get_it(arm, monkeypatch, capsys, package):
    for name in ("viser", "mjviser"):
        monkeypatch.setitem(sys.modules, name, None if name == package else sys)
    assert main(["view", str(arm), "--no-browser"]) == 1
    aside = capsys.readouterr().err
    assert package in aside and 'pip install "pliant[viewer]"' in aside


def test_a_file_that_is_not_there_is_named(capsys):
    assert main(["view", "no/such/model.xml"]) == 1
    assert "'no/such/model.xml' is no file" in capsys.readouterr().err


@pytest.mark.usefixtures("packages")
def test_a_model_that_cannot_be_stepped_opens_nothing(tmp_path, capsys):
    file = tmp_path / "asleep.xml"
    file.write_text(ARM.replace("<mujoco>", '<mujoco><option><flag sleep="enable"/></option>'))
    assert main(["view", str(file), "--no-browser", "--port", "0"]) == 1
    printed, aside = capsys.readouterr()
    assert printed == "" and 'the flag sleep="enable"' in aside


@pytest.mark.usefixtures("packages")
def test_a_simulation_that_fails_ends_with_the_reason(arm, monkeypatch, capsys):
    def step(model, data):
        data.qvel[0] = float("nan")
        pliant.mj_step(model, data)

    monkeypatch.setattr(viewer, "mj_step", step)
    assert main(["view", str(arm), "--no-browser", "--port", "0"]) == 1
    assert "data.qvel must be finite" in capsys.readouterr().err
