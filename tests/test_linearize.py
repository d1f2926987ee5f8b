"""`linearize` against finite differences of `solve`, against its own transpose, and against misuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from flint import fmpq, fmpq_mat

import pliant
from pliant.errors import InputError
from pliant.linearize import DATA, RESULTS, ROW_DATA, Linearization
from tests.support.nudged import TIGHT, answers, difference, flat_forces, random_change, sides
from tests.support.random_contacts import random_contact_problem
from tests.support.random_problems import random_problem

OPEN, STICK, SLIP = pliant.ContactState
Array = np.ndarray
SIZE = 3e-4  # of the steps of the differences, relative to the data

MASS = np.array([[2.0, 0.2, 0.1, 0.0], [0.2, 1.5, -0.1, 0.1], [0.1, -0.1, 1.0, 0.0], [0.0, 0.1, 0.0, 0.3]])
FORCE = np.array([1.0, 0.5, -20.0, 0.1])  # [N], and [N m] about the normal
POINT = np.array([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
LAW = pliant.Law(2e4, 50.0)
HERTZ = pliant.Law(5e6, 20.0, exponent=1.5, dissipation=0.2)
TANGENT = pliant.Law(3e4, 30.0)


def step(velocity: Any, *constraints: Any) -> pliant.StepProblem:
    return pliant.StepProblem(MASS, velocity, FORCE, 0.01, constraints)


def contact(
    velocity: Any, friction: Any, *, d: int = 3, gap: float = -1e-3, law: pliant.Law = LAW, **more: Any
) -> pliant.StepProblem:
    return step(velocity, pliant.Contact([POINT[:d]], [gap], law, friction, name="floor", **more))


SLOW, FAST = [0.01, -0.02, -0.05, 0.01], [1.0, -0.5, -0.05, 2.0]
STRETCH = [[1e-5, -2e-5]]
CONTACTS: dict[str, tuple[pliant.StepProblem, pliant.ContactState]] = {
    "stick 2d": (contact(SLOW, 0.5, d=2), STICK),
    "stick 3d": (contact(SLOW, 0.5), STICK),
    "stick with torsion": (contact(SLOW, [[0.5, 0.5, 0.1]], d=4), STICK),
    "stick, compliant": (contact(SLOW, 0.5, tangent_law=TANGENT, stretch=STRETCH), STICK),
    "stick, hertz": (contact(SLOW, 0.6, law=HERTZ), STICK),
    "slip 2d": (contact(FAST, 0.5, d=2), SLIP),
    "slip 3d": (contact(FAST, 0.5), SLIP),
    "slip, elliptic": (contact(FAST, [[0.5, 0.2]]), SLIP),
    "slip with torsion": (contact(FAST, [[0.5, 0.4, 0.1]], d=4), SLIP),
    "slip, frictionless torsion": (contact(FAST, [[0.5, 0.4, 0.0]], d=4), SLIP),
    "slip, compliant": (contact(FAST, [[0.5, 0.3]], tangent_law=TANGENT, stretch=STRETCH), SLIP),
    "slip, hertz": (contact(FAST, 0.5, law=HERTZ), SLIP),
    "slip, stiff and lossy": (contact(FAST, 0.5, gap=-1e-6, law=pliant.Law(1e9, dissipation=0.5)), SLIP),
    "slip, closing": (contact([1.0, -0.5, -0.5, 0.0], 0.5, gap=1e-3), SLIP),
    "slip, hertz, closing": (contact([1.0, -0.5, -0.5, 0.0], 0.5, gap=1e-3, law=HERTZ), SLIP),
    "slip, moving belt": (contact(SLOW, 0.5, rate_offset=[[0.0, 1.0, 0.3]]), SLIP),
    "open": (contact(FAST, 0.5, gap=0.5), OPEN),
}

ROW = np.array([[0.3, 0.0, 1.0, 0.2]])
ROWS = np.array([[0.3, 0.0, 1.0, 0.2], [1.0, 0.5, 0.0, 0.0], [0.0, 1.0, -0.4, 0.0]])
# name: (problem, what each force is expected to be: "+", "-" or "0", or a number)
SCALARS: dict[str, tuple[pliant.StepProblem, list[Any]]] = {
    "bilateral": (step(FAST, pliant.Bilateral(ROWS, [1e-3, -2e-3, 5e-4], LAW)), ["-", "-", "+"]),
    "bilateral without spring": (step(FAST, pliant.Bilateral(ROW, [1e-3], pliant.Law(0.0, 80.0))), ["-"]),
    "closed": (step(SLOW, pliant.Unilateral(ROW, [-1e-3], LAW)), ["+"]),
    "closing": (step(FAST, pliant.Unilateral(-ROW, [5e-4], LAW)), ["+"]),
    "damper alone": (step(SLOW, pliant.Unilateral(ROW, [-1e-3], pliant.Law(0.0, 80.0))), ["+"]),
    "away": (step(SLOW, pliant.Unilateral(ROW, [0.2], LAW)), ["0"]),
    "hertz": (step(SLOW, pliant.Unilateral(ROW, [-1e-3], pliant.Law(1e6, exponent=1.5))), ["+"]),
    "hunt-crossley": (step(SLOW, pliant.Unilateral(ROW, [-2e-3], HERTZ)), ["+"]),
    "hunt-crossley, closing": (step(FAST, pliant.Unilateral(-ROW, [5e-4], HERTZ)), ["+"]),
    "dissipation of a linear spring": (
        step(SLOW, pliant.Unilateral(ROW, [-1e-3], pliant.Law(2e4, 5.0, dissipation=0.5))),
        ["+"],
    ),
    "hertz, away": (step(SLOW, pliant.Unilateral(ROW, [0.2], HERTZ)), ["0"]),
    "clipped inside": (step(SLOW, pliant.Clipped(ROW, [-1e-3], LAW, -100.0, 100.0)), ["+"]),
    "clipped low": (step(SLOW, pliant.Clipped(ROW, [1e-2], LAW, -5.0, 100.0)), [-5.0]),
    "clipped high": (step(SLOW, pliant.Clipped(ROW, [-1e-2], LAW, -5.0, 7.0)), [7.0]),
    "clipped, equal bounds": (step(SLOW, pliant.Clipped(ROW, [-1e-3], LAW, 3.0, 3.0)), [3.0]),
    "dry friction": (step(FAST, pliant.Clipped(ROW, [0.0], pliant.Law(0.0, 1e4), -4.0, 4.0)), [-4.0]),
}
ALL = {name: problem for name, (problem, _) in (CONTACTS | SCALARS).items()}


def check_differences(problem: pliant.StepProblem, solver: Any, rng: np.random.Generator) -> None:
    solution = pliant.solve(problem, solver)
    derivative = pliant.linearize(problem, solution)
    for name in DATA:
        change = random_change(problem, name, rng)
        around = answers(problem, {name: change}, SIZE, solver)
        assert all(sides(p, s) == sides(problem, solution) for p, s in around.values()), "a kink is too near"
        dv, df = difference({k: s for k, (_, s) in around.items()}, SIZE)
        found = changed(derivative, {name: change})
        # rounding of the solutions, amplified by the difference
        scales = np.abs([problem.velocity, solution.velocity]).max(), np.abs(flat_forces(solution)).max()
        noise = [1e-15 / SIZE * scale for scale in scales]
        for expected, got, floor in zip((dv, df), found, noise, strict=True):
            np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-6 * np.abs(got).max() + floor)


def changed(derivative: Linearization, change: dict[str, Array]) -> tuple[Array, Array]:
    """(dv1, dlambda) of changes given per flat row, by the public `apply`."""
    problem = derivative.problem
    given: dict[str, Any] = {name: list(problem.split(x)) if name in ROW_DATA else x for name, x in change.items()}
    if "friction" in given:
        given["friction"] = [part[:, 1:] if part.ndim == 2 else None for part in given["friction"]]
    velocity, forces = derivative.apply(**given)
    assert [part.shape for part in forces] == [part.shape for part in derivative.solution.forces]
    return velocity, np.concatenate([np.zeros(0), *(part.ravel() for part in forces)])


@pytest.mark.parametrize("solver", [pliant.Coulomb(**TIGHT), pliant.Convex(**TIGHT)], ids=["coulomb", "convex"])
@pytest.mark.parametrize("name", CONTACTS)
def test_contacts(name, solver):
    problem, state = CONTACTS[name]
    assert pliant.solve(problem, solver).states[0] == [state]
    check_differences(problem, solver, np.random.default_rng(1))


@pytest.mark.parametrize("name", SCALARS)
def test_scalar_rows(name):
    problem, expected = SCALARS[name]
    for force, wanted in zip(pliant.solve(problem).forces[0], expected, strict=True):
        assert {"+": force > 0.0, "-": force < 0.0, "0": force == 0.0}.get(wanted, force == wanted)
    check_differences(problem, pliant.Coulomb(**TIGHT), np.random.default_rng(2))


def test_rolling():
    """d = 6: a ball that slides, spins and rolls."""
    mass = np.array([1.0, 1.0, 1.0, 0.004, 0.004, 0.004])
    lever = 0.1
    rows = np.zeros((6, 6))
    rows[[0, 1, 2, 3, 4, 5], [2, 0, 1, 5, 3, 4]] = 1.0
    rows[1, 4], rows[2, 3] = -lever, lever
    ball = pliant.Contact([rows], [-1e-3], LAW, [[0.4, 0.4, 0.01, 0.02, 0.02]])
    problem = pliant.StepProblem(mass, [1, 0.5, 0, 3, -2, 5], [0, 0, -9.81, 0, 0, 0], 0.01, [ball])
    assert pliant.solve(problem).states[0] == [SLIP]
    check_differences(problem, pliant.Coulomb(**TIGHT), np.random.default_rng(3))


def test_a_step_with_everything():
    """All kinds at once, sparse, with contacts in all states."""
    rows = np.array([POINT[[0, 1, 2]], POINT[[2, 0, 1]], [[0.0, 0.0, -1.0, 0.0], *POINT[[1, 2]]]])
    problem = step(
        [0.1, -0.2, -0.05, 0.5],
        pliant.Contact(sparse.csr_array(rows.reshape(-1, 4)), [-2e-4, -1e-3, 0.1], HERTZ, [0.1, 0.9, 0.5]),
        pliant.Bilateral(ROW, [1e-4], pliant.Law(1e3, 1.0)),
        pliant.Clipped(ROWS, [0.0, -1e-3, 1e-3], pliant.Law(1e3, [1.0, 2.0, 3.0]), -0.9, 0.9),
        pliant.Unilateral(-ROWS[:2], [1e-3, 0.2], LAW, rate_offset=[0.1, 0.0]),
    )
    states = pliant.solve(problem).states[0]
    assert states is not None and states.tolist() == [SLIP, STICK, OPEN]
    check_differences(problem, pliant.Coulomb(**TIGHT), np.random.default_rng(4))


def norm(mass: Any, x: Array) -> float:
    return float(np.sqrt(x @ (np.diag(mass) if mass.ndim == 1 else mass) @ x))


@pytest.mark.parametrize("kind", ["coulomb", "convex", "mixed"])
def test_random_steps(kind):
    """The velocity; where a kink is near there is no telling."""
    solver = (pliant.Convex if kind == "convex" else pliant.Coulomb)(**TIGHT)
    checked, kinks, size = 0, 0, 1e-6
    for seed in range(15):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng) if kind == "mixed" else random_contact_problem(rng, 6, 0.8)
        solution = pliant.solve(problem, solver, throw=False)
        assert solution.status.solved
        derivative = pliant.linearize(problem, solution)
        floor = _rounding(problem, solution) / size
        for name in DATA:
            change = random_change(problem, name, rng)
            around = answers(problem, {name: change}, size, solver)
            if any(not s.status.solved or sides(p, s) != sides(problem, solution) for p, s in around.values()):
                kinks += 1
                continue
            dv, _ = difference({k: s for k, (_, s) in around.items()}, size)
            found, _ = changed(derivative, {name: change})
            assert norm(problem.mass, found - dv) <= 1e-6 * norm(problem.mass, found) + floor, (seed, name)
            checked += 1
    assert checked > 10 * kinks


def _rounding(problem: pliant.StepProblem, solution: pliant.Solution) -> float:
    """What `solve` may lose in v1, in the norm of the mass."""
    flat = problem.flat()
    M = np.diag(problem.mass) if problem.mass.ndim == 1 else problem.mass
    G = sparse.csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=(problem.rows, problem.nv))
    L = np.linalg.cholesky(M)
    push = problem.step * np.linalg.solve(L, problem.force)
    pull = problem.step * np.linalg.solve(L, abs(G).T @ np.abs(flat_forces(solution)))
    moving = norm(problem.mass, solution.velocity) + norm(problem.mass, problem.velocity)
    return 1e-13 * (moving + float(np.linalg.norm(push)) + float(np.linalg.norm(pull)))


def adjoint_gap(derivative: Linearization, rng: np.random.Generator) -> float:
    """|<u, J x> - <J' u, x>| relative to the sizes of the terms, all data at once."""
    problem = derivative.problem
    change = {name: random_change(problem, name, rng) for name in DATA}
    u, z = rng.normal(size=problem.nv), rng.normal(size=problem.rows)
    dv, df = changed(derivative, change)
    gradient = derivative.transpose_apply(velocity=u, forces=list(problem.split(z)))
    left, right = np.concatenate([u * dv, z * df]), []
    for name in DATA:
        parts: Any = getattr(gradient, name)
        x = change[name]
        if name not in ROW_DATA:
            right.append(parts * x)
            continue
        for part, moved in zip(parts, problem.split(x), strict=True):
            right.append(np.ravel(part * (moved[:, 1:] if name == "friction" else moved)) if part is not None else [])
    terms = np.concatenate(right)
    return float(abs(left.sum() - terms.sum()) / (np.abs(left).sum() + np.abs(terms).sum() or 1.0))


