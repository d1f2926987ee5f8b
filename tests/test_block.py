"""A block on four feet: it neither creeps on a ramp nor lifts while it slides."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from benchmarks.scenes.block import Block
from benchmarks.scenes.stepping import steps

RAMP = np.deg2rad(15.0)
SETTLING = 100  # steps of 10 ms: what happens before t = 1 s is not creep


def creep(duration: float) -> tuple[float, float]:
    """Largest residual of the settled steps, and the distance between t = 1 s and 1 s + duration [m]."""
    block = Block(RAMP, 0.375)
    start, worst = block.position, 0.0
    for number, (_, solution) in enumerate(steps(block, SETTLING + round(duration / block.step)), start=1):
        if number == SETTLING:
            start = block.position
        elif number > SETTLING:
            worst = max(worst, solution.residual)
    return worst, float(np.linalg.norm(block.position - start))


def test_stands_on_a_ramp():
    residual, drift = creep(20.0)
    assert residual < 1e-12
    assert drift < 2e-10  # the share of 1e-8 m in 1000 s


@pytest.mark.slow
def test_stands_on_a_ramp_for_a_thousand_seconds():
    residual, drift = creep(1000.0)
    assert residual < 1e-12
    assert drift < 1e-8


def test_starts_at_its_static_indentation():
    block = Block(RAMP, 0.375)
    _, solution = next(steps(block, 1))
    front, back = block.load_shares()
    np.testing.assert_allclose(solution.forces[0][:, 0], [front, front, back, back], rtol=1e-6)
    assert np.abs(solution.velocity).max() < 1e-14
    assert np.all(solution.states[0] == pliant.ContactState.STICK)


def test_slides_where_friction_is_too_weak():
    block = Block(RAMP, 0.125)
    for _ in steps(block, 50):
        pass
    pull = 9.81 * (np.sin(RAMP) - 0.125 * np.cos(RAMP))
    assert block.velocity[0] == pytest.approx(pull * 50 * block.step, rel=1e-9)


def test_does_not_lift_while_sliding():
    block = Block(0.0, 0.5, speed=6.0)
    front, back = block.load_shares()
    for number, (_, solution) in enumerate(steps(block, 120), start=1):
        force = solution.forces[0]
        assert np.abs(block.gaps() + force[:, 0] / block.law.stiffness).max() < 1e-9
        assert np.all(solution.states[0] == pliant.ContactState.SLIP)
        np.testing.assert_allclose(force[:, 0], [front, front, back, back], rtol=1e-5)
        assert block.velocity[0] == pytest.approx(6.0 - 0.5 * 9.81 * number * block.step, rel=1e-9)


def test_convex_lifts_while_sliding():
    """By h mu v: the price of one convex program. The first step, v1 = (v0 - mu g h) / (1 + mu^2), throws the
    block 0.3 m up; once it is back it glides on a cushion of h mu v, 15 mm at 3 m/s."""
    block = Block(0.0, 0.5, speed=6.0)
    height = []
    for _, solution in steps(block, 61, pliant.Convex()):
        assert solution.status.solved
        height.append(block.gaps())
    np.testing.assert_allclose(height[0], 0.01 * 0.5 * (6.0 - 0.5 * 9.81 * 0.01) / 1.25, rtol=1e-6)
    assert np.max(height) == pytest.approx(0.3008, rel=1e-3)
    np.testing.assert_allclose(height[-1], 0.01 * 0.5 * block.velocity[0], rtol=1e-6)
    assert block.velocity[0] == pytest.approx(3.0202, rel=1e-3)
