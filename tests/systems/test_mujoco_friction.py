"""Coefficients of pairs are those that MuJoCo puts into its contacts."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import pliant
from pliant.systems.mujoco_friction import PairFriction, sliding

SCENE = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1" friction="0.6"/>
  <body pos="0 0 .09"><freejoint/><geom name="rough" size=".1" friction="0.9"/></body>
  <body pos="1 0 .09"><freejoint/><geom name="smooth" size=".1" friction="0.2"/></body>
  <body pos="2 0 .09"><freejoint/><geom name="first" size=".1" friction="0.3" priority="1"/></body>
  <body pos="3 0 .09"><freejoint/><geom name="paired" size=".1"/></body>
  <body pos="4 0 .09"><freejoint/><geom name="bare" size=".1" condim="1" priority="2"/></body>
</worldbody><contact><pair geom1="floor" geom2="paired" friction="0.4 0.5"/></contact></mujoco>"""


def test_as_mujoco_mixes_them():
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found = PairFriction(model, sliding(model, {})).of(data.contact.geom)
    expected = np.where(data.contact.dim > 1, data.contact.friction[:, :2].max(axis=1), 0.0)
    assert len(found) == 5 and found == pytest.approx(expected)
    assert sorted(found) == pytest.approx([0.0, 0.3, 0.5, 0.6, 0.9])


def test_a_material_has_its_own():
    model = mujoco.MjModel.from_xml_string(SCENE)
    system = pliant.MujocoSystem(model, materials={"smooth": pliant.Material(1e9, friction=1.5)})
    assert system.friction[2] == 1.5 and system.friction[0] == 0.6
    assert PairFriction(model, np.array(system.friction)).of(np.array([[0, 2]])) == pytest.approx([1.5])
