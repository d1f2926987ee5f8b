"""Runs made ready to be drawn: from memory, from files, with the system at hand or without."""

import pickle
import shutil
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.errors import FileError
from pliant.record import Record, read, write
from pliant.scene import MODEL, NONE, SHAPES, Scene, shapes_of
from pliant.stage import Stage
from pliant.studies.foundation_cube import ROWS, START_Q, START_V, Cube
from pliant.studies.four_bar import FourBar, start
from pliant.studies.limit_impact import Limited
from pliant.studies.pendulum import Pendulum
from pliant.studies.spring import Mass
from pliant.systems.mujoco_door import mujoco

BALL = """<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="hand" mocap="true" pos="1 0 0"><geom size="0.1"/></body>
  <body pos="0 0 1"><freejoint/><geom size="0.1" mass="2"/></body></worldbody></mujoco>"""
STUDIES: dict[str, Any] = {
    "pendulum": (Pendulum(), [1.0, 0.0, 0.0], [0.0] * 3),
    "four-bar": (FourBar(), *start()),
    "limit": (Limited(), [1.0], [0.0]),
    "spring": (Mass(1e3, 1.0), [1.0], [0.0]),
    "foundation": (Cube(ROWS[0]), START_Q, START_V),
}


def swing(**options: Any) -> pliant.Trajectory:
    return pliant.simulate(Pendulum(), [1.0, 0.0, 0.0], [0.0] * 3, duration=0.2, step=0.01, **options)


def shown(stage: Stage, k: int) -> Any:
    data = mujoco().MjData(stage.model)
    stage.show(data, k)
    return data


@pytest.mark.parametrize("name", STUDIES)
def test_the_systems_of_the_studies_can_be_drawn(tmp_path, name):
    system, q, v = STUDIES[name]
    run = pliant.simulate(system, q, v, duration=0.05, step=0.01)
    run.save(tmp_path / "run")
    here, there = Stage.of(run), Stage.of(pliant.Trajectory.load(tmp_path / "run"))
    one, two = shown(here, -1), shown(there, -1)
    assert here.drawn and here.model.nq == 0 and one.time == run.time[-1]
    assert np.array_equal(one.mocap_pos, two.mocap_pos) and np.array_equal(one.mocap_quat, two.mocap_quat)
    assert not np.array_equal(one.mocap_pos, shown(here, 0).mocap_pos)


def test_a_bob_is_where_the_run_has_it(tmp_path):
    run = swing(checkpoint=tmp_path / "run")
    for stage in (Stage.of(run), Stage.of(pliant.Trajectory.load(tmp_path / "run")), Stage.of(run, system=Pendulum())):
        bob = shown(stage, 20).body("bob").xpos
        assert np.allclose(bob, [run.q[20, 0], 0.0, run.q[20, 1]])


def test_a_run_that_goes_on_is_drawn_whole(tmp_path):
    path = tmp_path / "run"
    for duration in (0.055, 0.2):
        run = pliant.simulate(
            Pendulum(), [1.0, 0.0, 0.0], [0.0] * 3, duration=duration, step=0.01, checkpoint=path, record_every=4
        )
    assert run.scene is not None and run.scene.kind == SHAPES
    poses = run.poses_of(run.scene)
    assert len(poses) == len(run) and np.all(np.isfinite(poses))
    assert np.allclose(poses[:, 14], run.q[:, 0])


def test_a_run_goes_to_another_process_with_its_picture():
    run = swing()
    back = pickle.loads(pickle.dumps(run))
    assert run.scene is not None and back.scene.place is None
    assert np.array_equal(back.poses_of(back.scene), run.poses_of(run.scene))


def test_models_travel_with_their_runs(tmp_path):
    file, path = tmp_path / "ball.xml", tmp_path / "run"
    file.write_text(BALL)
    system = pliant.load(file)
    system.data.mocap_pos[0] = [0.0, 0.0, 3.0]
    pliant.simulate(system, system.q, system.v, duration=0.1, step=0.01).save(path)
    file.unlink()
    run = pliant.Trajectory.load(path)
    stage = Stage.of(run)
    data = shown(stage, 10)
    assert run.scene is not None and run.scene.kind == MODEL and not stage.drawn
    assert np.array_equal(data.qpos, run.q[10]) and np.allclose(data.xpos[2], run.q[10, :3])
    assert np.allclose(data.body("hand").xpos, [0.0, 0.0, 3.0])


def test_a_model_with_meshes_travels_with_them(tmp_path):
    folder = tmp_path / "robot"
    (folder / "parts").mkdir(parents=True)
    corners = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (folder / "parts" / "wedge.obj").write_text(text)
    (folder / "robot.xml").write_text(
        '<mujoco><compiler meshdir="parts"/><asset><mesh file="wedge.obj" scale="0.5 0.5 0.5"/></asset><worldbody>'
        '<body pos="0 0 1"><freejoint/><geom type="mesh" mesh="wedge"/></body></worldbody></mujoco>'
    )
    system = pliant.load(folder / "robot.xml")
    pliant.simulate(system, system.q, system.v, duration=0.01, step=0.002).save(tmp_path / "run")
    shutil.rmtree(folder)
    model = Stage.of(pliant.Trajectory.load(tmp_path / "run")).model
    assert np.allclose(model.mesh_vert, system.model.mesh_vert) and np.allclose(model.geom_pos, system.model.geom_pos)


