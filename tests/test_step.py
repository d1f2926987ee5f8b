"""Steps of small mechanisms: the treatments of drift, and what a system may get wrong."""

from __future__ import annotations

from typing import Any

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
    # a body at rest that is only pushed apart: its residual is the rounding of its forces, 1e-16 over 1e-5
    assert found.stats["gave_up"].sum() == 0 and found.stats["residual"].max() < 1e-10


@pytest.mark.parametrize("drift", ["tangent", "paper"])
def test_the_others_keep_it_to_second_order(drift):
    far, near = (deviation(*run(drift, step, 1.0)) for step in (0.02, 0.01))
    assert 3.5 < far / near < 4.5 and near < 1e-3


@pytest.mark.slow
def test_lookahead_holds_the_energy_of_a_spinning_pendulum():
    found, system = run("lookahead", 0.03, 30.0, spin=20.0)
    kept = energies(found, system)[2:]
    assert 225.0 < kept.min() and kept.max() < 245.0
    lost, system = run("tangent", 0.03, 30.0, spin=20.0)
    assert energies(lost, system)[-1] < 100.0


PRINTED, BARE = pliant.Printed(), pliant.Printed(compensate_drift=False)


@pytest.mark.parametrize(
    ("drift", "solver", "same_as"),
    [
        ("paper", PRINTED, "paper"),  # the terms are added once, by whomever
        ("paper", BARE, "paper"),
        ("tangent", PRINTED, "paper"),
        ("tangent", BARE, "tangent"),
        ("lookahead", PRINTED, "lookahead"),
        ("auto", PRINTED, "lookahead"),
        ("auto", BARE, "lookahead"),
    ],
)
def test_curvature_counts_once_with_the_printed_programs(drift, solver, same_as):
    """With bilateral rows all solvers agree: what differs is who adds what."""
    given: dict[str, Any] = {"q": [1.0, 0.0, 0.0], "v": [0.0, 3.0, 3.0], "duration": 0.2, "step": 0.02}
    found = pliant.simulate(Pendulum(), drift=drift, solver=solver, **given)
    expected = pliant.simulate(Pendulum(), drift=same_as, **given)
    np.testing.assert_allclose(found.q, expected.q, rtol=1e-9, atol=1e-12)
    assert found.stats["gave_up"].sum() == 0


def test_the_printed_programs_look_ahead_of_contacts():
    class Bowl(Ball):
        """A floor that rises as x^2: its gap is curved."""

        def problem(self, time, q, v, step):
            n = np.array([-2.0 * q[0], 1.0])
            floor = pliant.Contact([[n, [n[1], -n[0]]]], [q[1] - q[0] ** 2], self.law, 0.0)
            return pliant.StepProblem([1.0, 1.0], v, [0.0, -9.8], step, [floor])

        def values(self, time, q):
            return [[q[1] - q[0] ** 2]]

    for drift in ("auto", "lookahead"):
        given: dict[str, Any] = {"q": [0.5, 0.25], "v": [0.0, 0.0], "duration": 0.2, "step": 0.02, "drift": drift}
        found = pliant.simulate(Bowl(), solver=pliant.Printed(), **given)
        assert found.stats["gave_up"].sum() == 0
        assert max(abs(q[1] - q[0] ** 2) for q in found.q) < 1e-6  # the spring's own give; h^2 is 1e-3
        np.testing.assert_allclose(found.q, pliant.simulate(Bowl(), **given).q, atol=1e-9)


def test_the_paper_diverges():
    found, _ = run("paper", 0.1, 60.0)
    assert not found.complete or np.abs(found.q).max() > 1e6


def test_lookahead_that_does_not_contract_is_given_up_and_counted():
    found, system = run("lookahead", 0.2, 2.0, spin=40.0)  # eight radians in a step
    assert found.stats["gave_up"].sum() > 0
    assert np.all(np.isfinite(found.q)) and energies(found, system).max() < 1000.0


