"""The demonstration: its numbers against closed forms, the command that prints and draws them."""

import sys

import numpy as np
import pytest

import pliant
from pliant import demo
from pliant.cli import main
from pliant.plot import demo_figure
from pliant.solution import ContactState

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("solver", demo.SOLVERS, ids=repr)
def test_only_the_pressed_spring_pushes(solver):
    solution = pliant.solve(demo.beam(), solver)
    np.testing.assert_allclose(solution.forces[0], [0.0, 5.0, 0.0], rtol=1e-14)
    np.testing.assert_allclose(solution.velocity, [0.05, 0.0], rtol=1e-14)
    assert max(solution.residual, solution.law_residual, solution.momentum_residual) < 1e-14


def test_the_papers_forces_solve_the_printed_program():
    """min 1/2 |l|^2 s.t. Y l >= r, l >= 0: l = Y' y, y >= 0, complementary; no l_i is 0."""
    problem = demo.beam()
    G = problem.constraints[0].jacobian
    Y = np.eye(3) + demo.STEP**2 * demo.BEAM_STIFFNESS * G @ np.diag(1.0 / problem.mass) @ G.T
    r = np.array([0.0, demo.BEAM_STIFFNESS * demo.PRESSED, 0.0])
    forces = pliant.solve(problem, pliant.Printed()).forces[0]
    multipliers = np.linalg.solve(Y.T, forces)
    np.testing.assert_allclose(multipliers, [0.0, multipliers[1], 0.0], atol=1e-14)
    assert multipliers[1] > 0.0
    slack = Y @ forces - r
    assert abs(slack[1]) < 1e-14 and slack[0] > 1.0 and slack[2] > 1.0


def test_first_step_of_the_block_that_slides():
    solution = pliant.solve(demo.block(0.125))
    assert solution.forces[0][0, 0] == pytest.approx(9.4757, abs=5e-5)
    np.testing.assert_allclose(solution.forces[0][0], [demo.LOAD, -0.125 * demo.LOAD], rtol=1e-13)
    assert solution.velocity[1] == pytest.approx(0.01355, abs=5e-6)
    assert solution.velocity[1] == pytest.approx(demo.exact_speed(0.125, demo.STEP), rel=1e-13)


def test_first_step_of_the_convex_block_lifts():
    """By hand, K to infinity: v_n = mu v_t, m v_n = h (n - load), m v_t = h (pull - mu n)."""
    mu = 0.125
    normal = (demo.LOAD + mu * demo.PULL) / (1.0 + mu * mu)
    solution = pliant.solve(demo.block(mu), pliant.Convex())
    np.testing.assert_allclose(solution.forces[0][0], [normal, -mu * normal], rtol=1e-6)
    assert solution.velocity[0] == pytest.approx(mu * solution.velocity[1], rel=1e-6)
    assert solution.residual < 1e-12 < 1e-3 < solution.law_residual  # solved, and not Coulomb's law


@pytest.mark.parametrize("solver", demo.SOLVERS, ids=repr)
@pytest.mark.parametrize("mu", demo.FRICTIONS)
def test_one_second_of_sliding(mu, solver):
    end = demo.slide(mu, solver)
    exact = demo.exact_speed(mu, 1.0)
    lifts = isinstance(solver, pliant.Convex) and exact > 0.0
    assert end.state == (ContactState.SLIP if exact > 0.0 else ContactState.STICK)
    assert end.speed == pytest.approx(exact, rel=2e-4 if lifts else 1e-12, abs=1e-12)
    assert end.friction_force == pytest.approx(demo.exact_friction_force(mu), rel=1e-6)
    assert end.worst_momentum < 1e-13
    if lifts:
        assert end.gap == pytest.approx(demo.STEP * mu * end.speed, rel=1e-3)
    else:
        assert end.gap == pytest.approx(demo.STATIC_GAP, rel=1e-6)
        assert end.distance == pytest.approx(0.5 * exact * (1.0 + demo.STEP), rel=1e-12, abs=1e-12)
        assert end.worst_law < 1e-13


def test_slide_needs_a_step():
    with pytest.raises(ValueError, match="at least 1"):
        demo.slide(0.1, demo.SOLVERS[0], 0)


def test_the_command_prints_numbers_and_draws(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert main(["demo", "--out", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "0.0000  5.0000  0.0000" in printed and "1.6667  3.3333  1.6667" in printed
    assert "SLIP       9.4757        1.1845     0.013545" in printed
    assert "STICK      9.4757        2.5390     0.000000" in printed
    assert str(picture) in printed and printed.isascii()
    data = picture.read_bytes()
    assert data.startswith(PNG) and int.from_bytes(data[16:20], "big") == 1200


@pytest.fixture
def no_sweep(monkeypatch):
    """The picture without its hundred steps."""
    monkeypatch.setattr("pliant.plot.demo.FRICTIONS", (0.125,))


@pytest.fixture
def no_report(monkeypatch):
    monkeypatch.setattr("pliant.demo.report", lambda: "the numbers")


@pytest.mark.usefixtures("no_sweep", "no_report")
def test_the_picture_goes_to_the_folder_one_stands_in(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["pliant-demo.png"]
    assert "pliant-demo.png" in capsys.readouterr().out


@pytest.mark.usefixtures("no_sweep", "no_report")
@pytest.mark.parametrize("name", ["no/such/folder/demo.png", "demo.nonsense"])
def test_a_picture_that_cannot_be_written_is_named(tmp_path, capsys, name):
    assert main(["demo", "--out", str(tmp_path / name)]) == 1
    printed, aside = capsys.readouterr()
    assert "the numbers" in printed
    assert "cannot write the picture" in aside and name in aside


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize(("given", "status"), [([], 0), (["--out", "demo.png"], 1)])
def test_without_matplotlib_the_numbers_still_print(monkeypatch, capsys, tmp_path, given, status):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", *given]) == status
    printed, aside = capsys.readouterr()
    assert "the numbers" in printed
    assert 'pip install "pliant[plot]"' in aside
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_sweep")
def test_the_picture_opens_no_window():
    before = set(sys.modules)
    figure = demo_figure()
    assert len(figure.subfigs) == 2
    assert "matplotlib.pyplot" not in set(sys.modules) - before


def test_bare_and_version(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"pliant {pliant.__version__}\n"


def test_an_unknown_command_is_refused_with_the_usage(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["dmeo"])
    assert stop.value.code == 2
    assert "usage: pliant" in capsys.readouterr().err
