"""Runs: recorded, saved, interrupted, killed, and gone on with."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant import lock, record, recording
from pliant.simulate import whole_steps
from tests.support.mechanisms import Ball, Pendulum

ROOT = Path(__file__).parents[1]
FALL = {"q": [0.0, 0.05], "v": [2.0, 0.0], "step": 0.01}


def fall(duration: float = 0.5, system: Ball | None = None, **options: Any) -> pliant.Trajectory:
    given: dict[str, Any] = {**FALL, **options}
    return pliant.simulate(system or Ball(), given.pop("q"), given.pop("v"), duration=duration, **given)


def same(a: pliant.Trajectory, b: pliant.Trajectory) -> bool:
    """Bit for bit."""
    arrays = [(a.time, b.time), (a.q, b.q), (a.v, b.v), *((a.stats[k], b.stats[k]) for k in a.stats)]
    forces = zip(a.forces, b.forces, strict=True)
    return all(np.array_equal(x, y) for x, y in arrays) and all(
        len(x) == len(y) and all(map(np.array_equal, x, y)) for x, y in forces
    )


def test_a_ball_falls_slides_and_rests():
    run = fall(1.5)
    assert run.complete and len(run) == 151 and run.time[-1] == pytest.approx(1.5)
    assert run.q.shape == (151, 2) and len(run.forces) == 150
    assert run.forces[0][0].shape == (1, 2) and run.forces[-1][0][0, 0] == pytest.approx(9.8, rel=1e-9)
    assert np.abs(run.v[-1]).max() < 1e-12 and run.q[-1, 1] == pytest.approx(-9.8e-8)
    assert run.stats["unsolved"].sum() == 0 and run.stats["residual"].max() < 1e-8


def test_every_other_step_can_be_left_out():
    every, third = fall(0.6), fall(0.6, record_every=3)
    assert np.array_equal(third.q, every.q[::3]) and np.array_equal(third.time, every.time[::3])
    assert third.stats["iterations"].sum() == every.stats["iterations"].sum()


def test_a_run_is_saved_and_loaded(tmp_path):
    run = fall()
    run.save(tmp_path / "run.pliant")
    back = pliant.Trajectory.load(tmp_path / "run.pliant")
    assert same(run, back) and back.complete and back.parameters == run.parameters
    assert repr(back) == "Trajectory(51 samples, 0 to 0.5 s)"


@pytest.mark.parametrize("every", [1, 3])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path, every):
    whole = fall(0.6, record_every=every)
    fall(0.25, record_every=every, checkpoint=tmp_path / "run.pliant")
    again = fall(0.6, record_every=every, checkpoint=tmp_path / "run.pliant")
    assert same(whole, again)
    assert same(again, fall(0.6, record_every=every, checkpoint=tmp_path / "run.pliant"))  # nothing left to do


def test_a_run_that_was_stopped_before_its_first_record_begins_again(tmp_path):
    path = tmp_path / "run.pliant"
    with pytest.raises(ZeroDivisionError):
        fall(0.3, Stopping(0.0, ZeroDivisionError), checkpoint=path)
    assert same(fall(0.3, checkpoint=path), fall(0.3))


class Stopping(Ball):
    """Raises in the middle of a run."""

    def __init__(self, at: float, error: type[BaseException]) -> None:
        super().__init__()
        self.at, self.error = at, error

    def problem(self, time, q, v, step):
        if time >= self.at:
            raise self.error
        return super().problem(time, q, v, step)


@pytest.mark.parametrize("file", [False, True])
def test_an_interrupted_run_returns_what_there_is(tmp_path, file):
    path = tmp_path / "run.pliant" if file else None
    run = fall(0.5, Stopping(0.2, KeyboardInterrupt), checkpoint=path)
    assert not run.complete and len(run) == 21 and "stopped early" in repr(run)
    if path:
        assert same(fall(0.5, checkpoint=path), fall(0.5))


@pytest.mark.parametrize("every", [1, 2])
def test_ctrl_c_may_come_at_any_line_of_the_recording(tmp_path, monkeypatch, every):
    monkeypatch.setattr(recording, "SAMPLES", 2)
    whole, before, count = fall(0.04, record_every=every), sys.gettrace(), 0
    while True:
        path, left = tmp_path / f"{count}.pliant", [count]

        def interrupt(frame, event, argument, left=left):
            if frame.f_code.co_filename != recording.__file__ or frame.f_code.co_name not in ("step", "_close"):
                return None
            left[0] -= event == "line"
            if left[0] < 0:
                sys.settrace(before)
                raise KeyboardInterrupt
            return interrupt

        sys.settrace(interrupt)
        with contextlib.suppress(KeyboardInterrupt):  # let through once there is nothing left to simulate
            fall(0.04, record_every=every, checkpoint=path)
        sys.settrace(before)
        if left[0] >= 0:  # it came to its end first
            break
        assert same(fall(0.04, record_every=every, checkpoint=path), whole), count
        count += 1
    assert count > 50


def test_an_error_of_the_system_loses_nothing_that_was_written(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "SAMPLES", 5)
    with pytest.raises(ZeroDivisionError):
        fall(0.5, Stopping(0.2, ZeroDivisionError), checkpoint=tmp_path / "run.pliant")
    assert len(pliant.Trajectory.load(tmp_path / "run.pliant")) >= 20
    assert same(fall(0.5, checkpoint=tmp_path / "run.pliant"), fall(0.5))


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("file", [False, True])
def test_an_error_goes_on_with_the_run_so_far(tmp_path, file, every):
    path = tmp_path / "run.pliant" if file else None
    with pytest.raises(ZeroDivisionError) as caught:
        fall(0.5, Stopping(0.2, ZeroDivisionError), checkpoint=path, record_every=every)
    run = caught.value.trajectory  # type: ignore[attr-defined]
    assert run.ended == "error" and run.time[-1] == pytest.approx(0.2)
    assert any("system.problem at t = 0.2 s" in note for note in caught.value.__notes__)
    if path:
        assert len(pliant.Trajectory.load(path)) == len(run)
        assert same(fall(0.5, checkpoint=path, record_every=every), fall(0.5, record_every=every))


def test_an_error_of_the_solver_carries_the_run_to_another_process():
    with pytest.raises(pliant.SolveError) as caught:
        fall(0.5, Overflowing())
    back = pickle.loads(pickle.dumps(caught.value))
    assert same(back.trajectory, fall(0.1)) and back.problem.rows == 1


class Overflowing(Ball):
    """An answer that is not finite, from 0.1 s on."""

    def problem(self, time, q, v, step):
        if time < 0.0999:
            return super().problem(time, q, v, step)
        return pliant.StepProblem(
            [1.0, 1.0], v, [1e308, 0.0], step, [pliant.Bilateral([[1e200, 0]], [0], pliant.Law(1e200))]
        )


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("file", [False, True])
def test_the_last_status_of_a_run_that_is_not_finite_says_so(tmp_path, file, every):
    path = tmp_path / "run.pliant" if file else None
    run = fall(0.5, Overflowing(), throw=False, checkpoint=path, record_every=every)
    assert run.ended == "non-finite" and not run.complete and run.time[-1] == pytest.approx(0.1)
    assert list(pliant.Status)[run.stats["status"][-1]] is pliant.Status.NON_FINITE
    assert list(pliant.Status)[run.stats["status"][0]] is pliant.Status.SOLVED
    counts = ("iterations", "factorizations", "gave_up", "unsolved")
    assert all(run.stats[name].dtype == np.int64 for name in counts)


def test_a_system_may_work_in_place():
    class InPlace(Ball):
        def problem(self, time, q, v, step):
            found = super().problem(time, q, v, step)
            v[:] = 7.0
            return found

        def advance(self, q, v, step):
            q += step * v
            return q

    assert same(fall(0.3, InPlace()), fall(0.3))


@pytest.mark.parametrize("file", [False, True])
def test_the_last_state_is_kept_whatever_record_every_says(tmp_path, file):
    path = tmp_path / "run.pliant" if file else None
    every, seventh = fall(0.25), fall(0.25, record_every=7, checkpoint=path)
    assert np.array_equal(seventh.time, every.time[[0, 7, 14, 21, 25]])
    assert np.array_equal(seventh.q, every.q[[0, 7, 14, 21, 25]])
    assert np.array_equal(seventh.forces[-1][0], every.forces[-1][0])
    assert seventh.stats["iterations"].sum() == every.stats["iterations"].sum()


def test_a_flush_between_two_samples_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "SECONDS", -1.0)  # at every step
    assert same(fall(0.25, record_every=7, checkpoint=tmp_path / "run.pliant"), fall(0.25, record_every=7))


def test_a_finished_file_does_not_grow_and_a_longer_one_is_returned(tmp_path):
    path = tmp_path / "run.pliant"
    whole = fall(0.3, checkpoint=path)
    before = path.read_bytes()
    for duration in (0.3, 0.1):
        again = fall(duration, checkpoint=path)
        assert same(again, whole) and again.complete and again.parameters["duration"] == 0.3
    assert path.read_bytes() == before
    assert fall(0.4, checkpoint=path).parameters["duration"] == 0.4


def test_a_file_with_a_header_only_holds_the_start(tmp_path):
    path = tmp_path / "run.pliant"
    fall(0.3, checkpoint=path)
    path.write_bytes(path.read_bytes()[: record_ends(path)[0]])
    run = pliant.Trajectory.load(path)
    assert repr(run) == "Trajectory(1 samples, 0 to 0 s, stopped early)" and run.ended == "unfinished"
    assert run.q.tolist() == [FALL["q"]] and run.v.tolist() == [FALL["v"]]
    assert run.forces == [] and run.stats["status"].shape == (0,)


def record_ends(path: Path) -> list[int]:
    """Where the records of a file end."""
    with open(path, "rb") as file:
        record._check_start(file, path)
        return [file.tell() for _ in record._frames(file, path)]


@pytest.mark.parametrize("size", [0, 5, 8, 10, 20, 100])
def test_a_file_cut_inside_its_header_is_begun_anew(tmp_path, size):
    path = tmp_path / "run.pliant"
    whole = fall(0.05, checkpoint=path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(pliant.FileError, match=r"holds nothing|no complete record"):
        pliant.Trajectory.load(path)
    assert same(fall(0.05, checkpoint=path), whole)


@pytest.mark.parametrize("which", [0, 1])
def test_a_damaged_file_is_not_gone_on_with(tmp_path, which):
    path = tmp_path / "run.pliant"
    fall(0.05, checkpoint=path)
    content = bytearray(path.read_bytes())
    content[record_ends(path)[which] - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(pliant.FileError, match=f"record {which} is damaged.*choose another name or move the file away"):
        fall(0.1, checkpoint=path)
    assert path.read_bytes() == content


def test_a_file_that_ends_early_is_warned_of_once(tmp_path, caplog):
    path = tmp_path / "run.pliant"
    fall(0.05, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-1])
    run = pliant.Trajectory.load(path)
    assert len(run) == len(run.q) == len(run.v) == 1
    assert sum("is incomplete" in entry.message for entry in caplog.records) == 1


def test_a_saved_run_is_no_checkpoint(tmp_path):
    path = tmp_path / "run.pliant"
    fall(0.1).save(path)
    before = path.read_bytes()
    with pytest.raises(pliant.InputError, match=r"was written by Trajectory\.save.*choose another name"):
        fall(0.2, checkpoint=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("locks", [True, False])
def test_a_second_writer_is_refused(tmp_path, monkeypatch, locks):
    path = tmp_path / "run.pliant"
    if not locks:
        monkeypatch.setattr(lock, "fcntl", None)

    class Nested(Ball):
        def problem(self, time, q, v, step):
            if time > 0.04:
                with pytest.raises(pliant.InputError, match="is being written by another run"):
                    fall(0.1, checkpoint=path)
            return super().problem(time, q, v, step)

    assert same(fall(0.1, Nested(), checkpoint=path), fall(0.1))
    assert fall(0.1, checkpoint=path).complete  # and let go
    assert [file.name for file in tmp_path.iterdir()] == ["run.pliant"]


@pytest.mark.parametrize(
    ("duration", "step", "count"),
    [(0.3, 0.1, 3), (0.31, 0.1, 4), (0.05, 0.1, 1), (1e4, 0.1, 100_000), (1.0, 3e-6, 333_334)],
)
def test_whole_steps_cover_the_duration(duration, step, count):
    assert whole_steps(duration, step) == count


RUN = """
import sys
import pliant
from pliant import recording
from tests.support.mechanisms import Ball
recording.SAMPLES = 7
pliant.simulate(Ball(), [0.0, 0.05], [2.0, 0.0], duration=float(sys.argv[2]), step=0.01, checkpoint=sys.argv[1])
"""


def test_a_killed_process_can_be_followed_by_another(tmp_path):
    path = tmp_path / "run.pliant"
    process = subprocess.Popen([sys.executable, "-c", RUN, str(path), "1000"], cwd=ROOT)
    deadline = time.monotonic() + 60.0
    while (not path.exists() or path.stat().st_size < 20_000) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    process.wait()
    taken = len(pliant.Trajectory.load(path)) - 1
    assert taken > 5
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 3)  # as if killed inside a record
    duration = 0.01 * (taken + 20)
    subprocess.run([sys.executable, "-c", RUN, str(path), str(duration)], cwd=ROOT, check=True)
    assert same(pliant.Trajectory.load(path), fall(duration))


def test_memory_does_not_grow_with_a_run_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "SAMPLES", 10)
    kept = []
    close = recording.Recorder._close

    def watch(self, ended):
        kept.append(len(self._held.samples))
        close(self, ended)
        assert not self._held.samples and not self._kept

    monkeypatch.setattr(recording.Recorder, "_close", watch)
    fall(1.0, checkpoint=tmp_path / "run.pliant")
    assert len(kept) >= 10 and max(kept) <= 10


def test_a_file_of_another_run_is_not_touched(tmp_path):
    path = tmp_path / "run.pliant"
    fall(0.1, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(pliant.PliantError, match=r"another run: step is 0\.01 there and 0\.005 here;"):
        fall(0.1, step=0.005, checkpoint=path)
    path.write_bytes(b"not ours")
    with pytest.raises(pliant.PliantError, match="not a pliant file"):
        fall(0.1, checkpoint=path)
    assert path.read_bytes() == b"not ours"
    path.write_bytes(before)
    Pendulum().problem(0.0, np.zeros(3), np.zeros(3), 0.1).save(tmp_path / "step.pliant")
    with pytest.raises(pliant.PliantError, match="is not a run"):
        fall(0.1, checkpoint=tmp_path / "step.pliant")
    with pytest.raises(pliant.PliantError, match="expected a run, found 'step problem'"):
        pliant.Trajectory.load(tmp_path / "step.pliant")
    with pytest.raises(pliant.FileError, match=r"expected a step problem, found a run; pliant\.Trajectory\.load"):
        pliant.StepProblem.load(path)


def replaced(system: Any, **attributes: Any) -> Any:
    for name, value in attributes.items():
        setattr(system, name, value)
    return system


BAD = [
    ({"step": 0.0}, "step must be one number > 0"),
    ({"duration": -1.0}, "duration must be one number > 0"),
    ({"duration": np.nan}, "duration must be one number > 0"),
    ({"duration": 10**400}, "duration must be one number > 0"),
    (
        {"duration": 1e300, "step": 1e-300},
        r"less than 2\*\*53 steps, got 1e\+300 s in steps of 1e-300 s",
    ),
    ({"duration": 1e12, "step": 1e-6}, "take a larger step"),
    ({"time": 10**400}, "time must be one finite number"),
    ({"record_every": 0}, "record_every must be a whole number >= 1"),
    ({"q": [[0.0]]}, "q must be a vector"),
    ({"q": None}, "q must be real numbers, got None"),
    ({"q": "x"}, "q must be real numbers, got 'x'"),
    ({"v": [1j, 0.0]}, "v must be real numbers"),
    ({"time": np.nan}, "time must be one finite number"),
    ({"checkpoint": 5}, "checkpoint must be a path, or None, got 5"),
    ({"system": Ball}, r"system must be an instance, got the class Ball; write Ball\(...\)"),
    ({"system": object()}, "got object without problem and advance"),
    (
        {"system": replaced(Ball(), geometric_stiffness=5)},
        "system.geometric_stiffness must be a method, or None, got 5",
    ),
    ({"v": [np.nan, 0.0]}, "v must be finite, got nan at index 0"),
]


@pytest.mark.parametrize(("change", "says"), BAD)
def test_bad_arguments_are_refused(change, says):
    with pytest.raises(pliant.PliantError, match=says):
        fall(**change)


def test_steps_at_the_limit_are_counted_and_said_once(caplog):
    system = Ball(friction=0.7)
    run = fall(1.0, system, solver=pliant.Coulomb(max_iterations=1, tolerance=1e-300))
    assert run.stats["unsolved"].sum() > 5
    assert sum("iteration limit" in entry.message for entry in caplog.records) == 1


def test_progress_is_shown_on_request(capsys):
    fall(0.1)
    assert capsys.readouterr().err == ""
    fall(0.1, progress=True)
    assert "10/10" in capsys.readouterr().err
