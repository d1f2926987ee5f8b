"""From MuJoCo's constraint rows to the record that solvers see.

MuJoCo makes the rows, with elliptic cones, and hands over what a contact, a limit or an equality is; here each gets its
law. Extra rows, of actuators, tendons and drag, follow after MuJoCo's.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.flat import BILATERAL, CLIPPED, NORMAL, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_kinds import (
    DAMPING,
    DISSIPATION,
    ELLIPTIC,
    EQUALITY,
    EXPONENT,
    FRICTION_DOF,
    FRICTION_TENDON,
    FRICTIONLESS,
    STIFFNESS,
)
from pliant.systems.mujoco_laws import Laws, row_laws

if TYPE_CHECKING:
    from pliant.systems.mujoco_reach import Reach

# Columns of extra rows.
EXTRA_KIND, EXTRA_STIFFNESS, EXTRA_DAMPING, EXTRA_VALUE, EXTRA_OFFSET, EXTRA_LOWER, EXTRA_UPPER = range(7)
EXTRA_COLUMNS: Final = 7
NOISE: Final = 1e-14  # of the largest entry of a contact


class Efc(NamedTuple):
    """MuJoCo's rows; J is dense if it has no pointers."""

    type: np.ndarray  # (m,)
    id: np.ndarray  # (m,)
    J: Array
    rownnz: np.ndarray
    rowadr: np.ndarray
    colind: np.ndarray
    pos: Array  # (m,)
    margin: Array  # (m,)
    friction: Array  # (m,) dry friction
    offset: Array  # (m,) what e is but for the turning of free bodies
    law: Array  # (m, 4) as above, of the row's source


class Touch(NamedTuple):
    """What contacts add."""

    dim: np.ndarray  # (ncon,)
    friction: Array  # (ncon, 5)
    adhesion: Array  # (ncon,)


class Rows(NamedTuple):
    """All of MuJoCo's rows of a step."""

    efc: Efc
    touch: Touch


class Extra(NamedTuple):
    """Rows that MuJoCo does not have."""

    ptr: np.ndarray  # (k+1,)
    idx: np.ndarray
    val: Array
    table: Array  # (k, EXTRA_COLUMNS)


class Mass(NamedTuple):
    """M as MuJoCo keeps it, where its entries lie in the whole matrix, and what is added to its diagonal."""

    M: Array
    rownnz: np.ndarray  # (nv,)
    rowadr: np.ndarray
    colind: np.ndarray
    place: np.ndarray
    more: Array  # (nv,)


NO_INTS: Final = np.zeros(0, np.int32)


def read_rows(twin: Any, data: Any, laws: Laws, reach: "Reach") -> Rows:
    """MuJoCo's rows with our laws. Copies: the arrays lie in MuJoCo's arena and move."""
    mj, m, contacts = mujoco(), data.nefc, data.contact
    type, id, margin = data.efc_type.copy(), data.efc_id.copy(), data.efc_margin.copy()
    law = np.zeros((m, 4))
    pair, dim = contacts.geom, contacts.dim.copy()
    left = row_laws(
        type, id, pair, laws.geom, laws.joint, laws.tendon, laws.equality, reach.joint_margin, reach.tendon_margin,
        margin, law,
    )  # fmt: skip
    offset = np.zeros(m)
    if m and getattr(twin, "flg_surfacevel", 0):
        mj.mj_referenceConstraint(twin, data)  # velocities of these rows, not of the user's
        mj.mj_mulJacVec(twin, data, offset, data.qvel)
        offset = data.efc_vel - offset
    sparse = mj.mj_isSparse(twin)
    none = NO_INTS, NO_INTS, NO_INTS
    nnz, adr, ind = (data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind) if sparse else none
    efc = Efc(
        type, id, data.efc_J.reshape(-1), nnz, adr, ind, data.efc_pos.copy(), margin, data.efc_frictionloss, offset, law
    )
    if left or laws.by_reference:
        _by_reference(twin, data, laws, efc)
    adhesion = getattr(contacts, "adhesion", None)
    adhesion = np.zeros(len(dim)) if adhesion is None else adhesion.copy()
    return Rows(efc, Touch(dim, contacts.friction.copy(), adhesion))


def _by_reference(twin: Any, data: Any, laws: Laws, efc: Efc) -> None:
    """The springs that MuJoCo's references stand for.

    compliance="model": f = -(k d r + b v) / R at the end of the step. Direct format: k and b times the effective
    inertia 1 / a of the row, a = G inv(M) G'.
    """
    if laws.by_reference:
        k, b, d = data.efc_KBIP[:, 0], data.efc_KBIP[:, 1], data.efc_KBIP[:, 2]
        efc.law[:, STIFFNESS], efc.law[:, DAMPING] = k * d / data.efc_R, b / data.efc_R
        return
    mj = mujoco()
    unit, row, half = np.zeros(data.nefc), np.zeros(twin.nv), np.zeros(twin.nv)
    for i in np.flatnonzero(efc.law[:, STIFFNESS] < 0.0):
        unit[:] = 0.0
        unit[i] = 1.0
        mj.mj_mulJacTVec(twin, data, row, unit)
        mj.mj_solveM(twin, data, half[None], row[None])
        a = float(row @ half)
        inertia = 1.0 / a if a > 0.0 else 0.0
        efc.law[i, STIFFNESS] *= -inertia
        efc.law[i, DAMPING] *= inertia


