"""Where simulations start, and what is said of bodies that overlap there."""

import pytest

import pliant
from pliant.cli import main
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_load import read_model
from pliant.systems.mujoco_start import geom_labels, overlap, start_at

BASE = """<robot name="r"><link name="base"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
  izz="1"/></inertial><collision><geometry><box size="0.4 0.4 0.2"/></geometry></collision></link></robot>"""
BALLS = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="one" pos="0 0 {z}"><freejoint/>
  <geom size="0.1"/></body><body pos="0 2 1"><freejoint/><geom size="0.1"/></body></worldbody>
  <keyframe><key name="deep" qpos="0 0 0.05 1 0 0 0  0 2 1 1 0 0 0"/></keyframe></mujoco>"""


def test_a_base_that_is_half_below_the_floor_is_named(tmp_path, capsys):
    file = tmp_path / "r.urdf"
    file.write_text(BASE)
    out = str(tmp_path / "r.run")
    assert main(["run", str(file), "--floating", "--floor", "--duration", "0.01", "--out", out]) == 0
    said = capsys.readouterr().out
    assert "at the start base is 0.1 m deep in floor: raise it, or it is thrown out" in said
    assert "of base in floor" in said  # where the summary tells the deepest contact


@pytest.mark.parametrize(("z", "deep"), [(0.2, False), (0.1, False), (0.0985, False), (0.097, True), (0.05, True)])
def test_only_what_is_deeper_than_stiff_contacts_let_it_is_said(z, deep):
    model = read_model(BALLS.format(z=z))
    said = overlap(model, mujoco().MjData(model))
    assert bool(said) == deep and (not deep or "one is" in said)


def test_two_bodies_that_overlap_are_to_be_parted():
    model = read_model(BALLS.format(z=1.0).replace('"0 2 1"', '"0 0.15 1"'))
    said = overlap(model, mujoco().MjData(model))
    assert "one is 0.05 m deep in #2: part or <exclude> them, or they are thrown out" in said


def test_a_key_frame_is_a_start_too(tmp_path, capsys):
    model = read_model(BALLS.format(z=0.1))
    data = mujoco().MjData(model)
    assert geom_labels(model) == ["floor", "one", "#2"]
    start_at(model, data, "deep")
    assert overlap(model, data).startswith("at the start one is 0.05 m deep in floor:")
    with pytest.raises(pliant.InputError, match="'high' is none of the model's key frames: deep"):
        start_at(model, data, "high")
