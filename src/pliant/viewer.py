"""`pliant view`: a model in the browser, stepped with our forces, drawn by mjviser."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from pliant.errors import missing_extra
from pliant.systems.mujoco_calls import mj_forward, mj_step
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_laws import Substance
from pliant.systems.mujoco_patch import patch_mujoco

HOST: Final = "127.0.0.1"  # this machine alone: whoever reaches the server can steer the simulation
PORT: Final = 8080


class View:
    """A viewer that listens from the start; `run` steps and draws until Ctrl-C, then closes it.

    url: where a browser finds it. data: the mujoco.MjData that is stepped.
    """

    def __init__(self, model: Any, *, port: int = PORT, materials: Mapping[str, Substance] | None = None) -> None:
        viser, mjviser = _packages()
        self.data, self._materials = mujoco().MjData(model), materials
        mj_forward(
            model, self.data, materials=materials
        )  # what cannot be stepped is refused before there is anything to look at
        with contextlib.redirect_stdout(io.StringIO()):  # viser's own banner
            self._server = viser.ViserServer(host=HOST, port=port, label="pliant", verbose=False)
        # The button would ask a stranger's server for a public address.
        self._server.gui.configure_theme(show_share_button=False)
        self._viewer = mjviser.Viewer(
            model, self.data, step_fn=partial(mj_step, materials=materials), server=self._server
        )
        self.url = f"http://{HOST}:{self._server.get_port()}"

    def run(self) -> None:
        """Step and draw until Ctrl-C; from the main thread."""
        with patch_mujoco(
            materials=self._materials
        ):  # the viewer calls mujoco.mj_forward when a slider, a key frame or Reset sets the state
            self._viewer.run()

    def close(self) -> None:
        """Stop listening; for a view that was not run."""
        self._server.stop()


def _packages() -> tuple[Any, Any]:
    try:
        import mjviser
        import viser
    except ModuleNotFoundError as error:
        missing_extra(error.name or "mjviser", "viewer")
    return viser, mjviser
