"""`pliant.render` and `pliant render`: films and pictures that show the run, whole or not at all."""

import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.cli import main
from pliant.rendering import film, sinks
from pliant.rendering.arrows import Arrows
from pliant.rendering.canvas import Canvas
from pliant.stage import Stage
from pliant.studies.pendulum import Pendulum

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs pliant[render]", exc_type=ImportError)
SMALL = (64, 48)
BALL = """<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="1 1 1"/>
  <camera name="side" pos="0 -1 0.2" xyaxes="1 0 0 0 0 1"/>
  <body pos="0 0 0.099999"><freejoint/><geom size="0.1" mass="2"/></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def swing() -> pliant.Trajectory:
    return pliant.simulate(Pendulum(), [1.0, 0.0, 0.0], [0.0] * 3, duration=0.5, step=0.01)


@pytest.fixture(scope="module")
def resting() -> pliant.Trajectory:
    system = pliant.load(BALL)
    return pliant.simulate(system, system.q, system.v, duration=0.1, step=0.01)


def frames(path: Path, size: tuple[int, int] = SMALL) -> tuple[str, list[Any]]:
    """What ffmpeg says of a film, and its frames."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(command, check=True, capture_output=True)
    images = np.frombuffer(done.stdout, np.uint8).reshape(-1, size[1], size[0], 3).astype(int)
    return done.stderr.decode(), list(images)


def picture(path: Path) -> Any:
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize(("fps", "speed", "count"), [(20.0, 1.0, 11), (20.0, 0.5, 21), (10.0, 2.0, 3)])
def test_a_film_has_its_frames(tmp_path, swing, fps, speed, count):
    path = pliant.render(swing, tmp_path / "swing.mp4", fps=fps, speed=speed, size=SMALL)
    about, seen = frames(path)
    assert "64x48" in about and f"{fps:g} fps" in about and len(seen) == count
    assert all(frame.std() > 5.0 for frame in seen)  # none is blank
    assert all(np.abs(one - two).max() > 50 for one, two in pairwise(seen))
    assert [p.name for p in tmp_path.iterdir()] == ["swing.mp4"]


@pytest.mark.usefixtures("opengl")
def test_an_animation_has_its_frames(tmp_path, swing):
    from PIL import Image

    with Image.open(pliant.render(swing, tmp_path / "swing.gif", fps=10, size=SMALL)) as image:
        assert image.n_frames == 6 and image.size == SMALL and image.info["duration"] == 100


@pytest.mark.usefixtures("opengl")
def test_a_picture_shows_the_bob_where_it_is(tmp_path, swing):
    seen = {}
    for time in (0.0, 0.5):
        path = pliant.render(swing, tmp_path / f"{time}.png", time=time, size=(160, 120), camera=(90, 0), caption=False)
        image = picture(path)
        assert image.shape == (120, 160, 3)
        blue = (image[..., 2] > image[..., 0] + 60) & (image[..., 0] < 80)
        seen[time] = np.argwhere(blue).mean(axis=0)
    (row0, column0), (row1, column1) = seen[0.0], seen[0.5]
    turn = swing.q[-1, :2] - swing.q[0, :2]  # it falls, and to the left
    assert row1 > row0 and column1 < column0
    assert np.isclose((row1 - row0) / (column0 - column1), turn[1] / turn[0], rtol=0.1)


@pytest.mark.usefixtures("opengl")
def test_arrows_are_as_long_as_they_say(tmp_path, resting):
    """2 kg at rest: 19.62 N, at 78.48 N/m an arrow of 0.25 m, seen from 1 m with an angle of 45 degrees."""
    options: dict[str, Any] = {"size": (600, 600), "camera": "side", "caption": False}
    with_arrow, without = (
        picture(pliant.render(resting, tmp_path / f"{scale}.png", forces=True, scale=scale, **options))
        for scale in (78.48, 1e9)
    )
    rows = np.argwhere(np.abs(with_arrow - without).max(axis=2) > 20)[:, 0]
    metre = 600 / (2.0 * np.tan(np.radians(22.5)))
    assert np.isclose(np.ptp(rows), 0.25 * metre, rtol=0.08)  # its tip is finer than a pixel


def sliding(speed: float) -> pliant.Trajectory:
    system = pliant.load(BALL.replace('size="0.1" mass="2"', 'type="box" size="0.1 0.1 0.1" mass="2"'))
    return pliant.simulate(system, system.q, [speed, 0, 0, 0, 0, 0], duration=0.1, step=0.01)


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize(("speed", "colour"), [(0.0, "blue"), (2.0, "orange")])
def test_dots_have_the_viewers_colours(tmp_path, speed, colour):
    image = picture(pliant.render(sliding(speed), tmp_path / "x.png", contacts=True, size=(320, 240), caption=False))
    bluer = image[..., 2] - image[..., 0]
    assert (np.sum(bluer > 60) > 5, np.sum(bluer < -60) > 5) == (colour == "blue", colour == "orange")


