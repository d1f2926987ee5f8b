"""The cube on its foundation: the equation and the steps are the same mechanics; errors as they are claimed."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from pliant.studies import foundation
from pliant.studies.foundation_best import best, compare, fastest
from pliant.studies.foundation_cube import CHAOTIC, GRAVITY, MASS, ROWS, START_Q, START_V, Cube, Row
from pliant.studies.foundation_integrators import MATLAB, installed, integrate, to_size
from pliant.studies.foundation_motion import Motion
from pliant.studies.foundation_race import climb, integrator, matching, pliant_steps
from pliant.studies.foundation_reference import SECOND, compute, document, final_pose, motion_norm
from pliant.studies.foundation_rows import turned, turning
from pliant.studies.foundation_tables import PAPER
from tests.support.letters import smallest

ROW = Row(100, 50.0, 1e7)


def tilted(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Some elements pressed in, some open; turned about the vertical by any angle."""
    rng = np.random.default_rng(seed)
    tilt = Rotation.from_rotvec(1e-5 * rng.normal(size=3)) * Rotation.from_rotvec([0.0, 0.0, rng.normal()])
    q = np.concatenate([[0.1, -0.2, 0.0], tilt.as_quat(scalar_first=True)])
    return q, 1e-3 * rng.normal(size=6)


def elements(problem: pliant.StepProblem) -> pliant.Unilateral:
    (rows,) = problem.constraints
    assert isinstance(rows, pliant.Unilateral)
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_the_equation_and_the_rows_give_the_same_forces(seed):
    q, v = tilted(seed)
    time, h = 0.3, 1e-9  # the law over a step tends to that of the equation
    problem = Cube(ROW).problem(time, q, v, h)
    rows = elements(problem)
    pressed = rows.value < 0.0
    push = np.where(pressed, np.maximum(0.0, -ROW.stiffness * rows.value - rows.jacobian @ v), 0.0)
    assert 0 < pressed.sum() < len(pressed)
    rate = Motion(ROW)(time, np.concatenate([q, v]))
    expected = (problem.force + rows.jacobian.T @ push) / problem.mass
    np.testing.assert_allclose(rate[7:], expected, rtol=1e-12, atol=1e-9)
    advanced = Cube(ROW).advance(q, v, 1e-3)
    np.testing.assert_allclose(rate[:7], (advanced - q) / 1e-3, rtol=1e-5, atol=1e-9)


def test_the_jacobian_is_the_slope_of_the_heights():
    q, _ = tilted(0)
    cube, small = Cube(ROW), 1e-6
    G = elements(cube.problem(0.0, q, np.zeros(6), 0.01)).jacobian
    for k, unit in enumerate(np.eye(6)):
        ahead, behind = (
            elements(cube.problem(0.0, cube.advance(q, sign * unit, small), np.zeros(6), 0.01)).value
            for sign in (1.0, -1.0)
        )
        np.testing.assert_allclose(G[:, k], (ahead - behind) / (2.0 * small), atol=1e-9)


def test_small_turns_keep_all_their_digits():
    quaternion = turned(np.array([1.0, 0.0, 0.0, 0.0]), np.array([1e-9, 2e-9, 0.0]))
    height = turning(quaternion)[2]
    np.testing.assert_allclose(height[:2], [-2e-9, 1e-9], rtol=1e-12)
    np.testing.assert_allclose(turning(quaternion) + np.eye(3), Rotation.from_rotvec([1e-9, 2e-9, 0.0]).as_matrix())


@pytest.mark.parametrize("modulus", [1e7, 1e11])
@pytest.mark.parametrize("elements", [100, 900])
def test_without_a_load_it_settles_at_the_static_indentation(elements, modulus):
    row = Row(elements, 0.0, modulus)
    run = pliant.simulate(Cube(row), START_Q, START_V, duration=0.3, step=0.01)
    assert run.q[-1, 2] == pytest.approx(-MASS * GRAVITY / modulus, rel=1e-9)  # E s^2 / depth = E [N/m]
    assert np.sum(run.forces[-1][0]) == pytest.approx(MASS * GRAVITY, rel=1e-9)
    assert np.abs(run.q[-1, 4:]).max() < 1e-9 * row.indentation


