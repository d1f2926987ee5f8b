"""How the engine was built: what it says of itself, and an installation without it."""

import shutil
import subprocess
import sys
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import mujoco
import pytest

import pliant
from pliant import _engine
from pliant.systems.mujoco_door import WANTED

PYPROJECT = Path(pliant.__file__).parents[2] / "pyproject.toml"


def test_it_says_how_it_was_built():
    info = _engine.build_info()
    assert set(info) == {"compiler", "build_type", "instruction_set", "mujoco", "sanitizers"}
    assert info["compiler"].split()[0] in ("GNU", "Clang", "AppleClang", "MSVC")
    assert info["build_type"] in ("Release", "Debug", "RelWithDebInfo", "MinSizeRel")
    assert [part.isdecimal() for part in info["mujoco"].split(".")] == [True] * 3


def test_it_was_built_with_the_mujoco_that_runs():
    built, here = (version.split(".")[:2] for version in (_engine.build_info()["mujoco"], mujoco.__version__))
    assert built == here


@pytest.mark.skipif(sys.platform == "win32", reason="no sanitizers there")
@pytest.mark.parametrize("called", [b"__asan_report", b"__ubsan_handle"])
def test_sanitizers_are_in_it_if_it_says_so(called):
    """A build that lost its flags would find nothing wrong."""
    assert (called in Path(_engine.__file__).read_bytes()) == bool(_engine.build_info()["sanitizers"])


@pytest.mark.skipif(not PYPROJECT.exists(), reason="an installed wheel")
def test_one_range_of_mujoco():
    project = tomllib.loads(PYPROJECT.read_text())
    assert WANTED in project["project"]["dependencies"] and WANTED in project["build-system"]["requires"]


def python(folder: Path) -> subprocess.CompletedProcess[str]:
    """`import pliant` from the folder. -S: no editable installation steps in."""
    return subprocess.run(
        [sys.executable, "-S", "-c", "import pliant"], cwd=folder, capture_output=True, text=True, env={}
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """pliant without its engine."""
    engines = [f"_engine*{suffix}" for suffix in EXTENSION_SUFFIXES]
    shutil.copytree(Path(pliant.__file__).parent, tmp_path / "pliant", ignore=shutil.ignore_patterns(*engines))
    return tmp_path


def test_a_source_tree_that_is_not_built_names_the_remedy(copy):
    done = python(copy)
    *_, said = done.stderr.splitlines()
    assert done.returncode == 1
    assert said.startswith("ImportError: pliant._engine, the compiled part of pliant, is not built for this Python")
    assert "in a clone, run `pip install .`" in said


def test_an_engine_that_does_not_load_says_why_itself(copy):
    (copy / "pliant" / f"_engine{EXTENSION_SUFFIXES[0]}").write_bytes(b"not a library")
    done = python(copy)
    assert done.returncode == 1 and "ImportError" in done.stderr and "is not built" not in done.stderr
