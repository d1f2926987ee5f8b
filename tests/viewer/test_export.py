"""A run as a page: one file, which holds everything."""

from __future__ import annotations

import re

import pytest

import pliant
from pliant.cli import main
from pliant.stage import Stage
from pliant.viewer.survey import force_scale

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
