"""Models from files and texts: what is read, what is mended and said, what is refused and in whose words."""

from __future__ import annotations

import logging
import struct
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant

BALL = '<mujoco><worldbody><body name="b"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
CORNERS = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])


def robot(geometry: str = '<box size=".2 .2 .2"/>', inertia: str = 'ixx=".1" iyy=".1" izz=".1"') -> str:
    """Two links and a hinge; visuals whose files do not exist."""
    link = f"""<inertial><mass value="1"/><inertia {inertia} ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry><mesh filename="package://nowhere/look.dae"/></geometry></visual>
      <collision><geometry>{geometry}</geometry></collision>"""
    return f"""<robot name="r"><link name="base">{link}</link><link name="arm">{link}</link><joint name="hinge"
      type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
      <limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>"""


def write_stl(path: Path) -> None:
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *CORNERS[list(face)].ravel(), 0) for face in faces)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + body)


def test_mjcf_as_text_and_as_file(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(BALL)
    for source in (BALL, "\n  " + BALL, path, str(path)):
        assert pliant.load(source).model.nv == 6


def test_meshes_of_mjcf_lie_beside_it(tmp_path):
    write_stl(tmp_path / "meshes" / "tetra.stl")
    path = tmp_path / "model.xml"
    path.write_text("""<mujoco><compiler meshdir="meshes"/><asset><mesh name="t" file="tetra.stl"/></asset><worldbody>
      <body><freejoint/><geom type="mesh" mesh="t"/></body></worldbody></mujoco>""")
    assert pliant.load(path).model.nmesh == 1


@pytest.mark.parametrize("name", ["robot.urdf", "robot.xml"])
def test_urdf_as_text_and_as_file(tmp_path, name):
    path = tmp_path / name
    path.write_text(robot())
    for source in (robot(), path):
        model = pliant.load(source).model
        assert model.nv == 1 and model.njnt == 1
        np.testing.assert_allclose(model.jnt_range[0], [-1.0, 1.0])


def test_floating_and_floor():
    model = pliant.load(robot(), floating=True, floor=True).model
    assert model.nv == 7 and model.geom("floor").type[0] == 0
    assert pliant.load(BALL, floating=True).model.nv == 6  # it floats already
    with pytest.raises(pliant.InputError, match="no body that could float"):
        pliant.load("<mujoco/>", floating=True)


@pytest.mark.parametrize(
    ("mesh", "place"),
    [
        ("package://my_robot/meshes/t.stl", "my_robot/meshes/t.stl"),  # the package beside the folder of the URDF
        ("package://my_robot/meshes/t.stl", "meshes/t.stl"),  # the URDF inside the package
        ("../meshes/t.stl", "meshes/t.stl"),
        ("{}/meshes/t.stl", "meshes/t.stl"),
        ("file://{}/meshes/t.stl", "meshes/t.stl"),
    ],
)
def test_meshes_of_urdf_are_found(tmp_path, mesh, place):
    write_stl(tmp_path / place)
    path = tmp_path / "urdf" / "robot.urdf"
    path.parent.mkdir()
    path.write_text(robot(f'<mesh filename="{mesh.format(tmp_path)}"/>'))
    assert pliant.load(path).model.nmesh >= 1


def test_inertias_that_no_body_has_are_mended_and_said(caplog):
    for inertia in ('ixx=".1" iyy=".1" izz="1"', 'ixx="0" iyy="0" izz="0"', 'ixx="-1" iyy="1" izz="1"'):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="pliant"):
            model = pliant.load(robot(inertia=inertia), floating=True).model
        assert [r.getMessage() for r in caplog.records if "arm" in r.getMessage()]
        inertia_found = np.sort(model.body_inertia[1:])
        assert np.all(inertia_found > 0.0)
        assert np.all(inertia_found[:, 0] + inertia_found[:, 1] >= inertia_found[:, 2] * (1.0 - 1e-9))


def test_sound_inertias_are_not_touched(caplog):
    with caplog.at_level(logging.WARNING, logger="pliant"):
        model = pliant.load(robot(inertia='ixx=".1" iyy=".2" izz=".15"'), floating=True).model
    assert not caplog.records
    np.testing.assert_allclose(np.sort(model.body_inertia[1]), [0.1, 0.15, 0.2])


REFUSED: dict[str, tuple[Any, type[Exception], list[str]]] = {
    "no file": ("no/such/file.xml", pliant.FileError, ["no/such/file.xml", "give the path of an MJCF or URDF file"]),
    "a folder": (Path("/"), pliant.FileError, ["give the path of an MJCF or URDF file"]),
    "not XML": ("<mujoco><worldbody></mujoco>", pliant.FileError, ["not XML", "mismatched tag"]),
    "not MJCF": ("<mujoco><nonsense/></mujoco>", pliant.FileError, ["Schema violation", "nonsense"]),
    "another root": ("<html/>", pliant.FileError, ["html"]),
    "no mass": ('<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>', pliant.InputError, ["mass"]),
    "a mesh that is nowhere": (robot('<mesh filename="package://p/m.stl"/>'), pliant.PliantError, ["m.stl"]),
    "a mesh of another kind": (robot('<mesh filename="m.dae"/>'), pliant.FileError, ["m.dae", ".stl", "convert"]),
    "a number": (3, pliant.InputError, ["int"]),
    "nothing": (None, pliant.InputError, ["NoneType"]),
    "a bad number": (robot(inertia='ixx="a" iyy="1" izz="1"'), pliant.PliantError, ["a"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_in_words_that_help(case):
    source, error, texts = REFUSED[case]
    with pytest.raises(error) as caught:
        pliant.load(source)
    for text in texts:
        assert text in str(caught.value)


def test_files_that_cannot_be_read_are_named(tmp_path):
    for name, text in {
        "bad.xml": "<mujoco><nonsense/></mujoco>",
        "bad.urdf": "<robot><link>",
        "bin.xml": "\0\1\2",
    }.items():
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(pliant.FileError, match=name.replace(".", r"\.")):
            pliant.load(path)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "image.urdf"
    path.write_bytes(b"\x89PNG\r\n\xff\xfe\x00")
    with pytest.raises(pliant.FileError, match=r"image\.urdf"):
        pliant.load(path)


def hip(apart: float) -> str:
    """Three links in one line, with balls of 10 cm that far from each other."""
    link = """<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><geometry><sphere radius=".1"/></geometry></collision>"""
    links = "".join(f'<link name="{name}">{link}</link>' for name in ("base", "hip", "thigh", "shin"))
    joints = "".join(
        f"""<joint name="to {child}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
        <origin xyz="0 0 {apart}"/><axis xyz="0 1 0"/></joint>"""
        for parent, child in (("base", "hip"), ("hip", "thigh"), ("thigh", "shin"))
    )
    return f'<robot name="r">{links}{joints}</robot>'


@pytest.mark.parametrize(("apart", "pairs"), [(0.09, [("base", "thigh"), ("hip", "shin")]), (0.11, [])])
def test_links_that_overlap_over_one_between_them_pass_through_each_other(apart, pairs, caplog):
    with caplog.at_level(logging.WARNING, logger="pliant"):
        system = pliant.load(hip(apart), floating=True)
    said = [record.message for record in caplog.records if "overlap" in record.message]
    assert system.model.nexclude == len(pairs)
    assert said == ([] if not pairs else [said[0]]) and all(f"{a} and {b}" in said[0] for a, b in pairs)
    mujoco.mj_forward(system.model, system.data)
    assert system.data.ncon == 0
