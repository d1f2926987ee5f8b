"""A second data of the twin, to move about in: where bodies would be within the step."""

from __future__ import annotations

from typing import Any

from pliant.systems.mujoco_door import mujoco


class Aside:
    """twin: the model, whose weight may be taken off for a while. data: its own."""

    def __init__(self, twin: Any) -> None:
        self.twin, self.data = twin, mujoco().MjData(twin)

    def of(self, data: Any) -> Any:
        """The data, with what moves by itself where it is in the user's."""
        self.data.mocap_pos[:], self.data.mocap_quat[:] = data.mocap_pos, data.mocap_quat
        return self.data
