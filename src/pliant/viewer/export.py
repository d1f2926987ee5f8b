"""A run as one page that plays by itself: no server, no network."""

from __future__ import annotations

import html
import logging
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from pliant._version import __version__
from pliant.errors import InputError
from pliant.inputs import Ints
from pliant.trajectory import Trajectory
from pliant.viewer.door import is_run, open_source
from pliant.viewer.overlays import KINDS, Overlays, check_kinds
from pliant.viewer.playback import Playback
from pliant.viewer.scene import Scene
from pliant.viewer.server import OPAQUE, close_server, open_server
from pliant.writing import telling

_log = logging.getLogger("pliant")
OF_CONTACTS: Final = {"contacts", "forces", "cones", "pressure"}
FRAMES: Final = 30.0  # in a second
MANY: Final = 3000  # frames, beyond which there are fewer in a second
BOX: Final = (
    "position:fixed;left:12px;bottom:56px;max-width:24em;padding:8px 12px;border-radius:4px;font:13px/1.4 sans-serif;"
    "background:rgba(255,255,255,0.85);color:#222;z-index:10"
)
FOLD: Final = "<script>if(innerWidth<900)document.getElementById('pliant-legend').removeAttribute('open')</script>"


def export_html(
    run: Any,
    path: str | os.PathLike[str],
    *,
    model: Any = None,
    system: Any = None,
    show: Iterable[str] = ("contacts", "forces"),
    see_through: bool = True,
    fps: float | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a run to one HTML file that plays in any browser, offline (needs the extra `viewer`).

    run: a Trajectory, or the path of one. model, system: as of `pliant.view`. show: what is drawn over the bodies to
    begin with, as of `pliant.view`; the rest can be switched on in the page, in its scene tree. see_through: bodies
    that one looks through, where there are contacts. fps: frames per second of the run, at most as many as there are
    samples; by default 30, fewer in runs of more than 100 s. overwrite: an existing file is replaced, else it is an
    error. Returns the path.
    """
    if not isinstance(run, Trajectory) and not is_run(run):
        raise InputError(f"run must be a pliant.Trajectory or the path of a run, got {run!r}: pliant run makes one")
    if fps is not None and not (math.isfinite(fps) and fps > 0.0):
        raise InputError(f"fps must be a number > 0, got {fps!r}")
    wanted, place = check_kinds(show), Path(path)
    if place.exists() and not overwrite:
        raise InputError(f"{place} exists already: choose another name, or overwrite it (overwrite=True, --force)")
    source = open_source(run, model=model, system=system)
    assert isinstance(source, Playback)
    if not source.touches:  # nothing to explain, nothing that bodies would hide
        wanted -= OF_CONTACTS
        see_through &= "pulls" in wanted
    text = _page(source, wanted, see_through, fps)
    with telling(place), open(place, "w" if overwrite else "x", encoding="utf-8") as file:
        file.write(text)
    return place


def frame_samples(times: Any, fps: float | None) -> tuple[Ints, float]:
    """Which samples are drawn, and how long each stays [s]."""
    span = float(times[-1] - times[0])
    if span <= 0.0:
        return np.zeros(1, np.int64), 0.0
    rate = min(FRAMES, MANY / span) if fps is None else fps
    count = max(min(math.ceil(span * rate), len(times) - 1), 1)
    moments = np.linspace(times[0], times[-1], count + 1)
    after = np.clip(np.searchsorted(times, moments), 1, len(times) - 1)
    nearer = np.where(moments - times[after - 1] < times[after] - moments, after - 1, after)
    return nearer.astype(np.int64), span / count


def _page(source: Playback, wanted: set[str], see_through: bool, fps: float | None) -> str:
    samples, pause = frame_samples(source.times, fps)
    server = open_server(port=0)
    try:
        source.show(int(samples[0]))
        scene = Scene(server, source, show=wanted, see_through=see_through)
        scene.draw(everything=True)
        film = server.get_scene_serializer()
        for k in samples[1:]:
            film.insert_sleep(pause)
            source.show(int(k))
            scene.draw(everything=True)
        film.insert_sleep(pause)
        _log.info("exported %d pictures of %d samples", len(samples), len(source.times))
        return _with_legend(film.as_html(), source, scene.overlays, wanted)
    finally:
        close_server(server)


def _with_legend(page: str, source: Playback, overlays: Overlays, wanted: set[str]) -> str:
    """What the colours mean, over the picture."""
    legends = overlays.legend()
    parts = [f"<summary><b>{html.escape(source.title)}</b></summary><div>{html.escape(source.told)}</div>"]
    parts += [f"<div style='margin-top:6px'>{KINDS[kind]}</div>{legends[kind]}" for kind in KINDS if kind in wanted]
    parts.append(f"<div style='margin-top:6px;color:#777'>pliant {__version__}</div>")
    box = f'<details open id="pliant-legend" style="{BOX}">{"".join(parts)}</details>{FOLD}{OPAQUE}'
    head = f"<title>{html.escape(source.title)}</title>"
    end = page.rindex("</body>")
    return (page[:end] + box + page[end:]).replace("<title>Viser</title>", head, 1)
