"""From MuJoCo's constraint rows to the record that solvers see.

MuJoCo makes the rows, with elliptic cones, and hands over what a contact, a limit or an equality is; here each gets its
law. Extra rows, of actuators, tendons and drag, follow after MuJoCo's.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pliant._compile import kernel
from pliant.flat import BILATERAL, CLIPPED, NORMAL, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array, Ints
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
from pliant.systems.mujoco_surfaces import Spots, Surfaces

if TYPE_CHECKING:
    from pliant.systems.mujoco_foundation import Patch
    from pliant.systems.mujoco_reach import Reach

# Columns of extra rows.
EXTRA_KIND, EXTRA_STIFFNESS, EXTRA_DAMPING, EXTRA_VALUE, EXTRA_OFFSET, EXTRA_LOWER, EXTRA_UPPER = range(7)
EXTRA_COLUMNS: Final = 7
LEAST_FRICTION: Final = 1e-5  # mjMINMU, which MuJoCo makes of a coefficient of 0
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
    """All of MuJoCo's rows of a step, and those of the elements of foundations after them."""

    efc: Efc
    touch: Touch
    patch: "Patch | None" = None

    @property
    def own(self) -> int:
        """How many are MuJoCo's."""
        return len(self.efc.type) - (0 if self.patch is None else int(self.patch.dim.sum()))


class Extra(NamedTuple):
    """Rows that MuJoCo does not have."""

    ptr: np.ndarray  # (k+1,)
    idx: np.ndarray
    val: Array
    table: Array  # (k, EXTRA_COLUMNS)


class Mass(NamedTuple):
    """M as MuJoCo keeps it, where its entries lie in the whole matrix, and what is added to its diagonal."""

    M: Array
    ptr: Ints  # (nv+1,) the whole matrix, in CSR
    idx: Ints
    place: Ints  # of its entries in M
    diagonal: Ints  # (nv,) places of the diagonal
    more: Array  # (nv,)


def mass_pattern(model: Any) -> tuple[Ints, Ints, Ints, Ints]:
    """ptr, idx, place and diagonal of `Mass`. Simple bodies are diagonal in M, blocks in MuJoCo's pattern."""
    there = model.mapM2D >= 0
    row = np.repeat(np.arange(model.nv), model.D_rownnz)[there]
    ptr = np.searchsorted(row, np.arange(model.nv + 1))
    idx = model.D_colind[there].astype(np.int64)
    return ptr, idx, model.mapM2D[there].astype(np.int64), np.flatnonzero(row == idx)


NO_INTS: Final = np.zeros(0, np.int32)


