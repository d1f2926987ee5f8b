"""What slides, rolls, hits and swings in `pliant bench trust`: closed forms, and a small case of each with ours."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.bench.trust import cradle, hour, impact, rolling, slip, swings
from pliant.bench.trust.scene import COULOMB, engines
from pliant.studies.peers import mujoco_peers, ours
from pliant.studies.scenes import GRAVITY, HARD

OURS = ours(HARD)._replace(name=COULOMB)

pytestmark = pytest.mark.usefixtures("compiled")


def test_a_cube_stops_where_the_sums_say():
    in_steps = [slip.stopping_in_steps(6.0, 0.5, h) for h in (1e-2, 1e-3, 1e-5)]
    short = slip.stopping(6.0, 0.5) - np.array(in_steps)
    assert short == pytest.approx([0.03, 0.003, 0.00003], rel=0.02)  # v h/2
    speeds = 6.0 - 0.5 * GRAVITY * 0.01 * np.arange(1, 200)
    assert in_steps[0] == pytest.approx(0.01 * speeds[speeds > 0.0].sum(), rel=1e-12)


def test_a_sliding_disc_is_slowed_as_a_point_and_a_spinning_one_as_a_ring():
    sliding = slip.deceleration(12, 0.3, np.array([2.0, 0.0, 0.0]))
    assert sliding == pytest.approx([-slip.GRIP * GRAVITY, 0.0, 0.0], abs=1e-8)
    spinning = slip.deceleration(12, 0.3, np.array([0.0, 0.0, 20.0]))
    assert spinning == pytest.approx([0.0, 0.0, -slip.GRIP * GRAVITY * slip.RING / slip.INERTIA], abs=1e-6)


def test_what_is_thrown_keeps_its_closed_forms():
    assert slip.thrown(OURS, slip.DURATION).right and slip.every_way(OURS, 2).right
    outcome = slip.spun(OURS, "disc on 3 feet", 3)
    assert outcome.right and outcome.values["place [m]"] < 0.5 * slip.STEP * slip.SLIDE * 1.5


def test_a_ball_that_rolls_has_lost_two_sevenths():
    when, where, speed = rolling.rolls_after(2.0, 0.3)
    assert speed == pytest.approx(2.0 - 0.3 * GRAVITY * when)
    assert where == pytest.approx(0.5 * (2.0 + speed) * when)
    assert 2.5 * 0.3 * GRAVITY * when == pytest.approx(speed)  # r omega


def test_what_rolls_goes_on():
    assert rolling.slides_then_rolls(OURS, 1.5).right and rolling.on_its_rim(OURS, 1.5).right
    assert rolling.between_plates(OURS).right


@pytest.mark.parametrize("target", impact.TARGETS)
def test_what_hits_stays_out(target):
    peer = impact.dead()[0]
    assert peer.name == COULOMB and impact.hits(peer, "box", target, 1000.0).right
    assert impact.meets(peer, 100.0).right and impact.bounces(impact.bouncy(0.5)[0], 0.5).right


def test_what_tunnels_is_not_right():
    (peer, *_) = mujoco_peers(1e7)
    outcome = impact.hits(peer, "ball", "plate", 100.0)
    assert not outcome.right and outcome.values["height [m]"] < -1.0


def test_the_cradle_hands_its_speed_on():
    # two equal balls touch for 2.9432 d/v, with 1/2 (m/2) v^2 = 8/15 E* sqrt(r/2) d^(5/2)
    deepest = (15.0 * cradle.MASS / (32.0 * 1e7 * np.sqrt(0.5 * cradle.RADIUS))) ** 0.4
    assert 2.9432 * deepest == pytest.approx(cradle.CONTACT, rel=0.05)
    outcome = cradle.swing(cradle.elastic()[0], 4e-5)
    assert outcome.values["last [m/s]"] > 0.9 and outcome.values["steps of an impact"] >= 20.0


def test_energies_are_judged_by_their_first_seconds():
    time = np.arange(0.0, 40.0, 0.1)
    assert hour.band(np.sin(time), 0.1, 20.0)[0]
    assert not hour.band(np.sin(time) + 0.05 * time, 0.1, 20.0)[0]  # leaves
    assert not hour.band(5.0 * (np.exp(-time) - 1.0), 0.1, 20.0)[0]  # stays, after it has lost


def test_a_double_pendulum_starts_closed_with_the_energy_of_its_model():
    q, v = swings.level()
    system = swings.DoublePendulum()
    assert np.abs(system.values(0.0, q)[0]).max() == 0.0 and sum(system.energy(0.0, q, v).values()) == 0.0
    v = np.array([0.3, -0.2, 1.0, 0.5, 0.1, -2.0])
    rate = (system.values(0.0, q + 1e-7 * v)[0] - system.values(0.0, q - 1e-7 * v)[0]) / 2e-7
    assert system.problem(0.0, q, v, 0.01).constraints[0].jacobian @ v == pytest.approx(rate, abs=1e-7)


def test_linkages_and_piles_go_on():
    outcome = hour.swung("double pendulum, absolute", 0.5)
    assert outcome.values["joints [m]"] < 1e-11 and outcome.values["given up"] == 0.0
    (peer, *_) = engines(1e7, HARD, drake=False)
    assert hour.lies(peer, 1.0, 30.0).right
    assert hour.turned(peer, "double pendulum, hinges", 10.0).values["lowest [J]"] < 0.0
