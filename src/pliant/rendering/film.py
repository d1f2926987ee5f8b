"""`pliant.render`: a run as a film or a picture."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Ints
from pliant.rendering.arrows import Arrows
from pliant.rendering.camera import Camera, box_of, seen_from
from pliant.rendering.canvas import Canvas, Image
from pliant.rendering.caption import written
from pliant.rendering.sinks import opened, suffix_of
from pliant.run_shown import run_to_show
from pliant.stage import Stage
from pliant.systems.mujoco_door import mujoco
from pliant.trajectory import Trajectory

SIZE: Final = (1280, 720)
LARGEST: Final = 8192  # pixels
FRAMES: Final = 1_000_000


class Look(NamedTuple):
    """What is asked of every frame."""

    size: tuple[int, int]
    camera: Camera
    contacts: bool
    forces: bool
    scale: float | None  # [N/m]
    caption: bool


def render(
    run: Trajectory | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    model: Any = None,
    system: Any = None,
    time: float | None = None,
    fps: float = 30.0,
    speed: float = 1.0,
    size: tuple[int, int] = SIZE,
    camera: Camera = None,
    contacts: bool = False,
    forces: bool = False,
    scale: float | None = None,
    caption: bool = True,
    overwrite: bool = False,
    progress: bool = False,
) -> Path:
    """Draw a run into a film (.mp4, .gif), or its sample at a time into a picture (.png); no screen is needed.

    run: a Trajectory, or its file. model, system: for runs that do not hold what they look like, as of
    `pliant.stage.Stage.of`. time: of the picture [s], by default the last. fps: frames per second of the film. speed:
    of the film, 0.1 for slow motion. size: (width, height) [pixels]. camera: the name of one of the model's, (azimuth,
    elevation) [degrees] or (azimuth, elevation, distance [m]) about what moves; by default everything that moves is in
    the picture. contacts: a dot where bodies touch, in the viewer's colour of its state. forces: an arrow of the force
    on the second geom, `scale` newtons per metre, by default as in the viewer. caption: time, colours and scale in the
    corner.
    overwrite: an existing file is replaced, else it is an error. Returns the path.
    """
    path, look = Path(out), _checked(Look(size, camera, contacts, forces, scale, caption))
    film = suffix_of(path) != ".png"
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists already: choose another name, or overwrite it (overwrite=True, --force)")
    if film and (size[0] % 2 or size[1] % 2):
        raise InputError(f"size of a film must be even numbers of pixels, got {size[0]} x {size[1]}")
    if film and time is not None:
        raise InputError("time chooses the sample of a picture: let out end in .png, or leave time out")
    trajectory = run if isinstance(run, Trajectory) else run_to_show(run)
    samples = frame_samples(trajectory.time, fps, speed) if film else _sample(trajectory, time)
    stage = Stage.of(trajectory, model=model, system=system)
    with opened(path, size, fps) as sink:
        for image in _bar(_frames(stage, samples, look, speed if film else 1.0), len(samples), progress):
            sink.add(image)
    return path


def frame_samples(time: Any, fps: float, speed: float) -> Ints:
    """Of every frame the sample that is nearest: frames at t0 + i speed/fps up to the last sample."""
    for name, value in {"fps": fps, "speed": speed}.items():
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0.0):
            raise InputError(f"{name} must be a number > 0, got {value!r}")
    count = int((time[-1] - time[0]) * fps / speed + 1e-6) + 1
    if count > FRAMES:
        raise InputError(f"the film would have {count} frames: give a smaller fps, or a larger speed")
    at = time[0] + np.arange(count) * speed / fps
    right = np.clip(np.searchsorted(time, at), 1, max(len(time) - 1, 1))
    if len(time) == 1:
        return np.zeros(1, np.int64)
    return np.where(at - time[right - 1] <= time[right] - at, right - 1, right).astype(np.int64)


def _sample(run: Trajectory, time: float | None) -> Sequence[int]:
    if time is None:
        return [len(run) - 1]
    if not run.time[0] - 1e-9 <= time <= run.time[-1] + 1e-9:
        raise InputError(f"time must be within the run, {run.time[0]:g} to {run.time[-1]:g} s, got {time!r}")
    return [int(np.argmin(np.abs(run.time - time)))]


def _frames(stage: Stage, samples: Sequence[int] | Ints, look: Look, speed: float) -> Iterator[Image]:
    data = mujoco().MjData(stage.model)
    box = box_of(stage, data)
    camera = seen_from(stage, data, box, look.camera, look.size)
    extent = float(box.size.max())
    marked, arrows = look.contacts or look.forces, None
    if marked:
        arrows = Arrows(stage, points=look.contacts, forces=look.forces, scale=look.scale, size=extent)
    with Canvas(stage.model, look.size, centre=box.centre, extent=extent, through=marked) as canvas:
        for k in samples:
            stage.show(data, int(k))
            add = None if arrows is None else lambda scene, k=int(k): arrows.add(scene, k)
            image = canvas.draw(data, camera, add)
            lines = [
                f"{data.time:.2f} s" + (f", {speed:g} x" if speed != 1.0 else ""),
                *(arrows.caption if arrows else ()),
            ]
            yield written(image, lines) if look.caption else image


def _checked(look: Look) -> Look:
    width, height = look.size
    if not all(isinstance(n, int) and 16 <= n <= LARGEST for n in (width, height)):
        raise InputError(f"size must be two whole numbers of pixels from 16 to {LARGEST}, got {look.size!r}")
    if look.scale is not None and not (math.isfinite(look.scale) and look.scale > 0.0):
        raise InputError(f"scale must be a number > 0 [N/m], got {look.scale!r}")
    return look


def _bar(frames: Iterator[Image], count: int, shown: bool) -> Iterator[Image]:
    from tqdm import tqdm

    yield from tqdm(frames, total=count, unit="frame", disable=not shown)
