"""In any order of contacts the answer is the same to the tolerance; bits are the business of engine/test_bits."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from tests.support.random_contacts import random_contact_problem

SEEDS = range(6)


@pytest.mark.parametrize(("solver", "friction"), [(pliant.Convex(), 1.0), (pliant.Coulomb(), 0.1)])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_contacts_does_not_matter(seed, solver, friction):
    """v and the impulse of all constraints are those of the other order to the tolerance, where they are unique: always
    for `Convex`, for `Coulomb` with little friction. How redundant contacts share their force may differ."""
    given = random_contact_problem(np.random.default_rng(seed), contacts=40, mu=friction)
    (contact,) = given.constraints
    assert isinstance(contact, pliant.Contact)
    order = np.random.default_rng(99).permutation(contact.count)
    other = pliant.StepProblem(given.mass, given.velocity, given.force, given.step, [_reordered(contact, order)])
    one, two = (pliant.solve(each, solver) for each in (given, other))
    size = max(1.0, float(np.abs(one.velocity).max()))
    np.testing.assert_allclose(two.velocity, one.velocity, atol=1e-7 * size)
    np.testing.assert_allclose(two.impulse, one.impulse, atol=1e-7 * max(1.0, float(np.abs(one.impulse).max())))


def _reordered(contact: pliant.Contact, order: np.ndarray) -> pliant.Contact:
    jacobian = np.asarray(contact.jacobian.todense() if hasattr(contact.jacobian, "todense") else contact.jacobian)
    return pliant.Contact(
        jacobian.reshape(contact.count, contact.dimension, -1)[order], contact.gap[order], contact.law,
        contact.friction[order],
    )  # fmt: skip