class Rod:
    """A bob of 1 kg on a rod of 1 m, in the two coordinates of its place."""

    def __init__(self, stiffness: float) -> None:
        self.law = pliant.Law(stiffness)

    def values(self, time, q):
        return [[np.hypot(*q) - 1.0]]

    def problem(self, time, q, v, step):
        r = np.hypot(*q)
        rod = pliant.Bilateral([q / r], [r - 1.0], self.law)
        return pliant.StepProblem([1.0, 1.0], v, [0.0, -9.81], step, [rod])

    def advance(self, q, v, step):
        return q + step * v


@pytest.mark.parametrize("stiffness", [1e15, 1e8])
@pytest.mark.parametrize("step", [0.05, 0.01, 0.001, 1e-4])
def test_lookahead_holds_at_small_steps_where_the_gap_is_rounding(stiffness, step):
    found = pliant.simulate(Rod(stiffness), [1.0, 0.0], [0.0, 0.0], duration=min(1.0, 100 * step), step=step)
    assert found.stats["gave_up"].sum() == 0
    gaps = np.array([np.hypot(*q) - 1.0 for q in found.q[1:]])
    springs = np.array([forces[0][0] for forces in found.forces]) / stiffness  # what the rod gives
    assert np.abs(gaps + springs).max() < 1e-12
    assert stiffness < 1e15 or np.abs(gaps).max() < 1e-12


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
    (
        {"problem": lambda t, q, v, h: pliant.StepProblem([1.0, 1.0], v + np.array([0.0, 0.5]), [0.0, 0.0], h)},
        {},
        r"v\[1\] is -1.0, the problem's velocity\[1\] -0.5",
    ),
    ({"advance": lambda q, v, h: None}, {}, "must return 2 finite numbers like q, got an array of type object"),
    ({"values": lambda t, q: []}, {}, r"one entry per constraint of system.problem \(1\)"),
    ({"values": lambda t, q: q[1:]}, {}, "must return a list with one entry per constraint"),
    ({"values": lambda t, q: [[1.0, 2.0]]}, {}, "Contact 'floor' has 1 rows and needs as many finite numbers"),
    ({"values": lambda t, q: [[np.nan]]}, {}, r"Contact 'floor' has 1 rows .* nan at index \[0\]"),
    (
        {"values": lambda t, q: [q[1:] + 0.5]},
        {},
        "contradicts system.problem there: row 0 of Contact 'floor' is 0.5 in",
    ),
    ({"values": lambda t, q: [None]}, {"drift": "lookahead"}, "gives None for every constraint; use 'tangent'"),
    ({"values": None}, {"drift": "lookahead"}, "is not there; use 'tangent'"),
    ({}, {"drift": "paper"}, "drift='paper' needs the curvature"),
    ({}, {"time": np.nan}, "time must be one finite number"),
    ({}, {"step": -0.1}, "step must be one number > 0"),
    ({}, {"drift": "sideways"}, "drift must be one of auto, tangent, lookahead, paper, got 'sideways'"),
    ({}, {"drift": "lookahead"}, r"needs system.values\(time, q\)"),
    ({}, {"q": [0.0, np.inf]}, "q must be finite, got inf at index 1"),
]


@pytest.mark.parametrize(("replaced", "options", "says"), WRONG)
def test_what_a_system_gets_wrong_is_named(replaced, options, says):
    given: dict[str, Any] = {"time": 0.25, "q": [0.0, 0.0], "v": [0.0, -1.0], "step": 0.01, **options}
    with pytest.raises(pliant.InputError, match=says):
        pliant.step(Broken(**replaced), **given)


@pytest.mark.parametrize("name", ["problem", "advance", "values"])
def test_what_a_system_raises_says_where_and_when(name):
    def fail(*given):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        pliant.step(Broken(**{name: fail}), 0.25, [0.0, 0.0], [0.0, -1.0], 0.01)
    assert caught.value.__notes__ == [f"raised in system.{name} at t = 0.25 s"]
