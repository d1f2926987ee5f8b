"""HTML of the pieces of a report; every text is escaped here."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from pliant.studies.page import Caption, Results, Table

MARKS = {"holds": "✓", "part": "◐", "fails": "✗"}  # told apart without colours


def tag(name: str, content: str, **attributes: str) -> str:
    """content: HTML. attributes: text; class_ stands for class."""
    given = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items() if value)
    return f"<{name}{given}>{content}</{name}>"


def paragraph(text: str, **attributes: str) -> str:
    return tag("p", escape(text), **attributes)


def grid(head: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "", class_: str = "") -> str:
    """A table; cells and caption are HTML."""
    top = tag("thead", tag("tr", "".join(tag("th", escape(cell), scope="col") for cell in head)))
    body = tag("tbody", "\n".join(tag("tr", "".join(tag("td", cell) for cell in row)) for row in rows))
    said = tag("caption", caption) if caption else ""
    # what is too wide for a narrow window is scrolled by itself
    return tag("div", tag("table", said + top + body, class_=class_), class_="wide")


def numbers(table: Table) -> str:
    """A table of results."""
    beside = f" {badge_beside(table.beside)}" if table.beside else ""
    rows = [[escape(cell) for cell in row] for row in table.rows]
    return grid(table.head, rows, caption=escape(table.title) + beside, class_="numbers")


def figure(name: str, svg: bytes, caption: Caption) -> str:
    source = "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
    beside = f"{badge_beside(caption.beside)} " if caption.beside else ""
    picture = f'<img src="{source}" alt="{escape(caption.words or name)}">'
    return tag("figure", picture + tag("figcaption", beside + escape(caption.words)), id=f"picture-{name}")


def badge_beside(what: str) -> str:
    return tag("span", f"paper: {escape(what)}", class_="beside")


def kind(claim: Results) -> str:
    """holds, fails, or part."""
    said = str(claim["holds"])
    return "holds" if said == "yes" else "fails" if said == "no" else "part"


def verdict(claim: Results) -> str:
    it = kind(claim)
    return tag("span", f"{MARKS[it]} {escape(str(claim['holds']))}", class_=f"verdict {it}")


def claims(found: Sequence[Results], says: str = "the paper says") -> str:
    """What the paper says, or who `says` it, what came out, whether it holds."""
    rows = []
    for claim in found:
        where = tag("span", escape(", ".join(filter(None, (claim["where"], claim.get("beside", ""))))), class_="where")
        why = tag("span", f"Why: {escape(claim['why'])}.", class_="why") if claim.get("why") else ""
        rows.append([escape(claim["paper"]) + where, verdict(claim), escape(claim["measured"]) + why])
    return grid([says, "holds", "measured here"], rows, class_="claims")
