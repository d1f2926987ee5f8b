"""Random contacts and a joint, one of whose rows hardly moves anything: what an answer must not hide behind."""

from __future__ import annotations

import numpy as np

import pliant
from tests.support.random_contacts import random_contact_problem

FACTORS = (1e-4, 1e-8, 1e-12, 1e-16, 0.0)
ROWS = ("normal", "tangent", "joint")


def tiny_row_problem(seed: int, row: str, factor: float, contacts: int = 12) -> pliant.StepProblem:
    """`contacts` contacts on a few bodies and a joint between two coordinates; the Jacobian of one `row` is scaled.

    The row is that of the last contact: all others are as they were.
    """
    rng = np.random.default_rng(seed)
    given = random_contact_problem(rng, contacts)
    while given.constraints[0].count < max(2, contacts // 2):
        given = random_contact_problem(rng, contacts)
    contact = given.constraints[0]
    assert isinstance(contact, pliant.Contact)
    G = np.array(contact.jacobian)
    if row != "joint":
        G[-1, 0 if row == "normal" else 1] *= factor
    joint = np.zeros((1, given.nv))
    joint[0, :2] = 1.0, -1.0
    weld = pliant.Bilateral(joint * (factor if row == "joint" else 1.0), [1e-4], pliant.Law(1e7, 1.0), name="joint")
    scaled = pliant.Contact(G, contact.gap, contact.law, contact.friction, name="contacts")
    return pliant.StepProblem(given.mass, given.velocity, given.force, given.step, [scaled, weld])


def open_under_load(problem: pliant.StepProblem, velocity: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Normal forces (n,) of the contacts that are open where the step ends, 0 of the others."""
    contact = problem.constraints[0]
    assert isinstance(contact, pliant.Contact)
    rate = np.einsum("ndv,v->nd", np.asarray(contact.jacobian), velocity) + contact.rate_offset
    gap = contact.gap + problem.step * rate[:, 0]
    return np.where(gap > 1e-12, force[:, 0], 0.0)