@pytest.mark.parametrize("row", ROWS[:3], ids=lambda row: row.name)
def test_errors_of_large_steps(row):
    run = pliant_steps(row, 0.01)
    assert not run.why
    assert run.pose_error < PAPER[row].error
    assert run.error < 0.1


def test_errors_fall_with_the_step():
    assert pliant_steps(ROWS[0], 0.001).error < 0.012
    coarse, fine = (pliant_steps(Row(900, 5.0, 1e7), h).error for h in (0.005, 0.0025))  # the springs' period is 5.6 ms
    assert 0.9 < np.log2(coarse / fine) < 1.1


def test_most_of_the_error_is_the_lag_of_the_load():
    row = Row(900, 5.0, 1e7)
    assert pliant_steps(row, 0.01, lead=1.0).error < 1e-3 < pliant_steps(row, 0.01).error < 0.1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_with_the_load_of_their_end_steps_of_a_tenth_are_as_exact_as_the_papers(row):
    large, papers = pliant_steps(row, 0.1, lead=1.0), pliant_steps(row, 0.01)
    assert not large.why and large.lead == 1.0 and large.error < papers.error


def entry(lead: float, step: float, error: float, ratio: float) -> dict[str, float]:
    return {"lead": lead, "step": step, "error": error, "ratio": ratio}


def test_the_best_step_is_as_exact_as_the_papers():
    papers, quick, exact = entry(0.0, 0.01, 0.1, 2.0), entry(0.0, 0.1, 0.7, 0.1), entry(1.0, 0.05, 0.1, 0.5)
    assert best([papers, quick, exact, entry(1.0, 0.02, 0.01, 0.6)]) is exact
    assert best([papers, quick]) is papers


def test_each_run_is_compared_with_the_fastest_that_is_as_exact():
    ours, theirs = [pliant_steps(ROWS[0], 0.05, lead=1.0)], [integrator("LSODA", ROWS[0], 1e-4, 5.0)]
    late = integrator("LSODA", CHAOTIC, 1e-8, 1e-3)
    assert late.why and fastest(ours[0], [late]) is None
    (found,) = compare(ours, [late], 5.0)
    assert found["rival"] is None and found["ratio"] == pytest.approx(found["seconds"] / 5.0)
    theirs[0].error = ours[0].error
    (found,) = compare(ours, [late, *theirs], 5.0)
    assert found["rival"]["name"] == "LSODA" and found["rival"]["tolerance"] == 1e-4
    assert found["ratio"] == pytest.approx(found["seconds"] / found["rival"]["seconds"])
    theirs[0].error = 1.02 * ours[0].error
    assert fastest(ours[0], theirs) is None


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_errors_of_every_row(row):
    coarse, fine = pliant_steps(row, 0.01), pliant_steps(row, 0.001)
    assert coarse.pose_error < PAPER[row].error and not coarse.why and not fine.why
    if row != CHAOTIC:
        assert coarse.error < 0.1 and fine.error < 0.012


@pytest.mark.parametrize("name", installed())
def test_every_integrator_comes_to_the_reference(name):
    row = Row(900, 5.0, 1e7)
    found = integrate(name, row, to_size(row, 1e-6), limit=20.0)
    assert found.state is not None and found.why == "" and found.calls > 0
    assert np.linalg.norm(found.state[:7] - final_pose(row)) < 1e-3 * motion_norm(row)


@pytest.mark.parametrize("name", installed())
def test_an_integrator_that_takes_too_long_is_given_up(name):
    found = integrate(name, CHAOTIC, MATLAB, limit=0.2)
    assert found.state is None and "0.2 s" in found.why and found.seconds < 2.0


