"""Every python block of the README and of docs/ runs, and prints what its comments say it prints."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

from pliant.materials_file import read_materials

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
QUICK = ("start.md", "tutorials/system.md", "tutorials/mujoco.md", "tutorials/forces.md")  # the others are slow tests
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^\s*print\(.*\)  # (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT / "docs" if page != README else ROOT))


def run(page: Path) -> int:
    """Execute the blocks of a page in order, in one namespace; returns how many there were."""
    if not page.exists():
        pytest.skip(f"no {page.name} here: these are the tests of an installed package")
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    blocks = [block for block in FENCE.finditer(text) if block[1] == "python"]
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 1
        source = "\n" * line + block[2]  # so that a traceback shows the line of the page
        out = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(out):
            warnings.simplefilter("error")
            exec(compile(source, str(page), "exec"), names)
        shown = [words(expected) for expected in SHOWN.findall(block[2])]
        assert [words(printed) for printed in out.getvalue().splitlines()] == shown, f"{page}:{line}"
    return len(blocks)


def words(line: str) -> str:
    """Without the padding that NumPy puts between numbers and brackets."""
    return re.sub(r"\s*([\[\]])\s*", r"\1", " ".join(line.split()))


def test_the_readme_examples():
    assert run(README) == 3


@pytest.mark.parametrize("name", QUICK)
def test_the_pages_to_begin_with(name):
    assert run(ROOT / "docs" / name) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if name_of(page) not in QUICK], ids=name_of)
def test_the_examples_of_a_page(page):
    run(page)


@pytest.mark.parametrize("page", [README, *PAGES], ids=name_of)
def test_blocks_are_of_kinds_that_are_run(page, tmp_path):
    """python, YAML of materials, or text; a language that nothing runs would be a way around the tests."""
    if not page.exists():
        pytest.skip("an installed package has no pages")
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        assert language in ("python", "yaml", "text"), f"{page.name}: {language!r}"
        assert max(map(len, block.splitlines()), default=0) <= 120, f"{page.name}: a line of more than 120 characters"
        if language == "yaml":
            (tmp_path / "materials.yaml").write_text(block, encoding="utf-8")
            assert read_materials(tmp_path / "materials.yaml")


@pytest.mark.parametrize("page", [README, *PAGES], ids=name_of)
def test_links_lead_somewhere(page):
    if not page.exists():
        pytest.skip("an installed package has no pages")
    text = page.read_text(encoding="utf-8")
    for target in LINK.findall(text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(file), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    """Headings as GitHub names them, and as the site does: `mkdocs.yml`."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_the_readme_has_its_two_commands():
    if not README.exists():
        pytest.skip("an installed package has no README")
    commands = re.findall(r"^ *python3? -m venv .*$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert [command.split("/")[-1] for command in commands] == ["pliant reproduce --quick", "pytest"]