@kernel
def make_flat(h: float, mass: Mass, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra) -> Flat:
    """shift: (nv,), what the velocity over the step differs by from that at its end, on bodies that turn freely."""
    nv, m, k = v0.size, efc.type.size, extra.table.shape[0]
    mass_ptr, mass_idx, mass_val = _mass(mass)
    jac_ptr, jac_idx, jac_val = _jacobian(nv, efc, touch, extra)
    n = m + k
    kind = np.zeros(n, np.int64)
    value, offset, K, B = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    exponent, dissipation = np.ones(n), np.zeros(n)
    lower, upper, mu = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)
    block_ptr = np.zeros(n + 1, np.int64)
    blocks, i = 0, 0
    while i < m:
        t = efc.type[i]
        size = 1
        offset[i] = efc.offset[i]
        K[i], B[i] = efc.law[i, STIFFNESS], efc.law[i, DAMPING]
        if t == EQUALITY:
            kind[i], value[i] = BILATERAL, efc.pos[i]
        elif t in (FRICTION_DOF, FRICTION_TENDON):
            kind[i], lower[i], upper[i] = CLIPPED, -efc.friction[i], efc.friction[i]
        else:
            kind[i], value[i], lower[i] = UNILATERAL, efc.pos[i] - efc.margin[i], 0.0
        if t in (FRICTIONLESS, ELLIPTIC):
            c = efc.id[i]
            exponent[i], dissipation[i] = efc.law[i, EXPONENT], efc.law[i, DISSIPATION]
            if touch.adhesion[c] > 0.0 and K[i] > 0.0:
                value[i] -= (touch.adhesion[c] / K[i]) ** (1.0 / exponent[i])  # what it pulls does not press in
            if t == ELLIPTIC:
                size = touch.dim[c]
                kind[i] = NORMAL
                for j in range(1, size):
                    kind[i + j], K[i + j], mu[i + j] = TANGENT, np.inf, touch.friction[c, j - 1]
                    offset[i + j] = efc.offset[i + j]
        i += size
        blocks += 1
        block_ptr[blocks] = i
    for e in range(k):
        i = m + e
        kind[i] = int(extra.table[e, EXTRA_KIND])
        K[i], B[i] = extra.table[e, EXTRA_STIFFNESS], extra.table[e, EXTRA_DAMPING]
        value[i], offset[i] = extra.table[e, EXTRA_VALUE], extra.table[e, EXTRA_OFFSET]
        lower[i], upper[i] = extra.table[e, EXTRA_LOWER], extra.table[e, EXTRA_UPPER]
        blocks += 1
        block_ptr[blocks] = i + 1
    for i in range(n):
        if jac_ptr[i] == jac_ptr[i + 1]:
            mu[i] = 0.0  # nothing that friction could hold
        for e in range(jac_ptr[i], jac_ptr[i + 1]):
            offset[i] += jac_val[e] * shift[jac_idx[e]]
    none = np.zeros(n, np.int64)
    return Flat(
        h, mass_ptr, mass_idx, mass_val, v0.copy(), f, jac_ptr, jac_idx, jac_val, block_ptr[: blocks + 1].copy(),
        kind, value, offset, K, B, exponent, dissipation, lower, upper, mu, np.zeros(n), none, none,
    )  # fmt: skip


@kernel
def _mass(mass: Mass) -> tuple[np.ndarray, np.ndarray, Array]:
    nv = mass.more.size
    ptr, idx, val = np.zeros(nv + 1, np.int64), np.zeros(mass.colind.size, np.int64), np.zeros(mass.colind.size)
    at = 0
    for i in range(nv):
        for e in range(mass.rowadr[i], mass.rowadr[i] + mass.rownnz[i]):
            if mass.place[e] >= 0:  # simple bodies are diagonal in M, blocks in the pattern
                j = mass.colind[e]
                idx[at], val[at] = j, mass.M[mass.place[e]] + (mass.more[i] if i == j else 0.0)
                at += 1
        ptr[i + 1] = at
    return ptr, idx[:at].copy(), val[:at].copy()


@kernel
def _jacobian(nv: int, efc: Efc, touch: Touch, extra: Extra) -> tuple[np.ndarray, np.ndarray, Array]:
    """G in CSR without zeros, and without entries that are the rounding of what should be zero: a row that consisted of
    them would take enormous forces for what moves nothing."""
    m, k = efc.type.size, extra.table.shape[0]
    sparse = efc.rownnz.size > 0
    ptr = np.zeros(m + k + 1, np.int64)
    idx, val = np.zeros(efc.J.size + extra.val.size, np.int64), np.zeros(efc.J.size + extra.val.size)
    at, i = 0, 0
    while i < m:
        size = touch.dim[efc.id[i]] if efc.type[i] == ELLIPTIC else 1
        least = 0.0
        for j in range(i, i + size):
            start, count = (efc.rowadr[j], efc.rownnz[j]) if sparse else (j * nv, nv)
            for e in range(start, start + count):
                least = max(least, NOISE * abs(efc.J[e]))
        for j in range(i, i + size):
            start, count = (efc.rowadr[j], efc.rownnz[j]) if sparse else (j * nv, nv)
            for e in range(count):
                x = efc.J[start + e]
                if abs(x) > least:
                    idx[at] = efc.colind[start + e] if sparse else e
                    val[at] = x
                    at += 1
            ptr[j + 1] = at
        i += size
    for i in range(k):
        for e in range(extra.ptr[i], extra.ptr[i + 1]):
            if extra.val[e] != 0.0:
                idx[at], val[at] = extra.idx[e], extra.val[e]
                at += 1
        ptr[m + i + 1] = at
    return ptr, idx[:at].copy(), val[:at].copy()
