"""Pictures of runs: what they show is what the run holds, and what they refuse."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np
import pytest

import pliant
from pliant.cli import main
from pliant.plot.chosen import MOST
from pliant.plot.run_energy import DISSIPATED, LESS, balance
from pliant.plot.run_forces import contact_forces
from pliant.studies.pendulum import Pendulum
from tests.support.letters import smallest

SCENE = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="body" pos="0 0 0.2"><freejoint/><geom name="ball" size="0.1" mass="2" friction="0.5"/></body>
  </worldbody>
</mujoco>"""


@pytest.fixture(scope="module")
def system():
    return pliant.load(SCENE)


@pytest.fixture(scope="module")
def run(system):
    v = system.v
    v[0] = 1.0
    return pliant.simulate(system, system.q, v, duration=1.0, step=0.01)


def curves(figure: Any, panel: int = 0) -> dict[str, Any]:
    """By label, (x, y); those of a panel that have one."""
    lines = figure.axes[panel].get_lines()
    return {line.get_label(): line.get_xydata().T for line in lines if not line.get_label().startswith("_")}


def test_states_by_name(run, tmp_path):
    figure = run.plot_states(which="body x", path=tmp_path / "x.svg")
    time, x = curves(figure)["body x"]
    np.testing.assert_array_equal(time, run.time)
    np.testing.assert_array_equal(x, run.q[:, 0])
    assert figure.axes[0].get_ylabel() == "position [m]" and (tmp_path / "x.svg").stat().st_size > 5000
    everything = run.plot_states()
    labels = [ax.get_ylabel() for ax in everything.axes]
    assert labels == ["position [m]", "quaternion [-]", "velocity [m/s]", "rate [rad/s]"]


def test_states_without_names_go_by_number():
    run = pliant.simulate(Pendulum(), [1, 0, 0], [0, 0, 0], duration=0.2, step=0.05)
    assert list(curves(run.plot_states())) == ["q0", "q1", "q2"]
    with pytest.raises(pliant.InputError, match="there is no coordinate 'x' in this run; there are: q0, q1, q2, v0"):
        run.plot_states(which="x")


def test_energy_balances(run, system):
    time, kinds = balance(run, system)
    assert list(kinds) == ["kinetic", "gravitational", "spring"] and len(time) == len(run)
    figure = run.plot_energy(system)
    shown = curves(figure)
    total = np.sum(list(kinds.values()), axis=0)
    np.testing.assert_allclose(shown[DISSIPATED][1], total[0] - total, atol=1e-12)
    assert shown["gravitational"][1].min() == 0.0
    assert shown[DISSIPATED][1][-1] > 1.5  # of 2 J of the fall, and 1 J of sliding less rolling


def test_what_drives_a_system_is_said(run, system):
    system.data.qfrc_applied[0] = 1.0
    try:
        assert LESS in curves(run.plot_energy(system))
    finally:
        system.data.qfrc_applied[0] = 0.0
    swing = pliant.simulate(Pendulum(), [1, 0, 0], [0, 0, 0], duration=0.2, step=0.05)
    assert LESS in curves(swing.plot_energy(Pendulum()))  # which does not tell


def test_energy_of_a_system_that_tells_none(run):
    class Silent:
        pass

    with pytest.raises(pliant.InputError, match=r"Silent tells no energy; give it a method energy\(time, q, v\)"):
        run.plot_energy(Silent())
    with pytest.raises(pliant.InputError, match="7 coordinates and 6 velocities; was it another system"):
        run.plot_energy(pliant.load("<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>"))


def test_forces_of_a_pair(run):
    figure = run.plot_forces(which="*ball")
    time, normal = curves(figure)["floor - ball"]
    np.testing.assert_array_equal(time, run.time[1:])
    assert normal[-1] == pytest.approx(2 * 9.81) and normal[0] == 0.0
    friction = figure.axes[1].get_lines()[0].get_ydata()
    slides = (friction > 0.0) & (normal > 0.0)
    assert friction.max() <= 0.5 * normal.max() * (1 + 1e-9) and slides.any()
    with pytest.raises(pliant.InputError, match="no contact 'wall' in this run; there are: floor - ball"):
        run.plot_forces(which="wall")


