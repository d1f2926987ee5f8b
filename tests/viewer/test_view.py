"""`pliant view`: served on this machine alone, stepped with our forces, and closed again."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pliant
from pliant import cli_view
from pliant.cli import _parser, main
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_load import read_model
from pliant.viewer import overlays, server, simulation
from pliant.viewer.door import open_source
from pliant.viewer.view import View

from .conftest import ROLLING, running

ARM = """<mujoco><worldbody>
  <body name="arm" pos="0 0 1"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/></body>
</worldbody></mujoco>"""


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


def test_the_command_knows_what_the_viewer_knows():
    assert (cli_view.HOST, cli_view.PORT, cli_view.KINDS) == (server.HOST, server.PORT, tuple(overlays.KINDS))


@pytest.mark.usefixtures("packages")
def test_it_listens_on_this_machine_alone(arm):
    view = View(open_source(arm), port=0)
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
def test_a_port_that_is_taken_leads_to_the_next(arm):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        view = View(open_source(arm), port=port)
        try:
            assert int(view.url.rsplit(":", 1)[1]) != port
        finally:
            view.close()


@pytest.mark.usefixtures("packages")
def test_a_host_that_is_none_of_ours_is_refused(arm):
    for host in ("203.0.113.7", "no such host."):
        with pytest.raises(pliant.InputError, match="is no address of this machine"):
            View(open_source(arm), host=host, port=0)
    with pytest.raises(pliant.InputError, match="port must be a whole number"):
        View(open_source(arm), port=70000)


@pytest.mark.usefixtures("packages")
def test_it_steps_with_our_forces_until_interrupted(arm, monkeypatch):
    steps = []

    def step(model, data, **how):
        pliant.mj_step(model, data, **how)
        steps.append(data.time)
        if len(steps) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(simulation, "mj_step", step)
    source = simulation.Simulation(read_model(arm, step=0.01))
    view, before = View(source, port=0), signal.getsignal(signal.SIGINT)
    view.start()
    view.run()
    assert steps[:5] == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05])
    assert pliant.stats(source.data).steps == 5
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(OSError):
        urllib.request.urlopen(view.url, timeout=1.0)


@pytest.mark.usefixtures("packages")
def test_nothing_moves_before_somebody_looks(arm):
    with running(View(open_source(arm), port=0)) as view:
        time.sleep(0.3)
        assert view.source.time == 0.0
        view.start()
        wait_for(lambda: view.source.time > 0.0)


@pytest.mark.usefixtures("packages")
def test_the_users_model_is_left_as_it_was(arm):
    model = read_model(ROLLING)
    looks = model.geom_rgba.copy(), model.vis.scale.forcewidth, model.opt.timestep
    View(open_source(model), port=0, see_through=True, show=["forces"]).close()
    assert (model.geom_rgba == looks[0]).all() and (model.vis.scale.forcewidth, model.opt.timestep) == looks[1:]


@pytest.mark.usefixtures("packages")
def test_what_cannot_be_shown_is_refused(arm):
    with pytest.raises(pliant.InputError, match="there is no 'heat'; there are contacts, forces"):
        View(open_source(arm), port=0, show=["forces", "heat"])
    with pytest.raises(pliant.InputError, match="expected a path or the text of a model"):
        pliant.view(3)


@pytest.mark.usefixtures("packages")
def test_a_simulation_that_fails_pauses_and_says_why(arm, monkeypatch, caplog):
    def step(model, data, **how):
        data.qvel[0] = float("nan")
        pliant.mj_step(model, data, **how)

    monkeypatch.setattr(simulation, "mj_step", step)
    with running(View(open_source(arm), port=0)) as view:
        view.start()
        wait_for(lambda: view.trouble)
        assert view.paused and "data.qvel must be finite" in view.trouble
        monkeypatch.undo()
        assert view.do(view.source.reset) == ""
        view.paused, view.trouble = False, ""
        wait_for(lambda: view.source.time > 0.1)
    assert "the simulation stopped: data.qvel must be finite" in caplog.text


@contextmanager
def command(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`pliant view` as a process of its own, and its address."""
    source = str(Path(pliant.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pliant", "view", "--no-browser", "--port", "0", *arguments],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout
        process.said = process.stdout.readline()  # type: ignore[attr-defined]
        found = re.search(r"http://127\.0\.0\.1:\d+", process.said)  # type: ignore[attr-defined]
        assert found
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("what", ["model", "run"])
def test_the_command_serves_until_ctrl_c(arm, rolling, what):
    arguments = [str(arm), "--floor"] if what == "model" else [str(rolling)]
    with command(*arguments) as (process, address):
        with contextlib.suppress(
            OSError, http.client.HTTPException
        ):  # what asks for less than a page leaves no traceback
            urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=10.0)
        with urllib.request.urlopen(address) as page:
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30.0) == 130
        assert process.stderr and process.stderr.read() == ""


@pytest.mark.usefixtures("packages")
def test_it_says_when_others_can_look(arm):
    with command(str(arm), "--host", "0.0.0.0") as (process, address):
        with urllib.request.urlopen(address) as page:
            assert page.status == 200
        assert "whoever reaches 0.0.0.0 can look and steer" in process.said  # type: ignore[attr-defined]


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


def test_options_that_do_not_fit_are_named(arm, rolling, tmp_path, capsys):
    for arguments, said in (
        ([str(rolling), "--step", "0.1", "--floor"], "--step, --floor: for models only"),
        ([str(arm), "--model", str(arm)], "--model is for runs"),
        (
            [str(arm), "--export", str(tmp_path / "page.html")],
            "is a model, not a run: make one first, with `pliant run",
        ),
    ):
        assert main(["view", *arguments, "--no-browser"]) == 1
        assert said in capsys.readouterr().err


def test_a_model_starts_at_its_key_frame(tmp_path, rolling, capsys):
    file = tmp_path / "rolling.xml"
    file.write_text(ROLLING)
    source = cli_view._source(_parser().parse_args(["view", str(file), "--key", "go"]))
    assert source.data.qvel[0] == 1.0
    source.step()
    source.reset()
    assert source.data.qvel[0] == 1.0 and source.time == 0.0
    for what, says in ((rolling, "--key: for models only"), (file, "'no' is none of the model's key frames: go")):
        assert main(["view", str(what), "--key", "no"]) == 1
        assert says in capsys.readouterr().err


def test_a_model_that_cannot_be_stepped_opens_nothing(tmp_path, capsys):
    file = tmp_path / "asleep.xml"
    file.write_text(ARM.replace("<mujoco>", '<mujoco><option><flag sleep="enable"/></option>'))
    assert main(["view", str(file), "--no-browser", "--port", "0"]) == 1
    printed, aside = capsys.readouterr()
    assert printed == "" and 'the flag sleep="enable"' in aside


def wait_for(happens: Callable[[], Any], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
