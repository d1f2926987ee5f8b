"""What limits and equalities pull with, against what statics says."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.systems.mujoco_pulls import PullReader

HINGE = """<mujoco><option timestep="0.01"/><worldbody><body pos="0 0 1">
  <joint name="{name}" axis="0 1 0" range="-1 30" damping="1"/>
  <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="2"/></body></worldbody></mujoco>"""
SLIDE = """<mujoco><option timestep="0.01"/><worldbody><body pos="0 0 1">
  <joint name="stem" type="slide" axis="0 0 1" range="-0.1 1" damping="1"/>
  <geom size="0.1" mass="2"/></body></worldbody></mujoco>"""
TIED = """<mujoco><option timestep="0.01"/><worldbody>
  <body name="post" pos="0 0 1"><geom size="0.1" contype="0" conaffinity="0"/></body>
  <body name="load" pos="0.5 0 1"><freejoint/><geom size="0.1" mass="2" contype="0" conaffinity="0"/></body>
</worldbody><equality>{}</equality></mujoco>"""


def settled(xml: str, steps: int = 400) -> tuple[Any, PullReader]:
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, steps)
    return data, PullReader(model)


@pytest.mark.parametrize("name", ["knee", ""])
def test_the_limit_of_a_hinge_holds_the_weight(name):
    data, reader = settled(HINGE.format(name=name))
    pulls = reader.read(data)
    label = f"joint:{name or '#0'}"
    angle = float(data.qpos[0])
    assert list(pulls) == [label]
    # the weight turns it about +y, so the limit turns it back
    assert pulls[label] == pytest.approx([-2 * 9.81 * 0.2 * np.cos(angle)], rel=1e-6)
    forces, torques = reader.arrows(data, pulls)
    assert len(forces.place) == 0
    assert torques.place[0] == pytest.approx([0, 0, 1]) and torques.vector[0] == pytest.approx([0, pulls[label][0], 0])
    assert reader.words(label, pulls[label]) == f"{label} {abs(pulls[label][0]):.4g} N m"


def test_the_limit_of_a_slide_is_a_force():
    data, reader = settled(SLIDE)
    pulls = reader.read(data)
    forces, torques = reader.arrows(data, pulls)
    assert forces.vector[0] == pytest.approx([0, 0, 2 * 9.81], rel=1e-6) and len(torques.place) == 0
    assert reader.words("joint:stem", pulls["joint:stem"]) == "joint:stem 19.62 N"


def test_a_weld_holds_weight_and_moment():
    data, reader = settled(TIED.format('<weld name="arm" body1="load" body2="post"/>'))
    pulls = reader.read(data)
    forces, torques = reader.arrows(data, pulls)
    assert forces.vector[0] == pytest.approx([0, 0, 2 * 9.81], abs=1e-4)
    # about the point of the first body where the force acts, beside its centre of mass
    lever = data.xpos[2] - forces.place[0]
    assert torques.vector[0] == pytest.approx(np.cross(lever, [0, 0, -2 * 9.81]) * -1.0, abs=1e-3)
    assert "N, " in reader.words("equality:arm", pulls["equality:arm"])


def test_a_connect_pulls_the_first_body():
    data, reader = settled(TIED.format('<connect name="pin" body1="load" body2="post" anchor="0 0 0"/>'), steps=900)
    pulls = reader.read(data)
    forces, _ = reader.arrows(data, pulls)
    assert forces.place[0] == pytest.approx(data.xpos[2], abs=1e-9)
    assert forces.vector[0] == pytest.approx([0, 0, 2 * 9.81], rel=1e-4)


def test_without_rows_there_is_nothing():
    model = mujoco.MjModel.from_xml_string(HINGE.format(name="knee"))
    reader = PullReader(model)
    assert reader.read(mujoco.MjData(model)) == {}
    assert reader.arrows(mujoco.MjData(model), {"joint:none such": np.ones(1)})[0].place.shape == (0, 3)


def test_numbers_that_cannot_be_are_not_drawn():
    data, reader = settled(TIED.format('<weld name="arm" body1="load" body2="post"/>'), steps=1)
    for numbers in (np.ones(2), np.full(6, np.nan), np.zeros((2, 3))):
        assert len(reader.arrows(data, {"equality:arm": numbers})[0].place) == 0
    assert len(reader.arrows(data, {"equality:arm": np.ones(6)})[1].place) == 1


def test_a_run_keeps_them(tmp_path, monkeypatch):
    from pliant.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.xml").write_text(HINGE.format(name="knee"))
    assert main(["run", "arm.xml", "--duration", "1"]) == 0
    run = pliant.Trajectory.load("arm.run")
    assert run.force_names[0] == () and run.force_names[-1] == ("joint:knee",)
    assert len(run.force_names) == len(run.forces) == len(run) - 1
    assert run.forces[-1][0] == pytest.approx([-2 * 9.81 * 0.2 * np.cos(run.q[-1, 0])], rel=1e-3)
