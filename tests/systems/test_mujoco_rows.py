"""Rows of models: the Jacobians that solvers see are MuJoCo's own, and what a row is keeps its meaning."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

from pliant.flat import BILATERAL, CLIPPED, NORMAL, TANGENT, UNILATERAL
from pliant.systems.mujoco_kinds import (
    ELLIPTIC,
    EQUALITY,
    FRICTION_DOF,
    FRICTION_TENDON,
    FRICTIONLESS,
    LIMIT_JOINT,
    LIMIT_TENDON,
)
from tests.support.assembled import assembled
from tests.support.models import ZOO, body, build, shaken, start

SEEDS = [1, 2, 3]
# An open contact may carry noise of up to 1e-14 of its largest entry, which is taken out.
SAME: Any = {"rtol": 0.0, "atol": 1e-12}


def dense(model: Any, data: Any) -> np.ndarray:
    if not mujoco.mj_isSparse(model):
        return np.array(data.efc_J).reshape(-1, model.nv)
    found = np.zeros((data.nefc, model.nv))
    mujoco.mju_sparse2dense(found, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    return found


def identities(data: Any) -> list[tuple[Any, ...]]:
    """What names a row in any layout: its source, and which of the source's rows it is."""
    seen: dict[tuple[Any, ...], int] = {}
    names = []
    for t, k, pos in zip(data.efc_type, data.efc_id, data.efc_pos, strict=True):
        if t in (FRICTIONLESS, ELLIPTIC):
            key: tuple[Any, ...] = (int(t), *data.contact.geom[k], *np.round(data.contact.pos[k], 9))
        elif t in (LIMIT_JOINT, LIMIT_TENDON):  # one row for each end
            key = (int(t), int(k), round(float(pos), 9))
        else:
            key = (int(t), int(k))
        names.append((*key, seen.setdefault(key, 0)))
        seen[key] += 1
    return names


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ZOO)
def test_jacobians_are_those_of_mujoco(name, seed, layout):
    model, data = shaken(name, seed, option=f'cone="elliptic" jacobian="{layout}"')
    data.qvel[:] = 0.0  # else Jacobians are told in the frames of the end of the step
    theirs = start(model, data.qvel, data.qpos)
    mujoco.mj_forward(model, theirs)
    assert theirs.nefc > 0
    expected = dict(zip(identities(theirs), dense(model, theirs), strict=True))
    step = assembled(model, data)
    np.testing.assert_array_equal(step.types, data.efc_type)
    found = dict(zip(identities(data), step.jacobian[: data.nefc], strict=True))
    assert expected.keys() <= found.keys()
    for key, row in expected.items():
        np.testing.assert_allclose(found[key], row, err_msg=str(key), **SAME)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["dropped", "everything"])
def test_contact_rows_are_differences_of_point_velocities(name, seed, layout):
    """By mj_jac, open contacts included: row 0 along the normal, then tangents, torsion and rolling."""
    model, data = shaken(name, seed, option=f'jacobian="{layout}"')
    step = assembled(model, data)
    rows, heads = step.jacobian, data.contact.efc_address
    assert np.count_nonzero(heads >= 0) > 0  # others are open and far from closing
    for c, head in enumerate(heads):
        if head < 0:
            continue
        found = np.zeros((6, model.nv))
        for sign, geom in zip((-1.0, 1.0), data.contact.geom[c], strict=True):
            linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mujoco.mj_jac(model, data, linear, angular, data.contact.pos[c], model.geom_bodyid[geom])
            frame = data.contact.frame[c].reshape(3, 3)
            found += sign * np.vstack([frame @ linear, frame @ angular])
        size = data.contact.dim[c]
        np.testing.assert_allclose(rows[head : head + size], found[:size], **SAME)


def test_the_zoo_has_every_kind_of_row():
    kinds, dims = set(), set()
    for name in ZOO:
        for seed in SEEDS:
            model, data = shaken(name, seed, option='cone="elliptic"')
            mujoco.mj_forward(model, data)
            kinds |= set(data.efc_type.tolist())
            dims |= set(data.contact.dim.tolist())
    assert kinds == {EQUALITY, FRICTION_DOF, FRICTION_TENDON, LIMIT_JOINT, LIMIT_TENDON, FRICTIONLESS, ELLIPTIC}
    assert dims == {1, 3, 4, 6}


@pytest.mark.parametrize("name", ZOO)
def test_rows_become_what_they_stand_for(name):
    model, data = shaken(name, 0)
    step = assembled(model, data)
    flat = step.flat
    scalar = {EQUALITY: BILATERAL, FRICTION_DOF: CLIPPED, FRICTION_TENDON: CLIPPED, LIMIT_JOINT: UNILATERAL,
              LIMIT_TENDON: UNILATERAL, FRICTIONLESS: UNILATERAL}  # fmt: skip
    for i, (t, k) in enumerate(zip(data.efc_type, data.efc_id, strict=True)):
        if t == ELLIPTIC:
            first = i == data.contact.efc_address[k]
            assert flat.kind[i] == (NORMAL if first else TANGENT)
            if not first:
                assert flat.friction[i] == data.contact.friction[k, i - data.contact.efc_address[k] - 1]
        else:
            assert flat.kind[i] == scalar[int(t)]
        if t in (FRICTION_DOF, FRICTION_TENDON):
            assert flat.upper[i] == -flat.lower[i] == data.efc_frictionloss[i] > 0.0


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("name", ZOO)
def test_the_inertia_is_that_of_mujoco(name, layout):
    """M, and what implicit joint springs and dampers add to its diagonal."""
    model, data = shaken(name, 1, option=f'jacobian="{layout}"')
    data.qvel[:] = 0.0  # else it is that of the end of the step
    step = assembled(model, data)
    expected = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, expected)
    h = model.opt.timestep
    expected += np.diag(h * model.dof_damping + h**2 * model.jnt_stiffness[model.dof_jntid])
    np.testing.assert_allclose(step.inertia, expected, rtol=1e-14, atol=1e-14)


def test_rows_that_move_nothing_take_no_force():
    """A contact below a body that can only turn about its normal: no row out of rounding."""
    spun = '<body pos="0 0 .0999"><joint axis="0 0 1"/><geom type="sphere" size=".1" mass="1"/></body>'
    model = build(spun, floor=True)
    data = start(model)
    step = assembled(model, data)
    assert np.all(np.abs(step.flat.jac_val) > 1e-12)
    other = build(body('size=".1" mass="1"', "0 0 .0999"), floor=True)
    assert len(assembled(other, start(other)).flat.jac_val) > 0
