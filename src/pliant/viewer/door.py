"""From what people have to what is shown: models, systems, runs, and files of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pliant.errors import InputError
from pliant.formulation import Formulation
from pliant.record import MAGIC
from pliant.run_shown import run_to_show
from pliant.stage import Stage
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import Substance
from pliant.systems.mujoco_load import read_model
from pliant.systems.mujoco_system import MujocoSystem
from pliant.trajectory import Trajectory
from pliant.viewer.playback import Playback
from pliant.viewer.server import HOST, PORT
from pliant.viewer.simulation import Simulation
from pliant.viewer.source import Source
from pliant.viewer.view import View


def view(
    what: Any,
    *,
    model: Any = None,
    system: Any = None,
    materials: Mapping[str, Substance] | None = None,
    solver: Formulation | None = None,
    show: Iterable[str] = (),
    see_through: bool = False,
    paused: bool = False,
    host: str = HOST,
    port: int = PORT,
    browser: bool = True,
) -> None:
    """Show a model or a run in the browser until Ctrl-C (needs the extra `viewer`).

    what: a mujoco.MjModel or MujocoSystem, which is simulated while one looks; a Trajectory, which is played back; or a
    path: of an MJCF or URDF file, or of a run. model, system: of a run that does not know how it looks, as for
    `pliant.stage.Stage.of`. materials, solver: as of `mj_step`, for models. show: any of "contacts", "forces", "cones",
    "pressure", "pulls", to begin with. host, port: where to listen; by default this machine alone can look.
    """
    source = open_source(what, model=model, system=system, materials=materials, solver=solver)
    shown = View(source, host=host, port=port, show=show, see_through=see_through, paused=paused)
    try:
        watch(shown, browser=browser)
    finally:
        shown.close()


def watch(shown: View, *, browser: bool) -> None:
    """Open a browser, and keep the view going until Ctrl-C."""
    import webbrowser

    if browser:
        webbrowser.open(shown.url)
    shown.run()


def open_source(
    what: Any,
    *,
    model: Any = None,
    system: Any = None,
    materials: Mapping[str, Substance] | None = None,
    solver: Formulation | None = None,
) -> Source:
    """A simulation of a model, or a playback of a run."""
    what = what if isinstance(what, Trajectory) else run_to_show(what) if is_run(what) else what
    if isinstance(what, Trajectory):
        if materials is not None or solver is not None:
            raise InputError("materials and solver are for models that are simulated: what a run had is in it")
        energy = getattr(system, "energy", None)
        return Playback(what, Stage.of(what, model=model, system=system), energy=energy if callable(energy) else None)
    if model is not None or system is not None:
        raise InputError("model and system say how a run looks; give the model alone to simulate it")
    if isinstance(what, MujocoSystem):
        named = what.materials if materials is None else materials
        return Simulation(what.model, materials=named, solver=solver, compliance=what.compliance, start=what.data)
    chosen = what if isinstance(what, mujoco().MjModel) else read_model(what)
    return Simulation(chosen, materials=materials, solver=solver)


def is_run(what: Any) -> bool:
    """Whether it is the path of a file that pliant has written."""
    try:
        with open(Path(os.fspath(what)), "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (TypeError, ValueError, OSError):  # no path, or the text of a model
        return False
