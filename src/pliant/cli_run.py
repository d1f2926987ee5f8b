"""The command `pliant run`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pliant.errors import PliantError

if TYPE_CHECKING:
    from pliant.trajectory import Trajectory

SOLVERS: Final = ("coulomb", "convex", "printed")
STOPPED: Final = 130  # what shells give a command that Ctrl-C ended


def add_model(command: argparse.ArgumentParser, *, metavar: str = "MODEL", what: str = "an MJCF or URDF file") -> None:
    """What every command on a model takes."""
    command.add_argument("model", metavar=metavar, help=what)
    command.add_argument("--step", type=float, metavar="S", help="timestep in seconds (default: the model's)")
    command.add_argument("--materials", metavar="FILE", help="a YAML of names and materials, such as 'floor: steel'")
    command.add_argument("--floor", action="store_true", help="add a floor at height 0")
    command.add_argument("--floating", action="store_true", help="free the first body, as of a robot that walks")
    command.add_argument("--key", metavar="NAME", help="the key frame to start from")


def add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        help="simulate a MuJoCo model or a URDF into a file, with a summary",
        description="Simulate a model with pliant's forces, print what came of it, and keep the run in a file for "
        "pliant.Trajectory.load. Ctrl-C ends it and keeps what was simulated; a step that fails is saved beside it.",
    )
    add_model(run)
    run.add_argument("--duration", type=float, default=5.0, metavar="S", help="seconds to simulate (default: 5)")
    run.add_argument("--solver", choices=SOLVERS, default="coulomb", help="(default: coulomb)")
    run.add_argument("--out", metavar="RUN", help="the file to write (default: the model's name and .run)")
    run.add_argument("--every", type=int, default=1, metavar="N", help="keep every so many steps (default: 1)")
    run.add_argument("--profile", action="store_true", help="also print where the time went, and how steps were taken")


def run_model(given: argparse.Namespace) -> int:
    """Run, print the summary; the exit status."""
    out: Path | None = None
    try:
        from pliant.materials_file import read_materials
        from pliant.systems.mujoco_load import read_model
        from pliant.systems.mujoco_run import run

        materials = read_materials(given.materials) if given.materials else None
        model = read_model(given.model, step=given.step, floating=given.floating, floor=given.floor)
        out = Path(given.out) if given.out else _free_name(Path(given.model).stem)
        trajectory, summary = run(
            model, duration=given.duration, out=out, solver=_solver(given.solver), materials=materials, key=given.key,
            every=given.every, name=given.model, progress=sys.stderr.isatty(),
        )  # fmt: skip
    except (PliantError, OSError) as error:
        print(f"pliant run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"pliant run: {_stopped(out)}", file=sys.stderr)
        return STOPPED
    _report(trajectory, summary, out)
    if given.profile:
        print(f"\n{summary.profile}")
    if summary.failed:
        print(f"pliant run: {summary.failed}", file=sys.stderr)
        return 1
    return STOPPED if trajectory.ended == "interrupted" else 0


def _report(trajectory: Trajectory, summary: Any, out: Path) -> None:
    state = "" if trajectory.complete else f", {trajectory.ended} at {trajectory.time[-1]:g} s"
    print(summary)
    print(f'written    {out}, {len(trajectory)} samples{state}: pliant.Trajectory.load("{out}")')


def _stopped(out: Path | None) -> str:
    """What is left when Ctrl-C came before the first step, or while the last samples were written."""
    from pliant.record import is_blank

    if out is not None and out.is_file() and is_blank(out):
        out.unlink()
    if out is None or not out.exists():
        return "stopped before the first step; nothing is written"
    return f'stopped; what was written before is kept: pliant.Trajectory.load("{out}")'


def _free_name(stem: str) -> Path:
    """A file that does not exist yet."""
    path, number = Path(f"{stem}.run"), 2
    while path.exists():
        path, number = Path(f"{stem}-{number}.run"), number + 1
    return path


def _solver(name: str) -> Any:
    from pliant.formulation import Convex, Coulomb
    from pliant.printed import Printed

    return {"coulomb": Coulomb, "convex": Convex, "printed": Printed}[name]()
