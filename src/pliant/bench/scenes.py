"""Scenes that only the suites simulate: the text of MJCF models, and files of robots where they are installed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from pliant.studies.scenes import GRAVITY
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_load import read_spec

WALKERS: Final = ("humanoid", "ant", "half_cheetah", "hopper", "walker2d")  # of Gymnasium
URDF: Final = ("go1", "anymal", "talos_reduced")  # of example-robot-data
QUADRUPED: Final = "quadruped"  # of dm_control
KINDS: Final = ("box", "capsule", "sphere")
TRAY: Final = 0.5  # half of its width, inside [m]
WALL: Final = 0.05  # half of the thickness of its rim [m]
ABOVE: Final = 0.01  # the floor, where a robot begins [m]
ROOM: Final = 0.25  # between the centres of bodies before they fall: none touch [m]

Maker = Callable[[], Any]  # of a fresh mujoco.MjSpec


def drop(step: float) -> str:
    """A box of 1 kg that falls by a hand, turned about two axes: onto a corner, an edge, a face."""
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="0.5 0 0" condim="3"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="100 100 1"/>
    <body name="box" pos="0 0 0.25" euler="25 15 0">
      <freejoint/>
      <geom name="box" type="box" size="0.1 0.075 0.05" mass="1"/>
    </body>
  </worldbody>
</mujoco>"""


def pile(count: int, step: float, *, across: int = 4, seed: int = 0) -> str:
    """Boxes, capsules and spheres of 1 kg in layers above a tray; the seed draws sizes and turns."""
    rng = np.random.default_rng(seed)
    bodies = "".join(_body(i, across, rng) for i in range(count))
    out, long = TRAY + WALL, TRAY + 2.0 * WALL
    rim = [(out, 0.0, WALL, long), (-out, 0.0, WALL, long), (0.0, out, long, WALL), (0.0, -out, long, WALL)]
    walls = "".join(f'<geom type="box" pos="{x} {y} 1" size="{a} {b} 1"/>' for x, y, a, b in rim)
    return f"""
<mujoco>
  <size memory="256M"/>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="0.5 0 0" condim="3"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="100 100 1"/>
    {walls}
    {bodies}
  </worldbody>
</mujoco>"""


def _body(number: int, across: int, rng: np.random.Generator) -> str:
    layer, place = divmod(number, across * across)
    x, y = (ROOM * (k - 0.5 * (across - 1)) for k in divmod(place, across))
    kind = KINDS[number % 3]
    sizes = {"box": rng.uniform(0.04, 0.07, 3), "capsule": rng.uniform((0.03, 0.04), (0.05, 0.06)),
             "sphere": rng.uniform(0.05, 0.08, 1)}  # fmt: skip
    turn = rng.normal(size=4)
    return (
        f'<body pos="{_numbers([x, y, 0.15 + ROOM * layer])}" quat="{_numbers(turn / np.linalg.norm(turn))}">'
        f'<freejoint/><geom type="{kind}" size="{_numbers(sizes[kind])}" mass="1"/></body>'
    )


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def robots() -> tuple[dict[str, Maker], list[str]]:
    """Those that are installed, and what is missing, in words."""
    found, missing = {}, []
    for makers, package in ((_walkers, "gymnasium"), (_quadruped, "dm-control"), (_urdf, "example-robot-data")):
        try:
            importlib.metadata.distribution(package)
        except importlib.metadata.PackageNotFoundError:
            missing.append(f"its robots: {package} is not installed")
        else:
            found.update(makers())
    return found, missing


def walker(name: str) -> Path:
    """The file of one of Gymnasium's."""
    spec = importlib.util.find_spec("gymnasium")  # found, not imported: only its files are wanted
    if spec is None or spec.origin is None:
        raise ImportError(f"{name} comes with Gymnasium, which is not installed: pip install gymnasium")
    return Path(spec.origin).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"


def _walkers() -> dict[str, Maker]:
    return {name: lambda name=name: read_spec(walker(name)) for name in WALKERS}  # type: ignore[misc]


def quadruped() -> Any:
    """The mujoco.MjSpec of dm_control's."""
    from dm_control.suite import common, quadruped

    parts = {name.removeprefix("./"): text for name, text in common.ASSETS.items()}
    return mujoco().MjSpec.from_string(quadruped.make_model(floor_size=10), include=parts)


def _quadruped() -> dict[str, Maker]:
    return {QUADRUPED: quadruped}


def _urdf() -> dict[str, Maker]:
    files = importlib.metadata.distribution("example-robot-data").files or []
    paths = {file.stem: Path(file.locate()) for file in files if file.suffix == ".urdf"}
    return {name: lambda name=name: on_floor(paths[name]) for name in URDF if name in paths}  # type: ignore[misc]


def on_floor(path: Path) -> Any:
    """A robot that floats just above a floor; as its file has it, much of it may be below, and is thrown out."""
    spec = read_spec(path, floating=True, floor=True)
    model = spec.compile()
    data = mujoco().MjData(model)
    mujoco().mj_kinematics(model, data)
    own = model.geom_bodyid > 0
    lowest = float(np.min(data.geom_xpos[own, 2] - model.geom_rbound[own]))
    spec.bodies[1].pos[2] += ABOVE - lowest
    return spec