@pytest.mark.parametrize("solver", [pliant.Coulomb(), pliant.Convex()], ids=["coulomb", "convex"])
@pytest.mark.parametrize("name", ALL)
def test_transpose(name, solver):
    derivative = pliant.linearize(ALL[name], pliant.solve(ALL[name], solver))
    assert adjoint_gap(derivative, np.random.default_rng(5)) < 1e-14


@pytest.mark.parametrize("size", ["small", "large"])
def test_transpose_of_random_steps(size):
    for seed in range(30 if size == "small" else 3):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, size=size)
        solution = pliant.solve(problem, throw=False)
        if solution.status.solved:
            assert adjoint_gap(pliant.linearize(problem, solution), rng) < 1e-12, seed


def test_no_constraints():
    problem = step(FAST)
    derivative = pliant.linearize(problem, pliant.solve(problem))
    np.testing.assert_allclose(derivative.matrix(wrt="velocity"), np.eye(4), atol=1e-15)
    np.testing.assert_allclose(derivative.matrix(wrt="force"), 0.01 * np.linalg.inv(MASS), rtol=1e-14, atol=0)
    assert derivative.matrix(of="forces", wrt="value").shape == (0, 0)
    assert derivative.transpose_apply(velocity=np.ones(4)).value == ()


def test_doubled_welds_share_their_force_whatever_the_stiffness():
    """Rows of 1e15 N/m that are redundant: the share of each is decided by compliances of 1e-15 m/N."""
    for K in ([1e15, 1e15], [1e15, 3e14], [1e15, 1e2]):
        problem = step(FAST, pliant.Bilateral(np.vstack([ROW, ROW]), [0.0, 0.0], pliant.Law(K)))
        force = pliant.linearize(problem, pliant.solve(problem)).matrix("forces", "force")
        alone = step(FAST, pliant.Bilateral(ROW, [0.0], pliant.Law(sum(K))))
        whole = pliant.linearize(alone, pliant.solve(alone)).matrix("forces", "force")
        shares = np.array(K)[:, None] / sum(K)
        np.testing.assert_allclose(force, shares * whole, rtol=1e-9)


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("largest", [1e9, 1e12, 1e15, 1e17])
def test_stiff_and_soft_rows_are_exact(largest, redundant):
    """Against fractions, forward and transposed: velocities and forces, whatever the stiffness of the neighbours."""
    rng = np.random.default_rng(8)
    K = np.array([largest, 1e2, 0.5 * largest, 1e6])
    G = rng.normal(size=(4, 4))
    if redundant:
        G[2] = G[0]
    problem = step(FAST, pliant.Bilateral(G, [0.0, 1e-3, 0.0, -1e-4], pliant.Law(K, 3.0)))
    derivative = pliant.linearize(problem, pliant.solve(problem))
    for wrt in ("velocity", "force", "rate_offset"):
        expected = exact_derivative(problem, G, K, wrt)
        for of, rows in (("velocity", slice(0, 4)), ("forces", slice(4, 8))):
            block = derivative.operator(of, wrt)
            for found in (block @ np.eye(4), (block.T @ np.eye(4)).T):
                error = np.abs(found - expected[rows]).max(axis=1) / np.abs(expected[rows]).max(axis=1)
                assert error.max() < 1e-12, (wrt, of)


