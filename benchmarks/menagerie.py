"""Every scene of MuJoCo Menagerie, stepped by pliant beside MuJoCo: what a step costs, how late the slowest are,
whether all hold.

python -m benchmarks.menagerie FOLDER [--half a-m | n-z] [--only NAME ...] [--seconds 2] [--write]

FOLDER is a clone of MuJoCo Menagerie. Each scene runs with its own step and with 10 ms, from its first key frame with
the controls of that, and with random controls; steps of ours and of MuJoCo's in turns, by the same model, RK4 set to
Euler. Meshes that are not there are replaced by cubes, which is counted.
"""

from __future__ import annotations

import argparse
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import mujoco
import numpy as np
from tqdm import tqdm

import pliant
from benchmarks.report import RESULTS, write
from pliant.bench.metric import RATIO, Metric

COARSE: Final = 0.01  # [s] beside the model's own step
HELD: Final = 0.1  # [s] that random controls are held
CUBE: Final = 0.03  # [m] half of its side
HALVES: Final = {"a-m": "abcdefghijklm", "n-z": "nopqrstuvwxyz"}
BLOWN_UP: Final = 1e6  # [rad/s, m/s]


@dataclass
class Run:
    """One scene with one step and one kind of control."""

    name: str
    step: float
    controls: str
    cubes: int
    ours: float = 0.0  # mean of a step [s]
    theirs: float = 0.0
    late: float = 0.0  # p99 of ours over the median of theirs
    statuses: dict[str, int] = field(default_factory=dict)
    iterations: float = 0.0  # a step
    failed: str = ""
    parts: dict[str, float] = field(default_factory=dict)  # [s] a step

    @property
    def cost(self) -> float:
        return self.ours / self.theirs if self.theirs else np.inf

    def __str__(self) -> str:
        parts = " ".join(f"{1e6 * seconds:.1f}" for seconds in self.parts.values())
        return (
            f"{self.cost:7.2f} {self.late:7.1f}  {1e6 * self.theirs:7.1f} {1e6 * self.ours:8.1f} us ({parts})  "
            f"{self.iterations:6.1f}  {self.name} {1e3 * self.step:g} ms {self.controls} {self.statuses} {self.failed}"
        )


def load(path: Path) -> tuple[Any, int]:
    """A scene, with cubes for the meshes that are not there, and how many these are."""
    spec = mujoco.MjSpec.from_file(str(path))
    cubes = 0
    corners = CUBE * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    for mesh in spec.meshes:
        if mesh.file and not _is_there(path.parent, spec.meshdir, mesh.file):
            scale = np.where(np.asarray(mesh.scale) < 0, -1.0, 1.0)
            mesh.file, mesh.scale, mesh.uservert = "", scale, corners.ravel().tolist()
            cubes += 1
    for texture in spec.textures:
        if texture.file and not _is_there(path.parent, spec.texturedir, texture.file):
            texture.file, texture.builtin = "", mujoco.mjtBuiltin.mjBUILTIN_FLAT
            texture.width = texture.height = 8
    model = spec.compile()
    if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    return model, cubes


def _is_there(folder: Path, inner: str, name: str) -> bool:
    return any((place / name).is_file() for place in (folder / inner, folder, *folder.glob("*/")))


def run(path: Path, name: str, step: float | None, controls: str, seconds: float) -> Run:
    """Both in turns, each on data of its own."""
    model, cubes = load(path)
    if step is not None:
        model.opt.timestep = step
    h = model.opt.timestep
    made = Run(name, h, controls, cubes)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    for data in (ours, theirs):
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
    rng = np.random.default_rng(0)
    low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [-1.0, 1.0]).T
    counted = pliant.stats(ours)
    counted.clock()
    times: list[tuple[float, float]] = []
    every = max(round(HELD / h), 1)
    try:
        for k in range(round(seconds / h)):
            if controls == "random" and k % every == 0 and model.nu:
                ours.ctrl[:] = theirs.ctrl[:] = rng.uniform(low, high)
            laps = [perf_counter()]
            pliant.mj_step(model, ours)
            laps.append(perf_counter())
            mujoco.mj_step(model, theirs)
            laps.append(perf_counter())
            times.append((laps[1] - laps[0], laps[2] - laps[1]))
        if not np.abs(ours.qvel).max(initial=0.0) < BLOWN_UP:
            made.failed = f"blown up: {np.abs(ours.qvel).max():.1e}"
    except Exception as error:  # any at all is what this benchmark looks for
        if isinstance(error, pliant.InputError) and not times:
            raise
        made.failed = repr(error)[:200]
    if times:
        mine, other = np.array(times[1:] or times).T
        made.ours, made.theirs = float(mine.mean()), float(other.mean())
        made.late = float(np.percentile(mine, 99) / np.median(other))
        made.parts = {part: spent / len(times) for part, spent in counted.seconds.items()}
        made.iterations = counted.iterations / max(counted.steps, 1)
    made.statuses = {status.name: n for status, n in counted.statuses.items() if n}
    return made


