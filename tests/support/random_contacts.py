"""Random bodies in contact with each other and the ground, for the statistics of convergence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.transform import Rotation

import pliant
from pliant.flat import NORMAL, Flat

Array = np.ndarray
Rng = np.random.Generator
GRAVITY = np.array([0.0, 0.0, -9.81])


class _Bodies(NamedTuple):
    """nb bodies, `dofs` velocities each: 3 for points, 6 for bodies (linear, angular, world axes)."""

    dofs: int
    place: Array  # (nb, 3)
    radius: Array  # (nb,)
    mass: Array  # (nb,)


def random_contact_problem(rng: Rng, contacts: int = 20, mu: float = 1.0) -> pliant.StepProblem:
    """1 to `contacts` contacts (d = 3), friction up to `mu`, K from 1e3 to 1e12 N/m, h from 0.1 to 30 ms."""
    n = int(rng.integers(1, contacts + 1))
    bodies = _bodies(rng, int(rng.integers(1, min(n, 8) + 1)))
    inertia, velocity, force = _state(rng, bodies)
    jacobian = np.array([_jacobian(rng, bodies, i % len(bodies.mass)) for i in range(n)])
    K = 10.0 ** rng.uniform(3, 12)
    law = pliant.Law(K, 0.0 if rng.random() < 0.5 else 10.0 ** rng.uniform(-1, 3))
    step = 10.0 ** rng.uniform(-4, np.log10(3e-2))
    # Gaps about the static indentation or what a step covers, mostly closed.
    weight = 9.81 * float(bodies.mass.mean())
    gap = rng.normal(-0.7, 1.0, size=n) * rng.choice([weight / K, 0.1 * step], p=[0.7, 0.3])
    friction = rng.uniform(0, mu) if rng.random() < 0.5 else rng.uniform(0, mu, size=n)
    return pliant.StepProblem(inertia, velocity, force, step, [pliant.Contact(jacobian, gap, law, friction)])


def _bodies(rng: Rng, count: int) -> _Bodies:
    dofs = 3 if rng.random() < 0.2 else 6
    place = rng.uniform(-0.3, 0.3, size=(count, 3))
    return _Bodies(dofs, place, rng.uniform(0.05, 0.3, size=count), 10.0 ** rng.uniform(-1, 1, size=count))


def _state(rng: Rng, bodies: _Bodies) -> tuple[Array, Array, Array]:
    """Inertia (nv, nv), velocity and weight."""
    nv = bodies.dofs * len(bodies.mass)
    inertia, force = np.zeros((nv, nv)), np.zeros(nv)
    for b, m in enumerate(bodies.mass):
        start = bodies.dofs * b
        inertia[start : start + 3, start : start + 3] = m * np.eye(3)
        force[start : start + 3] = m * GRAVITY
        if bodies.dofs == 6:
            R = Rotation.random(random_state=rng).as_matrix()
            turning = R * (m * bodies.radius[b] ** 2 * rng.uniform(0.2, 0.6, size=3)) @ R.T
            inertia[start + 3 : start + 6, start + 3 : start + 6] = (turning + turning.T) / 2
    return inertia, rng.normal(size=nv) * 10.0 ** rng.uniform(-3, 0.5), force


def _jacobian(rng: Rng, bodies: _Bodies, body: int) -> Array:
    """(3, nv) of a contact of `body` with the ground below it or with another body."""
    rows = np.zeros((3, bodies.dofs * len(bodies.mass)))
    other = int(rng.integers(0, len(bodies.mass)))
    if other == body or rng.random() < 0.5:
        normal = _unit(np.array([0.0, 0.0, 1.0]) + 0.2 * rng.normal(size=3))
        point = bodies.place[body] + bodies.radius[body] * _unit(-normal + 0.7 * rng.normal(size=3))
        other = -1
    else:
        between = bodies.place[body] - bodies.place[other]
        normal = _unit(_unit(between) + 0.3 * rng.normal(size=3))
        point = bodies.place[other] + between * rng.uniform(0.3, 0.7) + 0.3 * bodies.radius[body] * rng.normal(size=3)
    frame = _frame(normal)
    _attach(rows, bodies, body, frame, point, 1.0)
    if other >= 0:
        _attach(rows, bodies, other, frame, point, -1.0)
    return rows


def _attach(rows: Array, bodies: _Bodies, body: int, frame: Array, point: Array, sign: float) -> None:
    """The velocity of the body at the point along the axes of the frame: axis . v + (r x axis) . omega."""
    start = bodies.dofs * body
    rows[:, start : start + 3] += sign * frame
    if bodies.dofs == 6:
        rows[:, start + 3 : start + 6] += sign * np.cross(point - bodies.place[body], frame)


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))


def _frame(normal: Array) -> Array:
    """(3, 3) normal and two tangents as rows."""
    first = _unit(np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))]))
    return np.array([normal, first, np.cross(normal, first)])


def weakly_coupled(flat: Flat) -> bool:
    """Whether |mu A_nt| < A_nn at every contact, A = G inv(M) G': none can jam by itself."""
    nv, m = len(flat.velocity), len(flat.kind)
    nnz, nnz_m = flat.jac_ptr[-1], flat.mass_ptr[-1]
    G = csr_array((flat.jac_val[:nnz], flat.jac_idx[:nnz], flat.jac_ptr), shape=(m, nv)).toarray()
    M = csr_array((flat.mass_val[:nnz_m], flat.mass_idx[:nnz_m], flat.mass_ptr), shape=(nv, nv)).toarray()
    for start, end in zip(flat.block_ptr[:-1], flat.block_ptr[1:], strict=True):
        if start < end and flat.kind[start] == NORMAL:
            A = G[start:end] @ np.linalg.solve(M, G[start])
            if not np.linalg.norm(flat.friction[start + 1 : end] * A[1:]) < A[0]:
                return False
    return True
