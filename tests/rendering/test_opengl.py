"""Ways to OpenGL: what is chosen, and what is said where there is none."""

import subprocess
import sys
from typing import Any

import pytest

from pliant.checkup import Check
from pliant.doctor import drawing
from pliant.errors import PliantError
from pliant.rendering import opengl

linux = pytest.mark.skipif(sys.platform in opengl.USUAL, reason="where there are two ways without a screen")


@pytest.fixture(autouse=True)
def forgetful():
    caches = (opengl._way, opengl._fails)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def answering(monkeypatch: pytest.MonkeyPatch, works: list[str]) -> None:
    """Processes of their own in which only these ways work."""

    def run(command: Any, **options: Any) -> Any:
        way = options["env"]["MUJOCO_GL"]
        return subprocess.CompletedProcess(command, 0 if way in works else 1, "", f"ImportError: no lib of {way}\n")

    monkeypatch.setattr(subprocess, "run", run)


def test_a_way_that_is_chosen_is_taken(monkeypatch):
    answering(monkeypatch, [])
    assert opengl._way("osmesa") == "osmesa" and opengl._way("egl") == "egl"


def test_the_doctor_says_whether_it_works(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    answering(monkeypatch, ["osmesa"])
    assert drawing() == Check("drawing", True, "by osmesa, without a screen")
    opengl._fails.cache_clear()
    answering(monkeypatch, [])
    found = drawing()
    assert found.ok and found.text.startswith(
        "not possible, needed for pliant render: cannot draw by osmesa: ImportError"
    )
    assert "apt-get install libegl1" in found.text


@linux
@pytest.mark.parametrize(("works", "taken"), [(["egl", "osmesa"], "egl"), (["osmesa"], "osmesa")])
def test_the_first_way_that_works_is_taken(monkeypatch, works, taken):
    answering(monkeypatch, works)
    assert opengl._way("") == taken


@linux
def test_where_there_is_none_the_remedy_is_said(monkeypatch):
    answering(monkeypatch, [])
    with pytest.raises(PliantError, match=r"no lib of egl.*no lib of osmesa.*apt-get install libegl1.*libosmesa6"):
        opengl._way("")
