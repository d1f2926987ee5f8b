"""The report of `pliant reproduce`: one page that needs nothing but itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from pliant.studies import STUDIES, markup
from pliant.studies.markup import grid, paragraph, tag
from pliant.studies.page import Caption, Page, Results
from pliant.studies.report_texts import ADDRESS, EQUATIONS, METHOD, PAPER, SHOWN, Shown

TITLE = "The paper's experiments, run by pliant"
WORDS = {"holds": "hold", "part": "in part", "fails": "do not"}


class Chapter(NamedTuple):
    """A study: what STUDY.json holds, what it says of itself, and its pictures as SVG."""

    document: Results
    page: Page
    pictures: dict[str, bytes]

    @property
    def name(self) -> str:
        return str(self.document["study"])

    @property
    def claims(self) -> list[Results]:
        """Of the paper."""
        return [claim for claim in self._said if not claim.get("ours")]

    @property
    def ours(self) -> list[Results]:
        """What the paper does not say."""
        return [claim for claim in self._said if claim.get("ours")]

    @property
    def _said(self) -> list[Results]:
        return list(self.document["results"].get("claims", []))


def report(chapters: Sequence[Chapter]) -> str:
    """The whole page."""
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += tag("title", escape(TITLE)) + tag("style", style)
    parts = [_opening(chapters), _contents(chapters), _beside(chapters)]
    parts += [_chapter(chapter) for chapter in chapters]
    parts.append(_closing(chapters))
    body = tag("main", "\n".join(parts))
    return f'<!DOCTYPE html>\n<html lang="en">\n{tag("head", head)}\n{tag("body", body)}\n</html>\n'


def _opening(chapters: Sequence[Chapter]) -> str:
    cited = tag("a", escape("arXiv:1905.10828"), href=ADDRESS)
    intro = f"{escape(PAPER)}, {cited}, 2019, claim by claim: what it says, and what came out when pliant ran it."
    quick = [chapter.name for chapter in chapters if chapter.document["quick"]]
    which = f" of {', '.join(quick)}" if len(quick) < len(chapters) else ""
    short = (
        f"Shortened runs (--quick){which}: each part says what is left out."
        if quick
        else "Whole runs, nothing left out."
    )
    total = sum(chapter.document["seconds"] for chapter in chapters)
    done = f"{short} {len(chapters)} of {len(STUDIES)} studies, {total:.0f} s on {_machine(chapters)}."
    equations = "".join(tag("div", escape(line)) for line in EQUATIONS)
    method = tag("h2", "The method") + paragraph(METHOD) + tag("div", equations, class_="equations")
    return tag("header", tag("h1", escape(TITLE)) + tag("p", intro) + paragraph(done, class_="note")) + method


def _contents(chapters: Sequence[Chapter]) -> str:
    rows = []
    for chapter in chapters:
        link = tag("a", escape(chapter.document["title"]), href=f"#{chapter.name}")
        when = f"{chapter.document['date']}{', shortened' if chapter.document['quick'] else ''}"
        rows.append([link, _tally(chapter.claims), escape(when), tag("code", escape(_command(chapter)))])
    return tag("h2", "What was run") + grid(["study", "claims", "run", "to run it alone"], rows)


def _command(chapter: Chapter) -> str:
    return f"pliant reproduce {chapter.name}{' --quick' if chapter.document['quick'] else ''}"


def _tally(claims: Sequence[Results]) -> str:
    counts = Counter(markup.kind(claim) for claim in claims)
    said = [tag("span", f"{markup.MARKS[it]} {counts[it]} {WORDS[it]}", class_=f"verdict {it}")
            for it in WORDS if counts[it]]  # fmt: skip
    return " ".join(said) or "none"


def _beside(chapters: Sequence[Chapter]) -> str:
    """Every figure and table of the paper, and where it is here."""
    here = {chapter.name: chapter for chapter in chapters}
    rows = [[escape(shown.name), escape(shown.what), *_found(shown, here.get(shown.study))] for shown in SHOWN]
    return tag("h2", "The paper's figures and tables") + grid(["paper", "shows", "here", "claims on it"], rows)


def _found(shown: Shown, chapter: Chapter | None) -> tuple[str, str]:
    if not shown.study:
        return "no result in it", ""
    if chapter is None:
        return f"not run: {tag('code', escape(f'pliant reproduce {shown.study}'))}", ""
    its = [claim for claim in chapter.claims if claim.get("beside") == shown.name]
    return tag("a", escape(shown.study), href=f"#picture-{shown.picture}"), _tally(its)


def _chapter(chapter: Chapter) -> str:
    document, page = chapter.document, chapter.page
    parts = [tag("h2", escape(document["title"])), paragraph(page.about)]
    if document["quick"] and page.left_out:
        parts.append(paragraph(f"Left out by --quick: {page.left_out}.", class_="note"))
    if chapter.claims:
        parts += [tag("h3", "Claims"), markup.claims(chapter.claims)]
    if chapter.ours:
        parts += [tag("h3", "Not in the paper"), markup.claims(chapter.ours, "we say")]
    for name, picture in chapter.pictures.items():
        parts.append(markup.figure(name, picture, page.captions.get(name, Caption("", name))))
    parts += [markup.numbers(table) for table in page.tables(document["results"])]
    alone = f"Run it alone: {tag('code', escape(_command(chapter)))}. "
    alone += f"It took {document['seconds']:.1f} s on {escape(str(document['date']))}; "
    alone += f"all numbers are in {tag('code', escape(chapter.name + '.json'))}."
    parts.append(tag("p", alone, class_="note"))
    return tag("section", "\n".join(parts), id=chapter.name)


def _machine(chapters: Sequence[Chapter]) -> str:
    return "; ".join(dict.fromkeys(chapter.document["machine"] for chapter in chapters))


def _closing(chapters: Sequence[Chapter]) -> str:
    """The machine, versions, and how to run each part."""
    versions: dict[str, str] = {}
    for chapter in chapters:
        versions |= chapter.document["versions"]
    known = grid(["package", "version"], [[escape(name), escape(str(it))] for name, it in sorted(versions.items())])
    commands = [[tag("code", escape(f"pliant reproduce {name}")), "not in this report" if name not in
                 {chapter.name for chapter in chapters} else "above"] for name in STUDIES]  # fmt: skip
    alone = paragraph("Each study runs by itself; --quick shortens it, --out DIR says where its files go.")
    dates = ", ".join(dict.fromkeys(str(chapter.document["date"])[:10] for chapter in chapters))
    return (
        tag("h2", "How to run each part") + alone + grid(["command", "here"], commands)
        + tag("h2", "Machine and versions") + paragraph(f"{_machine(chapters)}; {dates}.") + known
    )  # fmt: skip
