"""A run as a page: one file, which holds everything."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

import pliant
from pliant.cli import main
from pliant.stage import Stage
from pliant.viewer.bodies import aim
from pliant.viewer.playback import Playback
from pliant.viewer.survey import force_scale, place_of_run

from .conftest import load


@pytest.mark.usefixtures("packages")
def test_a_page_holds_the_run_and_says_what_it_shows(rolling, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["view", str(rolling), "--export", str(page), "--show", "contacts,forces,cones"]) == 0
    assert "plays in any browser" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    legend = text[text.index('id="pliant-legend"') :]
    for word in ("rolling.xml", "1 s, steps of 10 ms, Coulomb", "stick", "slip", "Friction cones"):
        assert word in legend
    assert f"1 m = {force_scale(Stage.of(load(rolling))):g} N" in legend  # as in films
    assert "Pa" not in legend
    assert "<title>rolling.xml</title>" in text
    assert not re.search(r'(src|href)="(https?:)?//', text)  # nothing is fetched


@pytest.mark.usefixtures("packages")
def test_nothing_is_overwritten(rolling, tmp_path, capsys):
    page = tmp_path / "page.html"
    page.write_text("mine")
    assert main(["view", str(rolling), "--export", str(page)]) == 1
    assert "exists already" in capsys.readouterr().err and page.read_text() == "mine"
    assert main(["view", str(rolling), "--export", str(page), "--force", "--fps", "5"]) == 0
    assert "pliant-legend" in page.read_text(encoding="utf-8")
    assert main(["view", str(rolling), "--export", str(tmp_path / "none" / "page.html")]) == 1
    assert "make its folder first" in capsys.readouterr().err


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(pliant.InputError, match="or the path of a run, got"):
        pliant.export_html("scene.xml", tmp_path / "page.html")
    with pytest.raises(pliant.InputError, match="fps must be"):
        pliant.export_html(pliant.Trajectory({}, list, ended="complete"), tmp_path / "page.html", fps=0.0)
    with pytest.raises(pliant.InputError, match="show: there is no 'heat'"):
        pliant.export_html(pliant.Trajectory({}, list, ended="complete"), tmp_path / "page.html", show=["heat"])


class Crate:
    """It hangs on a spring of 1 m."""

    def problem(self, time, q, v, step):
        spring = pliant.Bilateral([[1.0]], [q[0] + 1.0], pliant.Law(200.0, 2.0))
        return pliant.StepProblem([2.0], v, [-2.0 * 9.81], step, [spring])

    def advance(self, q, v, step):
        return q + step * v

    def draw(self):
        shapes = [pliant.Shape.spring("spring", 0.08, turns=8), pliant.Shape.box("crate", (0.3, 0.3, 0.2))]
        return pliant.Drawing([*shapes, pliant.Shape.ground(-2.0)], self.place)

    def place(self, time, q):
        return {"spring": ([0, 0, 0], [0, 0, q[0]]), "crate": [0, 0, q[0] - 0.1]}


@pytest.fixture(scope="module")
def hanging() -> pliant.Trajectory:
    return pliant.simulate(Crate(), [-1.0], [0.0], duration=0.5, step=0.01)


def test_all_of_a_drawing_is_in_the_picture(hanging):
    place = place_of_run(Playback(hanging, Stage.of(hanging)))
    assert place.high[2] >= 0.0  # where the spring hangs, which has no geom
    assert place.low[2] <= hanging.q.min() - 0.2 and place.low[2] > -2.0  # the ground is everywhere


def test_the_camera_has_both_ends_of_what_is_tall_in_its_angle(hanging):
    place = place_of_run(Playback(hanging, Stage.of(hanging)))
    camera = SimpleNamespace(fov=np.radians(75.0))
    aim(SimpleNamespace(initial_camera=camera), place)
    eye = np.array(camera.position)
    ahead = (place.centre - eye) / np.linalg.norm(place.centre - eye)
    for end in (np.zeros(3), np.array([0.0, 0.0, hanging.q.min() - 0.2])):
        assert np.degrees(np.arccos((end - eye) @ ahead / np.linalg.norm(end - eye))) < 36.0


@pytest.mark.usefixtures("packages")
def test_where_nothing_touches_there_is_no_word_of_contacts(hanging, tmp_path):
    text = pliant.export_html(hanging, tmp_path / "page.html").read_text(encoding="utf-8")
    legend = text[text.index('id="pliant-legend"') :]
    assert "stick" not in legend and "Contact" not in legend and "0.5 s, steps of 10 ms" in legend
