"""The appendix: its reduced program beside the one from which nothing was taken out, for every mix of rows."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import Law, Printed, StepProblem
from tests.support.unreduced import Rows, read_rows, unreduced_forces

Rng = np.random.Generator

# b, u: scalar rows; 2: contacts of rows n, r; 3: of n, r, s. Together every block of the appendix's matrices.
MIXES = ("b", "u", "2", "3", "bu", "b2", "b3", "u2", "u3", "23", "bu2", "bu3", "b23", "u23", "bu23")


def random_step(rng: Rng, mix: str) -> StepProblem:
    """Coupled rows on a few velocities, moderate enough for the check; redundant where rows outnumber velocities."""
    nv = int(rng.integers(3, 9))
    root = rng.normal(size=(nv, nv))

    def law(n: int) -> Law:
        return Law(10.0 ** rng.uniform(2, 5, n), 10.0 ** rng.uniform(-1, 2, n))

    rows: list[pliant.Bilateral | pliant.Unilateral | pliant.Contact] = []
    for letter, kind, most in (("b", pliant.Bilateral, nv - 1), ("u", pliant.Unilateral, 3)):
        if letter in mix:
            n = int(rng.integers(1, min(3, most) + 1))
            offset, bend = 0.1 * rng.normal(size=n), rng.normal(size=n)
            G, phi = rng.normal(size=(n, nv)), 1e-2 * rng.normal(size=n)
            rows.append(kind(G, phi, law(n), rate_offset=offset, curvature=bend))
    for d in (2, 3):
        if str(d) in mix:
            n = int(rng.integers(1, 4))
            mu = rng.uniform(0.1, 1.0, size=(n, d - 1) if rng.random() < 0.3 else n)
            tangent = Law(10.0 ** rng.uniform(1, 4), 10.0 ** rng.uniform(0, 3))
            G, gap, stretch = rng.normal(size=(n, d, nv)), 1e-2 * rng.normal(size=n), 1e-2 * rng.normal(size=(n, d - 1))
            offset, bend = 0.1 * rng.normal(size=(n, d)), rng.normal(size=(n, d))
            contact = pliant.Contact(
                G, gap, law(n), mu, tangent_law=tangent, stretch=stretch, rate_offset=offset, curvature=bend
            )
            rows.append(contact)
    order = rng.permutation(len(rows))
    mass, step = root @ root.T + np.eye(nv), 10.0 ** rng.uniform(-2.5, -1)
    return StepProblem(mass, rng.normal(size=nv), 10 * rng.normal(size=nv), step, [rows[i] for i in order])


def stacked(forces: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.concatenate([part.ravel() for part in forces])


@pytest.mark.parametrize("mix", MIXES)
def test_the_reduction_changes_no_force(mix):
    rng = np.random.default_rng([7, *mix.encode()])
    for _ in range(6):
        problem = random_step(rng, mix)
        zeta = None if rng.random() < 0.5 else float(10.0 ** rng.uniform(-1, 3))
        drift = bool(rng.random() < 0.7)
        solution = pliant.solve(problem, Printed(zeta=zeta, compensate_drift=drift))
        expected = stacked(unreduced_forces(problem, zeta=zeta, compensate_drift=drift))
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(stacked(solution.forces) / size, expected / size, atol=1e-6)
        assert solution.residual < 1e-12


class Appendix:
    """The matrices of the appendix's final block, by its formulas; `corrected`: with f + G_b' inv(C) c in d and e."""

    def __init__(self, problem: StepProblem, rows: Rows, *, corrected: bool = True) -> None:
        h, v0, f = problem.step, problem.velocity, problem.force
        inverse = np.linalg.inv(problem.mass)
        at = {letter: np.flatnonzero(rows.letter == letter) for letter in "bunrs"}
        G = {letter: rows.G[i] for letter, i in at.items()}
        K, B = ({letter: part[i] for letter, i in at.items()} for part in (rows.K, rows.B))
        bend, phi = ({letter: part[i] for letter, i in at.items()} for part in (rows.curvature, rows.phi0))
        rate = {letter: G[letter] @ v0 + rows.e[i] for letter, i in at.items()}
        self.star = np.concatenate([at[letter] for letter in "nrsu"])
        star = rows.G[self.star]

        def constant(x: str, push: np.ndarray) -> np.ndarray:
            """Mhat Gdot v0 + K phi0 + (h K + B) (phidot0 + h (G inv(M) push + Gdot v0))."""
            A = G[x] @ inverse @ G[x].T
            moved = rate[x] + h * (G[x] @ inverse @ push + bend[x])
            return np.linalg.pinv(A, rcond=1e-10) @ bend[x] + K[x] * phi[x] + (h * K[x] + B[x]) * moved

        def stiff(x: str) -> np.ndarray:
            return (h * h * K[x] + h * B[x])[:, None]

        c = -constant("b", f)
        D = -stiff("b") * (G["b"] @ inverse)
        C = np.eye(len(at["b"])) - D @ G["b"].T
        joined = f + G["b"].T @ np.linalg.solve(C, c)
        Lambda = inverse @ (G["b"].T @ np.linalg.solve(C, D) + np.eye(len(v0)))
        self.E, self.F = (stiff(x) * (G[x] @ Lambda @ star.T) for x in "rs")
        self.d, self.e = (constant(x, joined if corrected else f) for x in "rs")
        own = np.eye(len(self.star))
        lines = [stiff(x) * (G[x] @ Lambda @ star.T) + own[np.isin(self.star, at[x])] for x in "un"]
        self.A, self.q = np.vstack(lines), np.concatenate([-constant(x, joined) for x in "un"])
        self.C, self.c, self.D, self.G_star, self.at = C, c, D, star, at


def shortfalls(problem: StepProblem, rows: Rows, force: np.ndarray) -> np.ndarray:
    """g = lambda + K phi1 + B phidot1 + Mhat Gdot v0, straight from the step."""
    h = problem.step
    v1 = problem.velocity + h * np.linalg.solve(problem.mass, problem.force + rows.G.T @ force)
    rate = rows.G @ v1 + rows.e + h * rows.curvature
    inertial = np.zeros(len(force))
    for letter in "bunrs":
        i = np.flatnonzero(rows.letter == letter)
        A = rows.G[i] @ np.linalg.solve(problem.mass, rows.G[i].T)
        inertial[i] = np.linalg.pinv(A, rcond=1e-10) @ rows.curvature[i]
    return np.asarray(force + rows.K * (rows.phi0 + h * rate) + rows.B * rate + inertial)


@pytest.mark.parametrize("seed", range(5))
def test_the_final_block_with_its_correction(seed):
    """Every matrix of the final block says of the forces what the step says; the printed d and e do not."""
    problem = random_step(np.random.default_rng(seed), "bu3")
    rows = read_rows(problem)
    force = stacked(pliant.solve(problem, Printed()).forces)
    block, printed = Appendix(problem, rows), Appendix(problem, rows, corrected=False)
    star, g, at = force[block.star], shortfalls(problem, rows, force), block.at
    lambda_b = np.linalg.solve(block.C, block.c + block.D @ block.G_star.T @ star)
    beta = np.concatenate([force[at["r"]] + block.E @ star + block.d, force[at["s"]] + block.F @ star + block.e])
    wrong = np.concatenate([force[at["r"]] + block.E @ star + printed.d, force[at["s"]] + block.F @ star + printed.e])
    right = g[np.concatenate([at["r"], at["s"]])]
    size = np.abs(force).max()
    np.testing.assert_allclose(lambda_b / size, force[at["b"]] / size, atol=1e-9)
    np.testing.assert_allclose(beta / size, right / size, atol=1e-8)
    springs = np.concatenate([at["u"], at["n"]])
    np.testing.assert_allclose((block.A @ star - block.q) / size, g[springs] / size, atol=1e-8)
    assert np.abs(wrong - right).max() > 1e-3 * np.abs(right).max()
