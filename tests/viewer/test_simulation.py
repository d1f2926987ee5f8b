"""A simulation that can be changed while it runs."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import mujoco
import pytest

import pliant
from pliant.systems.mujoco_load import read_model
from pliant.viewer.panel_run import status_html
from pliant.viewer.simulation import EVERYTHING, Simulation, stiffness_of

from .conftest import ROLLING

BALL = """<mujoco><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body pos="0 0 0.1"><freejoint/><geom name="ball" size="0.1" mass="2"/></body></worldbody></mujoco>"""
WEIGHT = 2 * 9.81


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(mujoco.MjModel.from_xml_string(BALL))


def test_it_goes_as_far_as_it_is_asked_to(simulation):
    assert not simulation.go(0.004, math.inf)
    assert simulation.go(0.028, math.inf)  # what was owed counts
    assert simulation.time == pytest.approx(0.03)
    assert simulation.go(5.0, 0.0) and simulation.time == pytest.approx(0.04)  # no time left: one step
    simulation.go(0.0, math.inf)
    assert simulation.time == pytest.approx(0.05)  # and the rest is let go


def test_a_look_tells_what_the_steps_gave(simulation):
    first = simulation.look()
    assert first.status is None and len(first.rows) == 0 and first.energy["kinetic"] == 0.0
    simulation.step(300)
    moment = simulation.look()
    assert moment.status is pliant.Status.SOLVED and moment.residual < 1e-8 and moment.time == pytest.approx(3.0)
    assert moment.pairs == [(0, 1)] and moment.pair_force((0, 1)) == pytest.approx(WEIGHT)
    assert moment.deepest == pytest.approx(WEIGHT / 1e8, rel=1e-3)
    assert moment.friction == pytest.approx([1.0]) and moment.pulls == {}
    assert moment.energy["potential"] == pytest.approx(WEIGHT * 0.1, rel=1e-5)
    curves = simulation.curves((0, 1))
    assert curves.force == pytest.approx([WEIGHT]) and list(curves.energy) == ["kinetic", "potential", "total"]


def test_a_softer_material_gives_way(simulation):
    assert simulation.choices() == {EVERYTHING: pliant.DEFAULT_MATERIAL}
    simulation.change(EVERYTHING, modulus=1e7)
    simulation.step(300)
    assert simulation.look().deepest == pytest.approx(WEIGHT / 1e5, rel=1e-3)  # a thousand times softer


def test_step_solver_and_friction_change_too(simulation):
    simulation.change(EVERYTHING, friction=0.2, step=0.005, solver=pliant.Convex())
    simulation.step()
    assert simulation.time == pytest.approx(0.005) and isinstance(simulation.solver, pliant.Convex)
    assert simulation.look().friction == pytest.approx([0.2])


def test_a_change_that_is_wrong_changes_nothing(simulation):
    for wrong in ({"modulus": -1.0}, {"friction": -0.1}, {"step": 0.0}, {"step": math.nan}):
        with pytest.raises(pliant.InputError):
            simulation.change(EVERYTHING, **{"modulus": 1e7, "step": 0.02, **wrong})
    assert simulation.materials == {} and simulation.step_size == 0.01


def test_laws_have_a_stiffness_to_change():
    law = pliant.Law(1e5, 100.0)
    simulation = Simulation(mujoco.MjModel.from_xml_string(BALL), materials={"ball": law})
    assert stiffness_of(law) == ("Stiffness [N/m]", 1e5)
    simulation.change("ball", modulus=2e5)
    changed = simulation.materials["ball"]
    assert isinstance(changed, pliant.Law) and (changed.stiffness, changed.damping) == (2e5, 100.0)


def test_reset_comes_back_to_the_start():
    system = pliant.load(BALL)
    system.data.qpos[2] = 1.0
    simulation = Simulation(system.model, start=system.data)
    simulation.step(20)
    assert simulation.data.qpos[2] < 1.0
    simulation.reset()
    assert simulation.data.qpos[2] == 1.0 and simulation.time == 0.0
    assert len(simulation.curves(None).time) == 0


def test_bodies_that_overlap_at_the_start_are_named(caplog):
    low = ROLLING.replace('pos="0 0 0.1"', 'pos="0 0 0.05"')
    simulation = Simulation(read_model(low))
    assert "ball is 0.05 m deep in floor: raise it" in simulation.overlap and simulation.overlap in caplog.text
    view: Any = SimpleNamespace(paused=True, trouble="", source=simulation)
    assert simulation.overlap in status_html(view, simulation.look(), 0.0)
    simulation.reset(0)  # the key frame has the ball on the floor
    assert simulation.overlap == ""
