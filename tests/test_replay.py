"""`pliant replay`: known problems and their known causes, and what is no saved step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.cli import main
from pliant.replay import Replay, replay, replay_file
from tests.support import problems
from tests.support.mechanisms import Ball
from tests.support.mixed_step import mixed

FRAME = [[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]


def overflowing() -> pliant.StepProblem:
    huge = pliant.Bilateral([[1e200, 0.0]], [0.0], pliant.Law(1e200))
    return pliant.StepProblem([1.0, 1.0], [0.0, 0.0], [1e308, 0.0], 0.01, [huge])


def overflowing_on_the_way() -> pliant.StepProblem:
    """Every number fits, of sums with the springs some do not."""
    contact = pliant.Contact(FRAME, [-0.1], pliant.Law(1e8, 1e3), friction=0.5)
    return pliant.StepProblem([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [8.0, 0.0, -1e308], 0.01, [contact])


def vise() -> pliant.StepProblem:
    """A ball that is 2 mm too large for its place."""
    jaws = pliant.Unilateral([[1.0], [-1.0]], [-1e-3, -1e-3], pliant.Law(1e10), name="jaws")
    return pliant.StepProblem([1.0], [0.0], [-9.81], 0.01, [jaws])


def buried(law: pliant.Law | None = None, depth: float = 0.05) -> pliant.StepProblem:
    floor = pliant.Contact(FRAME, [-depth], law or pliant.Law(1e8), 0.5, name="floor", ids=[7])
    return pliant.StepProblem([1.0] * 3, [0.0] * 3, [0.0, 0.0, -9.81], 0.01, [floor])


def rod(slide: float, rise: float, mu: float = 2.0) -> pliant.StepProblem:
    """Painleve's rod at tan(theta) = 2, sliding on its tip: for mu > 4/3 friction jams it if it slides to the left."""
    c, s = np.cos(np.arctan(2.0)), np.sin(np.arctan(2.0))
    tip = pliant.Contact([[[0.0, 1.0, -c], [1.0, 0.0, s]]], [0.0], pliant.Law(1e8), mu, name="tip")
    return pliant.StepProblem([1.0, 1.0, 1.0 / 3.0], [slide, rise, 0.0], [0.0] * 3, 0.01, [tip])


def pressed(middle: float, top: float = 1e6, lowest: float = 1e6) -> pliant.StepProblem:
    """Three bodies on the floor, one on top of the other."""
    mass = np.array([lowest, middle, top])
    rows = pliant.Unilateral(np.eye(3) - np.eye(3, k=-1), np.zeros(3), pliant.Law(1e8), name="pile")
    return pliant.StepProblem(mass, np.zeros(3), -9.81 * mass, 0.01, [rows])


def gripper(force: float) -> pliant.StepProblem:
    """A finger that presses a fixed thing with a motor: forces that cancel, as they should."""
    motor = pliant.Clipped([[1.0]], [0.0], pliant.Law(0.0, 1e9), -force, force, rate_offset=1.0)
    stop = pliant.Unilateral([[1.0]], [0.0], pliant.Law(1e12))
    return pliant.StepProblem([1e-3], [0.0], [0.0], 0.01, [motor, stop])


