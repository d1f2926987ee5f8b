"""Models in run files: what is crafted is refused, soon, and nothing outside of the file is read."""

import struct
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pliant
from pliant.record import Record, read, write
from pliant.scene import MODEL, Scene
from pliant.stage import Stage
from pliant.studies.pendulum import Pendulum
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_source import model_of
from tests.support.harmed_files import crafted

BALL = '<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'


def scene(xml: str, **files: bytes) -> Scene:
    parts = {
        "model.xml": xml.encode(errors="surrogatepass"),
        **{name.replace("_", "."): part for name, part in files.items()},
    }
    content = np.frombuffer(b"".join(parts.values()), np.uint8)
    return Scene(MODEL, {"parts": [[name, len(part)] for name, part in parts.items()]}, {"scene": content})


def test_a_sound_model_is_read():
    assert model_of(scene(BALL), "x").nq == 7


def inside(asset: str) -> str:
    return f"<mujoco><asset>{asset}</asset><worldbody/></mujoco>"


WIDE = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 1 << 20, 1 << 20)
HARM = {
    "a file outside": (inside('<mesh name="m" file="/etc/passwd"/>'), "which is not in it"),
    "a file beside": (inside('<hfield name="m" file="../secret.png" size="1 1 1 1"/>'), "which is not in it"),
    "a face outside": (inside('<texture name="m" type="cube" fileup="/etc/passwd"/>'), "which is not in it"),
    "a folder": ('<mujoco><compiler meshdir="/etc"/></mujoco>', "names the folder"),
    "an include": ('<mujoco><INCLUDE file="model.xml"/></mujoco>', "element <include>"),
    "a plugin": ('<mujoco><extension><plugin plugin="mujoco.sdf.bolt"/></extension></mujoco>', "element <extension>"),
    "another model": (inside('<model name="m" file="x.xml"/>'), "element <model>"),
    "copies": (f'<mujoco><worldbody><replicate count="9999999">{BALL[8:-9]}</replicate></worldbody></mujoco>', "repl"),
    "entities": ('<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><mujoco model="&a;"/>', "declarations"),
    "a large texture": (inside('<texture name="t" builtin="flat" width="9999999" height="9"/>'), "width of"),
    "a large field": (inside('<hfield name="h" nrow="16000" ncol="16000" size="1 1 1 1"/>'), "16000 x 16000"),
    "a large number": ('<mujoco><custom><numeric name="n" size="999999999"/></custom></mujoco>', "size of"),
    "a fine mesh": (inside('<mesh name="m" builtin="supersphere" params="1e5 1 1"/>'), "params of"),
    "not XML": ("<mujoco", "not XML"),
    "a robot": ("<robot/>", "not an MJCF"),
    "not text": ("\ud800", ""),
    "no sense": ("<mujoco><worldbody><body><geom size='nan'/></body></worldbody></mujoco>", ""),
}


@pytest.mark.parametrize("name", HARM)
def test_models_that_mean_harm(name):
    text, says = HARM[name]
    begin = time.process_time()
    with pytest.raises(pliant.FileError, match=f"^x: the model in it cannot be read.*{says}"):
        model_of(scene(text), "x")
    assert time.process_time() - begin < 1.0


def test_a_picture_that_unfolds_is_refused():
    with pytest.raises(pliant.FileError, match="1048576 x 1048576 pixels"):
        model_of(scene(inside('<texture name="t" type="2d" file="t.png"/>'), t_png=WIDE), "x")


def test_room_that_a_model_asks_for_is_not_believed():
    assert model_of(scene('<mujoco><size memory="900G" nuserdata="2000000000"/></mujoco>'), "x").nuserdata == 0


@pytest.mark.parametrize(
    "parts", [None, [], [["model.xml", 9e9]], [["model.xml", -1]], [["../x", 3]], [["model.xml"]], [["a", 1], ["a", 1]]]
)
def test_parts_that_make_no_model(parts):
    with pytest.raises(pliant.FileError, match="cannot be read"):
        model_of(Scene(MODEL, {"parts": parts}, {"scene": np.zeros(2, np.uint8)}), "x")


def staged(path) -> None:
    """Drawn, or refused."""
    try:
        stage = Stage.of(pliant.Trajectory.load(path))
    except pliant.PliantError:
        return
    data = mujoco().MjData(stage.model)
    stage.show(data, len(stage.trajectory) - 1)
    assert np.all(np.isfinite(data.xpos))


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[bytes]:
    """A run of shapes and one of a model."""
    folder = tmp_path_factory.mktemp("runs")
    pliant.simulate(Pendulum(), [1.0, 0.0, 0.0], [0.0] * 3, duration=0.03, step=0.01).save(folder / "shapes")
    system = pliant.load(BALL)
    pliant.simulate(system, system.q, system.v, duration=0.01, step=0.002).save(folder / "model")
    return [(folder / name).read_bytes() for name in ("shapes", "model")]


JUNK = (
    st.none() | st.integers(-(1 << 70), 1 << 70) | st.floats() | st.text(max_size=8) | st.lists(st.floats(), max_size=8)
)
CHANGES = st.lists(
    st.tuples(st.integers(0, 1 << 30), JUNK | st.sampled_from(["drop", "double"])), min_size=1, max_size=3
)


@given(changes=CHANGES, which=st.integers(0, 1))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_runs_that_were_crafted_are_drawn_or_refused(tmp_path, files, changes, which):
    path = tmp_path / "run"
    path.write_bytes(crafted(files[which], changes))
    staged(path)


def test_shapes_that_are_none_are_refused(tmp_path, files):
    path = tmp_path / "run"
    path.write_bytes(files[0])
    first, *rest = read(path)
    for harm in ({"kind": "cone"}, {"size": [1e300]}, {"at": [0.0] * 7}, {"colour": [9, 9, 9, 9]}, {"name": 3}):
        shapes = [{**first.header["scene"]["shapes"][0], **harm}]
        write(path, [Record({**first.header, "scene": {"kind": "shapes", "shapes": shapes}}, {}), *rest])
        with pytest.raises(pliant.FileError, match="its shapes cannot be drawn"):
            Stage.of(pliant.Trajectory.load(path))


@pytest.mark.parametrize("name", ["q", "v"])
def test_a_start_that_is_a_number_is_refused(tmp_path, files, name):
    path = tmp_path / "run"
    path.write_bytes(files[1])
    first, *rest = read(path)
    first.header["parameters"][name] = 3
    write(path, [first, *rest])
    with pytest.raises(pliant.FileError, match=f"its {name} is 3"):
        pliant.Trajectory.load(path)


def test_a_state_that_is_not_finite_is_drawn_without_it(tmp_path):
    system = pliant.load("<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>")
    run = pliant.simulate(system, system.q, system.v, duration=0.01, step=0.002)
    stage = Stage.of(run)
    data = mujoco().MjData(stage.model)
    stage.trajectory.q[-1, 0] = np.nan
    stage.show(data, len(run) - 1)
    assert data.qpos[0] == 0.0 and data.qpos[2] == run.q[-1, 2] and np.all(np.isfinite(data.xpos))
