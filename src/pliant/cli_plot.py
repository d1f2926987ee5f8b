"""The command `pliant plot`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pliant.errors import FileError, InputError, PliantError

if TYPE_CHECKING:
    from pliant.trajectory import Trajectory

WHAT: Final = ("states", "energy", "forces", "pressure", "residuals")
CHOOSES: Final = ("states", "forces")  # those that --which is for
FORMATS: Final = ("png", "pdf", "svg")


def add_plot(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    plot = commands.add_parser(
        "plot",
        help="draw a run: states, energy, contact forces, pressure, residuals",
        description="Draw pictures of a run that `pliant run` or `simulate(checkpoint=...)` has written, one a file: "
        "DIR/RUN-states.png and so on (needs Matplotlib). Without --what all are drawn that the run has something for. "
        "Energy is told by the model, which the run holds, or else --model gives.",
    )
    plot.add_argument("run", metavar="RUN", help="the file of a run")
    plot.add_argument("--what", metavar="LIST", help=f"any of: {', '.join(WHAT)}, with commas between")
    plot.add_argument("--out", default=".", metavar="DIR", help="where the pictures go (default: here)")
    plot.add_argument("--force", action="store_true", help="overwrite pictures that are there")
    plot.add_argument("--format", choices=FORMATS, default="png", help="(default: png)")
    plot.add_argument("--which", metavar="GLOB", help="coordinates or contacts to show, such as '*ball*'")
    plot.add_argument("--model", metavar="MODEL", help="for energy: the model, of a run that does not hold it")
    plot.add_argument("--materials", metavar="FILE", help="for energy: the materials that the run had")
    plot.add_argument("--floor", action="store_true", help="with --model: the run had a floor added")
    plot.add_argument("--floating", action="store_true", help="with --model: the run had its first body freed")


def run_plot(given: argparse.Namespace) -> int:
    """Draw, print the names of the files; the exit status."""
    try:
        asked = _asked(given.what)
        run = _load(given.run)
        folder = Path(given.out)
        paths = {what: folder / f"{Path(given.run).stem}-{what}.{given.format}" for what in asked or WHAT}
        there = [str(path) for path in paths.values() if path.exists()]
        if there and not given.force:
            raise InputError(
                f"{', '.join(there)} exists already: choose another folder (--out), or overwrite it (--force)"
            )
        folder.mkdir(parents=True, exist_ok=True)
        drawn = [what for what, path in paths.items() if _drawn(what, run, given, path, asked=bool(asked))]
    except (PliantError, OSError, ImportError) as error:
        print(f"pliant plot: {error}", file=sys.stderr)
        return 1
    chose = given.which is None or any(what in CHOOSES for what in drawn)  # a name that is nowhere is a mistake
    return 0 if chose and not (asked and len(drawn) < len(paths)) else 1


def _load(name: str) -> Trajectory:
    from pliant.record import read
    from pliant.trajectory import Trajectory

    if not Path(name).is_file():
        what = "a folder" if Path(name).is_dir() else "no file"
        raise InputError(
            f"{name} is {what}; `pliant run MODEL --out {Path(name).stem or 'RUN'}.run` makes the file of a run"
        )
    run = Trajectory.load(name)
    if len(run) < 2:
        try:
            for _ in read(name):
                pass
        except FileError as error:
            raise FileError(f"{name} is damaged, 0 of its steps could be read: {error}") from error
        raise InputError(f"{name} has no step yet: there is nothing to draw")
    return run


def _drawn(what: str, run: Trajectory, given: argparse.Namespace, path: Path, *, asked: bool) -> bool:
    """Draw one, or say why not; the others are drawn all the same."""
    try:
        if what == "forces" and not asked:
            _check_touches(run)
        _draw(what, run, given, path)
    except PliantError as error:
        why = str(error)
        print(f"pliant plot: no picture of {what}: {'--' if why.startswith('which: ') else ''}{why}", file=sys.stderr)
        return False
    print(path, flush=True)
    return True


def _check_touches(run: Trajectory) -> None:
    from pliant.plot.run_forces import contact_forces

    if not contact_forces(run):
        raise InputError("nothing touches in this run")


def _asked(what: str | None) -> list[str]:
    names = [name.strip() for name in what.split(",")] if what is not None else []
    unknown = [name for name in names if name not in WHAT]
    if unknown:
        raise InputError(f"--what: there is no picture {unknown[0]!r}; there are: {', '.join(WHAT)}")
    return names


def _draw(what: str, run: Trajectory, given: argparse.Namespace, path: Path) -> None:
    draw: dict[str, Callable[[], Any]] = {
        "states": lambda: run.plot_states(which=given.which, path=path),
        "energy": lambda: run.plot_energy(_system(run, given), path=path),
        "forces": lambda: run.plot_forces(which=given.which, path=path),
        "pressure": lambda: run.plot_pressure(path=path),
        "residuals": lambda: run.plot_residuals(path=path),
    }
    draw[what]()


def _system(run: Trajectory, given: argparse.Namespace) -> Any:
    from pliant.materials_file import read_materials
    from pliant.systems.mujoco_again import system_of

    materials = read_materials(given.materials) if given.materials else None
    return system_of(run, model=given.model, materials=materials, floor=given.floor, floating=given.floating)
