"""How hard the numbers of a step are: mobilities, stiffness against inertia, redundant rows, friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy.sparse as sparse

from pliant import _engine
from pliant.flat import NORMAL, TANGENT, UNILATERAL, Flat
from pliant.inertia import entries
from pliant.inputs import Array
from pliant.problem import StepProblem

Range = tuple[float, float]
RANK_WORK: Final = 1e9  # rows, velocities and the smaller of both multiplied: up to here a rank takes seconds
RANK_DIGITS: Final = 1e-10  # a direction that is smaller, of rows of length 1, is none


@dataclass(frozen=True, slots=True)
class Conditioning:
    """Ranges are (least, largest); None: there are no such rows."""

    mass: Range  # diagonal of M [kg], or [kg m^2] for angles
    mobility: Range | None  # a = (G inv(M) G')_ii of rows that move anything [1/kg]
    stiffness: Range | None  # h a S: what a row does within the step against what its inertia does [-]
    friction: Range | None  # mu of tangents [-], or [m]
    turning: Range | None  # entries of the stiffness of the step [N/m]
    rank: int | None  # of G inv(M) G'; None: too large to be found here
    redundant: int | None  # rows - rank


def whitened(problem: StepProblem) -> Any:
    """Z with Z Z' = G inv(M) G', (m, nv) sparse: the rows in coordinates in which the inertia is the identity."""
    rows, columns, values = _engine.whitened(problem.record)
    return sparse.csr_array((values, (rows, columns)), shape=(problem.rows, problem.nv))


def mobility(Z: Any) -> Array:
    """a, diagonal of G inv(M) G', (m,) [1/kg]."""
    return np.asarray(Z.multiply(Z).sum(axis=1)).ravel()


@np.errstate(all="ignore")  # what overflows is infinite, and said so
def condition(problem: StepProblem, Z: Any) -> Conditioning:
    """Of a step and its whitened rows."""
    flat, mass = problem.flat(), problem.mass
    a = mobility(Z)
    slope = slopes(flat)
    held = np.isfinite(slope) & (slope > 0.0) & (a > 0.0)
    rank = _rank(Z)
    return Conditioning(
        mass=_range(mass if mass.ndim == 1 else mass.diagonal()) or (0.0, 0.0),
        turning=None if problem.stiffness is None else _range(entries(problem.stiffness)),
        mobility=_range(a[a > 0.0]),
        stiffness=_range((flat.step * a * slope)[held]),
        friction=_range(flat.friction[flat.kind == TANGENT]),
        rank=rank,
        redundant=None if rank is None else len(a) - rank,
    )


@np.errstate(all="ignore")
def slopes(flat: Flat) -> Array:
    """S = h dK + B of each row, (m,) [N s/m], at the present deformation; infinite: a tangent without compliance."""
    deep = np.maximum(-flat.value, 0.0)
    power = (flat.exponent != 1.0) | (flat.dissipation != 0.0)
    # K d^p (1 + alpha r) + B r: its slope in d is K p d^(p-1), its slope in r is alpha K d^p + B
    steep = np.where(power, flat.stiffness * flat.exponent * deep ** (flat.exponent - 1.0), flat.stiffness)
    drag = np.where(power & (flat.dissipation > 0.0), flat.dissipation * flat.stiffness * deep**flat.exponent, 0.0)
    return np.asarray(flat.step * steep + drag + flat.damping)


def jacobian(flat: Flat) -> Any:
    """G as a sparse matrix (m, nv)."""
    shape = (len(flat.kind), len(flat.velocity))
    return sparse.csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=shape)


def inertia(flat: Flat) -> Any:
    """M as a sparse matrix (nv, nv)."""
    nv = len(flat.velocity)
    return sparse.csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(nv, nv))


def pressed(flat: Flat) -> Array:
    """How deep contacts and limits are pressed in at the start, (m,) [m]; 0 on other rows."""
    return np.where(np.isin(flat.kind, (UNILATERAL, NORMAL)), np.maximum(-flat.value, 0.0), 0.0)


def _range(values: Array) -> Range | None:
    return (float(values.min()), float(values.max())) if values.size else None


def _rank(whitened_rows: Any) -> int | None:
    m, nv = whitened_rows.shape
    if m * nv * min(m, nv) > RANK_WORK:
        return None
    Z = whitened_rows.toarray()
    length = np.sqrt(np.sum(Z * Z, axis=1))
    Z = Z[(length > 0.0) & np.isfinite(length)] / length[(length > 0.0) & np.isfinite(length), None]
    if not Z.size:
        return 0
    sizes = np.linalg.svd(Z, compute_uv=False)
    return int(np.sum(sizes > RANK_DIGITS * sizes[0]))