def test_forces_of_a_system_of_ones_own():
    class Puck:
        def problem(self, time, q, v, step):
            law = pliant.Law(1e8, 10.0)
            floor = pliant.Contact([[[0.0, 1.0], [1.0, 0.0]]], [q[1]], law, 0.5, name="floor")
            wall = pliant.Unilateral([[-1.0, 0.0]], [9.0 - q[0]], law)
            return pliant.StepProblem([1.0, 1.0], v, [0.0, -10.0], step, [floor, wall])

        def advance(self, q, v, step):
            return q + step * v

    run = pliant.simulate(Puck(), [0.0, 0.0], [3.0, 0.0], duration=0.3, step=0.01)
    found = contact_forces(run)
    assert list(found) == ["floor", "constraint 1"]
    assert found["floor"].normal[-1] == pytest.approx(10.0) and found["floor"].friction[-1] == pytest.approx(5.0)
    assert not found["constraint 1"].normal.any()
    with pytest.raises(pliant.InputError, match="there is no contact 'ceiling' in this run; there are: floor, constr"):
        run.plot_forces(which="ceiling")


def test_six_curves_at_most():
    bodies = "".join(f'<body name="b{i}" pos="{i} 0 {0.11 + 0.1 * i}"><freejoint/><geom name="g{i}" size="0.1"/></body>'
                     for i in range(8))  # fmt: skip
    system = pliant.load(
        f'<mujoco><worldbody><geom name="floor" type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>'
    )
    run = pliant.simulate(system, system.q, system.v, duration=0.5, step=0.002)
    figure = run.plot_forces()
    assert len(curves(figure)) == MOST
    assert figure.axes[0].get_legend().get_title().get_text() == "6 of 8, which=... chooses"
    assert "g0" not in " ".join(curves(figure))  # which falls least


def test_residuals(run):
    figure = run.plot_residuals()
    np.testing.assert_allclose(curves(figure)["laws"][1], np.maximum(run.stats["residual"], 1e-17))
    np.testing.assert_array_equal(curves(figure, 1)["iterations"][1], run.stats["iterations"])
    run.stats["unsolved"][5] = 1
    try:
        assert curves(run.plot_residuals())["iteration limit"][0] == [run.time[6]]
    finally:
        run.stats["unsolved"][5] = 0


def test_every_picture_is_legible_in_a_column(run, system):
    pictures = [run.plot_states(), run.plot_energy(system), run.plot_forces(), run.plot_residuals()]
    for figure in pictures:
        assert figure.get_figwidth() <= 3.5 and smallest(figure) >= 8.0


def test_where_a_picture_cannot_be_written(run, tmp_path):
    with pytest.raises(pliant.PliantError, match="cannot write the picture"):
        run.plot_forces(path=tmp_path / "none" / "x.png")
    with pytest.raises(pliant.PliantError, match="cannot write the picture"):
        run.plot_forces(path=tmp_path / "x.foo")


