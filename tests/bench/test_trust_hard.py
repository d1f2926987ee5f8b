"""Hard scenes of `pliant bench trust`: what is known of them by hand, and that ours comes to it."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.bench.trust import chain, painleve, ratios, redundancy, scenes
from pliant.bench.trust.linkages import (
    bars_energy,
    bricard,
    bricard_energy,
    door,
    door_energy,
    four_bars,
    push_bars,
    push_door,
    shelf,
    table,
)
from pliant.bench.trust.mechanics import gaps, loop_engines, watched
from pliant.bench.trust.rod import gain, miss, mobility, regime, rod_step, slide, sliding_force
from pliant.bench.trust.scene import COULOMB, engines, try_out
from pliant.studies.peers import Stepped
from pliant.studies.scenes import GRAVITY, HARD
from pliant.systems.mujoco_load import read_spec

OURS = loop_engines(HARD)[0]

pytestmark = pytest.mark.usefixtures("compiled")


def still(xml: str) -> Any:
    """A runner that nothing was done to."""
    return Stepped(read_spec(xml), lambda model, data, count: None, lambda spec: None)


def jacobian(runner: Any) -> np.ndarray:
    mujoco.mj_forward(runner.model, runner.data)
    dense = np.zeros((runner.data.nefc, runner.model.nv))
    for i, row in enumerate(dense):
        unit = np.zeros(runner.data.nefc)
        unit[i] = 1.0
        mujoco.mj_mulJacTVec(runner.model, runner.data, row, unit)
    return dense


def test_scenes_say_what_is_right():
    for scene in scenes():
        assert scene.title and scene.right.endswith(".")


@pytest.mark.parametrize(
    ("xml", "push", "expected", "free"),
    [
        (four_bars(3, 0.001), push_bars, bars_energy(3), 1),
        (bricard(0.001), None, bricard_energy(), 1),
        (door(0.001), push_door, door_energy(), 1),
    ],
    ids=["four-bars", "Bricard", "door"],
)
def test_mechanisms_are_closed_and_have_one_freedom(xml, push, expected, free):
    runner = still(xml)
    if push is not None:
        push(runner)
    G = jacobian(runner)
    assert runner.energy == pytest.approx(expected, rel=1e-12)
    assert np.linalg.matrix_rank(G) == runner.model.nv - free < len(G)  # redundant
    assert np.abs(G @ runner.data.qvel).max() < 1e-12 and gaps(runner).max() < 1e-12


def test_the_chain_by_hand():
    straight = still(chain.connects(5, chain.ANGLE, 0.001))
    assert len(straight.position) == 5 and gaps(straight).shape == (5,)
    assert chain.stretch(straight, 5) < 1e-12
    straight.data.qpos[2] -= 0.01  # the first joint opens, and the second
    assert chain.stretch(straight, 5) == pytest.approx(0.02 / (5 * chain.LENGTH))
    hanging = still(chain.connects(5, 0.0, 0.001))
    high, low = (runner.energy for runner in (still(chain.connects(5, chain.ANGLE, 0.001)), hanging))
    assert high - low == pytest.approx(chain.swing(5), rel=1e-9)
    assert still(chain.hinges(5, chain.ANGLE, 0.001)).energy == pytest.approx(high, rel=1e-12)
    assert chain.weight(200) == pytest.approx(117.72) and 2.0 / chain.fastest(200) == pytest.approx(1.19e-3, rel=1e-2)


def test_painleves_rod_by_hand():
    assert mobility(np.pi - np.arctan(2.0), 4.0 / 3.0) == pytest.approx(0.0, abs=1e-12)  # the first paradox
    angles = np.radians(np.arange(1.0, 180.0))
    assert min(mobility(angle, 1.33) for angle in angles) > 0.0
    assert regime(np.radians(120.0), 3.0, 0.0) == "jams" and regime(np.radians(120.0), 3.0, 5.0) == "several"
    assert regime(np.radians(60.0), 3.0, 0.0) == "slides on" and regime(np.radians(60.0), 3.0, 5.0) == "lifts off"
    assert sliding_force(np.pi / 2, 0.0, 0.0) == pytest.approx(GRAVITY)
    assert slide(np.pi / 2, 0.0, 0.1) == pytest.approx(np.pi / 2) and np.isnan(slide(np.radians(120.0), 3.0, 0.1))


def test_a_rod_without_friction_falls_as_energy_says():
    """1/2 (cos^2 + 1/3) omega^2 = g (sin theta_0 - sin theta): the centre falls straight down."""
    start, later = np.radians(45.0), 1e-4
    theta = slide(start, 0.0, 0.1)
    omega = (slide(start, 0.0, 0.1 + later) - slide(start, 0.0, 0.1 - later)) / (2.0 * later)
    kinetic = 0.5 * (np.cos(theta) ** 2 + 1.0 / 3.0) * omega**2
    assert kinetic == pytest.approx(GRAVITY * (np.sin(start) - np.sin(theta)), rel=1e-5)


def test_the_certificate_sees_a_wrong_force():
    problem = rod_step(np.radians(60.0), 0.5, 0.0, 0.001)
    solution = pliant.solve(problem)
    assert miss(problem, solution) < 1e-12 and gain(problem, solution.velocity) < 0.0
    solution.forces[0][0, 0] *= 1.0 + 1e-6
    assert miss(problem, solution) > 1e-7


def test_ours_light_under_heavy():
    (peer,) = [peer for peer in engines(ratios.STIFFNESS, ratios.BLOCK, drake=False) if peer.name == COULOMB]
    found = try_out(peer, "", ratios.tower(1e6, 0.01), 500, lambda runner: ratios.verdict(runner, 1e6))
    assert found.right and found.values["sunk [m]"] == pytest.approx(ratios.indentation(1e6), rel=1e-6)


def test_ours_hangs_a_chain():
    found = chain.follow(OURS, "connects, hanging", chain.connects(10, 0.0, 0.001), 10, 50)
    assert found.right and found.values["tension over weight"] == pytest.approx(1.0, abs=1e-3)
    found = chain.follow(OURS, "connects, swung", chain.connects(10, chain.ANGLE, 0.001), 10, 50)
    assert found.right and found.values["longer by"] < 1e-4


def test_ours_with_more_than_it_needs():
    (peer,) = [p for p in engines(1e8, redundancy.LEG, drake=False) if p.name == COULOMB]
    assert try_out(peer, "", table(4, 0.01), 100, redundancy.even(4)).right
    for offset in (0.0, 0.1):
        assert try_out(OURS, "", shelf(offset, 0.01), 100, redundancy.between).right
    for case, (xml, push, scale) in redundancy.mechanisms(True).items():
        assert redundancy.follow(OURS, case, xml, push, scale, 0.1).right, case


def test_ours_and_painleves_rod():
    angles = np.radians([5.0, 60.0, 120.0])
    by_hand = painleve.by_hand(COULOMB, 0.0, (0.5, 3.0), angles)
    assert by_hand.right and by_hand.values["jams: STICK"] == 1.0 and by_hand.values["sliding force off by"] < 1e-5
    moved = painleve.moves(OURS, 3.0, angles, 110)
    assert moved.right and moved.values["jams: STICK"] == 1.0


def test_who_is_watched_is_looked_at_before_and_after():
    seen: list[float] = []
    peer = watched(OURS, lambda runner: None, lambda runner: seen.append(runner.data.time))
    try_out(peer, "", shelf(0.0, 0.01), 20, lambda runner: (True, {}), each=10)
    assert seen == pytest.approx([0.0, 0.1, 0.2])
