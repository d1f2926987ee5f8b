"""Where the cube ends up, exactly: final poses of all rows by two integrators, kept in foundation_reference.json.

`python -m pliant.studies.foundation_reference [FILE]` computes them anew (some ten minutes) and says how well the
two agree. The pose is q of `foundation_cube`; `agreement` is the pose norm of the difference over that of the motion.
"""

from __future__ import annotations

import json
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from pliant.errors import FileError
from pliant.inputs import Array
from pliant.record import package_versions
from pliant.studies.foundation_cube import ROWS, START_Q, Row
from pliant.studies.foundation_integrators import integrate, to_size

FILE: Final = Path(__file__).with_name("foundation_reference.json")
FIRST: Final = ("DOP853", 1e-12)  # integrator, relative tolerance; its answer is the reference
SECOND: Final = ("LSODA", 1e-11)


def pose_norm(difference: Array) -> float:
    """The paper's: Euclidean, over the centre [m] and the quaternion."""
    return float(np.linalg.norm(difference))


def final_pose(row: Row) -> Array:
    """q after one second, (7,)."""
    return np.array(_read()[row])


def motion_norm(row: Row) -> float:
    """How far the cube moves in all: the pose norm from start to end. It is what errors are measured against."""
    return pose_norm(final_pose(row) - START_Q)


def document() -> dict[str, Any]:
    """The file: rows and provenance."""
    found = json.loads(FILE.read_text())
    if not isinstance(found, dict) or "rows" not in found:
        raise FileError(f"{FILE} is not the reference of the foundation: run python -m {__name__}")
    return found


@cache
def _read() -> dict[Row, tuple[float, ...]]:
    return {
        Row(entry["elements"], entry["load"], entry["modulus"]): tuple(entry["pose"]) for entry in document()["rows"]
    }


def compute(row: Row) -> dict[str, Any]:
    """The entry of a row."""
    poses = []
    for name, relative in (FIRST, SECOND):
        found = integrate(name, row, to_size(row, relative))
        if found.state is None:
            raise RuntimeError(f"{row.name}: {name}: {found.why}")
        poses.append(found.state[:7])
    motion = pose_norm(poses[0] - START_Q)
    return {
        **row._asdict(),
        "pose": poses[0].tolist(),
        "second_pose": poses[1].tolist(),
        "agreement": pose_norm(poses[1] - poses[0]) / motion,
    }


def main(arguments: list[str]) -> None:
    """Compute all rows, write the file."""
    target = Path(arguments[0]) if arguments else FILE
    rows = []
    for row in ROWS:
        rows.append(compute(row))
        print(f"{row.name}: the two agree to {rows[-1]['agreement']:.1e} of the motion", flush=True)
    tolerances = "relative to the size of each state: an indentation, and that times the frequency of the foundation"
    content = {
        "what": "final pose (x, y, z [m] from the start; quaternion w, i, j, k) of the cube after 1 s",
        "command": f"python -m {__spec__.name if __spec__ else __name__}",
        "integrators": {
            "pose": {"name": FIRST[0], "tolerance": FIRST[1]},
            "second_pose": {"name": SECOND[0], "tolerance": SECOND[1]},
        },
        "tolerances": tolerances,
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), **package_versions()},
        "rows": rows,
    }
    target.write_text(json.dumps(content, indent=1) + "\n")
    print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
