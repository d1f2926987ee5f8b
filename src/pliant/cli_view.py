"""The command `pliant view`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from pliant.cli_run import STOPPED, add_model
from pliant.errors import InputError, PliantError

HOST: Final = "127.0.0.1"
PORT: Final = 8080
KINDS: Final = ("contacts", "forces", "cones", "pressure", "pulls")
ONLY_MODELS: Final = ("step", "materials", "floor", "floating", "solver", "key")


def add_view(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    view = commands.add_parser(
        "view",
        help="watch a model while it is simulated, or a run, in the browser",
        description="Show a model in the browser, simulated with pliant's forces while you look, or play a run back "
        "(a file of pliant run, Trajectory.save or a checkpoint), until Ctrl-C ends it; or write a run to one HTML "
        'page that plays without pliant. Needs pip install "pliant[viewer]".',
    )
    add_model(view, metavar="MODEL|RUN", what="an MJCF or URDF file, or a run")
    view.add_argument("--solver", choices=("coulomb", "convex"), help="of a model (default: coulomb)")
    view.add_argument("--model", dest="of", metavar="MODEL", help="of a run that does not hold its model")
    view.add_argument(
        "--show", default=None, metavar="KINDS",
        help=f"what to draw over the bodies at first: all, or some of {','.join(KINDS)} (contacts,forces in a page)",
    )  # fmt: skip
    view.add_argument("--see-through", action="store_true", help="begin with bodies that one looks through")
    view.add_argument("--export", metavar="PAGE", help="write a run to this HTML file, and open nothing")
    view.add_argument("--fps", type=float, metavar="N", help="frames per second of the page (default: 30)")
    view.add_argument("--force", action="store_true", help="overwrite PAGE")
    view.add_argument(
        "--host", default=HOST, help=f"the address to listen on (default: {HOST}, which only this machine reaches)"
    )
    view.add_argument(
        "--port", type=int, default=PORT, help=f"where to listen, or the next that is free (default: {PORT}; 0: any)"
    )
    view.add_argument("--no-browser", action="store_true", help="only print the address")


def run_view(given: argparse.Namespace) -> int:
    """Show, or export; the exit status."""
    try:
        return _export(given) if given.export else _show(given)
    except (PliantError, OSError, ImportError) as error:
        print(f"pliant view: {error}", file=sys.stderr)
        return 1


def _show(given: argparse.Namespace) -> int:
    from pliant.viewer.door import watch
    from pliant.viewer.server import is_private
    from pliant.viewer.view import View

    show = _kinds(given.show or "")
    shown = View(_source(given), host=given.host, port=given.port, show=show, see_through=given.see_through)
    try:
        others = "" if is_private(given.host) else f"; whoever reaches {given.host} can look and steer"
        print(f"pliant view: {shown.url} until Ctrl-C{others}", flush=True)
        watch(shown, browser=not given.no_browser)
    except KeyboardInterrupt:  # before the loop heard of it: the end that was announced, all the same
        pass
    finally:
        shown.close()
    return STOPPED


def _export(given: argparse.Namespace) -> int:
    from pliant.run_shown import check_run
    from pliant.viewer.export import export_html

    check_run(given.model)
    _refuse(given)
    show = _kinds(given.show or "contacts,forces")
    page = export_html(given.model, given.export, model=given.of, show=show, fps=given.fps, overwrite=given.force)
    print(f"pliant view: {page} plays in any browser")
    return 0


def _source(given: argparse.Namespace) -> Any:
    from pliant.formulation import Convex, Coulomb
    from pliant.materials_file import read_materials
    from pliant.run_shown import run_to_show
    from pliant.systems.mujoco_door import mujoco
    from pliant.systems.mujoco_load import read_model
    from pliant.systems.mujoco_start import start_at
    from pliant.viewer.door import is_run, open_source
    from pliant.viewer.simulation import Simulation

    if is_run(given.model):
        _refuse(given)
        return open_source(given.model, model=given.of)
    if Path(given.model).suffix == ".run":  # who names it so means a run, and wants no word of models
        run_to_show(given.model)
    if given.of:
        raise InputError("--model is for runs that do not hold their model")
    model = read_model(given.model, step=given.step, floating=given.floating, floor=given.floor)
    materials = read_materials(given.materials) if given.materials else None
    start = mujoco().MjData(model)
    if given.key is not None:
        start_at(model, start, given.key)
    solver = Convex() if given.solver == "convex" else Coulomb()
    return Simulation(model, materials=materials, solver=solver, start=start)


def _refuse(given: argparse.Namespace) -> None:
    wrong = [f"--{name}" for name in ONLY_MODELS if getattr(given, name)]
    if wrong:
        raise InputError(f"{', '.join(wrong)}: for models only; a run is shown as it was simulated")


def _kinds(text: str) -> list[str]:
    return list(KINDS) if text == "all" else [part.strip() for part in text.split(",") if part.strip()]
