"""MuJoCo's constraint rows, with our laws.

MuJoCo makes the rows, with elliptic cones, and hands over what a contact, a limit or an equality is; here each gets its
law.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pliant.inputs import Ints
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_flat import Efc, Touch
from pliant.systems.mujoco_kinds import DAMPING, STIFFNESS
from pliant.systems.mujoco_laws import Laws, row_laws
from pliant.systems.mujoco_surfaces import Spots, Surfaces

if TYPE_CHECKING:
    from pliant.systems.mujoco_foundation import Patch
    from pliant.systems.mujoco_reach import Reach


class Rows(NamedTuple):
    """All of MuJoCo's rows of a step, and those of the elements of foundations after them."""

    efc: Efc
    touch: Touch
    patch: "Patch | None" = None

    @property
    def own(self) -> int:
        """How many are MuJoCo's."""
        return len(self.efc.type) - (0 if self.patch is None else int(self.patch.dim.sum()))


def mass_pattern(model: Any) -> tuple[Ints, Ints, Ints, Ints]:
    """All of `Mass` that does not change. Simple bodies are diagonal in M, blocks in MuJoCo's pattern."""
    there, nv = model.mapM2D >= 0, model.nv
    row = np.repeat(np.arange(nv), model.D_rownnz)[there]
    ptr = np.searchsorted(row, np.arange(nv + 1))
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
