"""A step is a function of the state: saved and restored, copied, or in another process, it gives the same bits."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from tests.support.models import SHAKES, STATE, ZOO, shake, shaken, start, state

ROOT = Path(__file__).parents[2]


def digest(model: Any, data: Any) -> str:
    """Of the state and of what the last step has left."""
    parts = (state(model, data), data.qacc, data.efc_force, data.sensordata, data.qfrc_constraint, data.actuator_force)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


@pytest.mark.parametrize("name", ZOO)
def test_a_restored_state_runs_again_to_the_same_bits(name):
    model, data = shaken(name)
    pliant.mj_step(model, data, 100)
    kept = state(model, data)
    pliant.mj_step(model, data, 100)
    end = digest(model, data)
    mujoco.mj_setState(model, data, kept, STATE)
    pliant.mj_step(model, data, 100)
    assert digest(model, data) == end
    fresh = mujoco.MjData(model)
    mujoco.mj_setState(model, fresh, kept, STATE)
    pliant.mj_step(model, fresh, 100)
    assert digest(model, fresh) == end


@pytest.mark.parametrize("name", ZOO)
def test_a_copy_runs_to_the_same_bits(name):
    model, data = shaken(name)
    pliant.mj_step(model, data, 50)
    other = mujoco.MjData(model)
    mujoco.mj_copyData(other, model, data)
    pliant.mj_step(model, data, 50)
    pliant.mj_step(model, other, 50)
    assert digest(model, other) == digest(model, data)


@pytest.mark.parametrize("name", ZOO)
def test_a_reset_data_is_as_a_new_one(name):
    model, data = shaken(name)
    pliant.mj_step(model, data, 30)
    mujoco.mj_resetData(model, data)
    fresh = mujoco.MjData(model)
    pliant.mj_step(model, data, 50)
    pliant.mj_step(model, fresh, 50)
    assert digest(model, data) == digest(model, fresh)


@pytest.mark.parametrize("name", ZOO)
def test_an_edit_of_the_position_is_all_that_is_seen(name):
    model, data = shaken(name)
    pliant.mj_step(model, data, 30)
    other = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, np.full(model.nv, 0.01), 1.0)
    mujoco.mj_setState(model, other, state(model, data), STATE)
    pliant.mj_step(model, data, 30)
    pliant.mj_step(model, other, 30)
    assert digest(model, data) == digest(model, other)


@pytest.mark.parametrize("name", ["dropped", "everything"])
def test_the_fixed_number_of_other_data_in_between_does_not_matter(name):
    """Scratch memory is shared between the data of a model: what one leaves there must not reach another."""
    model, alone = shaken(name)
    pliant.mj_step(model, alone, 40)
    _, data = shaken(name)
    disturber = start(model)
    shake(model, disturber, 99, size=10 * SHAKES[name], speed=20.0)
    for _ in range(40):
        pliant.mj_step(model, data)
        pliant.mj_step(model, disturber)
    assert digest(model, data) == digest(model, alone)


SCRIPT = """
import sys
from tests.systems.test_mujoco_state import digest, shaken
import pliant
model, data = shaken(sys.argv[1])
pliant.mj_step(model, data, 200)
print(digest(model, data))
"""


@pytest.mark.parametrize("name", ["dropped", "everything"])
def test_another_process_gives_the_same_bits(name):
    model, data = shaken(name)
    pliant.mj_step(model, data, 200)
    done = subprocess.run([sys.executable, "-c", SCRIPT, name], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == digest(model, data)


MUJOCO_ALONE = """
import sys, mujoco
model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
mujoco.mj_step(model, data, 200)
assert "pliant" not in sys.modules and data.ncon > 0
print(data.qpos.tobytes().hex())
"""


def test_mujoco_by_itself_is_as_it_was(tmp_path):
    """Its collisions lead through a function of ours, which does nothing outside of our steps."""
    path = tmp_path / "piled.xml"
    shapes = ("sphere", "capsule", "cylinder", "box", "ellipsoid")
    bodies = "".join(
        f'<body pos=".02 {0.01 * k} {0.2 + 0.25 * k}"><freejoint/><geom type="{shape}" size=".1 .1 .1"/></body>'
        for k, shape in enumerate(shapes)
    )
    path.write_text(f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{bodies}</worldbody></mujoco>')
    run = subprocess.run([sys.executable, "-c", MUJOCO_ALONE, path], capture_output=True, text=True, check=True)
    model = mujoco.MjModel.from_xml_path(str(path))
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    for _ in range(200):
        pliant.mj_step(model, ours)
        mujoco.mj_step(model, theirs)
    assert theirs.qpos.tobytes().hex() == run.stdout.strip()
