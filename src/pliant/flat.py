"""A step as one record of plain arrays: all that kernels and files ever see."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array, Ints

T = TypeVar("T", Array, Ints)

BILATERAL: Final = 0
UNILATERAL: Final = 1
CLIPPED: Final = 2
NORMAL: Final = 3
TANGENT: Final = 4
INERT: Final = 5  # padding: no entries in G, force 0


class Flat(NamedTuple):
    """nv velocities, m rows in nb blocks; CSR matrices have sorted columns and no explicit zeros.

    The arrays are contiguous and writable, because compiled code takes read-only arrays for another type;
    nobody writes to them all the same. Padding entries of a CSR matrix lie after the last pointer.
    """

    step: float  # h [s]
    mass_ptr: Ints  # (nv+1,) M, all of the symmetric matrix
    mass_idx: Ints  # (nnz of M,)
    mass_val: Array  # (nnz of M,)
    velocity: Array  # (nv,) v0
    force: Array  # (nv,) f
    jac_ptr: Ints  # (m+1,) G
    jac_idx: Ints  # (nnz of G,)
    jac_val: Array  # (nnz of G,)
    block_ptr: Ints  # (nb+1,) rows of block b: block_ptr[b]:block_ptr[b+1], one row, or a contact, normal first
    kind: Ints  # (m,) BILATERAL ... INERT
    value: Array  # (m,) phi0 [m]: value, gap, or stretch on TANGENT rows
    offset: Array  # (m,) e [m/s]
    stiffness: Array  # (m,) K [N/m^p]; +inf on TANGENT rows without tangential compliance
    damping: Array  # (m,) B [N s/m]
    exponent: Array  # (m,) p
    dissipation: Array  # (m,) alpha [s/m]
    lower: Array  # (m,) [N]: as given on CLIPPED, 0 on UNILATERAL and NORMAL, -inf on BILATERAL and TANGENT
    upper: Array  # (m,) [N]: as given on CLIPPED, else +inf
    friction: Array  # (m,) mu on TANGENT rows, else 0
    curvature: Array  # (m,) Gdot v0 [m/s^2], 0 where not given
    constraint: Ints  # (m,) index in StepProblem.constraints, -1 on INERT
    ids: Ints  # (m,) identity of the row inside its constraint, shared by the rows of a contact, -1 on INERT


INTEGER_FIELDS: Final = frozenset(
    {"mass_ptr", "mass_idx", "jac_ptr", "jac_idx", "block_ptr", "kind", "constraint", "ids"}
)

# The fields with one entry per row, and what an INERT row holds in them.
ROW_FIELDS: Final[dict[str, float]] = {
    "kind": INERT,
    "value": 0.0,
    "offset": 0.0,
    "stiffness": 0.0,
    "damping": 0.0,
    "exponent": 1.0,
    "dissipation": 0.0,
    "lower": 0.0,
    "upper": 0.0,
    "friction": 0.0,
    "curvature": 0.0,
    "constraint": -1,
    "ids": -1,
}


def same(a: Flat, b: Flat) -> bool:
    """Whether two records agree bit for bit (so that -0.0 differs from 0.0)."""
    return a.step == b.step and all(
        x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
        for x, y in zip(a[1:], b[1:], strict=True)
    )


def pad(
    flat: Flat,
    *,
    rows: int | None = None,
    velocities: int | None = None,
    blocks: int | None = None,
    entries: int | None = None,
    mass_entries: int | None = None,
) -> Flat:
    """The same step in larger arrays; None: no larger than needed.

    Extra velocities have unit mass and v0 = f = 0. Extra rows are INERT, each a block of its own; blocks
    beyond those are empty. Extra entries have index 0 and value 0 and lie after the last pointer.
    """
    more_v = _extra("velocities", velocities, len(flat.velocity))
    more_m = _extra("rows", rows, len(flat.kind))
    more_b = _extra("blocks", blocks, len(flat.block_ptr) - 1 + more_m)
    more_g = _extra("entries", entries, len(flat.jac_idx))
    more_mass = _extra("mass_entries", mass_entries, len(flat.mass_idx) + more_v)
    if more_v and flat.mass_ptr[-1] != len(flat.mass_idx):
        raise InputError("velocities cannot be padded after mass_entries; pad both at once")
    nv, m, nnz_m = len(flat.velocity), len(flat.kind), len(flat.mass_idx)
    own_blocks = np.arange(m + 1, m + more_m + 1)
    inert = {name: _longer(getattr(flat, name), more_m, fill) for name, fill in ROW_FIELDS.items()}
    return flat._replace(
        mass_ptr=np.concatenate([flat.mass_ptr, np.arange(nnz_m + 1, nnz_m + more_v + 1)]),
        mass_idx=_longer(np.concatenate([flat.mass_idx, np.arange(nv, nv + more_v)]), more_mass, 0),
        mass_val=_longer(_longer(flat.mass_val, more_v, 1.0), more_mass, 0.0),
        velocity=_longer(flat.velocity, more_v, 0.0),
        force=_longer(flat.force, more_v, 0.0),
        jac_ptr=_longer(flat.jac_ptr, more_m, flat.jac_ptr[-1]),
        jac_idx=_longer(flat.jac_idx, more_g, 0),
        jac_val=_longer(flat.jac_val, more_g, 0.0),
        block_ptr=_longer(np.concatenate([flat.block_ptr, own_blocks]), more_b, m + more_m),
        **inert,
    )


def _extra(argument: str, size: int | None, needed: int) -> int:
    """How many to add to reach `size`."""
    if size is None:
        return 0
    if size < needed:
        raise InputError(f"flat: {argument} must be at least {needed} for this problem, got {size}")
    return int(size) - needed


def _longer(array: T, extra: int, fill: float) -> T:
    return np.concatenate([array, np.full(extra, fill, dtype=array.dtype)])
