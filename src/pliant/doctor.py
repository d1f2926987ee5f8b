"""`pliant doctor`: is this installation well? Every check reports, none raises."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from pliant import _engine
from pliant._version import __version__
from pliant.checkup import Check, guarded, timed
from pliant.errors import PliantError

REQUIRED: Final = ("numpy", "scipy", "clarabel", "tqdm", "yaml")
CORE: Final = REQUIRED[:2]  # of these: without one there is nothing else to look at
AT_WORK: Final = ("mujoco", "library", "drawing", "solve", "step")
PROJECTS: Final = {"yaml": "pyyaml"}  # what pip calls it
# package: what it is needed for, and what installs it
OPTIONAL: Final = {
    "matplotlib": ("pictures", "pliant[plot]"),
    "viser": ("pliant view", "pliant[viewer]"),
    "mjviser": ("pliant view", "pliant[viewer]"),
    "imageio-ffmpeg": ("films of pliant render", "pliant[render]"),
    "pillow": ("pictures of pliant render", "pliant[render]"),
    "pandas": ("tables as data frames", "pliant[tables]"),
    "drake": ("Drake's answers in pliant reproduce", "pliant[peers]"),
    "gymnasium": ("the benchmark of walkers, and tests", "gymnasium[mujoco]"),
}
SETTINGS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def examine() -> Iterator[Check]:
    """All checks, one after the other."""
    yield Check("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Check("pliant", True, f"{__version__} in {Path(__file__).parent}")
    yield engine()
    missing = []
    for name in REQUIRED:
        check = guarded(name, partial(required, name), f"pip install --force-reinstall {PROJECTS.get(name, name)}")
        missing += [name] if name in CORE and not check.ok else []
        yield check
    yield from map(optional, OPTIONAL)
    yield threads()
    if missing:
        yield from (Check(name, False, f"not looked at: it needs {missing[0]}") for name in AT_WORK)
    else:
        yield from _at_work()


def _at_work() -> Iterator[Check]:
    """What can be looked at where the packages load."""
    from pliant.systems import mujoco_doctor as models

    yield models.version()
    yield guarded("library", models.LIBRARY, models.REINSTALL)
    yield guarded("drawing", drawing, models.REINSTALL)
    yield guarded("solve", first_solve, "pip install --force-reinstall pliant")
    yield guarded("step", models.STEP, "pip install --force-reinstall mujoco pliant")


def engine() -> Check:
    """How the compiled part was built."""
    info = _engine.build_info()
    sanitizers = f", sanitizers {info['sanitizers']}" if info["sanitizers"] else ""
    return Check("engine", True, f"{info['compiler']}, {info['build_type']}, {info['instruction_set']}{sanitizers}")


def required(name: str) -> Check:
    """A package without which nothing goes: it must also load."""
    return Check(name, True, str(importlib.import_module(name).__version__))


def optional(name: str) -> Check:
    """Not loaded: that takes seconds for some."""
    purpose, install = OPTIONAL[name]
    try:
        return Check(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name, True, f'not installed, needed for {purpose}: pip install "{install}"')


def threads() -> Check:
    """A step takes one core. The settings matter to NumPy and SciPy, beside which other processes run."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    given = [f"{name}={os.environ[name]}" for name in SETTINGS if name in os.environ]
    said = ", ".join(given) or "OMP_NUM_THREADS and the like are not set"
    return Check("threads", True, f"{cores} cores for this process, of which a step uses one; {said}")


def drawing() -> Check:
    """Whether OpenGL draws without a screen: in another process, as some ways end theirs."""
    from pliant.rendering.opengl import working_way

    try:
        return Check("drawing", True, f"by {working_way()}, without a screen")
    except PliantError as error:
        return Check("drawing", True, f"not possible, needed for pliant render: {error}")


def first_solve() -> Check:
    from pliant.demo import beam
    from pliant.solve import solve

    solution, how = timed(lambda: solve(beam(), throw=False))
    text = f"residual {solution.residual:.1e}, {how}"
    remedy = "" if solution.status.solved else "the answer is wrong: run the tests, and report what fails"
    return Check("solve", solution.status.solved, text, remedy)
