"""Formulas as MathML, which browsers draw themselves, and the font that they need for it.

No script runs in the reader's browser and nothing is fetched: latex2mathml translates while the site is built. MathML
looks well only with an OpenType font for mathematics, which many machines lack. STIX Two Math (SIL Open Font Licence)
comes with ziamath; the characters that formulas use are cut out of it.
"""

from __future__ import annotations

import html
import re
from importlib.util import find_spec
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
FONT = Path(str(find_spec("ziamath").origin)).parent / "fonts" / "STIXTwoMath-Regular.ttf"  # type: ignore[union-attr]
LATIN, GREEK = range(0x1D434, 0x1D468), range(0x1D6FC, 0x1D716)  # italics that browsers put for single letters
# Bars belong to what they enclose, primes are marks, and what is put above a letter is an accent.
MENDED = {
    "<mover>": '<mover accent="true">',
    '<mo stretchy="false">&#x0007C;</mo>': '<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>',
    "<mi>&#x02032;</mi>": "<mo>&#x02032;</mo>",
}


class Formulas:
    """Those of a site, and the characters in them."""

    def __init__(self) -> None:
        self.characters: set[int] = {ord("h"), 0x210E, ord("√"), *LATIN, *GREEK}

    def drawn(self, page: str) -> str:
        """The HTML of a page with MathML in place of TeX."""
        return FORMULA.sub(self._mathml, page)

    def _mathml(self, match: re.Match[str]) -> str:
        block = match[2] == "["
        formula = convert(html.unescape(match[3]), display="block" if block else "inline")
        for found, put in MENDED.items():
            formula = formula.replace(found, put)
        self.characters.update(map(ord, html.unescape(re.sub(r"<[^>]*>", "", formula))))
        return f'<span class="formula">{formula}</span>' if block else formula

    def save_font(self, path: Path) -> None:
        """The part of the font that the formulas need, with the shapes of brackets and roots that grow."""
        font = TTFont(FONT)
        keep = subset.Options(flavor="woff", layout_features=["*"], notdef_outline=True)
        cutter = subset.Subsetter(keep)
        cutter.populate(unicodes=self.characters)
        cutter.subset(font)
        path.parent.mkdir(parents=True, exist_ok=True)
        font.flavor = "woff"
        font.save(path)
