"""The contacts of a step in MuJoCo's data, with our forces, as the rows of `pliant.readout`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.readout import COLUMNS, contact_table, pressure_table, rows_of
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_kinds import PYRAMIDAL
from pliant.systems.mujoco_laws import names
from pliant.systems.mujoco_stepper import stepper_of

LEAST_FRICTION = 1e-5  # mjMINMU, which MuJoCo makes of a coefficient of 0
ELEMENT = 26  # numbers of an element, as the engine tells them


def contacts(model: Any, data: Any) -> Any:
    """The contacts of the step that `pliant.mj_step` took last on this data: a pandas.DataFrame if pandas is
    installed, else a structured array.

    time, geom1, geom2 (by name, #number without one), element (of a Foundation on geom2, else -1), x y z [m], nx ny nz
    (the normal, from geom1 to geom2), fx fy fz [N] in the world: what geom1 does to geom2, penetration [m] at the end
    of the step, state (OPEN, STICK, SLIP).
    """
    return contact_table(*_last_rows(model, data))


def pressure(model: Any, data: Any) -> Any:
    """The elements of foundations that push, of the step that `pliant.mj_step` took last on this data, as a table.

    time [s], geom, element, u v w (its place in the frame of the geom [m]), area [m^2], pressure and shear [Pa].
    """
    return pressure_table(*_last_rows(model, data))


def _last_rows(model: Any, data: Any) -> tuple[Array, Array, list[str]]:
    if not isinstance(model, mujoco().MjModel) or not isinstance(data, mujoco().MjData):
        raise InputError("expected a mujoco.MjModel and the mujoco.MjData that was stepped")
    if data.signature != model.signature:
        raise InputError("data belongs to another model: give the model that it was stepped with")
    rows = contact_rows(model, data, data.qvel)
    return np.full(len(rows), data.time), rows, names(model, "geom")


def contact_rows(model: Any, data: Any, v1: Array) -> Array:
    """(n, len(COLUMNS)), of the rows and forces in data; v1: (nv,) at the end of the step."""
    rows, h = _of_mujoco(model, data, v1), float(model.opt.timestep)
    began, elements = stepper_of(data).elements(v1)
    if len(elements) and data.time in (began, began + h):  # else MuJoCo has stepped since
        rows = np.concatenate([rows, _of_elements(data, elements.reshape(-1, ELEMENT))])
    return rows


def _of_mujoco(model: Any, data: Any, v1: Array) -> Array:
    there = np.flatnonzero(data.contact.efc_address >= 0)
    if not len(there):
        return np.zeros((0, len(COLUMNS)))
    mj, contact, n = mujoco(), data.contact, len(there)
    force, six, rate = np.zeros((n, 3)), np.zeros(6), np.zeros(data.nefc)
    for k, c in enumerate(there):
        mj.mj_contactForce(model, data, int(c), six)
        force[k] = six[:3]
    mj.mj_mulJacVec(model, data, rate, v1)
    head = contact.efc_address[there]
    edges = data.efc_type[head] == PYRAMIDAL  # whose first two are on both sides of the normal
    normal = np.where(edges, 0.5 * (rate[head] + rate[np.minimum(head + 1, data.nefc - 1)]), rate[head])
    gap = contact.dist[there] - contact.includemargin[there] + model.opt.timestep * normal
    none = np.full(n, np.nan)
    return rows_of(
        contact.geom[there], np.full(n, -1.0), none, np.full((n, 3), np.nan), contact.pos[there],
        contact.frame[there].reshape(n, 3, 3), force, -gap,
        _rubbing(contact.dim[there], contact.friction[there, :2]),
    )  # fmt: skip


def _rubbing(dim: np.ndarray, friction: Array) -> Array:
    """Coefficients, (n, 2), 0 where there is no friction."""
    return np.where((dim[:, None] > 1) & (friction > LEAST_FRICTION), friction, 0.0)


def _of_elements(data: Any, table: Array) -> Array:
    """Of the elements that push, the columns of src/engine/bindings/mujoco.cc."""
    n = len(table)
    geom, other, number = table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2]
    area, gap, dim, friction, pos = table[:, 3], table[:, 4], table[:, 5], table[:, 6:8], table[:, 8:11]
    frame, force = table[:, 11:20].reshape(n, 3, 3), table[:, 20:23]
    R = data.geom_xmat[geom].reshape(n, 3, 3)
    local = np.einsum("nj,njk->nk", pos - data.geom_xpos[geom], R)
    rows = rows_of(
        np.stack([other, geom], axis=1), number, area, local, pos, frame, force, -gap, _rubbing(dim, friction)
    )
    return np.asarray(rows[force[:, 0] > 0.0])
