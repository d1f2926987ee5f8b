"""What is drawn over the bodies: the right way round, in the scale that the legend names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.viewer.overlays import KINDS, Overlays
from pliant.viewer.server import close_server, open_server
from pliant.viewer.simulation import Simulation

SIZE = 1.0
# the floor as a box is the second geom of its pair, a plane would be the first
LYING = """<mujoco><option timestep="0.01"/><worldbody>
  <body pos="0 0 0.1"><freejoint/><geom name="ball" size="0.1" mass="2" friction="0.5"/></body>
  <geom name="table" type="box" size="1 1 .1" pos="0 0 -.1" friction="0.5"/></worldbody></mujoco>"""


@pytest.fixture
def server(packages) -> Iterator[Any]:
    opened = open_server(port=0)
    yield opened
    close_server(opened)


def drawn(server: Any, simulation: Simulation) -> Overlays:
    overlays = Overlays(server, simulation.model, SIZE, show=KINDS)
    overlays.update(simulation.look(), simulation.shown)
    return overlays


def node(overlays: Overlays, layer: str) -> Any:
    return getattr(overlays, layer)._handle


def test_the_force_is_the_one_on_the_body_that_moves(server):
    simulation = Simulation(mujoco.MjModel.from_xml_string(LYING))
    simulation.step(200)
    overlays = drawn(server, simulation)
    arrow = np.asarray(node(overlays, "_forces").points)
    length = 2 * 9.81 / overlays.force.per_metre
    assert arrow[0, 1] - arrow[0, 0] == pytest.approx([0.0, 0.0, length], abs=1e-6)
    assert str(overlays.force) == "1 m = 100 N" and str(overlays.force) in overlays.legend()["forces"]
    cone = node(overlays, "_cones")
    assert np.asarray(cone.batched_scales)[0] == pytest.approx([0.5 * length, 0.5 * length, length], rel=1e-5)
    assert np.asarray(cone.batched_wxyzs)[0] == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-6)
    assert node(overlays, "_points").visible and not node(overlays, "_pulls").visible


def test_what_is_too_long_is_cut_off_and_red(server):
    simulation = Simulation(mujoco.MjModel.from_xml_string(LYING))
    simulation.step(200)
    overlays = Overlays(server, simulation.model, SIZE, show=["forces"])
    overlays.update(simulation.look(), simulation.shown)
    black = np.asarray(node(overlays, "_forces").colors)[0].copy()
    overlays.force.set(1.0)
    overlays.update(simulation.look(), simulation.shown)
    arrow = np.asarray(node(overlays, "_forces").points)[0]
    assert np.linalg.norm(arrow[1] - arrow[0]) == pytest.approx(overlays.force.most, rel=1e-6)
    red = np.asarray(node(overlays, "_forces").colors)[0]
    assert red[0] > 3 * max(red[1:]) and not np.array_equal(red, black)
    assert f"cut off, above {overlays.force.most:.3g} N" in overlays.legend()["forces"]


def test_pressure_ends_at_a_round_number(server):
    sole = pliant.Foundation(1e6, 0.02, elements=64, side="-z", damping=20.0)
    xml = LYING.replace('size="0.1" mass', 'type="box" size=".1 .1 .1" mass')
    simulation = Simulation(mujoco.MjModel.from_xml_string(xml), materials={"ball": sole})
    simulation.step(300)
    overlays = drawn(server, simulation)
    assert overlays.most_pressure == 500.0  # 19.62 N on 0.04 m^2 are 490.5 Pa
    plates = node(overlays, "_plates")
    assert len(plates.batched_positions) == 64
    assert float(np.prod(np.asarray(plates.batched_scales)[0, :2])) * 64 == pytest.approx(0.04, rel=1e-5)
    arrows = np.asarray(node(overlays, "_forces").points)
    assert len(arrows) == 1 and arrows[0, 0, :2] == pytest.approx([0.0, 0.0], abs=1e-5)  # their centre
    assert "500 Pa" in overlays.legend()["pressure"]


def test_nothing_is_drawn_of_nothing(server):
    overlays = drawn(server, Simulation(mujoco.MjModel.from_xml_string(LYING)))
    for layer in ("_points", "_forces", "_cones", "_plates", "_pulls", "_torques"):
        assert not node(overlays, layer).visible
