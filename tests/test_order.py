"""First order: the error of q(T) falls with the step, for steps below the period of the stiffest active spring."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant
from pliant.inputs import Array
from tests.support.mechanisms import GRAVITY, Pendulum

STIFFNESS = 1e4  # of the limit: a period of 63 ms


class Falling:
    """1 kg that falls onto a spring at height 0 and is thrown back."""

    def problem(self, time: float, q: Array, v: Array, step: float) -> pliant.StepProblem:
        stop = pliant.Unilateral([[1.0]], q, pliant.Law(STIFFNESS))
        return pliant.StepProblem([1.0], v, [-GRAVITY], step, [stop])

    def advance(self, q: Array, v: Array, step: float) -> Array:
        return q + step * v


def error_of_falling(step: float) -> float:
    """At 0.3 s, on the way up again: fall, half an oscillation about the sunk-in rest, flight."""
    height, w = 0.05, np.sqrt(STIFFNESS)
    fall = np.sqrt(2.0 * height / GRAVITY)
    speed, sunk = GRAVITY * fall, GRAVITY / STIFFNESS
    contact = (np.pi + 2.0 * np.arctan(sunk * w / speed)) / w
    t = 0.3 - fall - contact
    exact = speed * t - 0.5 * GRAVITY * t * t
    run = pliant.simulate(Falling(), [height], [0.0], duration=0.3, step=step)
    return abs(float(run.q[-1, 0]) - exact)


def error_of_pendulum(step: float) -> float:
    """At 0.6 s, against the equation of the angle alone."""

    def swing(t: float, y: Array) -> list[float]:
        return [y[1], -GRAVITY * np.cos(y[0]) / (1.0 + 1.0 / 12.0)]

    exact = solve_ivp(swing, (0.0, 0.6), [0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    run = pliant.simulate(Pendulum(), [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], duration=0.6, step=step)
    return abs(float(run.q[-1, 2]) - exact)


CASES = [(error_of_falling, (8e-4, 4e-4, 2e-4)), (error_of_pendulum, (4e-2, 2e-2, 1e-2))]


@pytest.mark.parametrize(("error", "steps"), CASES)
def test_the_error_falls_with_the_step(error, steps):
    errors = [error(step) for step in steps]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all((orders > 0.8) & (orders < 1.3)), (errors, orders)


def test_above_the_period_the_answer_is_that_of_a_rigid_stop():
    """At steps far above the period the mass lands and stays."""
    run = pliant.simulate(Falling(), [0.05], [0.0], duration=5.0, step=0.5)
    assert abs(run.v[-1, 0]) < 1e-6 and abs(run.q[-1, 0] + GRAVITY / STIFFNESS) < 1e-6
