"""Drawing needs OpenGL, which not every machine has without a screen."""

import pytest

from pliant.errors import PliantError
from pliant.render.opengl import open_context
from pliant.systems.mujoco_door import mujoco


@pytest.fixture(scope="session")
def opengl() -> None:
    try:
        context, room = open_context(mujoco().MjModel.from_xml_string("<mujoco/>"), (16, 16))
    except PliantError as error:
        pytest.skip(str(error))
    room.free()
    context.free()
