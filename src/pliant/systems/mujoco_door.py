"""The one door to MuJoCo: imported on first use, its version checked once."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any, Final

from pliant.errors import PliantError

CALLBACKS: Final = ("passive", "control", "contactfilter", "sensor", "time", "act_dyn", "act_gain", "act_bias")
WANTED: Final = "mujoco~=4.0"  # as in pyproject.toml
OLDEST, NEWEST = (4, 0), (5, 0)  # the first that works, and the first that is not known


@functools.cache
def mujoco() -> Any:
    """The package."""
    try:
        import mujoco as package
    except ImportError as error:
        if any(isinstance(cause, KeyboardInterrupt) for cause in causes(error)):  # into the middle of its own
            raise KeyboardInterrupt from error
        raise ImportError(f"models need MuJoCo, which cannot be imported ({error}): pip install mujoco") from error
    version = tuple(int(part) for part in package.__version__.split(".")[:2])
    if not OLDEST <= version < NEWEST:
        raise PliantError(
            f'MuJoCo {package.__version__} is not known to this pliant, which knows 4: pip install "{WANTED}"'
        )
    return package


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """It, and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def part_of_mujoco(name: str) -> Any:
    """A module of the package that it does not import by itself: batch, rollout."""
    mujoco()  # is there, and of a version that is known
    return importlib.import_module(f"mujoco.{name}")


@contextlib.contextmanager
def without_callbacks() -> Iterator[None]:
    """For small models of our own: the user's callbacks are not for them, and MuJoCo calls them when it compiles."""
    mj = mujoco()
    kept = {name: getattr(mj, f"get_mjcb_{name}")() for name in CALLBACKS}
    kept = {name: callback for name, callback in kept.items() if callback is not None}
    for name in kept:
        getattr(mj, f"set_mjcb_{name}")(None)
    try:
        yield
    finally:
        for name, callback in kept.items():
            getattr(mj, f"set_mjcb_{name}")(callback)
