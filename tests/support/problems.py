"""Small steps that every solver must pass, one function each; PROBLEMS holds them all by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant import demo

GRAVITY = 9.81  # [m/s^2]
PLANE = np.eye(3)[None, [2, 0, 1]]  # a point on the ground: normal z, tangents x and y


def beam() -> pliant.StepProblem:
    """A rigid beam on three springs, the middle one pressed in."""
    return demo.beam()


def ramp_slip() -> pliant.StepProblem:
    """1 kg at rest on a ramp of 15 degrees, too steep for its friction."""
    return demo.block(0.125)


def ramp_stick() -> pliant.StepProblem:
    """The same with friction enough."""
    return demo.block(0.375)


def doubled_welds() -> pliant.StepProblem:
    """Two bodies welded twice by the same rigid rows, one of them hung from the world."""
    hang, weld = np.eye(3, 6), np.hstack([np.eye(3), -np.eye(3)])
    rigid = pliant.Law(1e12, 1.0)
    welds = [pliant.Bilateral(weld, np.zeros(3), rigid, name=name) for name in ("weld", "again")]
    hook = pliant.Bilateral(hang, np.zeros(3), rigid, name="hook")
    weight = np.array([0.0, 0.0, -GRAVITY, 0.0, 0.0, -2 * GRAVITY])
    velocity = [0.1, 0.2, -0.3, 0.4, -0.5, 0.6]
    return pliant.StepProblem([1.0, 1.0, 1.0, 2.0, 2.0, 2.0], velocity, weight, 0.01, [hook, *welds])


def contradictory_welds() -> pliant.StepProblem:
    """Two welds that disagree by 2 mm at 1e15 N/m: opposing forces of 1e12 N."""
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    welds = pliant.Bilateral(rows, [1e-3, -1e-3, 0.0], pliant.Law(1e15))
    return pliant.StepProblem([1.0, 3.0], [0.1, -0.2], [0.0, -3 * GRAVITY], 0.01, [welds])


def no_rows() -> pliant.StepProblem:
    """Free fall, and constraints without rows."""
    empty = pliant.Contact(np.zeros((0, 3, 3)), np.zeros(0), pliant.Law(1e6), 0.5)
    none = pliant.Bilateral(np.zeros((0, 3)), np.zeros(0), pliant.Law(1e6))
    return pliant.StepProblem(np.ones(3), [1.0, 2.0, 3.0], [0.0, 0.0, -GRAVITY], 0.01, [empty, none])


def one_velocity() -> pliant.StepProblem:
    """A mass on a stop, a motor pushing it there."""
    stop = pliant.Unilateral([[1.0]], [-1e-4], pliant.Law(1e5, 10.0))
    motor = pliant.Clipped([[1.0]], [0.0], pliant.Law(0.0, 1e3), -2.0, 2.0, rate_offset=0.5)
    return pliant.StepProblem([2.0], [-0.3], [-20.0], 1e-3, [stop, motor])


def laws_of_nothing() -> pliant.StepProblem:
    """No stiffness and no damping in any kind of row; the clipped one must push all the same."""
    nothing, row = pliant.Law(), np.array([[1.0, 2.0, 0.0]])
    rows = [
        pliant.Bilateral(row, [0.1], nothing),
        pliant.Unilateral(row, [-0.1], nothing),
        pliant.Clipped(row, [0.1], nothing, 1.5, 2.5),
        pliant.Contact(PLANE, [-0.1], nothing, 0.5),
        pliant.Contact(PLANE, [-0.1], pliant.Law(1e4), 0.5, tangent_law=nothing),
    ]
    return pliant.StepProblem(np.ones(3), [1.0, 0.0, -1.0], [0.0, 0.0, -GRAVITY], 0.01, rows)


def rows_of_nothing() -> pliant.StepProblem:
    """Rows that move nothing still have their laws, here with moving anchors."""
    law, none = pliant.Law(1e3, 5.0), np.zeros((1, 3))
    rows = [
        pliant.Bilateral(none, [1e-3], law, rate_offset=0.1),
        pliant.Unilateral(none, [-1e-3], law, rate_offset=-0.1),
        pliant.Unilateral(none, [1e-3], law),
        pliant.Clipped(none, [1e-3], law, -0.5, 0.5),
        pliant.Contact(np.zeros((1, 3, 3)), [-1e-3], law, 0.5, tangent_law=law, stretch=1e-5),
        pliant.Contact(PLANE, [-1e-3], pliant.Law(1e6), 0.3),
    ]
    return pliant.StepProblem(np.ones(3), [1.0, 0.0, -1.0], [0.0, 0.0, -GRAVITY], 0.01, rows)


def clipped_servo() -> pliant.StepProblem:
    """A servo whose torque is at its upper limit, one at its lower, one inside, one that can give only 3 N."""
    servo = pliant.Clipped(np.eye(4), [-0.5, 0.5, -1e-3, 0.2], pliant.Law(1e3, 20.0), [-9, -9, -9, 3], [9, 9, 9, 3])
    return pliant.StepProblem(np.arange(1.0, 5.0), np.zeros(4), [1.0, -1.0, 0.5, 0.0], 1e-3, [servo])


def dry_joint() -> pliant.StepProblem:
    """Dry friction in a joint: K = 0, B large, +- limit; one slips, one holds."""
    friction = pliant.Clipped(np.eye(2), np.zeros(2), pliant.Law(0.0, 1e8), -5.0, 5.0)
    return pliant.StepProblem([1.0, 2.0], [1.0, 0.0], [0.0, 4.0], 0.01, [friction])


def _twisting(d: int) -> pliant.StepProblem:
    """A ball of 1 kg that slides, spins and rolls; anisotropic friction (an elliptic cone)."""
    r = 0.1
    rows = np.zeros((1, d, 6))
    rows[0, 0, 2] = 1.0
    rows[0, 1, [0, 4]] = 1.0, -r
    rows[0, 2, [1, 3]] = 1.0, r
    for k in range(3, d):
        rows[0, k, (5, 3, 4)[k - 3]] = 1.0
    mu = np.array([[0.5, 0.3, 0.02, 0.005, 0.008][: d - 1]])
    contact = pliant.Contact(rows, [-GRAVITY / 1e7], pliant.Law(1e7, 10.0), mu)
    inertia = [1.0, 1.0, 1.0, 0.004, 0.004, 0.004]
    weight = [0.0, 0.0, -GRAVITY, 0.0, 0.0, 0.0]
    return pliant.StepProblem(inertia, [0.3, 0.4, -0.01, 1.0, -2.0, 3.0], weight, 0.01, [contact])


def torsion() -> pliant.StepProblem:
    """d = 4."""
    return _twisting(4)


def rolling() -> pliant.StepProblem:
    """d = 6."""
    return _twisting(6)


def planar() -> pliant.StepProblem:
    """d = 2: two feet of a block that tips forward, only one of them pressed."""
    rows = np.array([[[0.0, 1.0, x], [1.0, 0.0, 0.1]] for x in (-0.5, 0.5)])
    feet = pliant.Contact(rows, [1e-3, -1e-5], pliant.Law(1e6, 1.0), 0.4)
    return pliant.StepProblem([1.0, 1.0, 0.1], [0.2, -0.05, -0.1], [0.0, -GRAVITY, 0.0], 0.01, [feet])


def _pressed(law: pliant.Law, **options: Any) -> pliant.StepProblem:
    """A point that slides and comes down, on a contact and on a frictionless foundation beside it."""
    contact = pliant.Contact(PLANE, [-1e-4], law, 0.3, **options)
    beside = pliant.Unilateral([[0.1, 0.0, 1.0], [0.0, -0.1, 1.0]], [-2e-4, 1e-3], law)
    return pliant.StepProblem(np.ones(3), [0.2, 0.1, -0.5], [0.0, 0.0, -GRAVITY], 1e-3, [contact, beside])


def hertz() -> pliant.StepProblem:
    """Power law, p = 3/2."""
    return _pressed(pliant.Law(1e7, exponent=1.5))


def hunt_crossley() -> pliant.StepProblem:
    """Power law with dissipation and a damper."""
    return _pressed(pliant.Law(1e7, 2.0, exponent=1.5, dissipation=0.4))


def soft_tangent() -> pliant.StepProblem:
    """Bristles: a linear law on the tangents, stretched at the start."""
    return _pressed(pliant.Law(1e6, 1.0), tangent_law=pliant.Law(1e4, 5.0), stretch=[[1e-5, -2e-5]])


def conveyor() -> pliant.StepProblem:
    """Rate offsets on the normal and the tangents."""
    return _pressed(pliant.Law(1e6, 1.0), rate_offset=[[0.01, 0.5, -0.2]])


def many_islands() -> pliant.StepProblem:
    """Six points, each on its own contact, two of them tied together, one falling free."""
    law = pliant.Law(1e8, 1.0)
    rows = np.zeros((5, 3, 18))
    for k in range(5):
        rows[k, :, 3 * k : 3 * k + 3] = PLANE[0]
    ground = pliant.Contact(rows, -1e-7 * np.arange(5), law, [0.0, 0.2, 0.4, 0.6, 0.8])
    tie = np.zeros((1, 18))
    tie[0, [0, 3]] = 1.0, -1.0
    rod = pliant.Bilateral(tie, [1e-5], pliant.Law(1e6))
    velocity = 0.1 * np.cos(np.arange(18.0))
    weight = np.tile([0.0, 0.0, -GRAVITY], 6)
    return pliant.StepProblem(np.ones(18), velocity, weight, 0.01, [ground, rod])


def everything() -> pliant.StepProblem:
    """All kinds of rows on two bodies, redundant ones among them, over twelve decades of stiffness."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(6, 6))
    G = np.round(8 * rng.normal(size=(9, 6))) / 8
    joint = pliant.Bilateral(np.vstack([G[:2], G[:1]]), [1e-4, 0.0, 1e-4], pliant.Law([1e3, 1e12, 1e6], 1.0))
    limit = pliant.Unilateral(G[2:4], [-1e-5, 2e-3], pliant.Law(1e9, 5.0))
    motor = pliant.Clipped(G[4:6], [0.1, -0.1], pliant.Law(1e4), [-5.0, -np.inf], [np.inf, 8.0])
    foot = pliant.Contact(G[None, 6:], [-2e-2], pliant.Law(1e7, exponent=1.5), 0.2)
    heel = pliant.Contact(G[None, 6:], [-1e-2], pliant.Law(1e5, 1.0), 0.3, tangent_law=pliant.Law(1e4, 1.0))
    mass = A @ A.T + np.eye(6)
    rows = [foot, motor, joint, limit, heel]
    return pliant.StepProblem((mass + mass.T) / 2, rng.normal(size=6), 10.0 * rng.normal(size=6), 2e-3, rows)


PROBLEMS: dict[str, Callable[[], pliant.StepProblem]] = {
    make.__name__: make
    for make in (
        beam, ramp_slip, ramp_stick, doubled_welds, contradictory_welds, no_rows, one_velocity, laws_of_nothing,
        rows_of_nothing, clipped_servo, dry_joint, torsion, rolling, planar, hertz, hunt_crossley, soft_tangent,
        conveyor, many_islands, everything,
    )
}  # fmt: skip
