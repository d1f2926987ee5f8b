"""The one door to MuJoCo: imported on first use, its version checked once."""

from __future__ import annotations

import functools
from typing import Any

from pliant.errors import PliantError

OLDEST, NEWEST = (3, 17), (5, 0)  # the first that works, and the first that is not known


@functools.cache
def mujoco() -> Any:
    """The package."""
    try:
        import mujoco as package
    except ImportError as error:
        raise ImportError(f"models need MuJoCo, which cannot be imported ({error}): pip install mujoco") from error
    version = tuple(int(part) for part in package.__version__.split(".")[:2])
    if not OLDEST <= version < NEWEST:
        raise PliantError(
            f"MuJoCo {package.__version__} is not known to this pliant, which knows 3.17 up to 4: "
            'pip install "mujoco>=3.17,<5"'
        )
    return package