def exact_derivative(problem: pliant.StepProblem, G: Array, K: Array, wrt: str) -> Array:
    """(dv1, dl), (8, 4), of bilateral rows with damping 3: M dv1 - h G' dl = M dv0 + h df, dl + S (G dv1 + de) = 0."""
    h, A, right = rational(problem.step), fmpq_mat(8, 8), fmpq_mat(8, 4)
    for i in range(4):
        S = h * rational(K[i]) + 3
        A[4 + i, 4 + i] = fmpq(1)
        if wrt != "velocity":
            right[i + 4 * (wrt == "rate_offset"), i] = h if wrt == "force" else -S
        for j in range(4):
            A[i, j], A[i, 4 + j], A[4 + i, j] = rational(MASS[i, j]), -h * rational(G[j, i]), S * rational(G[i, j])
            if wrt == "velocity":
                right[i, j] = rational(MASS[i, j])
    return np.array([[int(x.p) / int(x.q) for x in row] for row in A.solve(right).tolist()])


def rational(x: float) -> fmpq:
    return fmpq(*float(x).as_integer_ratio())


def test_islands_are_linearized_each_by_itself():
    """Three bodies: one slides, one lies under a stiff weld, one is free; what one is given moves no other."""
    names = "slip, elliptic", "bilateral", "slip, hertz"
    parts = [ALL[name] for name in names]
    nv = 4 * (len(parts) + 1)
    mass = np.kron(np.eye(len(parts) + 1), MASS)
    constraints: list[pliant.constraints.Constraint] = []
    for k, part in enumerate(parts):
        [one] = part.constraints
        wide = np.zeros((*one.jacobian.shape[:-1], nv))
        wide[..., 4 * k : 4 * k + 4] = one.jacobian
        if isinstance(one, pliant.Contact):
            constraints.append(pliant.Contact(wide, one.gap, one.law, one.friction))
        else:
            assert isinstance(one, pliant.Bilateral)
            constraints.append(pliant.Bilateral(wide, one.value, one.law))
    velocity = np.concatenate([*(part.velocity for part in parts), FAST])
    whole = pliant.StepProblem(mass, velocity, np.tile(FORCE, len(parts) + 1), 0.01, constraints)
    derivative = pliant.linearize(whole, pliant.solve(whole, pliant.Coulomb(**TIGHT)))
    for wrt in ("velocity", "stiffness", "rate_offset"):
        blocks = [pliant.linearize(p, pliant.solve(p, pliant.Coulomb(**TIGHT))).matrix("velocity", wrt) for p in parts]
        if wrt == "velocity":
            blocks.append(np.eye(4))
        expected = sparse.block_diag(blocks).toarray()
        found = derivative.matrix("velocity", wrt)
        np.testing.assert_allclose(found[: len(expected)], expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
        assert not found[len(expected) :].any()


def box(tilt: float) -> pliant.StepProblem:
    """Four feet on the floor, friction without compliance: eight tangents, of rank three but for the tilt."""
    mass = [1.0, 1.0, 1.0, 0.01, 0.02, 0.03]
    feet = np.array([[x, y, -0.05] for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    feet[:, 2] += tilt * np.array([1.0, -2.0, 0.5, 0.7])
    rows = np.zeros((4, 3, 6))
    for foot, r in enumerate(feet):
        for row, axis in enumerate((2, 0, 1)):
            rows[foot, row, axis] = 1.0
            rows[foot, row, 3:] = np.cross(r, np.eye(3)[axis])
    feet_on_floor = pliant.Contact(rows, np.full(4, -2.5e-5), pliant.Law(1e5, 100.0), 0.7)
    return pliant.StepProblem(mass, np.zeros(6), [2.0, 1.0, -9.81, 0.0, 0.1, 0.05], 0.01, [feet_on_floor])


@pytest.mark.parametrize("tilt", [0.0, 1e-9])
def test_redundant_feet(tilt):
    problem = box(tilt)
    solver = pliant.Coulomb()
    solution = pliant.solve(problem, solver)
    assert np.all(solution.states[0] == STICK)
    derivative = pliant.linearize(problem, solution)
    change = np.array([1.0, -2.0, 0.5, 0.1, 0.05, -0.1])
    dv, df = changed(derivative, {"force": change})
    around = answers(problem, {"force": change}, 1e-3, solver)
    expected, forces = difference({k: s for k, (_, s) in around.items()}, 1e-3)
    np.testing.assert_allclose(dv, expected, rtol=0, atol=1e-6 * np.abs(dv).max())
    G = problem.constraints[0].jacobian.reshape(-1, 6)
    np.testing.assert_allclose(G.T @ df, G.T @ forces, rtol=0, atol=1e-6 * np.abs(G.T @ df).max())
    # With levers of 1e-9 m the tangents could resist a tilt: they leave that to the normals.
    assert np.abs(df).max() < 3.0
    # Of all forces that do the same theirs are the smallest, measured by the energy they would need.
    rows = np.arange(12) % 3 > 0
    root = np.sqrt(np.sum(G[rows] ** 2 / problem.mass, axis=1))
    smallest = np.linalg.pinv(G[rows].T / root, rcond=1e-6) @ (G[rows].T @ df[rows]) / root
    np.testing.assert_allclose(df[rows], smallest, atol=1e-6 if tilt == 0.0 else 0.3)
    assert adjoint_gap(derivative, np.random.default_rng(6)) < 1e-12


def test_kinks_give_the_row_as_it_is():
    still = step(SLOW, pliant.Unilateral(ROW, [-1e-3], pliant.Law()))
    assert not pliant.linearize(still, pliant.solve(still)).matrix("forces", "stiffness").any()
    smooth = contact(FAST, 0.0)
    assert not pliant.linearize(smooth, pliant.solve(smooth)).matrix("forces", "friction").any()


def test_stiffness_from_zero():
    """The power law decides even where the spring is not there yet."""
    damper = pliant.Law(0.0, 80.0, exponent=1.5)
    problem = step(SLOW, pliant.Unilateral(ROW, [-1e-3], damper))
    slope = pliant.linearize(problem, pliant.solve(problem)).matrix("forces", "stiffness")
    forces = [
        pliant.solve(step(SLOW, pliant.Unilateral(ROW, [-1e-3], replaced))).forces[0]
        for replaced in (damper, pliant.Law(1.0, 80.0, exponent=1.5), pliant.Law(2.0, 80.0, exponent=1.5))
    ]
    ahead = 2.0 * forces[1] - 1.5 * forces[0] - 0.5 * forces[2]
    np.testing.assert_allclose(slope[0], ahead, rtol=1e-6)


def derivative_of_two() -> Linearization:
    problem = step(
        [0.3, -0.2, -0.05, 0.5],
        pliant.Bilateral(ROWS[:2], [1e-4, 0.0], pliant.Law(1e3, 1.0), name="arm"),
        pliant.Contact([POINT[:3]], [-1e-3], LAW, 0.1, name="floor"),
    )
    return pliant.linearize(problem, pliant.solve(problem))


def test_blocks():
    derivative = derivative_of_two()
    rng = np.random.default_rng(7)
    sizes = {"velocity": 4, "force": 4, "forces": 5, "friction": 2}
    for of in RESULTS:
        for wrt in DATA:
            block, dense = derivative.operator(of, wrt), derivative.matrix(of, wrt)
            assert dense.shape == block.shape == (sizes[of], sizes.get(wrt, 5))
            x, y = rng.normal(size=block.shape[1]), rng.normal(size=block.shape[0])
            np.testing.assert_allclose(block @ x, dense @ x, rtol=1e-12, atol=1e-12 * np.abs(dense).max())
            np.testing.assert_allclose(block.T @ y, dense.T @ y, rtol=1e-12, atol=1e-12 * np.abs(dense).max())


def test_entries_as_they_are_given_to_constraints():
    derivative = derivative_of_two()
    full = derivative.apply(stiffness=[[1.0, 1.0], [[1.0, 0.0, 0.0]]], friction=[None, [[0.1, 0.1]]])
    given: tuple[tuple[Any, Any], ...] = (
        ([1.0, 1.0], [None, 0.1]),
        ({"arm": 1.0, "floor": [1.0]}, {"floor": [0.1]}),
        ({0: [1.0, 1.0], 1: 1.0}, {1: [[0.1, 0.1]]}),
    )
    for stiffness, friction in given:
        again = derivative.apply(stiffness=stiffness, friction=friction)
        np.testing.assert_array_equal(again.velocity, full.velocity)
    none = derivative.apply()
    assert not none.velocity.any() and not any(part.any() for part in none.forces)


def test_a_gradient_is_a_direction():
    derivative = derivative_of_two()
    gradient = derivative.transpose_apply(velocity=np.ones(4), forces={"floor": [[1.0, 2.0, 3.0]]})
    assert gradient.friction[0] is None
    assert [part.shape for part in gradient.value] == [(2,), (1, 3)]
    assert gradient.friction[1] is not None and gradient.friction[1].shape == (1, 2)
    rise = derivative.apply(**gradient._asdict())
    expected = sum(np.sum(np.square(x)) for x in (gradient.velocity, gradient.force))
    expected += sum(np.sum(np.square(x)) for name in ROW_DATA for x in getattr(gradient, name) if x is not None)
    found = rise.velocity.sum() + rise.forces[1] @ [1.0, 2.0, 3.0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"velocity": np.ones(3)}, r"velocity must be one per velocity \(4,\), got shape \(3,\)"),
        ({"force": [1.0, np.nan, 0.0, 0.0]}, "force must be finite"),
        ({"value": [1.0]}, r"value must be a list with one entry per constraint \(2"),
        ({"value": 1.0}, "value must be a list"),
        ({"stiffness": {"leg": 1.0}}, "no constraint has the name 'leg'; names are: 'arm', 'floor'"),
        ({"stiffness": {2: 1.0}}, "positions of constraints, 0 to 1"),
        ({"stiffness": {"arm": np.ones(3)}}, r"stiffness\[0\] \(Bilateral 'arm'\)"),
        ({"friction": [0.1, None]}, "only a Contact has friction"),
    ],
)
def test_bad_directions(given, message):
    with pytest.raises(InputError, match=message):
        derivative_of_two().apply(**given)