def read_rows(twin: Any, data: Any, laws: Laws, reach: "Reach") -> Rows:
    """MuJoCo's rows with our laws. Copies: the arrays lie in MuJoCo's arena and move."""
    mj, m, contacts = mujoco(), data.nefc, data.contact
    type, id, margin = data.efc_type.copy(), data.efc_id.copy(), data.efc_margin.copy()
    law = np.zeros((m, 4))
    spots = Spots(contacts.geom.copy(), contacts.pos.copy(), contacts.frame.copy())
    geoms = Surfaces(twin.geom_type, twin.geom_size, laws.material, data.geom_xpos, data.geom_xmat)
    dim = contacts.dim.copy()
    left = row_laws(
        type, id, geoms, spots, laws.geom, laws.joint, laws.tendon, laws.equality, reach.joint_margin,
        reach.tendon_margin, margin, law,
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


@np.errstate(over="ignore", invalid="ignore")  # of inertias whose square overflows
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
    every = np.ones(efc.type.size + extra.table.shape[0], np.int64)
    return make_part(h, mass.ptr, mass.idx, whole_mass(mass), v0, f, shift, efc, touch, extra, every)


@kernel
def make_part(
    h: float, mass_ptr: Ints, mass_idx: Ints, mass_val: Array, v0: Array, f: Array, shift: Array,
    efc: Efc, touch: Touch, extra: Extra, chosen: Ints,
) -> Flat:  # fmt: skip
    """The step with some of its rows alone, whole blocks of them: 1 in chosen, (m,)."""
    m, k, n = efc.type.size, extra.table.shape[0], 0
    for i in range(m + k):
        n += chosen[i]
    jac_ptr, jac_idx, jac_val = _jacobian(v0.size, efc, touch, extra, chosen, n)
    numbers, wholes = np.zeros((10, n)), np.zeros((2, n), np.int64)  # few arrays: each costs as much as ten rows
    kind, none, block_ptr = wholes[0], wholes[1], np.zeros(n + 1, np.int64)
    value, offset, K, B, exponent = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    dissipation, lower, upper, mu, curvature = numbers[5], numbers[6], numbers[7], numbers[8], numbers[9]
    for i in range(n):
        exponent[i], lower[i], upper[i] = 1.0, -np.inf, np.inf
    blocks, r, i = 0, 0, 0  # row r of the part is row i of MuJoCo's
    while i < m:
        t = efc.type[i]
        size = touch.dim[efc.id[i]] if t == ELLIPTIC else 1
        if not chosen[i]:
            i += size
            continue
        offset[r] = efc.offset[i]
        K[r], B[r] = efc.law[i, STIFFNESS], efc.law[i, DAMPING]
        if t == EQUALITY:
            kind[r], value[r] = BILATERAL, efc.pos[i]
        elif t in (FRICTION_DOF, FRICTION_TENDON):
            kind[r], lower[r], upper[r] = CLIPPED, -efc.friction[i], efc.friction[i]
        else:
            kind[r], value[r], lower[r] = UNILATERAL, row_gap(efc, touch, i), 0.0
        if t in (FRICTIONLESS, ELLIPTIC):
            exponent[r], dissipation[r] = efc.law[i, EXPONENT], efc.law[i, DISSIPATION]
        if t == ELLIPTIC:
            kind[r] = NORMAL
            for j in range(1, size):
                kind[r + j], K[r + j] = TANGENT, np.inf
                if touch.friction[efc.id[i], j - 1] > LEAST_FRICTION:
                    mu[r + j] = touch.friction[efc.id[i], j - 1]
                offset[r + j] = efc.offset[i + j]
        i += size
        r += size
        blocks += 1
        block_ptr[blocks] = r
    for e in range(k):
        if chosen[m + e]:
            kind[r] = int(extra.table[e, EXTRA_KIND])
            K[r], B[r] = extra.table[e, EXTRA_STIFFNESS], extra.table[e, EXTRA_DAMPING]
            value[r], offset[r] = extra.table[e, EXTRA_VALUE], extra.table[e, EXTRA_OFFSET]
            lower[r], upper[r] = extra.table[e, EXTRA_LOWER], extra.table[e, EXTRA_UPPER]
            r += 1
            blocks += 1
            block_ptr[blocks] = r
    for i in range(n):
        if jac_ptr[i] == jac_ptr[i + 1]:
            mu[i] = 0.0  # nothing that friction could hold
        for e in range(jac_ptr[i], jac_ptr[i + 1]):
            offset[i] += jac_val[e] * shift[jac_idx[e]]
    return Flat(
        h, mass_ptr, mass_idx, mass_val, v0, f, jac_ptr, jac_idx, jac_val, block_ptr[: blocks + 1],
        kind, value, offset, K, B, exponent, dissipation, lower, upper, mu, curvature, none, none,
    )  # fmt: skip


@kernel
def row_gap(efc: Efc, touch: Touch, i: int) -> float:
    """How far a limit or a contact is from pushing."""
    gap = efc.pos[i] - efc.margin[i]
    if efc.type[i] in (FRICTIONLESS, ELLIPTIC):
        pull, K = touch.adhesion[efc.id[i]], efc.law[i, STIFFNESS]
        if pull > 0.0 and K > 0.0:
            gap -= (pull / K) ** (1.0 / efc.law[i, EXPONENT])  # what it pulls does not press in
    return gap


@kernel
def whole_mass(mass: Mass) -> Array:
    """The entries of the whole of M."""
    val = np.empty(mass.idx.size)
    for e in range(val.size):
        val[e] = mass.M[mass.place[e]]
    for j in range(mass.diagonal.size):
        val[mass.diagonal[j]] += mass.more[j]
    return val


@kernel
def _jacobian(nv: int, efc: Efc, touch: Touch, extra: Extra, chosen: Ints, n: int) -> tuple[Ints, Ints, Array]:
    """G in CSR without zeros, and without entries that are the rounding of what should be zero: a row that consisted of
    them would take enormous forces for what moves nothing."""
    m, k = efc.type.size, extra.table.shape[0]
    sparse = efc.rownnz.size > 0
    ptr = np.zeros(n + 1, np.int64)
    room = (efc.J.size if sparse else n * nv) + extra.val.size + 1
    idx, val = np.empty(room, np.int64), np.empty(room)
    at, r, i = 0, 0, 0
    while i < m:
        size = touch.dim[efc.id[i]] if efc.type[i] == ELLIPTIC else 1
        if chosen[i]:
            largest = more = 0.0  # two of them: each waits for the one before it
            for j in range(i, i + size):
                start, count = (efc.rowadr[j], efc.rownnz[j]) if sparse else (j * nv, nv)
                for e in range(start, start + count - 1, 2):
                    largest, more = max(largest, abs(efc.J[e])), max(more, abs(efc.J[e + 1]))
                if count % 2:
                    largest = max(largest, abs(efc.J[start + count - 1]))
            largest = max(largest, more)
            for j in range(i, i + size):
                start, count = (efc.rowadr[j], efc.rownnz[j]) if sparse else (j * nv, nv)
                for e in range(count):  # written in any case: there is no guessing which entries count
                    x = efc.J[start + e]
                    idx[at], val[at] = efc.colind[start + e] if sparse else e, x
                    at += 1 if abs(x) > NOISE * largest else 0
                r += 1
                ptr[r] = at
        i += size
    for i in range(k):
        if chosen[m + i]:
            for e in range(extra.ptr[i], extra.ptr[i + 1]):
                if extra.val[e] != 0.0:
                    idx[at], val[at] = extra.idx[e], extra.val[e]
                    at += 1
            r += 1
            ptr[r] = at
    return ptr, idx[:at], val[:at]


@kernel
def row_rates(efc: Efc, i: int, a: Array, b: Array, c: Array) -> tuple[float, float, float]:
    """G a, G b and G c of one of MuJoCo's rows."""
    x = y = z = 0.0
    sparse, nv = efc.rownnz.size > 0, a.size
    start, count = (efc.rowadr[i], efc.rownnz[i]) if sparse else (i * nv, nv)
    for e in range(count):
        g, j = efc.J[start + e], efc.colind[start + e] if sparse else e
        x += g * a[j]
        y += g * b[j]
        z += g * c[j]
    return x, y, z
