"""The tab "Scene": controls of actuators, key frames, the camera, groups of geoms."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.systems.mujoco_laws import names
from pliant.viewer.simulation import Simulation

if TYPE_CHECKING:
    from pliant.viewer.view import View

MANY = 60  # sliders: more of them nobody finds


class SceneTab:
    def __init__(self, view: View) -> None:
        self._view, gui = view, view.server.gui
        follow = gui.add_checkbox("Camera follows the first body", False)
        follow.on_update(lambda _: view.do(partial(view.scene.follow, follow.value)))
        if isinstance(view.source, Simulation):
            self._add_keys(view.source)
            self._add_actuators(view.source)
        with gui.add_folder("Groups", expand_by_default=False):
            view.scene.bodies.scene.create_groups_gui()

    def _add_keys(self, simulation: Simulation) -> None:
        keys = [name or f"#{i}" for i, name in enumerate(names(simulation.model, "key"))]
        if not keys:
            return
        chosen = self._view.server.gui.add_dropdown("Key frame", keys)
        button = self._view.server.gui.add_button("Go there")
        button.on_click(lambda _: self._view.do(lambda: simulation.reset(keys.index(chosen.value))))

    def _add_actuators(self, simulation: Simulation) -> None:
        model, gui = simulation.model, self._view.server.gui
        if not model.nu:
            return
        with gui.add_folder("Actuators"):
            for i in range(min(model.nu, MANY)):
                low, high = model.actuator_ctrlrange[i] if model.actuator_ctrllimited[i] else (-1.0, 1.0)
                now = float(np.clip(simulation.data.ctrl[i], low, high))
                label = model.actuator(i).name or f"#{i}"
                slider = gui.add_slider(label, float(low), float(high), float(high - low) / 200.0, now)
                slider.on_update(partial(self._set, simulation, i))

    def _set(self, simulation: Simulation, i: int, event: Any) -> None:
        value = event.target.value
        self._view.do(lambda: simulation.data.ctrl.__setitem__(i, value))
