"""Forces of the step before, matched with the rows of the next."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.systems.mujoco_kinds import ELLIPTIC, EQUALITY, FRICTIONLESS, LIMIT_JOINT
from pliant.systems.mujoco_memory import Marks, Memory, memory_of
from tests.support.models import body, build

COUNT = 20  # contacts of a scene
PAIRS = np.array([[0, 1], [0, 2], [3, 4], [2, 5]], np.int32)


def turn(rng: np.random.Generator) -> np.ndarray:
    found, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return found * np.sign(np.linalg.det(found))


class Scene:
    """Contacts fixed to their second geoms, some of each number of rows, and other rows before and after them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.pair = PAIRS[np.sort(self.rng.integers(len(PAIRS), size=COUNT))]
        self.dim = self.rng.choice([1, 3, 4, 6], COUNT).astype(np.int32)
        self.place, self.normal = self.rng.normal(size=(COUNT, 3)), np.array([turn(self.rng) for _ in range(COUNT)])
        self.push = self.rng.normal(size=(COUNT, 6))  # normal, tangential, torsion, rolling; tangents of the frame
        self.other = self.rng.normal(size=5)
        self.data = mujoco.MjData(build(body('size=".1"')))

    def marks(self, order: Any, jitter: float = 0.0) -> tuple[Marks, np.ndarray]:
        """Contacts in that order, geoms anywhere, tangents turned, and the forces that this makes of the same ones."""
        xmat, xpos = np.array([turn(self.rng) for _ in range(6)]), self.rng.normal(size=(6, 3))
        two, force, frames, spots, head = self.pair[order, 1], [*self.other[:3]], [], [], []
        for c, g in zip(order, two, strict=True):
            head.append(len(force))
            angle = self.rng.uniform(0.0, 6.3)
            spin = np.array([[1, 0, 0], [0, np.cos(angle), np.sin(angle)], [0, -np.sin(angle), np.cos(angle)]])
            frames.append((spin @ self.normal[c] @ xmat[g].T).ravel())
            spots.append(xpos[g] + xmat[g] @ (self.place[c] + jitter * self.rng.normal(size=3)))
            push = self.push[c]
            turned = [push[0], *(spin[1:, 1:] @ push[1:3]), push[3], *(spin[1:, 1:] @ push[4:6])]
            force += turned[: self.dim[c]]
        kinds = [EQUALITY, EQUALITY, LIMIT_JOINT, *np.repeat(np.where(self.dim[order] > 1, ELLIPTIC, FRICTIONLESS),
                                                             self.dim[order])]  # fmt: skip
        ids = [0, 0, 4, *np.repeat(np.arange(len(order)), self.dim[order])]
        marks = Marks(
            np.array(kinds, np.int32), np.array(ids, np.int32), 2, self.pair[order].copy(), np.array(spots),
            np.array(frames), np.array(head, np.int32), self.dim[order].copy(), xpos, xmat.reshape(6, 9),
        )  # fmt: skip
        return marks, np.array([*force, *self.other[3:]])


@pytest.mark.parametrize("seed", range(5))
def test_forces_follow_their_contacts(seed):
    """Bodies have moved and turned, contacts come in another order and with other tangents."""
    scene = Scene(seed)
    memory = Memory(scene.data)
    memory.keep(scene.data, *scene.marks(np.arange(COUNT)))
    marks, force = scene.marks(scene.rng.permutation(COUNT), jitter=1e-3)
    np.testing.assert_allclose(memory.start(scene.data, marks), force, atol=1e-12)


def test_contacts_that_are_new_start_from_nothing_and_those_that_left_are_no_ones():
    scene = Scene(7)
    memory, some = Memory(scene.data), np.arange(0, COUNT, 2)
    marks, force = scene.marks(some)
    memory.keep(scene.data, marks, force)
    marks, force = scene.marks(np.arange(COUNT))
    start = memory.start(scene.data, marks)
    assert np.array_equal(start[:3], scene.other[:3]) and np.array_equal(start[-2:], scene.other[3:])
    normals = start[marks.head]
    assert sorted(normals[normals != 0.0]) == sorted(scene.push[some, 0])


def test_another_state_starts_from_nothing():
    scene = Scene(3)
    memory = Memory(scene.data)
    marks, force = scene.marks(np.arange(COUNT))
    memory.keep(scene.data, marks, force)
    assert len(memory.start(scene.data, marks)) == len(force)
    for field in ("qpos", "qvel"):
        value = getattr(scene.data, field)
        kept = value.copy()
        value[0] = np.nextafter(value[0], np.inf)
        assert len(memory.start(scene.data, marks)) == 0
        value[:] = kept
    assert len(memory.start(scene.data, marks)) == len(force)


def test_what_is_copied_can_be_taken_back():
    scene = Scene(5)
    memory, other = Memory(scene.data), Memory(scene.data)
    marks, force = scene.marks(np.arange(COUNT))
    memory.keep(scene.data, marks, force)
    other.take(memory.copy())
    np.testing.assert_array_equal(other.start(scene.data, marks), memory.start(scene.data, marks))
    other.take(None)
    assert other.copy() is None and len(other.start(scene.data, marks)) == 0


def wall(across: int, high: int) -> Any:
    """Bricks in a bond, each on two: their contacts are redundant four times over."""
    bricks = "".join(
        body(
            'type="box" size=".1 .05 .05" mass="1" friction=".6"',
            f"{0.21 * (i + 0.5 * (k % 2))} 0 {0.0499 + 0.0998 * k}",
        )
        for k in range(high)
        for i in range(across)
    )  # fmt: skip
    return build(bricks, option='timestep="0.01"', floor=True)


def test_a_wall_at_rest_takes_an_iteration_or_two():
    model = wall(4, 4)
    data, counted = mujoco.MjData(model), []
    pliant.mj_step(model, data, 200)
    assert np.abs(data.qvel).max() < 1e-6
    for forgets in (False, True):
        before = pliant.stats(data).iterations
        for _ in range(20):
            if forgets:
                pliant.forget(data)
            pliant.mj_step(model, data)
        counted.append(pliant.stats(data).iterations - before)
    assert counted[0] <= 50 and counted[0] < 0.6 * counted[1]
    assert np.abs(data.qvel).max() < 1e-6


def test_forces_alone_change_nothing():
    model = wall(4, 4)
    one, two = (mujoco.MjData(model) for _ in range(2))
    for _ in range(30):
        pliant.mj_step(model, one)
        pliant.mj_step(model, two)
        pliant.mj_forward(model, two)
    np.testing.assert_array_equal(one.qpos, two.qpos)
    np.testing.assert_array_equal(one.qvel, two.qvel)


def test_few_rows_remember_nothing():
    model = wall(1, 2)
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 3)
    assert 0 < data.nefc <= 40 and memory_of(data).copy() is None


def test_forget_wants_data():
    with pytest.raises(pliant.InputError, match="MjData"):
        pliant.forget("data")