CAUSES: dict[str, tuple[pliant.StepProblem, list[str], str]] = {
    "overflow": (overflowing(), ["non-finite"], "force 1.0e+308, jacobian 1.0e+200"),
    "welds that disagree": (problems.contradictory_welds(), ["contradicting rows"], "leave out one"),
    "a vise": (vise(), ["contradicting rows"], "1e+07 N, of which 9.81 N are left over: constraints[0] (Unilateral 'j"),
    "overlap": (buried(), ["deep penetration"], "at 5 m/s: constraints[0] (Contact 'floor'), id 7, 0.05 m deep"),
    "a rod that jams": (rod(-1.0, -0.1), ["jammed contacts"], "1.5 times as fast"),
    "a rod that may": (rod(-1.0, 0.1), ["several answers"], "from other starts"),
    "a light body between": (pressed(1e-3), ["mass ratio"], "1.0e+09 times as heavy"),
}
WELL: dict[str, pliant.StepProblem] = {
    "at rest": problems.ramp_stick(),
    "sliding": problems.ramp_slip(),
    "redundant": problems.doubled_welds(),
    "no rows": problems.no_rows(),
    "pressed in, damped": buried(pliant.Law(1e8, 1e8)),
    "pressed in, soft": buried(pliant.Law(1e3)),
    "pressed in a little": buried(depth=1e-5),
    "a rod, dragged": rod(1.0, -0.1),
    "a rod, less rough": rod(-1.0, -0.1, mu=1.0),
    "equal bodies": pressed(1.0, 1.0, 1.0),
    "a light body on top": pressed(1.0, 1e-6, 1.0),
    "a gripper": gripper(1e4),
}


@pytest.mark.parametrize("case", CAUSES)
def test_known_causes(case):
    problem, names, says = CAUSES[case]
    found = replay(problem)
    assert [cause.name for cause in found.causes] == names
    assert says in str(found) and found.causes[0].remedy in str(found)


@pytest.mark.parametrize("case", WELL)
def test_nothing_stands_out(case):
    found = replay(WELL[case])
    assert found.solved and found.causes == () and str(found).endswith("nothing stands out: the step is well")


@pytest.mark.parametrize("name", ["beam", "ramp_slip", "many_islands", "hertz", "soft_tangent", "torsion", "planar"])
def test_energy_comes_from_somewhere(name):
    energy = replay(getattr(problems, name)()).energy
    assert energy.driven or energy.gained <= 1e-12


def test_an_answer_that_gains_energy_is_noticed(monkeypatch):
    """The answer of another problem: thrown up at 5 m/s from a floor that was not pressed."""
    from pliant import replay as module

    thrown = pliant.solve(buried())
    monkeypatch.setattr(module, "solve", lambda *_, **__: thrown)
    assert [cause.name for cause in replay(buried(depth=0.0)).causes] == ["energy gained"]


def test_the_numbers_of_a_step():
    found = replay(pressed(2.0, 4.0, 1.0))
    c = found.conditioning
    assert (found.nv, found.rows, found.contacts, found.islands) == (3, {"Unilateral": 3}, 0, 1)
    assert c.mass == (1.0, 4.0) and c.mobility == pytest.approx((0.75, 1.5))
    assert c.stiffness == pytest.approx((0.75e4, 1.5e4)) and c.friction is None
    assert (c.rank, c.redundant) == (3, 0)
    assert replay(problems.doubled_welds()).conditioning.redundant == 3
    assert replay(problems.many_islands()).islands == 4
    assert replay(buried()).conditioning.friction == (0.5, 0.5)


def test_stiffness_of_a_power_law_is_the_one_at_hand():
    c = replay(buried(pliant.Law(1e6, exponent=2.0), depth=1e-3)).conditioning
    assert c.stiffness == pytest.approx((2e3 * 1e-4, 2e3 * 1e-4))  # h^2 a K p d


def test_answers_are_those_of_solve():
    problem = problems.ramp_slip()
    for answer, solver in zip(
        replay(problem).answers, [pliant.Coulomb(), pliant.Convex(), pliant.Printed()], strict=True
    ):
        solution = pliant.solve(problem, solver)
        assert answer.formulation == type(solver).__name__ and answer.status == "SOLVED"
        assert (answer.residual, answer.iterations) == (solution.residual, solution.iterations)
        assert answer.largest_force == max(np.abs(part).max() for part in solution.forces)


def test_a_formulation_that_refuses_says_why():
    answers = replay(mixed()).answers
    assert [answer.status for answer in answers] == ["SOLVED", "SOLVED", "REFUSED"]
    assert "linear laws only" in answers[2].message and "Printed      refused: Printed: cons" in str(replay(mixed()))