def test_bad_blocks():
    with pytest.raises(InputError, match="wrt must be one of velocity, force, value"):
        derivative_of_two().operator(wrt="mass")
    with pytest.raises(InputError, match="of must be one of velocity, forces, got 'force'"):
        derivative_of_two().matrix(of="force")


def test_a_solution_of_another_problem():
    problem, _ = CONTACTS["slip 3d"]
    solution = pliant.solve(problem)
    others = [CONTACTS["slip 2d"][0], contact(FAST, 0.4), contact(FAST, 0.5, law=HERTZ), contact(SLOW, 0.5)]
    for other in others:
        with pytest.raises(InputError, match="solution must be one of this problem"):
            pliant.linearize(other, solution)
    with pytest.raises(InputError, match="problem must be a pliant"):
        pliant.linearize(solution, problem)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="solution must be a pliant"):
        pliant.linearize(problem, problem)  # type: ignore[arg-type]


def test_a_solution_that_is_none():
    problem, _ = CONTACTS["slip 3d"]
    solution = pliant.solve(problem)
    unfinished = replace(solution, status=pliant.Status.ITERATION_LIMIT, residual=1e-3)
    with pytest.raises(InputError, match="must be solved, got ITERATION_LIMIT"):
        pliant.linearize(problem, unfinished)
    # exact momentum, but forces of no law
    forces = (0.5 * solution.forces[0],)
    push = problem.step * (FORCE + POINT[:3].T @ forces[0][0])
    velocity = problem.velocity + np.linalg.solve(MASS, push)
    strange = replace(solution, velocity=velocity, forces=forces, law_residual=1.0, momentum_residual=1e-15)
    with pytest.raises(InputError, match="keeps neither the laws nor the conditions of the cone"):
        pliant.linearize(problem, strange)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.diag], ids=["dense", "sparse", "diagonal"])
