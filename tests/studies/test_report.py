"""The report of `pliant reproduce`: one page, whole, valid, and with everything in it."""

from __future__ import annotations

import base64
import html
import importlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from pliant.cli import main
from pliant.plot.style import empty_figure
from pliant.studies import STUDIES, limit, markup, report_texts, spring, study
from pliant.studies.measure import claim
from pliant.studies.page import Caption, Page, Table
from pliant.studies.report import Chapter, report

VOID = {"meta", "img"}


class Parsed(HTMLParser):
    """Tags as they open and close, texts, and what is linked."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), "an attribute twice"
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [str(given["id"])] if "id" in given else []
        self.links += [str(given["href"])] if "href" in given else []
        self.sources += [str(given["src"])] if "src" in given else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def chapter(name: str = "spring", **changes: Any) -> Chapter:
    claims = [
        claim("section 2", "we mean", "so it is", "yes", beside="Figure 1", ours=True),
        claim("section <3>", "a & b", "1 < 2", "yes", beside="Figure 1"),
        claim("section 4", 'it is "so"', "no", "no", why="of <script>alert(1)</script>"),
        claim("section 5", "perhaps", "some", "in part: half"),
    ]
    document = {
        "study": name, "title": "Springs <b>", "quick": False, "seconds": 1.0, "machine": "M & N", "date": "today",
        "versions": {"python": "3"}, "results": {"claims": claims}, **changes,
    }  # fmt: skip
    table = Table("Numbers", ["one", "two <"], [["1", "<i>"]], "Table 1")
    page = Page("About.", "the rest", {"spring": Caption("Figure 1", 'A "picture" & more')}, lambda results: [table])
    return Chapter(document, page, {"spring": b"<svg/>"})


def assert_self_contained(page: Parsed, text: str) -> None:
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.sources)
    assert {link for link in page.links if not link.startswith("#")} == {report_texts.ADDRESS}
    assert all(link[1:] in page.ids for link in page.links if link.startswith("#"))
    assert len(set(page.ids)) == len(page.ids)
    assert not page.tags & {"script", "link", "iframe", "object"}
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style and "url(" not in style[1] and "@import" not in style[1]


def test_the_page_is_whole_and_texts_are_escaped():
    text = report([chapter()])
    page = Parsed(text)
    assert text.startswith("<!DOCTYPE html>")
    assert_self_contained(page, text)
    assert "<script>" not in text and "of <script>alert(1)</script>" in page.text
    for words in ("Springs <b>", "a & b", "1 < 2", 'it is "so"', "two <", "<i>", "M & N", 'A "picture" & more'):
        assert words in page.text
    assert base64.b64decode(page.sources[0].partition(",")[2]) == b"<svg/>"


def test_verdicts_are_counted_and_can_be_told_apart_without_colours():
    page = Parsed(report([chapter()]))
    assert "✓ 1 hold ◐ 1 in part ✗ 1 do not" in page.text
    assert [markup.kind({"holds": said}) for said in ("yes", "no", "in part", "not run")] == [
        "holds", "fails", "part", "part",
    ]  # fmt: skip


def test_what_the_paper_does_not_say_stands_apart():
    page = Parsed(report([chapter()])).text
    assert (
        page.index("the paper says")
        < page.index("perhaps")
        < page.index("Not in the paper we say")
        < page.index("we mean")
    )


@pytest.mark.parametrize("quick", [False, True])
def test_what_quick_leaves_out_is_said(quick):
    text = Parsed(report([chapter(quick=quick)])).text
    assert ("Left out by --quick: the rest." in text) == quick
    assert ("pliant reproduce spring --quick" in text) == quick


def test_studies_that_were_not_run_are_named():
    text = Parsed(report([chapter()])).text
    assert "not run: pliant reproduce stack" in text and "1 of 7 studies" in text


def test_every_figure_and_table_of_the_paper_has_its_place():
    names = [shown.name for shown in report_texts.SHOWN]
    assert sorted(names) == sorted([f"Figure {k}" for k in range(1, 11)] + ["Table 1", "Table 2"])
    pages = {name: importlib.import_module(f"pliant.studies.{name}").STUDY.page for name in STUDIES}
    for shown in report_texts.SHOWN:
        if shown.study:
            kind, number = shown.name.split()
            beside = pages[shown.study].captions[shown.picture].beside
            assert kind in beside and number in re.findall(r"\d+", beside)
    assert all(page.about and page.left_out for page in pages.values())


@pytest.mark.usefixtures("short")
def test_a_study_in_its_report(tmp_path, capsys):
    assert main(["reproduce", "spring", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Parsed(text)
    assert_self_contained(page, text)
    results = json.loads((tmp_path / "spring.json").read_text())["results"]
    assert len(results["claims"]) == len(spring.CASES) + 1
    for found in results["claims"]:
        assert all(" ".join(found[part].split()) in page.text for part in ("paper", "measured", "why"))
    assert "picture-spring" in page.ids and len(page.sources) == 1
    out = capsys.readouterr().out
    paper, ours = out.index("spring: claims of the paper, by its own scheme:"), out.index("spring: not in the paper:")
    assert paper < out.index("  explicit Euler") < ours < out.index("  the step of pliant")
    assert b"<svg" in base64.b64decode(page.sources[0].partition(",")[2])
    assert html.escape("pliant reproduce spring") in text


@pytest.fixture
def short(monkeypatch):
    cases = [(scheme, h, k, b, min(count, 50), paper) for scheme, h, k, b, count, paper in spring.CASES]
    monkeypatch.setattr(spring, "CASES", tuple(cases))


@pytest.mark.usefixtures("short")
def test_ctrl_c_while_the_report_is_written_leaves_none(tmp_path, monkeypatch, capsys):
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "report", stop)
    assert main(["reproduce", "spring", "--out", str(tmp_path)]) == 130
    monkeypatch.undo()
    assert {path.name for path in tmp_path.iterdir()} == {"spring.json", "spring.png"}
    assert "stopped; finished: spring" in capsys.readouterr().err


def test_ctrl_c_in_the_midst_of_a_file_leaves_no_part_of_it(tmp_path, monkeypatch):
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        study.write_whole(tmp_path / "report.html", b"half")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("short")
def test_studies_of_before_stay_in_the_report(tmp_path, capsys, monkeypatch):
    brief = study.Study("Limits", lambda quick, progress: {"claims": []}, lambda results: {"limit": empty_figure(2, 2)})
    monkeypatch.setattr(limit, "STUDY", brief)
    assert main(["reproduce", "limit", "--quick", "--out", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "limit.json").read_text()) | {"date": "2001-02-03 04:05"}
    (tmp_path / "limit.json").write_text(json.dumps(document))
    assert main(["reproduce", "spring", "--out", str(tmp_path)]) == 0
    page = Parsed((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert {"spring", "limit", "picture-limit", "picture-spring"} <= set(page.ids)
    assert "Shortened runs (--quick) of limit:" in page.text and "2001-02-03 04:05, shortened" in page.text
    (tmp_path / "limit.json").write_text("{}")
    before = (tmp_path / "report.html").read_bytes()
    assert main(["reproduce", "spring", "--out", str(tmp_path)]) == 1
    assert "limit.json cannot be put into the report" in capsys.readouterr().err
    assert (tmp_path / "report.html").read_bytes() == before


def test_a_page_that_is_not_ours_is_kept(tmp_path, capsys):
    (tmp_path / "report.html").write_text("<p>mine</p>")
    assert main(["reproduce", "spring", "--out", str(tmp_path)]) == 1
    assert "is not a report of pliant reproduce" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.slow
def test_the_whole_report(tmp_path):
    assert main(["reproduce", "--quick", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Parsed(text)
    assert_self_contained(page, text)
    pictures = {path.stem for path in tmp_path.glob("*.png")}
    assert {f"picture-{name}" for name in pictures} <= set(page.ids) and len(page.sources) == len(pictures)
    for name in STUDIES:
        document = json.loads((tmp_path / f"{name}.json").read_text())
        assert document["title"] in page.text
        for found in document["results"]["claims"]:
            assert " ".join(found["paper"].split()) in page.text and " ".join(found["measured"].split()) in page.text