def test_a_step_at_its_limit_without_a_cause(monkeypatch):
    from pliant import replay as module

    def poor() -> pliant.Coulomb:
        return pliant.Coulomb(max_iterations=1, tolerance=1e-300)

    poor.__name__ = "Coulomb"
    monkeypatch.setattr(module, "FORMULATIONS", (poor, pliant.Convex, pliant.Printed))
    found = replay(problems.many_islands())
    assert not found.solved and found.answers[0].status == "ITERATION_LIMIT"
    assert [cause.name for cause in found.causes] == ["unknown"] and "send this file" in str(found)


def test_the_answer_of_the_convex_program_is_none_of_coulombs_law(monkeypatch):
    from pliant import replay as module

    def by_fallback(problem: Any, solver: Any, **options: Any) -> pliant.Solution:
        solution = pliant.solve(problem, solver, **options)
        hard = isinstance(solver, pliant.Coulomb)
        return replace(solution, status=pliant.Status.SOLVED_BY_FALLBACK) if hard else solution

    monkeypatch.setattr(module, "solve", by_fallback)
    found = replay(problems.many_islands())
    assert not found.solved and [cause.name for cause in found.causes] == ["unknown"]


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    vise().save("vise.pliant")
    overflowing().save("overflow.pliant")
    pliant.simulate(Ball(), [0.0, 0.05], [2.0, 0.0], duration=0.02, step=0.01).save("ball.run")
    Path("cut.pliant").write_bytes(Path("vise.pliant").read_bytes()[:-5])
    Path("text.txt").write_text("hello, hello, hello")
    Path("empty").touch()
    Path("folder").mkdir()
    return tmp_path


def test_the_command(files, capsys):
    assert main(["replay", "vise.pliant"]) == 0
    assert capsys.readouterr().out == f"{replay_file('vise.pliant')}\n"
    assert main(["replay", "overflow.pliant"]) == 1
    assert "not solved; likely causes:\n1. non-finite" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["vise", "overflow"])
def test_the_same_for_programs(files, capsys, name):
    status = main(["replay", "--json", f"{name}.pliant"])
    said: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    found: Replay = replay_file(f"{name}.pliant")
    assert said["ok"] == (status == 0) == found.solved
    assert [cause["name"] for cause in said["causes"]] == [cause.name for cause in found.causes]
    assert said["answers"][0]["status"] == found.answers[0].status and said["nv"] == found.nv


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_who_has_enough_is_no_error(files, monkeypatch, options, unbuffered):
    """As of `pliant replay --json FILE | head`."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = ["replay", *options, "vise.pliant"]
    unread, pipe = os.pipe()
    os.close(unread)
    with os.fdopen(pipe, "w") as out:
        done = subprocess.run([sys.executable, "-m", "pliant", *command], stdout=out, stderr=subprocess.PIPE, text=True)
    assert done.stderr == "" and done.returncode == 141


WRONG = {
    "nothing.pliant": "cannot read nothing.pliant: No such file or directory; give a file that StepProblem.save has",
    "folder": "cannot read folder: Is a directory",
    "ball.run": "expected a step problem, found a run; pliant.Trajectory.load reads it",
    "cut.pliant": "cut.pliant: record 0 is incomplete",
    "text.txt": "text.txt is not a pliant file",
    "empty": "empty holds nothing",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_saved_step(files, capsys, name):
    assert main(["replay", name]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("pliant replay: ") and WRONG[name] in said.err
    assert said.err.count("\n") == 1


def test_numbers_that_overflow_on_the_way_are_a_status_of_each_formulation():
    found = replay(overflowing_on_the_way())
    assert {answer.formulation: answer.status for answer in found.answers} == dict.fromkeys(
        ("Coulomb", "Convex", "Printed"), "NON_FINITE"
    )