def test_the_stiffness_of_a_step_feels_its_velocity(form):
    """Central differences in v0, of velocity and force, and the transpose of both."""
    K = np.array([[40.0, 0.0], [0.0, 90.0]]) if form is np.diag else np.array([[40.0, 10.0], [10.0, 90.0]])
    floor = pliant.Contact([[[0.0, 1.0], [1.0, 0.0]]], [-1e-3], pliant.Law(1e4, 5.0), friction=0.2)
    v0 = np.array([1.0, -0.5])

    def problem(velocity: Any) -> pliant.StepProblem:
        return pliant.StepProblem([2.0, 3.0], velocity, [0.0, -30.0], 0.1, [floor], stiffness=form(K))

    def answer(velocity: Any) -> np.ndarray:
        solution = pliant.solve(problem(velocity))
        return np.concatenate([solution.velocity, np.ravel(solution.forces[0])])

    linear = pliant.linearize(problem(v0), pliant.solve(problem(v0)))
    step = 1e-6 * np.eye(2)
    expected = np.stack([(answer(v0 + d) - answer(v0 - d)) / 2e-6 for d in step], axis=1)
    found = np.concatenate([linear.matrix("velocity", "velocity"), linear.matrix("forces", "velocity")])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    change = linear.apply(velocity=[1.0, 2.0])
    np.testing.assert_allclose(change.velocity, found[:2] @ [1.0, 2.0], rtol=1e-12)
    gradient = linear.transpose_apply(velocity=[3.0, 4.0], forces=[np.array([[5.0, 6.0]])])
    np.testing.assert_allclose(gradient.velocity, [3.0, 4.0, 5.0, 6.0] @ found, rtol=1e-9)
