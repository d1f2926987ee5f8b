"""Answers judged at 50 digits: certificates, the exact solution, and how far from it an answer is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import ctx
from scipy.linalg import solve_triangular

from pliant.flat import Flat
from tests.support.extended import BITS, Reference, column, entries, to_extended
from tests.support.natural import HIGH, INSIDE, LOW, natural_map
from tests.support.refine import Exact, refine

__all__ = ["HIGH", "INSIDE", "LOW", "Exact", "Reference", "agreement", "certificates", "refine", "stacked"]


def stacked(flat: Flat, forces: Sequence[Any]) -> np.ndarray:
    """Forces per constraint, as a Solution has them -> (m,) in the order of the flat rows, 0 on padding."""
    rows = np.zeros(len(flat.kind))
    parts = [np.ravel(part) for part in forces]
    given = np.concatenate([np.zeros(0), *parts])
    rows[: len(given)] = given
    return rows


def certificates(
    flat: Flat,
    velocity: Any,
    forces: Any,
    *,
    convex: bool = False,
    reference: Reference | None = None,
) -> tuple[float, float]:
    """Momentum and law residual of an answer, velocity (nv,) and forces (m,), as `Solution` reports them.

    convex: the law residual of the associated cone instead of Coulomb's law. What is not finite scores infinity.
    """
    if not (np.all(np.isfinite(velocity)) and np.all(np.isfinite(forces))):
        return np.inf, np.inf
    with ctx.workprec(BITS):
        x = reference or Reference(flat)
        force = to_extended(np.asarray(forces, dtype=float))
        law = natural_map(x, force, convex=convex).law_residual(x, force)
        end = to_extended(np.asarray(velocity, dtype=float))
        return _momentum_residual(x, end, force), law


def _momentum_residual(x: Reference, velocity: np.ndarray, force: np.ndarray) -> float:
    """max_j |M (v1 - v0) - h (f + G' lambda)|_j / (|M| (|v0| + |v1|) + h |f| + h |G|' |lambda|)_j, 0/0 = 0.

    |v0| + |v1|, not |v1 - v0|: a correctly rounded v1 scores 1e-16 however little it differs from v0.
    """
    change = velocity - x.v0
    off = np.abs((entries(x.M * column(change)) - x.h * x.f - x.impulse(force)).astype(float))
    h = x.flat.step
    moved = np.abs(x.flat.velocity) + np.abs(velocity.astype(float))
    size = np.abs(x.M_double) @ moved + h * np.abs(x.flat.force)
    size += h * np.abs(x.G_double).T @ np.abs(force.astype(float))
    return float(np.max(np.divide(off, size, out=np.zeros_like(off), where=size > 0.0), initial=0.0))


def agreement(
    flat: Flat, velocity: Any, impulse: Any, exact: Exact, *, reference: Reference | None = None
) -> tuple[float, float]:
    """Distance of velocity (nv,) and impulse (nv,) from the exact ones, as fractions of what is allowed.

    velocity  in the M-norm: 1e-9 (|v1| + |v0| + h |inv(M) f|) + 1e-13 h | |inv(L)| |G|' |lambda| |, L L' = M
    impulse   component j:   1e-9 max_k |impulse_k| + 1e-13 h (|G|' |lambda|)_j
    The second terms: contradictory stiff rows carry opposing forces whose rounding alone moves v.
    """
    x = reference or Reference(flat)
    h = flat.step
    L = np.linalg.cholesky(x.M_double)
    carried = h * np.abs(x.G_double).T @ np.abs(exact.forces.astype(float))
    with ctx.workprec(BITS):
        dv = (to_extended(np.asarray(velocity, dtype=float)) - exact.velocity).astype(float)
        dj = np.abs((to_extended(np.asarray(impulse, dtype=float)) - exact.impulse).astype(float))
    free = h * solve_triangular(L, flat.force, lower=True)
    sizes = [L.T @ exact.velocity.astype(float), L.T @ flat.velocity, free]
    rounding = np.abs(solve_triangular(L, np.eye(x.nv), lower=True)) @ carried
    allowed = 1e-9 * sum(np.linalg.norm(part) for part in sizes) + 1e-13 * np.linalg.norm(rounding)
    allowed_j = 1e-9 * np.abs(exact.impulse.astype(float)).max(initial=0.0) + 1e-13 * carried
    return _ratio(np.linalg.norm(L.T @ dv), allowed), float(np.max(_ratio(dj, allowed_j), initial=0.0))


def _ratio(actual: Any, allowed: Any) -> Any:
    """actual / allowed, 0/0 = 0; infinite where nothing was allowed, and for NaN."""
    actual, allowed = np.asarray(actual, dtype=float), np.asarray(allowed, dtype=float)
    beyond = np.where(actual == 0.0, 0.0, np.inf)
    ratio = np.nan_to_num(np.divide(actual, allowed, out=beyond, where=allowed > 0.0), nan=np.inf, posinf=np.inf)
    return ratio if ratio.ndim else float(ratio)
