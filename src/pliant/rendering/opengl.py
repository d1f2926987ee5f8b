"""A way to OpenGL that needs no screen.

MuJoCo chooses its way when it is imported, by the variable MUJOCO_GL, and without it wants a screen on Linux. Where
nothing is chosen, EGL is tried first (a graphics card, or Mesa), then OSMesa (the processor alone). Who tried one in
vain cannot draw by another in the same process, since its library stays: they are tried in a process of their own.
"""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
from typing import Any, Final

from pliant.errors import PliantError
from pliant.systems.mujoco_door import mujoco

KNOWN: Final = ("egl", "osmesa", "glfw", "cgl")
USUAL: Final = {"darwin": "cgl", "win32": "glfw"}
TRY: Final = """
import mujoco, mujoco.{0}
context = mujoco.{0}.GLContext(16, 16)
context.make_current()
mujoco.MjrContext(mujoco.MjModel.from_xml_string("<mujoco/>"), mujoco.mjtFontScale.mjFONTSCALE_100).free()
"""
REMEDY: Final = (
    "on Debian and Ubuntu `apt-get install libegl1 libegl-mesa0`, or `apt-get install libosmesa6`, brings a way that "
    "needs no graphics card; the variable MUJOCO_GL chooses one (egl, osmesa, glfw)"
)


def open_context(model: Any, size: tuple[int, int]) -> tuple[Any, Any]:
    """A context of OpenGL for pictures of this size, current, and MuJoCo's for this model in it."""
    way = _way(_chosen())
    try:
        context = importlib.import_module(f"mujoco.{way}").GLContext(*size)
        context.make_current()
        return context, mujoco().MjrContext(model, mujoco().mjtFontScale.mjFONTSCALE_100)
    except Exception as error:  # each way has its own, from missing libraries to missing devices
        raise PliantError(f"cannot draw by {way}: {error}; {REMEDY}") from error


def working_way() -> str:
    """The way that `open_context` takes, once it was tried in a process of its own."""
    way = _way(_chosen())
    wrong = _fails(way)
    if wrong:
        raise PliantError(f"cannot draw by {way}: {wrong}; {REMEDY}")
    return way


def _chosen() -> str:
    # PyOpenGL's own variable, which MuJoCo sets too, must not be contradicted
    return (os.environ.get("MUJOCO_GL") or os.environ.get("PYOPENGL_PLATFORM") or "").lower().strip()


@functools.cache
def _way(chosen: str) -> str:
    if chosen in KNOWN:
        return chosen
    if sys.platform in USUAL:
        return USUAL[sys.platform]
    failed = []
    for way in ("egl", "osmesa"):
        wrong = _fails(way)
        if not wrong:
            return way
        failed.append(f"{way} ({wrong})")
    raise PliantError(f"there is no way to draw without a screen: {', '.join(failed)}; {REMEDY}")


@functools.cache
def _fails(way: str) -> str:
    """Why it does not work, or ''."""
    environment = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"}
    done = subprocess.run(
        [sys.executable, "-c", TRY.format(way)], env={**environment, "MUJOCO_GL": way}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason"])[-1]
