"""A line of text in the corner of a frame: the time, and the scale of arrows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from pliant.rendering.canvas import Image
from pliant.rendering.sinks import pillow


def written(image: Image, lines: list[str]) -> Image:
    """The image with lines in its lower left corner."""
    picture = pillow().fromarray(image)
    from PIL import ImageDraw

    height = image.shape[0]
    size = max(12, round(0.03 * height))
    draw = ImageDraw.Draw(picture, "RGBA")
    text, edge = "\n".join(line for line in lines if line), round(0.6 * size)
    left, top, right, bottom = draw.multiline_textbbox((0, 0), text, font=_font(size))
    corner = (edge, height - edge - (bottom - top))
    back = (corner[0] - edge / 2, corner[1] - edge / 2, corner[0] + right - left + edge / 2, height - edge / 2)
    draw.rectangle(back, fill=(255, 255, 255, 170))
    draw.multiline_text((corner[0] - left, corner[1] - top), text, font=_font(size), fill=(30, 30, 30, 255))
    return np.asarray(picture)


@cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)
