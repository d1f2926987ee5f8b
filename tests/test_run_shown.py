"""Runs from files, to be looked at: what is damaged is refused, or said."""

from pathlib import Path

import pytest

import pliant
from pliant import recording
from pliant.cli import main
from pliant.run_shown import run_to_show
from pliant.stage import Stage
from pliant.studies.pendulum import Pendulum
from pliant.viewer.playback import Playback

COMMANDS = {"page": ("view", "--export", "x.html"), "picture": ("render", "--out", "x.png")}


def swing(path: Path) -> None:
    pliant.simulate(Pendulum(), [1.0, 0.0, 0.0], [0.0] * 3, duration=0.1, step=0.01, checkpoint=path)


def damage(path: Path, at: float) -> None:
    """Change eight bytes, at this part of the file."""
    content = bytearray(path.read_bytes())
    place = int(at * len(content))
    content[place : place + 8] = bytes(255 - byte for byte in content[place : place + 8])
    path.write_bytes(content)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_of_which_only_the_start_can_be_read_is_refused(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    swing(Path("flip.run"))
    damage(Path("flip.run"), 0.8)
    name, option, out = COMMANDS[command]
    assert main([name, "flip.run", option, out]) == 1
    said = capsys.readouterr()
    assert said.out == "" and "is damaged" in said.err and "1 of its samples could be read" in said.err
    assert not Path(out).exists()


def test_of_a_run_that_is_damaged_later_the_rest_is_shown(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(recording, "SAMPLES", 4)
    path = tmp_path / "swing.run"
    swing(path)
    damage(path, 0.98)
    run = run_to_show(path)
    assert len(run) == 8 and "8 of its samples could be read, up to 0.07 s" in caplog.text
    assert Playback(run, Stage.of(run)).told.endswith("unfinished")


def test_a_run_that_was_stopped_while_it_wrote_is_whole_up_to_there(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "SAMPLES", 4)
    path = tmp_path / "swing.run"
    swing(path)
    path.write_bytes(path.read_bytes()[:-20])
    assert len(run_to_show(path)) == 8


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_run_is_named_with_its_remedy(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    Path("slope.xml").write_text("<mujoco/>")
    name, option, out = COMMANDS[command]
    for what, says in (
        ("nope.run", "'nope.run' is no file: give the file of a run, which `pliant run MODEL` makes"),
        (".", "'.' is a folder"),
        ("slope.xml", "slope.xml is a model, not a run: make one first, with `pliant run slope.xml`"),
    ):
        assert main([name, what, option, out]) == 1
        assert says in capsys.readouterr().err
    assert main(["view", "nope.run"]) == 1
    assert "'nope.run' is no file: give the file of a run" in capsys.readouterr().err
