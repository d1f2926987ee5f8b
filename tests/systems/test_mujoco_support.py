"""What of a model is refused, by name and with a remedy, and what is set without effect and said once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import mujoco
import pytest

import pliant
from tests.support.models import body, build, hinge, start

BALL = body('size=".1"')
TORUS = """<mujoco><extension><plugin plugin="mujoco.sdf.torus"><instance name="t"/></plugin></extension><asset><mesh
  name="m"><plugin instance="t"/></mesh></asset><worldbody><body><freejoint/><geom type="sdf" mesh="m"><plugin
  instance="t"/></geom></body></worldbody></mujoco>"""
PID = """<mujoco><extension><plugin plugin="mujoco.pid"><instance name="t"><config key="kp" value="1"/></instance>
  </plugin>
  </extension><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody><actuator><plugin joint="j"
  plugin="mujoco.pid" instance="t"/></actuator></mujoco>"""
CLOTH = '<flexcomp name="f" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01" dim="2" rigid="true"/>'
SPRINGS = 'stiffness="1" springyield="1"'
STRING = '<tendon><fixed stiffness="1" springyield="1"><joint joint="a" coef="1"/></fixed></tendon>'

REFUSED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "flex": (lambda: build(CLOTH), "flexes", "keep mujoco.mj_step"),
    "sdf": (lambda: mujoco.MjModel.from_xml_string(TORUS), "SDF geoms", "mesh or primitives"),
    "plugin": (lambda: mujoco.MjModel.from_xml_string(PID), "engine plugins", "remove the <plugin> elements"),
    "sleep": (lambda: build(BALL, flags='sleep="enable"'), 'sleep="enable"', 'sleep="disable"'),
    "ipc": (
        lambda: build(BALL, option='integrator="discrete"', flags='ipc="enable"'),
        'ipc="enable"',
        'ipc="disable"',
    ),
    "springyield of a joint": (
        lambda: build(body('size=".1"', joint=hinge(more=SPRINGS))),
        "springyield",
        "remove springyield",
    ),
    "springyield of a tendon": (
        lambda: build(body('size=".1"', joint=hinge()), rest=STRING),
        "springyield",
        "remove springyield",
    ),
}

IGNORED: dict[str, tuple[str, Callable[[], Any]]] = {
    'option cone="elliptic"': ("option cone", lambda: build(BALL, option='cone="elliptic"')),
    'option integrator="RK4"': ("option integrator", lambda: build(BALL, option='integrator="RK4"')),
    'option impratio="10"': ("option impratio", lambda: build(BALL, option='impratio="10"')),
    'option noslip_iterations="3"': ("option noslip_iterations", lambda: build(BALL, option='noslip_iterations="3"')),
    "solref of a geom": ("geom_solref", lambda: build(body('size=".1" solref=".01 1"'))),
    "solimp of a geom": ("geom_solimp", lambda: build(body('size=".1" solimp=".8 .9 .01"'))),
    "solref of a limit": ("jnt_solref", lambda: build(body('size=".1"', joint=hinge(more='solreflimit=".01 1"')))),
    "solref of dry friction": (
        "dof_solref",
        lambda: build(body('size=".1"', joint=hinge(more='solreffriction=".1 1"'))),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_simulated_is_refused_by_name_with_a_remedy(name):
    make, what, remedy = REFUSED[name]
    model = make()
    data = start(model)
    for call in (pliant.mj_step, pliant.mj_forward, pliant.mj_step2):
        with pytest.raises(pliant.InputError) as caught:
            call(model, data)
        assert what in str(caught.value) and remedy in str(caught.value)
    with pytest.raises(pliant.InputError, match=what):
        pliant.MujocoSystem(model)
    assert data.time == 0.0


def test_what_is_switched_on_later_is_refused_too():
    model = build(BALL)
    data = start(model)
    pliant.mj_step(model, data)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
    for _ in range(2):
        with pytest.raises(pliant.InputError, match="sleep"):
            pliant.mj_step(model, data)
    model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    pliant.mj_step(model, data)
    assert data.time == pytest.approx(2 * model.opt.timestep)


@pytest.mark.parametrize("name", IGNORED)
def test_ignored_settings_are_said_once_by_name(name, caplog):
    what, make = IGNORED[name]
    model = make()
    data = start(model)
    with caplog.at_level(logging.INFO, logger="pliant"):
        pliant.mj_step(model, data, 3)
        pliant.mj_forward(model, data)
    said = [record.getMessage() for record in caplog.records if "does not use" in record.getMessage()]
    assert len(said) == 1 and said[0].endswith(f": {what}")


@pytest.mark.parametrize("limit", ['solreflimit="-100 -1"', ""])
def test_settings_that_count_are_not_said(limit, caplog):
    model = build(body('size=".1"', joint=hinge(more=limit)))
    with caplog.at_level(logging.INFO, logger="pliant"):
        pliant.mj_step(model, start(model))
    assert not caplog.records


def test_solref_counts_with_the_compliance_of_the_model(caplog):
    model = build(body('size=".1" solref=".01 1"'))
    with caplog.at_level(logging.INFO, logger="pliant"):
        pliant.mj_step(model, start(model), compliance="model")
    assert not caplog.records
