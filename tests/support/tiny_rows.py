"""Random contacts and joints, some of whose rows hardly move anything: what an answer must not hide behind."""

from __future__ import annotations

import numpy as np

import pliant

FACTORS = (1e-4, 1e-8, 1e-12, 1e-16, 0.0)
ROWS = ("normal", "tangent", "joint")
KINDS = ("rigid", "compliant", "moving", "ratios", "several", "power")

Array = np.ndarray


def tiny_row_problem(seed: int, row: str, factor: float, contacts: int = 12, kind: str = "rigid") -> pliant.StepProblem:
    """`contacts` contacts of bodies with each other and the ground, and joints; the Jacobian of one `row` is scaled.

    kind: "rigid" tangents; "compliant" ones, stretched at the start; "moving" surfaces; "ratios", masses over six
    decades; "several" rows scaled, a third of them; "power" laws on the normals.
    """
    rng = np.random.default_rng(seed)
    count = max(2, contacts // 4)
    G, joints = np.zeros((contacts, 3, 6 * count)), np.zeros((max(1, contacts // 6), 6 * count))
    for k in range(contacts):
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        upper, lower = rng.integers(count), rng.integers(-1, count)
        for body, sign in ((upper, 1.0), (lower, -1.0)):
            if body >= 0 and (body != upper or sign > 0.0):
                lever = np.cross(0.2 * rng.normal(size=3), axes)
                G[k, :, 6 * body : 6 * body + 6] += sign * np.hstack([axes, lever])
    for joint in joints:
        for body in rng.choice(count, 2, replace=False):
            joint[6 * body : 6 * body + 6] = rng.normal(size=6)
    scaled = {"normal": G[:, 0], "tangent": G[:, int(rng.integers(1, 3))], "joint": joints}[row]
    few = max(1, len(scaled) // 3) if kind == "several" else 1
    scaled[rng.choice(len(scaled), few, replace=False)] *= factor
    mass, weight = _bodies(rng, count, decades=3.0 if kind == "ratios" else 1.0)
    touching = pliant.Contact(
        G,
        rng.uniform(-1e-3, 2e-2, size=contacts),
        pliant.Law(1e8, exponent=1.5, dissipation=0.1) if kind == "power" else pliant.Law(1e8, 2e4),
        0.7,
        tangent_law=pliant.Law(1e6, 1e2) if kind == "compliant" else None,
        stretch=1e-4 * rng.normal(size=(contacts, 2)) if kind == "compliant" else 0.0,
        rate_offset=rng.normal(size=(contacts, 3)) if kind == "moving" else 0.0,
    )
    held = pliant.Bilateral(joints, 1e-4 * rng.normal(size=len(joints)), pliant.Law(1e10, 1.0))
    return pliant.StepProblem(mass, rng.normal(size=6 * count), weight, 0.01, [touching, held])


def _bodies(rng: np.random.Generator, count: int, decades: float) -> tuple[Array, Array]:
    """Inertia (6n, 6n) and weight (6n,), masses over so many decades up and down."""
    inertia, weight = np.zeros((6 * count, 6 * count)), np.zeros(6 * count)
    for body in range(count):
        m, start, A = 10.0 ** rng.uniform(-decades, decades), 6 * body, rng.normal(size=(3, 3))
        inertia[start : start + 3, start : start + 3] = m * np.eye(3)
        inertia[start + 3 : start + 6, start + 3 : start + 6] = 0.01 * m * (A @ A.T + 0.3 * np.eye(3))
        weight[start + 2] = -9.81 * m
    return inertia, weight


def open_under_load(problem: pliant.StepProblem, velocity: Array, force: Array) -> Array:
    """Normal forces (n,) of the contacts that are open where the step ends, 0 of the others."""
    return np.where(_end(problem, velocity)[1] > 1e-12, force[:, 0], 0.0)


def forces_by_law(problem: pliant.StepProblem, velocity: Array) -> Array:
    """The normal forces (n,) that the laws give at this velocity at the end of the step."""
    contact, gap, rate = _end(problem, velocity)
    law, depth = contact.law, np.maximum(0.0, -gap)
    if law.exponent != 1.0:
        pressed = (depth - np.maximum(0.0, -contact.gap)) / problem.step
        return np.maximum(0.0, law.stiffness * depth**law.exponent * (1.0 + law.dissipation * pressed))
    opening = law.damping / problem.step * np.maximum(contact.gap, 0.0)
    return np.maximum(0.0, -law.stiffness * gap - law.damping * rate - opening)


def _end(problem: pliant.StepProblem, velocity: Array) -> tuple[pliant.Contact, Array, Array]:
    """The contacts, their gaps (n,) where the step ends, and the rates of these."""
    contact = problem.constraints[0]
    assert isinstance(contact, pliant.Contact)
    rate = np.asarray(contact.jacobian)[:, 0] @ velocity + np.asarray(contact.rate_offset)[:, 0]
    return contact, contact.gap + problem.step * rate, rate
