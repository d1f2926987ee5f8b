"""`pliant run`: the file, the summary, and what is kept when something goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.cli import main
from pliant.systems import mujoco_run, mujoco_stepper
from pliant.systems.mujoco_calls import take_steps

SCENE = """
<mujoco>
  <option timestep="0.01"/>
  {}
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body pos="0 0 .5"><freejoint/><geom name="ball" size=".1" mass="1"/></body>
  </worldbody>
  <keyframe><key name="low" qpos="0 0 .1 1 0 0 0"/></keyframe>
</mujoco>
"""


@pytest.fixture
def scene(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scene.xml"
    path.write_text(SCENE.format(""))
    return path


def test_a_run(scene, capsys):
    assert main(["run", "scene.xml", "--duration", "2", "--step", "0.02"]) == 0
    said = capsys.readouterr().out
    for text in ("100 of 20 ms: 2 s in", "times real time", "kinematics", "collision", "assembly", "solve", "Python"):
        assert text in said
    for text in ("contacts   1 at most; deepest", "of ball in floor", "100 steps solved", "scene.run, 101"):
        assert text in said
    run = pliant.Trajectory.load("scene.run")
    assert run.complete and run.time[-1] == pytest.approx(2.0) and run.q[-1, 2] == pytest.approx(0.1, abs=1e-6)
    last = run.contacts[run.contacts["time"] == run.time[-1]]
    assert float(np.sum(last["fz"])) == pytest.approx(9.81, rel=1e-9)
    assert (run.stats["status"] == 0).all() and run.stats["residual"].max() < 1e-8
    assert sum(mujoco_run.Summary().seconds.values()) == 0.0


def test_nothing_is_overwritten(scene, capsys):
    for name in ("scene.run", "scene-2.run", "scene-3.run"):
        assert main(["run", "scene.xml", "--duration", "0.1"]) == 0
        assert Path(name).exists() and f"written    {name}" in capsys.readouterr().out
    assert main(["run", "scene.xml", "--out", "scene.run"]) == 1
    assert "scene.run exists already" in capsys.readouterr().err


def test_materials_of_a_file_and_of_the_model(scene, capsys):
    scene.write_text(SCENE.format('<custom><text name="pliant" data="{floor: steel, ball: rubber}"/></custom>'))
    Path("hard.yaml").write_text("ball: steel\n")
    depth = {}
    for name, more in (("soft", []), ("hard", ["--materials", "hard.yaml"])):
        assert main(["run", "scene.xml", "--duration", "2", "--key", "low", "--out", f"{name}.run", *more]) == 0
        run = pliant.Trajectory.load(f"{name}.run")
        depth[name] = 0.1 - run.q[-1, 2]
        assert "Material(youngs_modulus=200000000000.0" in run.parameters["materials"]["floor"]
    rubber, steel = pliant.Material.of("rubber").compliance, pliant.Material.of("steel").compliance
    expected = ((rubber + steel) / (2.0 * steel)) ** (2.0 / 3.0)
    assert depth["soft"] / depth["hard"] == pytest.approx(expected, rel=1e-4)


BAD = {
    "no model": (["nothing.xml"], "'nothing.xml' is no file"),
    "no such key frame": (["scene.xml", "--key", "high"], "'high' is none of the model's key frames: low"),
    "duration": (["scene.xml", "--duration", "-1"], "duration must be one number > 0 [s], got -1.0"),
    "step": (["scene.xml", "--step", "0"], "step must be a positive number of seconds"),
    "every": (["scene.xml", "--every", "0"], "every must be a whole number >= 1"),
    "no such folder": (["scene.xml", "--out", "no/where.run"], "there is no folder no for where.run: make it"),
    "no such materials": (["scene.xml", "--materials", "no.yaml"], "no.yaml"),
    "bad materials": (["scene.xml", "--materials", "scene.xml"], "scene.xml, line"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case, scene, capsys):
    arguments, says = BAD[case]
    assert main(["run", *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("pliant run: ") and says in error and "Traceback" not in error
    assert not list(Path().glob("*.run"))


def broken(monkeypatch: pytest.MonkeyPatch, at: int, error: BaseException) -> None:
    """Steps that go wrong after a while."""
    taken = []

    def steps(*arguments: Any) -> None:
        taken.append(0)
        if len(taken) > at:
            raise error
        take_steps(*arguments)

    monkeypatch.setattr(mujoco_run, "take_steps", steps)


def test_ctrl_c_keeps_what_was_simulated(scene, capsys, monkeypatch):
    broken(monkeypatch, 30, KeyboardInterrupt())
    assert main(["run", "scene.xml", "--duration", "1"]) == 130
    assert "scene.run, 31 samples, interrupted at 0.3 s" in capsys.readouterr().out
    run = pliant.Trajectory.load("scene.run")
    assert run.ended == "interrupted" and len(run) == 31


def test_ctrl_c_before_the_first_step_leaves_nothing(scene, capsys, monkeypatch):
    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.systems.mujoco_system.MujocoSystem.draw", interrupted)
    assert main(["run", "scene.xml"]) == 130
    assert "stopped before the first step" in capsys.readouterr().err and not list(Path().glob("*.run"))


def test_a_step_that_fails_is_saved(scene, capsys, monkeypatch):
    broken(monkeypatch, 40, pliant.SolveError("no numbers"))
    assert main(["run", "scene.xml", "--duration", "1", "--out", "a.run"]) == 1
    said = capsys.readouterr()
    assert "no numbers" in said.err and "a.run.failed-step" in said.out
    run = pliant.Trajectory.load("a.run")
    assert run.ended == "error" and len(run) == 41
    problem = pliant.StepProblem.load("a.run.failed-step")
    np.testing.assert_array_equal(problem.velocity, run.v[-1])
    assert pliant.solve(problem).status is pliant.Status.SOLVED


def test_a_step_at_its_iteration_limit_is_saved_and_the_run_goes_on(scene, capsys, monkeypatch):
    """The tenth is one."""
    taken = []

    def outcome(stepper: Any) -> mujoco_stepper.Outcome:
        taken.append(mujoco_stepper.outcome(stepper))
        return taken[-1]._replace(status=pliant.Status.ITERATION_LIMIT) if len(taken) == 10 else taken[-1]

    monkeypatch.setattr(mujoco_run, "outcome", outcome)
    assert main(["run", "scene.xml", "--duration", "0.5", "--out", "b.run"]) == 0
    said = capsys.readouterr().out
    assert "49 steps solved, 0 by the fallback, 1 at the iteration limit" in said and "b.run.failed-step" in said
    assert pliant.Trajectory.load("b.run").stats["unsolved"].sum() == 1
    assert pliant.StepProblem.load("b.run.failed-step").velocity[2] == pytest.approx(-9.81 * 0.09)


@pytest.mark.parametrize("solver", ["coulomb", "convex", "printed"])
def test_every_solver(scene, solver):
    assert main(["run", "scene.xml", "--duration", "0.4", "--solver", solver, "--every", "7"]) == 0
    run = pliant.Trajectory.load("scene.run")
    assert len(run) == 7 and solver.capitalize() in run.parameters["solver"]