def metrics(runs: list[Run], name: str) -> list[Metric]:
    """Of all runs, or of half of them."""
    cost, late = [one.cost for one in runs], [one.late for one in runs]
    steps = sum(sum(one.statuses.values()) for one in runs)
    solved = sum(one.statuses.get("SOLVED", 0) for one in runs)
    goals = {50: 1.4, 75: 2.4, 90: 4.5, 100: 20.0}
    made = [Metric(f"{name}: runs", len(runs)), Metric(f"{name}: failed", sum(bool(r.failed) for r in runs), goal=0)]
    made += [
        Metric(f"{name}: cost of a step, p{p}", float(np.percentile(cost, p)), RATIO, goal=goal)
        for p, goal in goals.items()
    ]
    made += [
        Metric(f"{name}: latency, p{p}", float(np.percentile(late, p)), RATIO, goal=goal)
        for p, goal in {50: 3.0, 90: 12.0}.items()
    ]
    return [*made, Metric(f"{name}: steps not solved", 100.0 * (1.0 - solved / max(steps, 1)), "%", goal=0.3)]


def draw(runs: list[Run], path: Path) -> None:
    """The share of runs that cost at most so much."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.5), layout="constrained")
    axes = figure.subplots()
    for label, values in (("mean step", [r.cost for r in runs]), ("slowest 1 % of steps", [r.late for r in runs])):
        axes.plot(np.sort(values), 100.0 * np.arange(1, len(runs) + 1) / len(runs), label=label)
    axes.set(xscale="log", xlabel="time of a step over mujoco.mj_step", ylabel="runs [%]", ylim=(0, 100))
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    """All scenes, both steps, both kinds of controls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a clone of MuJoCo Menagerie")
    parser.add_argument("--half", choices=HALVES, help="robots whose folders begin so")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="scenes whose path has this in it")
    parser.add_argument("--seconds", type=float, default=2.0, help="that each run simulates")
    parser.add_argument(
        "--write", action="store_true", help="write results/menagerie.json and docs/images/menagerie.png"
    )
    chosen = parser.parse_args()
    logging.getLogger("pliant").setLevel(logging.ERROR)
    scenes = {str(p.relative_to(chosen.folder)): p for p in sorted(chosen.folder.glob("*/scene*.xml"))}
    if chosen.half:
        scenes = {name: p for name, p in scenes.items() if name[0].lower() in HALVES[chosen.half]}
    if chosen.only:
        scenes = {name: p for name, p in scenes.items() if any(one in name for one in chosen.only)}
    if not scenes:
        parser.error(f"no scene*.xml of robots in {chosen.folder}")
    runs, refused = [], {}
    for name, path in tqdm(scenes.items(), mininterval=5.0):
        for step in (None, COARSE):
            for controls in ("keyframe", "random"):
                try:
                    runs.append(run(path, name, step, controls, chosen.seconds))
                except ValueError as error:  # a file that MuJoCo does not read, a model that is refused by name
                    refused[name] = str(error)[:200]
    runs.sort(key=lambda one: one.cost)
    for one in runs:
        print(one)
    for name, why in refused.items():
        print(f"not run: {name}: {why}")
    found = metrics(runs, "all")
    for half, letters in HALVES.items():
        some = [one for one in runs if one.name[0].lower() in letters]
        found += metrics(some, half) if some and not chosen.half else []
    found.append(Metric("meshes replaced by cubes", sum(one.cubes for one in runs) // 4))
    if chosen.write:
        write("menagerie", "python -m benchmarks.menagerie FOLDER --write", found, [asdict(one) for one in runs])
        draw(runs, RESULTS.parents[1] / "docs" / "images" / "menagerie.png")
    else:
        print(*found, sep="\n")


if __name__ == "__main__":
    main()
