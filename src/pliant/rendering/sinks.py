"""Where frames go: a film (.mp4), an animation (.gif), or a picture (.png). A file is there whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import uuid4

from pliant.errors import InputError, PliantError, missing_extra
from pliant.rendering.canvas import Image
from pliant.writing import telling

FILMS: Final = (".mp4", ".gif")
SUFFIXES: Final = (*FILMS, ".png")
# colours of a GIF are chosen from all of its frames
ANIMATION: Final = ("-filter_complex", "split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=none", "-loop", "0")
FILM: Final = ("-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart")


class Sink(Protocol):
    def add(self, image: Image) -> None:
        """One frame more."""
        ...


def suffix_of(out: Path) -> str:
    """The suffix, if it is one that can be written."""
    suffix = out.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"out must end in {', '.join(SUFFIXES)}, got {out.name!r}")
    return suffix


@contextlib.contextmanager
def opened(out: Path, size: tuple[int, int], fps: float) -> Iterator[Sink]:
    """A sink whose file appears when all went well."""
    temporary = out.with_name(f".{out.stem}.{uuid4().hex[:12]}{out.suffix.lower()}")
    with telling(out):
        if not out.parent.is_dir():
            raise InputError(f"there is no folder {out.parent} for {out.name}: make it, or choose another name")
        try:
            sink = _Picture(temporary) if suffix_of(out) == ".png" else _Film(temporary, size, fps)
            try:
                yield sink
            except BaseException:
                sink.stop()
                raise
            sink.close()
            os.replace(temporary, out)
        finally:  # also when interrupted from the keyboard
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


class _Picture:
    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, image: Image) -> None:
        pillow().fromarray(image).save(self._path, optimize=True)

    def close(self) -> None: ...

    def stop(self) -> None: ...


class _Film:
    """Frames through a pipe to the ffmpeg that the package imageio-ffmpeg brings."""

    def __init__(self, path: Path, size: tuple[int, int], fps: float) -> None:
        frames = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{fps:.12g}", "-i", "-"]
        out = ANIMATION if path.suffix == ".gif" else FILM
        command = [_ffmpeg(), "-y", "-loglevel", "error", *frames, *out, str(path)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )

    def add(self, image: Image) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(image.tobytes())
        except OSError:  # the pipe broke: `close` knows why
            self.close()

    def close(self) -> None:
        """Wait for the end of the film; what ffmpeg has against it is raised."""
        said = self._end()
        if self._process.returncode != 0:
            raise PliantError(f"ffmpeg cannot write the film: {said or self._process.returncode}")

    def stop(self) -> None:
        """End it: nobody wants the film any more."""
        self._process.kill()
        self._end()

    def _end(self) -> str:
        """What ffmpeg said."""
        try:
            return (self._process.communicate()[1] or b"").decode(errors="replace").strip()
        except (OSError, ValueError):  # it is gone already
            self._process.wait()
            return ""


def pillow() -> Any:
    """The module PIL.Image."""
    try:
        from PIL import Image as module
    except ImportError:
        missing_extra("pillow", "render")
    return module


def _ffmpeg() -> str:
    """The program."""
    try:
        import imageio_ffmpeg
    except ImportError:
        missing_extra("imageio-ffmpeg", "render")
    return str(imageio_ffmpeg.get_ffmpeg_exe())
