"""What is left when a machine misbehaves: killed and interrupted runs, full disks, folders without rights, two runs in
one place."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pliant
from pliant import record, recording
from pliant.cli import main
from pliant.systems import mujoco_load, mujoco_run
from tests.support.mechanisms import Ball
from tests.support.mixed_step import mixed

ROOT = Path(__file__).parents[1]
SCENE = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body pos="0 0 .5"><freejoint/><geom name="ball" size=".1" mass="1"/></body>
  </worldbody>
</mujoco>
"""
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def fall(path: Path | None, duration: float = 0.5, system: Ball | None = None) -> pliant.Trajectory:
    return pliant.simulate(system or Ball(), [0.0, 0.05], [2.0, 0.0], duration=duration, step=0.01, checkpoint=path)


@pytest.fixture
def scene(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scene.xml"
    path.write_text(SCENE)
    return path


def started(scene: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pliant", "run", str(scene), "--out", str(out), "--duration", "1e6", *more]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path: Path, size: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300.0
    while (not path.exists() or path.stat().st_size < size) and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def is_sound(run: pliant.Trajectory) -> bool:
    """Samples one step apart, all there."""
    steps = [round(100.0 * t) for t in run.time]
    return steps == list(range(len(run))) and len(run.forces) == len(run) - 1 and len(run.contacts) >= 0


@posix
def test_a_run_that_is_killed_is_kept_up_to_its_last_record(scene, tmp_path):
    out = tmp_path / "killed.run"
    process = started(scene, out)
    wait_for(out, 1_000_000, process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    run = pliant.Trajectory.load(out)
    assert run.ended == "unfinished" and is_sound(run)
    assert len(run) >= 2 * recording.SAMPLES and len(run) % recording.SAMPLES == 0
    with open(out, "r+b") as file:
        file.truncate(out.stat().st_size - 7)  # as if killed inside a record
    assert len(pliant.Trajectory.load(out)) == len(run) - recording.SAMPLES


def interrupted(scene: Path, out: Path, seed: int) -> None:
    rng = random.Random(seed)
    process = started(scene, out)
    if seed % 3 == 0:  # before there is anything
        time.sleep(rng.uniform(0.2, 0.6))
    else:
        wait_for(out, 100_000 if seed % 3 == 1 else 1_000_000, process)
        time.sleep(rng.uniform(0.0, 0.3))
    process.send_signal(signal.SIGINT)
    try:
        said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    # Python itself is not ready to say anything for the first tenths of a second: then the signal ends it
    assert process.returncode == 130 or (process.returncode == -signal.SIGINT and not out.exists()), said
    if out.exists():
        run = pliant.Trajectory.load(out)
        assert is_sound(run) and (run.ended == "interrupted" or "what was written before is kept" in said[1]), said
    else:
        assert "nothing is written" in said[1] or process.returncode == -signal.SIGINT, said


@posix
def test_ctrl_c_at_any_moment_leaves_a_run(scene, tmp_path):
    for seed in range(3):
        interrupted(scene, tmp_path / f"{seed}.run", seed)


@posix
@pytest.mark.slow
def test_ctrl_c_at_many_moments_leaves_a_run(scene, tmp_path):
    for seed in range(3, 60):
        interrupted(scene, tmp_path / f"{seed}.run", seed)


class Tidy:
    """Gets a Ctrl-C while it is deleted, which Python drops."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_a_ctrl_c_that_python_drops_is_heard_at_the_next_step(monkeypatch):
    class Deaf(Ball):
        def problem(self, time: float, *arguments: Any) -> pliant.StepProblem:
            if time > 0.095:
                Tidy()
            return super().problem(time, *arguments)

    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: None)  # which pytest would tell of
    run = fall(None, system=Deaf())
    assert run.ended == "interrupted" and run.time[-1] == pytest.approx(0.11)


def test_a_ctrl_c_that_python_drops_before_the_run_begins(scene, capsys, monkeypatch):
    """As while the command imports what it needs."""
    read = mujoco_load.read_model

    def deaf(*arguments: Any, **options: Any) -> Any:
        Tidy()
        return read(*arguments, **options)

    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: None)
    monkeypatch.setattr(mujoco_load, "read_model", deaf)
    assert main(["run", "scene.xml", "--duration", "0.1", "--out", "a.run"]) == 130
    assert pliant.Trajectory.load("a.run").ended == "interrupted"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_the_last_samples_are_written(scene, capsys, monkeypatch):
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recording.Recorder, "end", stop)
    assert main(["run", "scene.xml", "--duration", "0.1", "--out", "a.run"]) == 130
    assert "stopped; what was written before is kept" in capsys.readouterr().err
    assert len(pliant.Trajectory.load("a.run")) == 1


def test_ctrl_c_before_the_file_is_begun(scene, capsys, monkeypatch):
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recording, "rewrite", stop)
    assert main(["run", "scene.xml", "--duration", "0.1", "--out", "a.run"]) == 130
    assert "nothing is written" in capsys.readouterr().err and not Path("a.run").exists()


def test_ctrl_c_in_a_command_that_says_nothing_of_its_own(capsys, monkeypatch):
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.cli.run_doctor", stop)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "pliant doctor: stopped\n"


FULL = """
import resource, sys
import pliant
from pliant import recording
from tests.support.mechanisms import Ball
recording.SAMPLES = 20
whole = pliant.simulate(Ball(), [0.0, 0.05], [2.0, 0.0], duration=2.0, step=0.01)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
path = sys.argv[1]
try:
    pliant.simulate(Ball(), [0.0, 0.05], [2.0, 0.0], duration=2.0, step=0.01, checkpoint=path + ".run")
except OSError as error:
    print(error.errno, error, sep="; ")
try:
    whole.save(path + ".saved")
except OSError as error:
    print(error.errno, error, sep="; ")
"""


@posix
def test_a_file_that_may_not_grow(tmp_path):
    """As large as the system lets it: writes fail in the middle of a record."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "x")], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for line, name in zip(done.stdout.splitlines(), ("x.run", "x.saved"), strict=True):
        assert line.startswith(f"{errno.EFBIG}; ") and name in line and "make room, or choose another place" in line
    run = pliant.Trajectory.load(tmp_path / "x.run")
    assert 20 <= len(run) < 201 and is_sound_fall(run)
    assert [path.name for path in tmp_path.iterdir()] == ["x.run"]  # nothing half-written is left


def is_sound_fall(run: pliant.Trajectory) -> bool:
    whole = fall(None, 2.0)
    return run.q.tobytes() == whole.q[: len(run)].tobytes()


class Disk:
    """`os.fsync` as of a disk that is full from some moment on: what fails is what would be kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, writes: int, code: int = errno.ENOSPC) -> None:
        self.left, self.code = writes, code
        self.fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, descriptor: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(self.code, os.strerror(self.code))
        self.fsync(descriptor)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_full_disk_ends_a_run_with_its_path_and_what_to_do(tmp_path, monkeypatch, code):
    monkeypatch.setattr(recording, "SAMPLES", 10)
    path = tmp_path / "a.run"
    disk = Disk(monkeypatch, 3, code)
    with pytest.raises(OSError, match=r"a\.run") as caught:
        fall(path)
    assert caught.value.errno == code
    assert ("make room" in str(caught.value)) == (code == errno.ENOSPC)
    disk.left = 10**9
    assert 10 <= len(pliant.Trajectory.load(path)) < 51
    assert is_sound_fall(fall(path, 2.0))  # there is room again: it goes on


def test_a_full_disk_ends_the_command(scene, capsys, monkeypatch):
    monkeypatch.setattr(recording, "SAMPLES", 10)
    Disk(monkeypatch, 3)
    assert main(["run", "scene.xml", "--duration", "2", "--out", "a.run"]) == 1
    error = capsys.readouterr().err
    assert "No space left on device; make room" in error and "a.run" in error and "Traceback" not in error
    assert is_sound(pliant.Trajectory.load("a.run"))


def test_a_full_disk_keeps_what_a_file_held(tmp_path, monkeypatch):
    path = tmp_path / "step"
    mixed().save(path)
    before = path.read_bytes()
    Disk(monkeypatch, 0)
    with pytest.raises(OSError, match=r"No space left on device; make room.*step"):
        mixed(1).save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@contextlib.contextmanager
def without_rights() -> Iterator[Path]:
    """A folder that may be read and not written; the administrator, who may do anything, becomes nobody for a while."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            os.seteuid(user)
            os.chmod(folder, 0o755)


@posix
def test_a_folder_that_may_not_be_written():
    run = fall(None)
    with without_rights() as folder:
        for write in (mixed().save, run.save, fall):
            with pytest.raises(PermissionError, match=r"choose a folder that you may write to.*a\.file"):
                write(folder / "a.file")


def test_a_folder_that_is_not_there(tmp_path):
    run = fall(None)
    for write in (mixed().save, run.save, fall):
        with pytest.raises(FileNotFoundError, match=r"make its folder first.*a\.file"):
            write(tmp_path / "no" / "a.file")
        with pytest.raises(IsADirectoryError, match="choose a name in it"):
            write(tmp_path)


class Meanwhile(Ball):
    """Something happens in the middle of a run."""

    def __init__(self, act: Any) -> None:
        super().__init__()
        self.act, self.left = act, 25

    def problem(self, time, q, v, step):
        self.left -= 1
        if self.left == 0:
            self.act()
        return super().problem(time, q, v, step)


@posix
@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_a_file_that_goes_away_under_a_run_is_not_made_up(tmp_path, monkeypatch, what):
    monkeypatch.setattr(recording, "SAMPLES", 10)
    path, aside = tmp_path / "a.run", tmp_path / "aside"
    act = {"deleted": path.unlink, "moved": lambda: path.rename(aside), "replaced": lambda: mixed().save(path)}[what]
    with pytest.raises(pliant.FileError, match=r"a\.run was moved, replaced or deleted while the run was being"):
        fall(path, 0.5, Meanwhile(act))
    if what == "replaced":
        assert pliant.StepProblem.load(path).nv == mixed().nv
    else:
        assert not path.exists()
    if what == "moved":
        assert is_sound_fall(pliant.Trajectory.load(aside))


@posix
def test_two_commands_in_one_place_do_not_mix(scene, tmp_path):
    out = tmp_path / "a.run"
    both = [started(scene, out, "--every", "3") for _ in range(2)]
    deadline = time.monotonic() + 300.0
    while all(process.poll() is None for process in both) and time.monotonic() < deadline:
        time.sleep(0.01)
    one, other = sorted(both, key=lambda process: process.poll() is None)
    said = one.communicate()[1]
    assert one.returncode == 1 and ("is being written by another run" in said or "exists already" in said)
    wait_for(out, 5000, other)
    other.send_signal(signal.SIGINT)
    assert other.wait(timeout=60) == 130
    run = pliant.Trajectory.load(out)
    assert run.ended == "interrupted" and len(run) > 1 and (run.time[1:] > run.time[:-1]).all()
    other.communicate()


def test_a_run_that_another_has_finished_meanwhile_is_left_alone(scene, capsys, monkeypatch):
    """Both look whether the file is there, both find none; one is through before the other writes."""
    first: list[bool] = []

    class Slow(recording.Recorder):
        def __init__(self, *arguments: Any) -> None:
            if not first:
                first.append(True)
                assert main(["run", "scene.xml", "--duration", "0.2", "--out", "a.run"]) == 0
            super().__init__(*arguments)

    monkeypatch.setattr(mujoco_run, "Recorder", Slow)
    assert main(["run", "scene.xml", "--duration", "0.2", "--out", "a.run"]) == 1
    assert "a.run holds another run by now: choose another name" in capsys.readouterr().err
    run = pliant.Trajectory.load("a.run")
    assert run.complete and is_sound(run) and len(run) == 21
    assert len(list(record.read("a.run"))) == 2