def test_the_climb_ends_where_the_error_is_met():
    row = ROWS[0]
    ours = [pliant_steps(row, 0.01)]
    runs = climb("LSODA", row, ours[0].error, 5.0)
    assert matching(ours, runs, 0.01) == {"LSODA": runs[-1]}
    assert all(run.error > ours[0].error for run in runs[:-1])


def test_the_reference_is_complete_and_says_where_it_is_from():
    kept = document()
    assert {"command", "integrators", "versions", "machine", "tolerances"} <= kept.keys()
    assert [Row(e["elements"], e["load"], e["modulus"]) for e in kept["rows"]] == list(ROWS)
    for row, entry in zip(ROWS, kept["rows"], strict=True):
        pose, second = np.array(entry["pose"]), np.array(entry["second_pose"])
        assert np.linalg.norm(pose[3:]) == pytest.approx(1.0, abs=1e-9)
        assert np.all(pose[:2] == 0.0)  # nothing pushes sideways
        assert 0.9 * row.indentation < -pose[2] < 1.1 * row.indentation
        assert entry["agreement"] == pytest.approx(np.linalg.norm(second - pose) / motion_norm(row))
        assert entry["agreement"] < (1.0 if row == CHAOTIC else 1e-5)


def test_the_reference_again():
    row = Row(900, 5.0, 1e7)
    again = compute(row)
    assert SECOND[0] in {entry["name"] for entry in document()["integrators"].values()}
    np.testing.assert_allclose(again["pose"], final_pose(row), rtol=0.0, atol=1e-7 * row.indentation)


@pytest.mark.slow
def test_quick_results_are_json_and_drawn(monkeypatch):
    monkeypatch.setattr(foundation, "ROWS", ROWS[:4])
    monkeypatch.setattr(foundation, "TIMED", (0.01,))
    results = json.loads(json.dumps(foundation.run(True, lambda said: None), allow_nan=False))
    assert all(row["ours"][0]["error"] < 0.1 for row in results["rows"]) and len(results["tables"]["error"]) == 6
    pictures = foundation.STUDY.draw(results)
    assert set(pictures) == set(foundation.STUDY.page.captions)
    assert all(smallest(figure) >= 8.0 for figure in pictures.values())
    for table in foundation.STUDY.page.tables(results):
        assert len(table.rows) == 4 and {len(row) for row in table.rows} == {len(table.head)}
        assert "* chaotic: " in table.title
    unmatched = [{**row, "matched": {}} for row in results["rows"]]
    assert foundation.STUDY.page.tables({**results, "rows": unmatched})[0].rows[0][-1] == "none within 1 s"
    for row in results["rows"]:
        assert len(row["compared"]) == len(row["ours"] + row["leading"] + row["large"])
        assert row["best"] in row["compared"] and row["best"]["error"] <= row["ours"][0]["error"]
    measured = {claim["paper"]: claim["measured"] for claim in results["claims"]}
    assert "in the median of 2 pairs of rows; that below 2" in measured["stiffness does not slow it down"]
    held = {claim["paper"]: claim["holds"] for claim in results["claims"]}
    assert held["the pressure is greater on the side of the load, not gathered under it"] == "yes"
    assert held["the errors are good under the small load, 5 N"] == "no"
    assert held["the error improves significantly at h = 1e-3 s"] == "not run"


@pytest.mark.parametrize("name", installed())
def test_ctrl_c_gets_through_compiled_integrators(name, monkeypatch):
    """An exception does not: some of them print it, and go on with whatever dy/dt was."""
    rate = Motion.rate

    def interrupted(self, t, y):
        if self.calls == 20:
            signal.raise_signal(signal.SIGINT)
        return rate(self, t, y)

    monkeypatch.setattr(Motion, "rate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        integrate(name, ROWS[0], MATLAB)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
