"""A run played back: the samples that there are, at the times that are asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pliant
from pliant.stage import Stage
from pliant.viewer.door import is_run, open_source
from pliant.viewer.export import frame_samples
from pliant.viewer.playback import Playback

from .conftest import ROLLING, load


def test_it_shows_the_sample_of_the_time(rolling):
    run = load(rolling)
    played = open_source(rolling)
    assert isinstance(played, Playback) and played.time == 0.0
    played.seek(0.503)
    moment = played.look()
    assert played.time == moment.time == pytest.approx(0.5)
    assert played.shown.xpos[1] == pytest.approx(run.q[50, :3])
    assert played.shown.qpos == pytest.approx(run.q[50])
    table = run.contacts[run.contacts["time"] == run.time[50]]
    assert moment.rows[:, 7] == pytest.approx(np.asarray(table["x"])) and moment.friction == pytest.approx(1.0)
    assert moment.pair_force((0, 1)) == pytest.approx(9.81, rel=1e-6)
    assert moment.status is pliant.Status.SOLVED and moment.energy["kinetic"] > 0.5


def test_it_steps_plays_and_ends(rolling):
    played = open_source(rolling)
    assert isinstance(played, Playback)
    played.step(3)
    assert played.k == 3
    played.step(-10)
    assert played.k == 0
    assert not played.go(0.004, math.inf)
    assert played.go(0.007, math.inf) and played.k == 1  # parts of samples add up
    assert played.go(100.0, math.inf) and played.ended and played.time == pytest.approx(1.0)
    played.reset()
    assert played.k == 0 and not played.ended


def test_curves_cover_the_run(rolling):
    run, played = load(rolling), open_source(rolling)
    assert played.pairs == [(0, 1), (0, 2)] and played.geoms[1] == "ball"
    curves = played.curves((0, 2))
    assert len(curves.time) == len(run) and curves.time[-1] == run.time[-1]
    assert curves.force[-1] == pytest.approx(2 * 9.81, rel=1e-6)
    assert curves.deepest.max() == pytest.approx(np.asarray(run.contacts["penetration"]).max())
    assert curves.residual[1:] == pytest.approx(np.maximum(run.stats["residual"], 1e-17))
    kinetic = 0.5 * 1.0 * run.v[-1, 0] ** 2 + 0.5 * 0.4 * 0.01 * run.v[-1, 4] ** 2
    assert curves.energy["kinetic"][-1] == pytest.approx(kinetic, rel=1e-6)


def test_friction_of_materials_is_kept():
    system = pliant.load(
        ROLLING, materials={"crate": pliant.Material(1e9, friction=0.3), "floor": pliant.Material(1e9, friction=0.3)}
    )
    run = pliant.simulate(system, system.q, system.v, duration=0.05, step=0.01)
    played = open_source(run)
    played.step(3)
    assert sorted(set(played.look().friction)) == pytest.approx([0.3, 1.0])
    assert played.look().pulls is None  # simulate does not keep them


class Falling:
    """A stone."""

    def problem(self, time, q, v, step):
        return pliant.StepProblem([1.0], v, [-9.81], step)

    def advance(self, q, v, step):
        return q + step * v

    def energy(self, time, q, v):
        return {"kinetic": 0.5 * v[0] ** 2, "gravitational": 9.81 * q[0]}

    def draw(self):
        return pliant.Drawing([pliant.Shape.sphere("stone", 0.1)], lambda time, q: {"stone": [0.0, 0.0, q[0]]})


def test_a_system_that_is_only_drawn():
    system = Falling()
    run = pliant.simulate(system, [1.0], [0.0], duration=0.1, step=0.01)
    played = Playback(run, Stage.of(run))
    played.step(5)
    moment = played.look()
    assert len(moment.rows) == 0 and moment.energy == {} and played.pairs == []
    assert played.shown.mocap_pos[0] == pytest.approx([0.0, 0.0, run.q[5, 0]])
    assert len(played.curves(None).time) == len(run) and played.curves(None).energy == {}
    told = open_source(run, system=system).curves(None).energy
    assert told["total"][0] == pytest.approx(9.81) and told["potential"][-1] == pytest.approx(9.81 * run.q[-1, 0])


def test_long_runs_have_fewer_points():
    run = pliant.simulate(Falling(), [1.0], [0.0], duration=1.2, step=0.001)
    curves = open_source(run).curves(None)
    assert len(curves.time) == 601 and curves.time[1] == pytest.approx(0.002)


def test_what_does_not_go_together_is_refused(rolling, tmp_path):
    with pytest.raises(pliant.InputError, match="materials and solver are for models"):
        open_source(rolling, materials={"floor": pliant.Material(1e9)})
    with pytest.raises(pliant.InputError, match="model and system say how a run looks"):
        open_source(ROLLING, model=ROLLING)
    more = ROLLING.replace("<body pos", '<geom name="wall" type="box" size=".1 .1 .1" pos="9 9 9"/><body pos', 1)
    with pytest.raises(pliant.InputError, match="4 geoms, that of the run 3"):
        open_source(rolling, model=more)
    assert is_run(rolling) and not is_run(ROLLING) and not is_run(3) and not is_run(tmp_path)


def test_frames_are_no_more_than_samples():
    times = np.linspace(0.0, 1.0, 101)
    samples, pause = frame_samples(times, None)
    assert len(samples) == 31 and pause == pytest.approx(1.0 / 30.0)
    assert samples[0] == 0 and samples[-1] == 100 and (np.diff(samples) > 0).all()
    samples, pause = frame_samples(times, 1000.0)
    assert samples.tolist() == list(range(101)) and pause == pytest.approx(0.01)
    assert len(frame_samples(np.linspace(0.0, 1000.0, 100_001), None)[0]) == 3001
    assert frame_samples(np.zeros(1), None)[1] == 0.0