def test_a_model_with_pictures_travels_with_them(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs pliant[render]")
    folder, random = tmp_path / "scene", np.random.default_rng(0)
    (folder / "pictures").mkdir(parents=True)
    for name in ("a", "b"):
        pixels = random.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        image.fromarray(pixels).save(folder / "pictures" / f"{name}.png")
    image.fromarray(random.integers(0, 255, (8, 8), dtype=np.uint8)).save(folder / "hills.png")
    faces = " ".join(f'file{side}="{name}.png"' for side, name in zip(("right", "left", "up"), "aba", strict=True))
    (folder / "ball.xml").write_text(
        '<mujoco><worldbody><body pos="0 0 2"><freejoint/><geom size="0.1" material="m"/></body></worldbody></mujoco>'
    )
    (folder / "scene.xml").write_text(
        f"""<mujoco><compiler texturedir="pictures"/><asset><texture name="cube" type="cube" {faces}/>
        <texture name="flat" type="2d" file="b.png"/><material name="m" texture="cube"/>
        <hfield name="hills" file="hills.png" size="2 2 0.3 0.1"/></asset>
        <worldbody><geom type="hfield" hfield="hills"/></worldbody><include file="ball.xml"/></mujoco>"""
    )
    system = pliant.load(folder / "scene.xml")
    run = pliant.simulate(system, system.q, system.v, duration=0.01, step=0.002)
    shutil.rmtree(folder)
    model = Stage.of(run).model
    assert run.scene is not None
    assert [name for name, _ in run.scene.header["parts"]] == ["model.xml", "0.png", "1.png", "2.png"]
    theirs = system.model.tex_data
    assert np.array_equal(model.tex_data[: len(theirs)], theirs)
    assert np.array_equal(model.hfield_data, system.model.hfield_data)


def test_a_model_whose_source_is_not_known_must_be_given():
    model = mujoco().MjModel.from_xml_string(BALL)
    system = pliant.MujocoSystem(model)
    run = pliant.simulate(system, system.q, system.v, duration=0.05, step=0.01)
    with pytest.raises(pliant.InputError, match=r"give it \(--model, from Python model="):
        Stage.of(run)
    for given in ({"model": model}, {"model": BALL}, {"system": system}):
        assert np.array_equal(shown(Stage.of(run, **given), 3).qpos, run.q[3])
    with pytest.raises(pliant.InputError, match="nq = 0 and nv = 0, the run 7 and 6: it is of another model"):
        Stage.of(run, model="<mujoco/>")


def test_a_model_that_was_changed_is_not_shown_as_it_was():
    system = pliant.load(BALL)
    system.model.body_pos[1] = [0.0, 0.0, 9.0]
    run = pliant.simulate(system, system.q, system.v, duration=0.05, step=0.01)
    assert run.scene is not None and run.scene.kind == NONE
    with pytest.raises(pliant.InputError, match="changed after it was loaded"):
        Stage.of(run)


def test_files_of_before_still_load(tmp_path):
    path = tmp_path / "run"
    swing(checkpoint=path)
    old = [
        Record(
            {key: part for key, part in record.header.items() if key != "scene"},
            {key: part for key, part in record.arrays.items() if key != "poses"},
        )
        for record in read(path)
    ]
    write(path, old)
    run = pliant.Trajectory.load(path)
    assert len(run) == 21 and run.scene is None
    with pytest.raises(pliant.InputError, match=r"does not say how it looks: give the MuJoCo model .*--model.*draw"):
        Stage.of(run)
    assert np.allclose(shown(Stage.of(run, system=Pendulum()), 7).body("bob").xpos[0], run.q[7, 0])


def test_a_drawing_that_fails_later_does_not_cost_the_run(caplog):
    class Shy(Pendulum):
        def draw(self):
            def place(time, q):
                if time > 0.1:
                    raise RuntimeError("not after 0.1 s")
                return {"bob": (q[0], 0.0, q[1])}

            return pliant.Drawing([pliant.Shape.sphere("bob", 0.1, at=(0, 0, 9))], place)

    run = pliant.simulate(Shy(), [1.0, 0.0, 0.0], [0.0] * 3, duration=0.2, step=0.01)
    stage = Stage.of(run)
    assert run.complete and "not after 0.1 s" in caplog.text
    assert shown(stage, 5).body("bob").xpos[0] == run.q[5, 0] and shown(stage, 15).body("bob").xpos[2] == 9.0


@pytest.mark.parametrize(
    ("drawing", "says"),
    [("a picture", "must return a pliant.Drawing, or None, got str"), (None, None)],
)
def test_what_draw_may_return(drawing, says):
    class Odd(Pendulum):
        def draw(self):
            return drawing

    if says is None:
        assert pliant.simulate(Odd(), [1.0, 0.0, 0.0], [0.0] * 3, duration=0.02, step=0.01).scene is None
        return
    with pytest.raises(pliant.InputError, match=says):
        pliant.simulate(Odd(), [1.0, 0.0, 0.0], [0.0] * 3, duration=0.02, step=0.01)


def test_shapes_of_one_name_in_a_file_are_refused():
    """Found by random files: MuJoCo's own error came through."""
    one = {"kind": "sphere", "name": "bob", "size": [0.1], "colour": [1.0] * 4, "at": [0.0] * 3 + [1.0] + [0.0] * 3}
    with pytest.raises(FileError, match="same name"):
        shapes_of(Scene("shapes", {"shapes": [one, one]}, {}, None), "x.run")
    assert len(shapes_of(Scene("shapes", {"shapes": [one]}, {}, None), "x.run")) == 1