def test_without_matplotlib(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "pliant\[plot\]"'):
        run.plot_states()


def test_no_window_is_opened():
    assert "matplotlib.pyplot" not in sys.modules


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.xml").write_text(SCENE)
    assert main(["run", "scene.xml", "--duration", "0.3"]) == 0
    capsys.readouterr()
    assert main(["plot", "scene.run", "--out", "pictures"]) == 0
    out, err = capsys.readouterr()
    drawn = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert drawn == [f"scene-{what}.png" for what in ("energy", "forces", "residuals", "states")]
    assert len(out.splitlines()) == 4 and "no picture of pressure" in err
    assert main(["plot", "scene.run", "--what", "pressure"]) == 1
    assert main(["plot", "scene.run", "--what", "energy, forces", "--format", "svg"]) == 0
    assert (tmp_path / "scene-energy.svg").exists()
    assert main(["plot", "scene.run", "--what", "sound"]) == 1
    assert "no picture 'sound'; there are: states, energy" in capsys.readouterr().err


def test_the_command_wants_the_model_of_the_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.xml").write_text(SCENE)
    assert main(["run", "scene.xml", "--duration", "0.1"]) == 0
    (tmp_path / "other.xml").write_text(SCENE.replace("ball", "egg"))
    (tmp_path / "steel.yaml").write_text("ball: steel\n")
    assert main(["plot", "scene.run", "--what", "energy", "--model", "other.xml"]) == 1
    assert "was of another model than other.xml" in capsys.readouterr().err
    assert main(["plot", "scene.run", "--what", "energy", "--materials", "steel.yaml"]) == 1
    assert "--materials" in capsys.readouterr().err
    assert main(["plot", "none.run"]) == 1


@pytest.fixture
def kept(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    run.save("slide.run")
    return tmp_path / "slide.run"


@pytest.mark.usefixtures("kept")
def test_pictures_are_not_overwritten_unasked(tmp_path, capsys):
    (tmp_path / "slide-states.png").write_text("mine")
    assert main(["plot", "slide.run", "--what", "states,residuals"]) == 1
    assert "slide-states.png exists already" in capsys.readouterr().err
    assert (tmp_path / "slide-states.png").read_text() == "mine" and not (tmp_path / "slide-residuals.png").exists()
    assert main(["plot", "slide.run", "--what", "states", "--force"]) == 0
    assert (tmp_path / "slide-states.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("kept")
def test_one_picture_that_fails_does_not_keep_the_others(tmp_path, capsys):
    assert main(["plot", "slide.run", "--what", "pressure,forces"]) == 1
    out, err = capsys.readouterr()
    assert out == "slide-forces.png\n" and "no picture of pressure" in err


@pytest.mark.usefixtures("kept")
def test_names_that_are_nowhere(tmp_path, capsys):
    assert main(["plot", "slide.run", "--which", "*ball", "--out", "a"]) == 0  # a contact, no coordinate
    assert main(["plot", "slide.run", "--which", "egg", "--out", "b"]) == 1
    assert "no picture of states: --which: there is no coordinate 'egg'" in capsys.readouterr().err


def test_a_run_without_contacts_has_no_picture_of_forces(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    system = pliant.load(SCENE.replace("0 0 0.2", "0 0 20"))
    pliant.simulate(system, system.q, system.v, duration=0.05, step=0.01).save("fall.run")
    assert main(["plot", "fall.run"]) == 0
    assert "no picture of forces: nothing touches" in capsys.readouterr().err
    assert not (tmp_path / "fall-forces.png").exists() and (tmp_path / "fall-energy.png").exists()


def test_files_that_are_no_runs(kept, capsys):
    assert main(["plot", "none.run"]) == 1
    assert capsys.readouterr().err == (
        "pliant plot: none.run is no file; `pliant run MODEL --out none.run` makes the file of a run\n"
    )
    content = bytearray(kept.read_bytes())
    content[-20] ^= 1  # in the only record of samples
    kept.write_bytes(content)
    assert main(["plot", "slide.run"]) == 1
    assert "slide.run is damaged, 0 of its steps could be read" in capsys.readouterr().err


def test_energy_is_that_of_the_model_in_the_run(tmp_path, capsys, monkeypatch):
    from pliant.systems.mujoco_again import system_of

    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.xml").write_text(SCENE)
    assert main(["run", "scene.xml", "--duration", "0.1"]) == 0
    kept, other = pliant.Trajectory.load("scene.run"), SCENE.replace('mass="2"', 'mass="9"')
    expected = balance(kept, pliant.load(SCENE))[1]
    (tmp_path / "scene.xml").write_text(other)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for kind, values in balance(kept := pliant.Trajectory.load("../scene.run"), system_of(kept))[1].items():
        np.testing.assert_allclose(values, expected[kind], rtol=1e-5, atol=1e-9)
    assert main(["plot", "../scene.run", "--what", "energy"]) == 0
    capsys.readouterr()
    assert main(["plot", "../scene.run", "--what", "energy", "--force", "--model", "../scene.xml"]) == 1
    err = capsys.readouterr().err
    assert "--model: the run was of another model than ../scene.xml, which differs in mass, inertia" in err
    (tmp_path / "moon.xml").write_text(SCENE.replace("<option ", '<option gravity="0 0 -1.6" '))
    assert main(["plot", "../scene.run", "--what", "energy", "--force", "--model", "../moon.xml"]) == 1
    assert "differs in gravity" in capsys.readouterr().err


def test_energy_of_a_run_that_holds_no_model(tmp_path, capsys, monkeypatch):
    import mujoco

    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.xml").write_text(SCENE)
    (tmp_path / "other.xml").write_text(SCENE.replace('mass="2"', 'mass="9"'))
    system = pliant.MujocoSystem(mujoco.MjModel.from_xml_string(SCENE))
    pliant.simulate(system, system.q, system.v, duration=0.1, step=0.01, checkpoint="bare.run")
    assert main(["plot", "bare.run", "--what", "energy"]) == 1
    assert "this run does not hold its model: give --model FILE" in capsys.readouterr().err
    assert main(["plot", "bare.run", "--what", "energy", "--model", "other.xml"]) == 1
    assert "differs in mass" in capsys.readouterr().err
    assert main(["plot", "bare.run", "--what", "energy", "--model", "scene.xml"]) == 0


def test_energy_of_a_model_that_was_changed_after_loading(tmp_path, capsys):
    from pliant.systems.mujoco_again import system_of

    changed = pliant.load(SCENE, materials={"ball": pliant.Material.of("rubber")})
    path = tmp_path / "run"
    pliant.simulate(changed, changed.q, changed.v, duration=0.05, step=0.01, checkpoint=path)
    with pytest.raises(pliant.InputError, match=r"--materials: the run had other ones for ball"):
        system_of(pliant.Trajectory.load(path))
    changed = pliant.load(SCENE)
    changed.model.body_mass[:] *= 3.0
    heavy = pliant.simulate(changed, changed.q, changed.v, duration=0.05, step=0.01)
    with pytest.raises(pliant.InputError, match=r"changed after it was loaded \(mass\)"):
        system_of(heavy)


def test_coordinates_of_ones_own_have_their_names():
    class Named(Pendulum):
        coordinates: ClassVar[Any] = {
            "q": [["x", "m"], ["x", "m"], ["turn", "rad"]],
            "v": [[f"v{i}", "m/s"] for i in range(3)],
        }

    run = pliant.simulate(Named(), [1, 0, 0], [0, 0, 0], duration=0.1, step=0.05)
    figure = run.plot_states()
    assert list(curves(figure)) == ["x", "x (q1)"] and list(curves(figure, 1)) == ["turn"]
    Named.coordinates = {"q": [["x", "m"]], "v": []}
    with pytest.raises(pliant.InputError, match=r"system.coordinates: expected 3 entries \[name, unit\] for q"):
        pliant.simulate(Named(), [1, 0, 0], [0, 0, 0], duration=0.1, step=0.05)


def test_long_names_leave_room_for_the_curves():
    long = "the third joint of the left arm of the first robot, at its wrist"

    class Wordy(Pendulum):
        coordinates: ClassVar[Any] = {"q": [[f"{long} {i}", "m"] for i in "abc"], "v": [[i, "m/s"] for i in "abc"]}

    figure = pliant.simulate(Wordy(), [1, 0, 0], [0, 0, 0], duration=0.1, step=0.05).plot_states()
    figure.draw_without_rendering()
    assert all(ax.get_position().width > 0.7 and ax.get_position().height > 0.2 for ax in figure.axes)
    for ax in figure.axes:
        assert ax.get_legend().get_window_extent().x1 <= figure.bbox.x1
    assert [text.get_text()[-1] for text in figure.axes[0].get_legend().get_texts()] == ["…"] * 3


def test_momentum_is_drawn_where_it_is_measured(run):
    assert "momentum" in curves(run.plot_residuals())
    kept = run.stats["momentum_residual"].copy()
    run.stats["momentum_residual"][:] = 0.0
    try:
        assert "momentum" not in curves(run.plot_residuals())
    finally:
        run.stats["momentum_residual"][:] = kept
