"""The command `pliant render`."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from pliant.errors import PliantError

STOPPED: Final = 130  # what shells give a command that Ctrl-C ended


def add_render(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    render = commands.add_parser(
        "render",
        help="draw a run into a film or a picture, without a screen",
        description="Draw a run of `pliant run` or pliant.simulate into a film (.mp4, .gif), or one of its samples "
        'into a picture (.png). Needs no screen; needs pip install "pliant[render]". Ctrl-C leaves no half file.',
    )
    render.add_argument("run", metavar="RUN", help="the file of a run")
    render.add_argument("--out", required=True, metavar="FILE", help="the file to write: .mp4, .gif or .png")
    render.add_argument("--time", type=float, metavar="S", help="of the picture (default: the last sample)")
    render.add_argument("--fps", type=float, default=30.0, metavar="N", help="frames per second (default: 30)")
    render.add_argument("--speed", type=float, default=1.0, metavar="X", help="0.1 for slow motion (default: 1)")
    render.add_argument("--size", type=_size, default=(1280, 720), metavar="WxH", help="pixels (default: 1280x720)")
    render.add_argument(
        "--camera", type=_camera, metavar="C",
        help="a camera of the model by name, or azimuth,elevation in degrees, or these and a distance in metres "
        "(default: what moves is in the picture)",
    )  # fmt: skip
    render.add_argument("--contacts", action="store_true", help="a dot where bodies touch")
    render.add_argument("--forces", action="store_true", help="arrows of contact forces; their scale is written")
    render.add_argument("--scale", type=float, metavar="N/m", help="newtons per metre of an arrow (default: chosen)")
    render.add_argument("--no-caption", action="store_true", help="without time and scale in the corner")
    render.add_argument("--model", metavar="FILE", help="the MJCF or URDF, for a run that does not hold it")
    render.add_argument("--force", action="store_true", help="overwrite FILE")


def run_render(given: argparse.Namespace) -> int:
    """Draw; the exit status."""
    try:
        from pliant.rendering import render

        path = render(
            given.run, given.out, model=given.model, time=given.time, fps=given.fps, speed=given.speed, size=given.size,
            camera=given.camera, contacts=given.contacts, forces=given.forces, scale=given.scale,
            caption=not given.no_caption, overwrite=given.force, progress=sys.stderr.isatty(),
        )  # fmt: skip
    except (PliantError, OSError, ImportError) as error:
        print(f"pliant render: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("pliant render: stopped; nothing is written", file=sys.stderr)
        return STOPPED
    print(path)
    return 0


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected WIDTHxHEIGHT, such as 1280x720, got {text!r}")
    return int(width), int(height)


def _camera(text: str) -> str | tuple[float, ...]:
    """Numbers with commas are angles; anything else is a name."""
    try:
        return tuple(float(part) for part in text.split(",")) if "," in text else text
    except ValueError:
        return text
