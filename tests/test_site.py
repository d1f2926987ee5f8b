"""What the site says exists: names, commands, options; and what its machinery makes of docstrings and formulas."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from functools import reduce
from pathlib import Path
from types import ModuleType

import pytest

import pliant

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TEXTS = {str(page.relative_to(ROOT)): page for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]}
DOTTED = re.compile(r"\bpliant(?:\.[A-Za-z_]\w*)+")
MEMBER = re.compile(r"`(?:pliant\.)?([A-Z]\w+)\.([a-z_]\w*)")
COMMAND = re.compile(r"(?:^ {4}|`)(?:\.venv/bin/|\$ )?pliant ([a-z]+)([^`\n#]*)", re.MULTILINE)

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="an installed package has no pages")


@pytest.fixture(params=list(TEXTS))
def text(request) -> str:
    return TEXTS[request.param].read_text(encoding="utf-8")


def tool(name: str) -> ModuleType:
    """A module of docs/_tools."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_tools" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_exist(text):
    for dotted in set(DOTTED.findall(text)):
        assert resolved(dotted) is not None, dotted


def resolved(dotted: str) -> object:
    """What a dotted name means, in modules that may have to be imported first."""
    parts = dotted.split(".")
    for known in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:known]))
            return reduce(getattr, parts[known:], module)
        except (ImportError, AttributeError):
            continue
    return None


def test_members_exist(text):
    for owner, member in set(MEMBER.findall(text)):
        if owner in pliant.__all__:
            kind = getattr(pliant, owner)
            fields = {name for base in kind.__mro__ for name in getattr(base, "__annotations__", {})}
            made = {"problem", "solution"} if owner == "SolveError" else {"ended", "parameters"}
            assert hasattr(kind, member) or member in fields | made, f"{owner}.{member}"


def test_commands_and_options_exist(text):
    known = tool("commands").commands()
    for command, rest in COMMAND.findall(text):
        assert command in known, f"pliant {command}"
        assert set(re.findall(r"--[a-z-]+", rest)) <= options(known[command]) | {"--help"}, f"pliant {command}{rest}"


def options(command: ArgumentParser) -> set[str]:
    return {flag for action in command._actions for flag in action.option_strings}


def _public(name: str) -> str:
    """The name at the door of what is shown by the module where it lives."""
    home, _, last = name.rpartition(".")
    return last if home and pliant._HOME.get(last) == home else name


def test_the_reference_has_every_public_name_once():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    shown = re.findall(r"^::: pliant\.([\w.]+)$", pages, re.MULTILINE)
    names = [_public(name) for name in shown]
    assert sorted(name for name in names if "." not in name) == sorted(set(pliant.__all__) - {"__version__"})


def test_every_command_is_listed_and_described():
    made, page = tool("commands"), (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    text = made.reference()
    for name, command in made.commands().items():
        assert f"`pliant {name}" in page and f"## pliant {name}" in text
        assert all(f"`{flag}" in text for flag in options(command) - {"-h", "--help"})


def test_docstrings_become_lists():
    pytest.importorskip("griffe", reason="needs the extra docs")
    made = tool("docstrings")
    assert made.listed("mass   M\n       of it\nforce  f") == "- `mass`: M\n  of it\n- `force`: f"
    assert made.listed("no list: only text") == "no list: only text"
    told = made.itemised("solver: which. step: h [s]. Returns v1.", {"solver", "step"})
    assert told == "- `solver`: which\n- `step`: h [s]\n\nReturns v1."
    assert made.itemised("The step is short. It is solved.", {"step"}) == "The step is short. It is solved."


def test_formulas_become_mathml(tmp_path):
    pytest.importorskip("latex2mathml", reason="needs the extra docs")
    made = tool("formulas").Formulas()
    page = made.drawn(r'<p><span class="arithmatex">\(\lambda &lt; \varphi_1\)</span></p>')
    assert page.startswith("<p><math") and "arithmatex" not in page and "&#x0003C;" in page
    made.save_font(tmp_path / "assets" / "formulas.woff")
    assert 10_000 < (tmp_path / "assets" / "formulas.woff").stat().st_size < 200_000


def test_links_and_what_is_fetched():
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    made = tool("hooks")
    text = "[a](../CHANGELOG.md#x) [b](../examples/foundation_pressure.py) [c](mujoco.md) `f[0](x)`"
    there = "[a](changelog.md#x) [b](examples/foundation_pressure.md) [c](mujoco.md) `f[0](x)`"
    assert made._relinked(text, "docs/start.md", "start.md") == there
    assert made._relinked("[a](docs/start.md)", "CHANGELOG.md", "changelog.md") == "[a](start.md)"
    assert made.FETCHED.search('<img alt="x" src="https://elsewhere/x.png">')
    assert made.FETCHED.search('<link rel="stylesheet" href="https://elsewhere/x.css">')
    assert not made.FETCHED.search('<a href="https://elsewhere">x</a> <link rel="stylesheet" href="../x.css">')


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    # not --quiet: it hides the warnings from --strict, too
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    assert "<math" in (tmp_path / "derivations.html").read_text(encoding="utf-8")
    assert 'id="pliant.solve"' in (tmp_path / "reference" / "solving.html").read_text(encoding="utf-8")
