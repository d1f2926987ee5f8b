"""`pliant doctor`: what it says of an installation that is well, and of parts that are not."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import pytest

import pliant
from pliant import _engine, doctor
from pliant.checkup import Check, guarded
from pliant.cli import main
from pliant.systems import mujoco_doctor, mujoco_door, mujoco_stats, mujoco_stepper

BUILT = _engine.build_info()
NAMES = ["python", "pliant", "engine", *doctor.REQUIRED, *doctor.OPTIONAL, "threads", *doctor.AT_WORK]


@pytest.fixture
def _fresh() -> Iterator[None]:
    """What is found once in a process is found again, in this test and after it."""
    known: list[Any] = [mujoco_door.mujoco, mujoco_stepper.open_library]
    for found in known:
        found.cache_clear()
    yield
    for found in known:
        found.cache_clear()


def examined(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Check]]:
    """Exit status and checks of `pliant doctor --json`."""
    status = main(["doctor", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] == (status == 0)
    return status, {check["name"]: Check(**check) for check in said["checks"]}


def wrong(checks: dict[str, Check]) -> list[str]:
    return [check.name for check in checks.values() if not check.ok]


def test_a_good_installation_is_well(capsys):
    assert main(["doctor"]) == 0
    *lines, blank, end = capsys.readouterr().out.splitlines()
    assert (blank, end) == ("", "all well")
    assert [line[:15].strip() for line in lines] == NAMES and all(line[15:17].strip() for line in lines)
    for line in lines[-2:]:
        assert re.search(r"residual \d\.\de[+-]\d+, \d+\.\d ms at first, then \d+ us$", line)


def test_json_says_the_same(capsys):
    status, checks = examined(capsys)
    assert status == 0 and list(checks) == NAMES and not wrong(checks)
    assert not any(check.remedy for check in checks.values())
    built = _engine.build_info()
    assert checks["mujoco"].text == f"{mujoco.__version__}, built with {built['mujoco']}"
    for part in ("compiler", "build_type", "instruction_set"):
        assert built[part] and built[part] in checks["engine"].text
    assert re.match(r"(lib)?mujoco\S*, its functions found$", checks["library"].text)


@pytest.mark.usefixtures("_fresh")
def test_a_library_that_is_not_there(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(mujoco, "__file__", str(tmp_path / "__init__.py"))
    status, checks = examined(capsys)
    assert status == 1 and wrong(checks) == ["library", "step"]
    assert f"MuJoCo's library is not in {tmp_path}" in checks["library"].text
    assert checks["library"].remedy == 'pip install --force-reinstall "mujoco~=4.0"'


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("what", ["no library", "another library"])
def test_a_library_that_is_none_of_mujocos(what, monkeypatch, capsys, tmp_path):
    """A file of its name, or a library that is loaded and has other functions."""
    (tmp_path / "libmujoco.so").write_text("")
    other = {"no library": str(tmp_path / "libmujoco.so"), "another library": _engine.__file__}[what]
    monkeypatch.setattr(mujoco_stepper, "library", lambda: Path(other))
    status, checks = examined(capsys)
    assert status == 1 and wrong(checks) == ["library", "step"]
    assert "MuJoCo's library" in checks["library"].text


def test_an_answer_that_is_wrong(monkeypatch, capsys):
    monkeypatch.setattr(mujoco_stats.Stats, "statuses", {pliant.Status.ITERATION_LIMIT: 1})
    status, checks = examined(capsys)
    assert status == 1 and wrong(checks) == ["step"] and "run the tests" in checks["step"].remedy


MUJOCO = ["mujoco", "library", "step"]


@pytest.mark.usefixtures("_fresh")
def test_without_mujoco(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    status, checks = examined(capsys)
    assert status == 1 and wrong(checks) == MUJOCO
    assert "cannot be imported" in checks["mujoco"].text and checks["mujoco"].remedy == "pip install mujoco"
    assert checks["step"].text == "not looked at: it needs MuJoCo" and not checks["step"].remedy


@pytest.mark.usefixtures("_fresh")
def test_a_mujoco_that_is_not_known(monkeypatch, capsys):
    monkeypatch.setattr(mujoco, "__version__", "9.1.0")
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "mujoco        ! MuJoCo 9.1.0 is not known" in said
    assert said.endswith('what is wrong:\n1. mujoco: pip install "mujoco~=4.0"\n')


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("here", ["4.7.0", "4.7.0rc1"])
def test_a_mujoco_of_another_minor_version_than_that_of_the_build(here, monkeypatch, capsys):
    monkeypatch.setattr(mujoco, "__version__", here)
    monkeypatch.setattr(_engine, "build_info", lambda: {**BUILT, "mujoco": "4.1.3"})
    status, checks = examined(capsys)
    assert status == 1 and wrong(checks) == MUJOCO
    assert checks["mujoco"].text == f"{here}, built with 4.1.3"
    assert checks["mujoco"].remedy.startswith('pip install "mujoco==4.1.*", or build pliant anew')


@pytest.mark.usefixtures("_fresh")
def test_a_mujoco_of_another_patch_than_that_of_the_build(monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", "4.1.0")
    monkeypatch.setattr(_engine, "build_info", lambda: {**BUILT, "mujoco": "4.1.3"})
    assert mujoco_doctor.version() == Check("mujoco", True, "4.1.0, built with 4.1.3")


def test_an_engine_with_sanitizers_says_so(monkeypatch):
    info = {"compiler": "Clang 19", "build_type": "Debug", "instruction_set": "arm64", "sanitizers": "address"}
    monkeypatch.setattr(_engine, "build_info", lambda: info)
    assert doctor.engine() == Check("engine", True, "Clang 19, Debug, arm64, sanitizers address")


def test_a_package_that_does_not_load(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "yaml", None)
    status, checks = examined(capsys)
    assert status == 1 and wrong(checks) == ["yaml"]
    assert checks["yaml"].remedy == "pip install --force-reinstall pyyaml"


@pytest.mark.parametrize("name", doctor.CORE)
def test_without_one_of_the_packages_that_everything_needs(name):
    code = f"import sys; sys.modules['{name}'] = None; from pliant.cli import main; sys.exit(main(['doctor']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and not done.stderr
    assert f"mujoco        ! not looked at: it needs {name}" in done.stdout
    assert f". {name}: pip install --force-reinstall {name}\n" in done.stdout


def test_whatever_a_check_raises_is_a_finding():
    def look() -> Check:
        raise RuntimeError("no disk")

    assert guarded("disk", look, "buy one") == Check("disk", False, "RuntimeError: no disk", "buy one")


def test_an_optional_package_may_be_missing(monkeypatch):
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    says = 'not installed, needed for pliant view: pip install "pliant[viewer]"'
    assert doctor.optional("viser") == Check("viser", True, says)


def test_settings_of_threads_are_named(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert "cores for this process" in doctor.threads().text and "OMP_NUM_THREADS=3" in doctor.threads().text
