"""Steps of small mechanisms: the treatments of drift, and what a system may get wrong."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from tests.support.mechanisms import Ball, Pendulum

START = [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]


def run(
    drift: str, step: float, duration: float, *, spin: float = 0.0, **options: int
) -> tuple[pliant.Trajectory, Pendulum]:
    system = Pendulum(**options)
    q, v = [1.0, 0.0, 0.0], [0.0, spin, spin]
    return pliant.simulate(system, q, v, duration=duration, step=step, drift=drift, throw=False), system


def deviation(run: pliant.Trajectory, system: Pendulum) -> float:
    return max(float(np.abs(system.phi(q)).max()) for q in run.q)


def energies(run: pliant.Trajectory, system: Pendulum) -> np.ndarray:
    states = zip(run.time, run.q, run.v, strict=True)
    return np.array([sum(system.energy(*state).values()) for state in states])


@pytest.mark.parametrize("joints", [1, 2])
@pytest.mark.parametrize("step", [0.1, 0.01])
def test_lookahead_keeps_the_joint_at_rounding(step, joints):
    found, system = run("lookahead", step, 1.0, joints=joints)
    assert deviation(found, system) < 1e-12
    assert found.stats["gave_up"].sum() == 0 and found.stats["residual"].max() < 1e-12


@pytest.mark.parametrize("drift", ["tangent", "paper"])
def test_the_others_keep_it_to_second_order(drift):
    far, near = (deviation(*run(drift, step, 1.0)) for step in (0.02, 0.01))
    assert 3.5 < far / near < 4.5 and near < 1e-3


def test_lookahead_holds_the_energy_of_a_spinning_pendulum():
    found, system = run("lookahead", 0.03, 30.0, spin=20.0)
    kept = energies(found, system)[2:]
    assert 225.0 < kept.min() and kept.max() < 245.0
    lost, system = run("tangent", 0.03, 30.0, spin=20.0)
    assert energies(lost, system)[-1] < 100.0


def test_the_paper_diverges():
    found, _ = run("paper", 0.1, 60.0)
    assert not found.complete or np.abs(found.q).max() > 1e6


def test_lookahead_that_does_not_contract_is_given_up_and_counted():
    found, system = run("lookahead", 0.2, 2.0, spin=40.0)  # eight radians in a step
    assert found.stats["gave_up"].sum() > 0
    assert np.all(np.isfinite(found.q)) and energies(found, system).max() < 1000.0


def test_a_step_is_solve_and_advance():
    system = Ball()
    q, v = np.array([0.0, 0.0]), np.array([1.0, -1.0])
    solution = pliant.solve(system.problem(0.0, q, v, 0.01))
    q1, v1, found = pliant.step(system, 0.0, q, v, 0.01)
    assert np.array_equal(v1, solution.velocity) and np.array_equal(q1, q + 0.01 * v1)
    assert found.status is pliant.Status.SOLVED


class Broken(Ball):
    """One function goes wrong."""

    def __init__(self, **replaced: object) -> None:
        super().__init__()
        self.__dict__.update(replaced)


def nan_force(time: float, q: object, v: object, step: float) -> pliant.StepProblem:
    return pliant.StepProblem([1.0, 1.0], v, [np.nan, 0.0], step)


WRONG = [
    ({"problem": nan_force}, {}, "system.problem at t = 0.25 s: StepProblem: force must be finite, got nan at index 0"),
    ({"problem": lambda *a: None}, {}, "must return a pliant.StepProblem, got NoneType"),
    ({"problem": lambda t, q, v, h: pliant.StepProblem([1.0], [0.0], [0.0], h)}, {}, "must be built with the velocity"),
    ({"advance": lambda q, v, h: q[:1]}, {}, "system.advance at t = 0.25 s must return 2 finite numbers"),
    ({"advance": lambda q, v, h: q * np.nan}, {}, r"nan at index \[0\]"),
    ({"values": lambda t, q: []}, {}, r"one entry per constraint of system.problem \(1\)"),
    ({"values": lambda t, q: [[1.0, 2.0]]}, {}, "Contact 'floor' has 1 rows"),
    ({}, {"drift": "sideways"}, "drift must be one of auto, tangent, lookahead, paper, got 'sideways'"),
    ({}, {"drift": "lookahead"}, r"needs system.values\(time, q\)"),
    ({}, {"q": [0.0, np.inf]}, "q must be a vector of finite numbers"),
]


@pytest.mark.parametrize(("replaced", "options", "says"), WRONG)
def test_what_a_system_gets_wrong_is_named(replaced, options, says):
    given = {"q": [0.0, 0.0], "drift": "auto", **options}
    with pytest.raises(pliant.PliantError, match=says):
        pliant.step(Broken(**replaced), 0.25, given["q"], [0.0, -1.0], 0.01, drift=given["drift"])
