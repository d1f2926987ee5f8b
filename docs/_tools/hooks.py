"""What MkDocs is told besides `mkdocs.yml`: formulas become MathML, files beside docs/ become pages, and nothing that a
page shows is fetched from elsewhere."""

from __future__ import annotations

import logging
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))  # MkDocs loads this file alone
from commands import reference
from formulas import Formulas

_log = logging.getLogger("mkdocs.hooks.pliant")  # its warnings are errors of a strict build

ROOT = Path(__file__).parents[2]
COMMANDS = "<!-- here the site has every command with its options -->"
LINK = re.compile(r"(?<=\]\()[^)#\s]+(?=[)#])")
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)[^>]+src=\"?https?:|<link[^>]+rel=\"?(?:stylesheet|preconnect)[^>]+//"
)


_formulas = Formulas()


def on_config(config: Any) -> Any:
    """Every script of examples/ is a page of its own: `examples` in `nav` stands for their list."""
    pages = [page for page in _made().values() if page.startswith("examples/")]
    for part in (part for section in config.nav for part in section.get("Start", ())):
        if "Examples" in part:
            part["Examples"] = [{Path(page).stem.replace("_", " ").capitalize(): page} for page in pages]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the changelog, how to contribute, the licence and the examples, as pages of their own."""
    for path, page in _made().items():
        files.append(File.generated(config, page, content=_as_page(path, page)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that leave docs/ lead to the pages made here; the command line describes itself."""
    here: str = page.file.src_uri
    text = markdown if here in _made().values() else _relinked(markdown, f"docs/{here}", here)
    return text.replace(COMMANDS, reference()) if COMMANDS in text else text


def on_page_content(content: str, **_: Any) -> str:
    """Every formula, once the Markdown is HTML."""
    return _formulas.drawn(content)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """A site that works without a network is looked at while it is made."""
    for found in FETCHED.findall(output):
        _log.warning("%s fetches something from elsewhere: %s", page.file.src_uri, found)
    return output


def on_post_build(config: Any) -> None:
    """The font, once all formulas are known."""
    _formulas.save_font(Path(config.site_dir) / "assets" / "formulas.woff")


def _made() -> dict[str, str]:
    """Files of the repository that docs/ links to, and the page each becomes."""
    examples = {f"examples/{file.name}": f"examples/{file.stem}.md" for file in sorted(ROOT.glob("examples/*.py"))}
    listing = {"src/pliant/reference.py": "reference/listing.md"}
    return {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"} | listing | examples


def _as_page(path: str, page: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    return f"# {path}\n\n```python\n{text}```\n" if path.endswith(".py") else _relinked(text, path, page)


def _relinked(markdown: str, source: str, page: str) -> str:
    """With links, relative to `source` in the repository, that lead from `page` to where the site has their target."""
    made = _made() | {"README.md": "index.md"}
    here, place = posixpath.dirname(source), posixpath.dirname(page) or "."

    def lead(match: re.Match[str]) -> str:
        aim = posixpath.normpath(posixpath.join(here, match[0]))
        if aim in made:
            return posixpath.relpath(made[aim], place)
        return posixpath.relpath(aim.removeprefix("docs/"), place) if not here and aim.startswith("docs/") else match[0]

    return LINK.sub(lead, markdown)
