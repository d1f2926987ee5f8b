"""`pliant run --profile`: the parts are the whole, and what there is to say of every step."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.cli import main
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


def test_every_step_is_told(tmp_path):
    model = build(BALL + ARM, floor=True, option=OPTION)
    found = profiled(model, tmp_path / "a.run")
    assert (found.table[:, [ROWS, CONTACTS]] == [4.0, 1.0]).all()  # four edges of a pyramid
    assert (found.table[:, [ITERATIONS, FACTORIZATIONS]] < 10.0).all() and found.table[:, ITERATIONS].any()
    data, iterations = start(model), []
    for _ in range(50):
        before = pliant.stats(data).iterations
        pliant.mj_step(model, data)
        iterations.append(pliant.stats(data).iterations - before)
    np.testing.assert_array_equal(found.table[:, ITERATIONS], iterations)


LAYER = pliant.Foundation(youngs_modulus=1e6, depth=0.01, elements=20)
SPRING = '<tendon><fixed stiffness="9"><joint joint="a" coef="1"/></fixed></tendon>'
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "tendons": (build(ARM, rest=SPRING), {}),
    "drag, energies": (build(ARM, option='density="1"', flags='energy="enable"'), {}),
    "compliance": (build(BALL, floor=True), {"compliance": "model"}),
    "direct solref": (build(body('size=".1"', joint=hinge(more='range="-1 1" solreflimit="-100 -1"'))), {}),
    "foundation": (build(BALL, floor=True), {"materials": {"ball": LAYER}}),
    "bounce": (build(BALL, floor=True), {"materials": {"geom:*": pliant.Material(1e9, restitution=0.5)}}),
    "convex": (build(BALL, floor=True), {"solver": pliant.Convex()}),
    "printed": (build(BALL, floor=True), {"solver": pliant.Printed()}),
}


@pytest.mark.parametrize("case", MODELS)
def test_steps_of_every_kind_are_counted_and_timed(case):
    model, options = MODELS[case]
    data = start(model)
    counted = pliant.stats(data)
    counted.clock()
    pliant.mj_step(model, data, 3, **options)
    pliant.mj_forward(model, data, **options)  # no step
    assert counted.steps == 3 == sum(counted.statuses.values()) and len(counted.seconds) == 4
    assert min(counted.seconds.values()) > 0.0


def test_steps_with_callbacks_are_counted():
    model = build(BALL, floor=True, option=OPTION)
    data = start(model)
    pliant.mj_step(model, data, 4)
    mujoco.set_mjcb_control(lambda model, data: None)
    try:
        pliant.mj_step(model, data, 3)
    finally:
        mujoco.set_mjcb_control(None)
    pliant.mj_step(model, data, 2)
    assert pliant.stats(data).steps == 9


def test_many_rows():
    boxes = "".join(body('type="box" size=".1 .1 .1" condim="3"', f"{0.3 * k} 0 .0999") for k in range(9))
    model = build(boxes, floor=True, option=OPTION)
    data = start(model)
    pliant.mj_step(model, data, 20)
    assert data.nefc > 80 and pliant.stats(data).steps == 20


SCENE = (
    f"""<mujoco><option {OPTION}/><worldbody><geom type="plane" size="1 1 1"/>{BALL}{ARM}</worldbody>{{}}</mujoco>"""
)


@pytest.mark.parametrize("rest", ["", SPRING], ids=["plain", "spring"])
def test_the_command(rest, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.xml").write_text(SCENE.format(rest))
    assert main(["run", "scene.xml", "--duration", "0.5", "--profile"]) == 0
    summary, table, rest_of_it = capsys.readouterr().out.split("\n\n")
    assert summary.splitlines()[-1].startswith("written")
    head, *lines = table.splitlines()
    assert "us per step" in head and [line[:38].strip() for line in lines] == [*WORDS.values(), "all"]
    numbers = np.array([line[38:].split()[:3] for line in lines], float)
    np.testing.assert_allclose(numbers[:-1].sum(axis=0), numbers[-1], atol=3.0)
    for text in (
        "s simulated per second",
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
