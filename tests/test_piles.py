"""Bodies dropped into a tray: every step keeps momentum and cones, nearly every one meets the laws."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import pliant
from benchmarks.scenes.piles import SHAPES, Pile
from benchmarks.scenes.stepping import cone_excess, steps

FRICTIONS = pytest.mark.parametrize("friction", [pytest.param(0.3, marks=pytest.mark.slow), 1.0])
BODIES = pytest.mark.parametrize("shape", SHAPES)


def run(pile: Pile, count: int, *, warm: bool = True) -> np.ndarray:
    """Residuals of `count` steps; what must hold in every one is asserted."""
    residual = []
    for problem, solution in steps(pile, count, warm=warm):
        assert solution.status is not pliant.Status.NON_FINITE
        assert solution.momentum_residual < 1e-12
        assert cone_excess(problem, solution) < 1e-12
        convex = solution.status is pliant.Status.SOLVED_BY_FALLBACK  # near Coulomb's law only where nothing slides
        residual.append(np.nan if convex else solution.residual)
    return np.array(residual)


@FRICTIONS
@BODIES
def test_falling_pile(shape, friction):
    """The hard second: from the first touch until all are down."""
    residual = run(Pile(shape, friction), 100)
    assert np.mean(residual < 1e-6) >= 0.95
    assert np.nanmax(residual) < 1e-2


@pytest.mark.slow
@FRICTIONS
@BODIES
def test_settling_pile(shape, friction):
    """Four seconds: at rest, at rounding, at the cost of one or two factorizations a step.

    Where spheres lie among boxes one step in fifty may still search; on the average that is seen only there.
    """
    pile = Pile(shape, friction)
    solutions = [solution for _, solution in steps(pile, 450)]
    assert np.mean([solution.residual < 1e-6 for solution in solutions]) >= 0.98
    last = solutions[-50:]
    assert max(solution.residual for solution in last) < 1e-12
    work = [solution.islands.factorizations.max() for solution in last]
    assert (np.mean(work) if shape == "box" else np.median(work)) <= 2.0
    assert pile.kinetic_energy() / pile.count < 1e-6


@pytest.mark.slow
@FRICTIONS
def test_cold_pile(friction):
    assert np.mean(run(Pile("both", friction), 150, warm=False) < 1e-6) >= 0.95


@pytest.fixture
def fallen() -> Pile:
    """A pile with many contacts."""
    pile = Pile("both", 0.3)
    for _ in steps(pile, 60):
        pass
    return pile


def test_mass_is_mujocos(fallen):
    mujoco.mj_forward(fallen.model, fallen.data)
    full, column = np.zeros((fallen.model.nv, fallen.model.nv)), np.zeros(fallen.model.nv)
    for j in range(fallen.model.nv):
        mujoco.mj_mulM(fallen.model, fallen.data, column, np.eye(fallen.model.nv)[j])
        full[:, j] = column
    np.testing.assert_allclose(fallen.problem().mass.toarray(), full, atol=1e-15)


def test_forces_are_mujocos(fallen):
    problem = fallen.problem()
    mujoco.mj_forward(fallen.model, fallen.data)
    np.testing.assert_allclose(problem.force, -fallen.data.qfrc_bias, atol=1e-13)


def test_jacobian_is_mujocos(fallen):
    (contacts,) = fallen.problem().constraints
    model, data = fallen.model, fallen.data
    mujoco.mj_comPos(model, data)  # what mj_jac reads
    jacobian = contacts.jacobian.toarray().reshape(-1, 3, model.nv)
    checked = 0
    for contact in data.contact:
        first, second = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, first, None, contact.pos, model.geom_bodyid[contact.geom[0]])
        mujoco.mj_jac(model, data, second, None, contact.pos, model.geom_bodyid[contact.geom[1]])
        expected = contact.frame.reshape(3, 3) @ (second - first)
        same = np.flatnonzero(contacts.gap == contact.dist)
        if len(same):  # else too far to take part
            checked += 1
            assert any(np.allclose(jacobian[i], expected, atol=1e-13) for i in same)
    assert checked > 10


def test_names_last(fallen):
    """Contacts of a pile at rest keep their names; no two share one."""
    (before,) = fallen.problem().constraints
    (after,) = fallen.problem().constraints
    assert np.array_equal(np.sort(before.ids), np.sort(after.ids))


def test_contacts_that_can_close_take_part():
    """A body in free fall 1 m/s fast sees the floor a step before it would be in it."""
    pile = Pile("sphere", 0.3, count=1)
    centre, radius = pile.data.qpos[2], pile.model.geom_size[-1, 0]
    pile.data.qpos[2] += radius + 0.009 - centre
    pile.data.qvel[2] = -1.0
    problem = pile.problem()
    (contacts,) = problem.constraints
    assert isinstance(contacts, pliant.Contact)
    assert contacts.gap == pytest.approx([0.009])
    solution = pliant.solve(problem)
    assert 0.009 + pile.step * solution.velocity[2] == pytest.approx(0.0, abs=1e-6)