def test_the_caption_tells_colours_and_scale(resting):
    """19.62 N; the ball is 0.35 m from end to end of its box, of which arrows take 0.22."""
    arrows = Arrows(Stage.of(resting), points=True, forces=True, scale=None, size=1.0)
    assert arrows.scale == 500.0  # the next round number over 19.62 / (0.22 * 0.346)
    assert arrows.caption == ["dots: grey open, blue stick, orange slip", "arrows: 1 m = 500 N"]
    assert Arrows(Stage.of(resting), points=False, forces=True, scale=7.0, size=1.0).caption == ["arrows: 1 m = 7 N"]


def test_frames_take_the_nearest_sample():
    time = np.array([0.0, 0.1, 0.2, 0.3])
    assert film.frame_samples(time, 20.0, 1.0).tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert film.frame_samples(time, 20.0, 3.0).tolist() == [0, 1, 3]
    assert film.frame_samples(np.array([2.0]), 30.0, 1.0).tolist() == [0]


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("x.avi", {}, "out must end in .mp4, .gif, .png"),
        ("x.mp4", {"size": (65, 48)}, "even numbers of pixels, got 65 x 48"),
        ("x.mp4", {"size": (0, 48)}, "from 16 to 8192"),
        ("x.mp4", {"time": 0.1}, "let out end in .png"),
        ("x.png", {"time": 7.0}, "within the run, 0 to 0.5 s"),
        ("x.mp4", {"fps": 0.0}, "fps must be a number > 0"),
        ("x.mp4", {"speed": -1.0}, "speed must be a number > 0"),
        ("x.mp4", {"speed": 1e-9}, "frames: give a smaller fps"),
        ("x.png", {"scale": 0.0}, "scale must be a number > 0"),
        ("x.png", {"camera": "side"}, "none of the model's: none"),
        ("x.png", {"camera": (1.0,)}, "camera must be azimuth and elevation"),
        ("no/x.png", {}, "there is no folder"),
        ("x.png", {"forces": True}, "no contacts by name"),
    ],
)
def test_what_cannot_be_drawn_is_said(tmp_path, swing, name, options, says):
    with pytest.raises(pliant.PliantError, match=says):
        pliant.render(swing, tmp_path / name, **{"size": SMALL, **options})
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("opengl")
def test_nothing_is_overwritten_unless_asked(tmp_path, swing, capsys):
    run, out = tmp_path / "swing.run", tmp_path / "swing.png"
    swing.save(run)
    out.write_text("precious")
    command = ["render", str(run), "--out", str(out), "--size", "64x48", "--time", "0.2"]
    assert main(command) == 1 and out.read_text() == "precious"
    assert "exists already" in capsys.readouterr().err
    assert main([*command, "--force", "--camera", "120,-30,4"]) == 0 and picture(out).shape == (48, 64, 3)
    assert capsys.readouterr().out.strip() == str(out)


@pytest.mark.usefixtures("opengl")
def test_what_ffmpeg_has_against_a_film_is_said(tmp_path, swing, monkeypatch):
    monkeypatch.setattr(sinks, "FILM", ("-c:v", "no-such-codec"))
    with pytest.raises(pliant.PliantError, match=r"ffmpeg cannot write the film: .*no-such-codec"):
        pliant.render(swing, tmp_path / "x.mp4", size=SMALL)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("opengl")
def test_ctrl_c_leaves_no_half_film(tmp_path, swing, monkeypatch, capsys):
    run, drawn, draw = tmp_path / "swing.run", [], Canvas.draw
    swing.save(run)

    def interrupted(self, *arguments):
        drawn.append(1)
        if len(drawn) == 3:
            raise KeyboardInterrupt
        return draw(self, *arguments)

    monkeypatch.setattr(Canvas, "draw", interrupted)
    assert main(["render", str(run), "--out", str(tmp_path / "swing.mp4"), "--size", "64x48"]) == 130
    assert "nothing is written" in capsys.readouterr().err and [p.name for p in tmp_path.iterdir()] == ["swing.run"]


def test_a_run_that_is_none_is_said(tmp_path, capsys):
    assert main(["render", str(tmp_path / "no.run"), "--out", str(tmp_path / "x.mp4")]) == 1
    assert "no.run" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["render", "x.run", "--out", "x.mp4", "--size", "large"])
    assert "WIDTHxHEIGHT" in capsys.readouterr().err
