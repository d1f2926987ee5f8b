"""Whether a picture can be read in print."""

from typing import Any

PAGE = 7.2  # [in]


def smallest(figure: Any) -> float:
    """The size of the smallest letters of a picture [pt], printed no wider than a page."""
    from matplotlib.text import Text

    figure.draw_without_rendering()  # which makes the numbers of the axes
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    return float(min(sizes) * min(1.0, PAGE / figure.get_figwidth()))
