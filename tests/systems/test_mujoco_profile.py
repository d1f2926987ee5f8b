"""`pliant run --profile`: the parts are the whole, and steps are counted by the way they took, and why."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.cli import main
from pliant.systems.mujoco_otherwise import HARD
from pliant.systems.mujoco_profile import CONTACTS, FACTORIZATIONS, ITERATIONS, ROWS, TIME, WORDS, Profile
from pliant.systems.mujoco_run import run
from tests.support.models import body, build, hinge, start

OPTION = 'timestep="0.01"'
BALL = body('name="ball" size=".1" mass="1"', "0 0 .1")
ARM = body('size=".1"', "3 0 1", joint=hinge(more='damping="1"'))


def profiled(model: Any, path: Any, **options: Any) -> Profile:
    _, summary = run(model, duration=0.5, out=path, **options)
    found = summary.profile
    assert found.wall == summary.wall and found.span == pytest.approx(0.5) and len(found.table) == summary.steps == 50
    return found


def test_the_parts_are_the_whole(tmp_path):
    found = profiled(build(BALL + ARM, floor=True, option=OPTION), tmp_path / "a.run")
    assert list(found.seconds) == list(WORDS) and min(found.seconds.values()) > 0.0
    assert sum(found.seconds.values()) == pytest.approx(found.wall, rel=1e-6)
    stepping = found.wall - found.seconds["keeping"]
    assert found.table[:, TIME].sum() == pytest.approx(stepping, rel=1e-6)


def test_compiled_steps_are_counted(tmp_path):
    model = build(BALL + ARM, floor=True, option=OPTION)
    found = profiled(model, tmp_path / "a.run")
    assert found.compiled == 50 and found.through_arrays == {}
    assert (found.table[:, [ROWS, CONTACTS]] == [4.0, 1.0]).all()  # four edges of a pyramid
    assert (found.table[:, [ITERATIONS, FACTORIZATIONS]] < 10.0).all() and found.table[:, ITERATIONS].any()


LAYER = pliant.Foundation(youngs_modulus=1e6, depth=0.01, elements=20)
SPRING = '<tendon><fixed stiffness="9"><joint joint="a" coef="1"/></fixed></tendon>'
MODELS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "tendons": (build(ARM, rest=SPRING), {}, "the model has springs or dampers of tendons"),
    "drag, energies": (
        build(ARM, option='density="1"', flags='energy="enable"'), {}, "the model has fluid drag, energies"
    ),
    "compliance": (build(BALL, floor=True), {"compliance": "model"}, 'the model has compliance="model"'),
    "direct solref": (build(body('size=".1"', joint=hinge(more='range="-1 1" solreflimit="-100 -1"'))), {},
                      "the model has direct solref"),
    "foundation": (build(BALL, floor=True), {"materials": {"ball": LAYER}},
                   "the model has foundations"),
    "solver": (build(BALL, floor=True), {"solver": pliant.Printed()}, "the solver is Printed"),
}  # fmt: skip


@pytest.mark.parametrize("case", MODELS)
def test_steps_through_arrays_are_counted_by_the_reason(case):
    model, options, why = MODELS[case]
    data = start(model)
    pliant.mj_step(model, data, 3, **options)
    pliant.mj_forward(model, data, **options)  # no step
    counted = pliant.stats(data)
    assert counted.through_arrays == {why: 3} and counted.compiled == 0 and counted.steps == 3


def test_reasons_that_come_and_go():
    model = build(BALL, floor=True, option=OPTION)
    data = start(model)
    pliant.mj_step(model, data, 4)
    mujoco.set_mjcb_control(lambda model, data: None)
    try:
        pliant.mj_step(model, data, 3)
    finally:
        mujoco.set_mjcb_control(None)
    pliant.mj_step(model, data, 2)
    counted = pliant.stats(data)
    assert counted.through_arrays == {"callbacks are set: control": 3} and counted.compiled == 6


def test_an_arena_that_is_small():
    model = build(BALL, floor=True)
    data = start(model)
    pliant.mj_step(model, data, 3)
    model = build(BALL, floor=True, size=f'memory="{1.6 * data.maxuse_arena:.0f}"')
    data = start(model)
    pliant.mj_step(model, data, 3)
    assert set(pliant.stats(data).through_arrays) == {"the arena is more than half full"}


def test_many_rows_and_a_bounce():
    boxes = "".join(body('type="box" size=".1 .1 .1" condim="3"', f"{0.3 * k} 0 .0999") for k in range(9))
    model = build(boxes, floor=True, option=OPTION)
    data = start(model)
    pliant.mj_step(model, data, 20)
    assert data.nefc > 80 and not pliant.stats(data).through_arrays
    model = build(body('size=".1" mass="1"', "0 0 1"), floor=True, option=OPTION)
    data = start(model)
    pliant.mj_step(model, data, 50, materials={"geom:*": pliant.Material(1e9, restitution=0.5)})
    counted = pliant.stats(data)
    assert counted.through_arrays == {HARD: 1} and counted.compiled == 49


SCENE = (
    f"""<mujoco><option {OPTION}/><worldbody><geom type="plane" size="1 1 1"/>{BALL}{ARM}</worldbody>{{}}</mujoco>"""
)


@pytest.mark.parametrize(("rest", "ways"), [("", "50 in one compiled call, 0"), (SPRING, "0 in one compiled call, 50")])
def test_the_command(rest, ways, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.xml").write_text(SCENE.format(rest))
    assert main(["run", "scene.xml", "--duration", "0.5", "--profile"]) == 0
    summary, table, rest_of_it = capsys.readouterr().out.split("\n\n")
    assert summary.splitlines()[-1].startswith("written")
    head, *lines = table.splitlines()
    assert "us per step" in head and [line[:38].strip() for line in lines] == [*WORDS.values(), "all"]
    numbers = np.array([line[38:].split()[:3] for line in lines], float)
    np.testing.assert_allclose(numbers[:-1].sum(axis=0), numbers[-1], atol=3.0)
    assert f"steps      {ways} through arrays" in rest_of_it and "s simulated per second" in rest_of_it
    assert ("50: the model has springs or dampers of tendons" in rest_of_it) == bool(rest)
    for text in (
        "at the median",
        "at 95 %",
        "iterations in the mean",
        "factorizations",
        "rows",
        "contacts in the mean",
    ):
        assert text in rest_of_it


def test_a_run_without_a_step():
    assert str(Profile()) == "profile    no step was taken"
