"""Every python block of the README and of docs/ runs, and prints what its comments say it prints."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^\s*print\(.*\)  # (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def run(page: Path) -> int:
    """Execute the blocks of a page in order, in one namespace; returns how many there were."""
    if not page.exists():
        pytest.skip(f"no {page.name} here: these are the tests of an installed package")
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    blocks = list(FENCE.finditer(text))
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 1
        source = "\n" * line + block[1]  # so that a traceback shows the line of the page
        out = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(out):
            warnings.simplefilter("error")
            exec(compile(source, str(page), "exec"), names)
        shown = [words(expected) for expected in SHOWN.findall(block[1])]
        assert [words(printed) for printed in out.getvalue().splitlines()] == shown, f"{page}:{line}"
    return len(blocks)


def words(line: str) -> str:
    """Without the padding that NumPy puts between numbers and brackets."""
    return re.sub(r"\s*([\[\]])\s*", r"\1", " ".join(line.split()))


def test_the_readme_examples():
    assert run(README) == 3


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page(page):
    run(page)


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
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
    """Headings as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_the_readme_has_its_two_commands():
    if not README.exists():
        pytest.skip("an installed package has no README")
    commands = re.findall(r"^ *python3? -m venv .*$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert [command.split("/")[-1] for command in commands] == ["pliant reproduce --quick", "pytest"]
