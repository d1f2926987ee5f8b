"""The natural map of the laws: how far forces are from them, and on which side of each kink.

    linear law   y = (S p1 + lambda - c) / (1 + h a S)
    power law    with d' where g = lambda: y = (lambda - g(p1)) / (1 + h a S(d1)) if d1 >= d', else
                 y = S(d') (p1 - p') / (1 + h a S(d')), p' the rate that leads to d';  S = -dg/dp1
    bilateral    r = y
    one-sided    r = lambda - max(0, lambda - y)
    clipped      r = lambda - clip(lambda - y, lo, hi)
    tangents     l_k = lambda_k / mu_k,  w_k = mu_k (p1_k + (lambda_k + K_t phi_t0_k) / S_t), rigid: mu_k p1_k
                 r_k = mu_k [l - proj(l - w / s)]_k onto the disc of radius max(0, lambda_n),
                 s = max_k mu_k^2 (h a_k + 1/S_t)

with v1 recomputed from the forces, p1 = G v1 + e, a the diagonal of G inv(M) G'. Tangents that can carry no
force (mu_k = 0, or K_t = B_t = 0) have r_k = lambda_k. The associated cone of `Convex` is the same with
p1_n - |w| on the normal: -(p1_n + (lambda_n - c)/S, w) in the normal cone of {|l| <= lambda_n}; what the last digits
of soft tangential forces do to |w| is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from tests.support.extended import Block, Extended, Reference, midpoints
from tests.support.power import penetration, polished

LAST_DIGITS = 1e-15  # of a force, relative: what they do to |w| does not count

# Sides of the kinks, one integer per row. All rows of a contact share it: LOW open, INSIDE stick, HIGH slip.
LOW, INSIDE, HIGH = -1, 0, 1


@dataclass
class NaturalMap:
    """r and what it was made of."""

    velocity: Extended  # (nv,) v1 of the forces
    rate: Extended  # (m,) p1
    residual: Extended  # (m,) r [N]
    sets: np.ndarray  # (m,) LOW, INSIDE, HIGH
    slope: np.ndarray  # (m,) S as doubles, inf on rigid rows
    rim: dict[int, Extended]  # per contact (by its normal): the unit vector along l - w / s

    def law_residuals(self, x: Reference, force: Extended) -> np.ndarray:
        """One number per island: max h sqrt(a_i) |r_i| / E, an error in the energy norm.

        E^2 = v0' M v0 + v*' M v* + 1e-10 max h^2 a_i lambda_i^2,  v* = v0 + h inv(M) f
        E = 0: 0 if every r_i is 0, else 1
        rows with a_i = 0: |r_i| / (|lambda_i| + |c_i|), in the same way
        """
        sizes, moves = x.energy_norms(force), x.a.astype(float) > 0.0
        weight = np.where(moves, x.flat.step * np.sqrt(x.a.astype(float)), 1.0)
        off = weight * np.abs(self.residual.astype(float))
        known = np.abs(force.astype(float)) + np.abs(x.at_rest)
        size = np.where(moves, sizes[x.islands], known)
        ratio = np.divide(off, size, out=np.where(off > 0.0, 1.0, 0.0), where=size > 0.0)
        return np.array([ratio[x.islands == k].max() for k in range(len(sizes))])

    def law_residual(self, x: Reference, force: Extended) -> float:
        """The largest of all islands; 0 of none."""
        return float(self.law_residuals(x, force).max(initial=0.0))


def _push(S: np.ndarray, ha: np.ndarray) -> np.ndarray:
    """S / (1 + h a S), its limit 1 / (h a) on rigid rows; 0 where both are without bound."""
    rigid = np.isinf(S)
    return np.where(
        rigid,
        np.divide(1.0, ha, out=np.zeros_like(ha), where=ha > 0.0),
        S / (1.0 + ha * np.where(rigid, 0, S)),
    )


def natural_map(
    x: Reference,
    force: Extended,
    velocity: Extended | None = None,
    *,
    convex: bool = False,
) -> NaturalMap:
    """Evaluate at the forces (m,); velocity: v1 (nv,) where it is not to be recomputed from them."""
    velocity = x.velocity(force) if velocity is None else velocity
    p = x.rate(velocity)
    slip = {block.normal: slip_vector(x, block, p, force) for block in x.contacts}
    shifted = p.copy()
    if convex:
        for normal, w in slip.items():
            shifted[normal] = p[normal] - norm(w)
    y = (x.S * shifted + force - x.c) / (1 + x.h * x.a * x.S)
    slope = np.where(x.rigid, np.inf, x.S.astype(float))
    for i in np.flatnonzero(x.power).tolist():
        y[i], slope[i] = _power_row(x, i, shifted[i], force[i])
    if convex:
        _blur(x, force, slope, y)
    r, sets = _scalar_rows(x, force, y)
    rim = {}
    for block in x.contacts:
        rim[block.normal] = _tangent_rows(x, block, slip[block.normal], force, r, sets)
    return NaturalMap(velocity, p, r, sets, slope, rim)


def _blur(x: Reference, force: Extended, slope: np.ndarray, y: Extended) -> None:
    """Leave out of y what the last digits of the tangential forces do to |w| through soft tangential springs."""
    for block in x.contacts:
        n, soft = block.normal, [k for k in block.tangents if not x.rigid[k]]
        w = np.array([float(x.mu[k] * force[k] / x.S[k]) for k in soft])
        blur = LAST_DIGITS * np.linalg.norm(w) * _push(slope[[n]], x.flat.step * x.a[[n]].astype(float))[0]
        y[n] = max_extended(arb(0), y[n] - blur) if float(y[n]) > 0.0 else -max_extended(arb(0), -y[n] - blur)


def slip_vector(x: Reference, block: Block, p: Extended, force: Extended) -> Extended:
    """w over the tangents that can carry force."""
    w = p[block.tangents].copy()
    for j, k in enumerate(block.tangents):
        if not x.rigid[k]:
            w[j] += (force[k] - x.c[k]) / x.S[k]
    return midpoints(x.mu[block.tangents] * w)


def norm(vector: Extended) -> Any:
    """The length of a vector."""
    return (vector @ vector).sqrt().mid() if len(vector) else arb(0)


def _power_row(x: Reference, i: int, p: Any, force: Any) -> tuple[Any, float]:
    law, double = x.power_law(i), x.power_law_double(i)
    d = max_extended(arb(0), -(arb(x.flat.value[i]) + x.h * p))
    at_force = penetration(double, max(float(force), 0.0))
    # The slope only scales the residual: a double will do.
    slope = x.flat.step * double.slope(max(float(d), at_force))
    miss = force - law.force(d)
    if at_force > float(d) and slope > 0.0:
        root = polished(law, max_extended(arb(0), force), arb(at_force))
        miss = slope * (p + (arb(x.flat.value[i]) + root) / x.h) + (force if float(force) < 0.0 else 0)
    return miss / (1 + x.h * x.a[i] * slope), slope


def max_extended(a: Any, b: Any) -> Any:
    """The larger, by midpoints: flint's own max widens the ball."""
    return b if float(b - a) > 0.0 else a


def _scalar_rows(x: Reference, force: Extended, y: Extended) -> tuple[Extended, np.ndarray]:
    """r and sides of all rows but the tangents, whose entries are overwritten later."""
    bilateral, one_sided, clipped = x.kinds()
    z = force - y
    r: Extended = np.where(bilateral, y, force)
    sets = np.where(bilateral, INSIDE, LOW)
    inside = one_sided & (z.astype(float) > 0.0)
    r[inside], sets[inside] = y[inside], INSIDE
    for i in np.flatnonzero(clipped):
        lower, upper = float(x.flat.lower[i]), float(x.flat.upper[i])
        if np.isfinite(lower) and float(z[i] - lower) <= 0.0:
            r[i] = force[i] - lower
        elif np.isfinite(upper) and float(z[i] - upper) >= 0.0:
            r[i], sets[i] = force[i] - upper, HIGH
        else:
            r[i], sets[i] = y[i], INSIDE
    return r, sets


def _tangent_rows(x: Reference, block: Block, w: Extended, force: Extended, r: Extended, sets: np.ndarray) -> Extended:
    """Fill r and the side of a contact; gives the direction of l - w / s."""
    n, rows = block.normal, block.tangents
    mu = x.mu[rows]
    pull, radius = force[rows] / mu, max_extended(arb(0), force[n])
    q = _reach(pull, w, stretch(x, block))
    rim, outside = _project(q, radius)
    r[rows] = mu * (pull - (radius * rim if outside else q))
    sets[rows] = sets[block.idle] = sets[n] if sets[n] == LOW else HIGH if outside else INSIDE
    sets[n] = sets[rows[0]] if len(rows) else sets[n]
    return rim


def _project(q: Extended, radius: Any) -> tuple[Extended, bool]:
    """The unit vector along q, and whether q is outside the disc."""
    length = norm(q)
    return (q / length if float(length) > 0.0 else q), float(length - radius) > 0.0


def stretch(x: Reference, block: Block) -> Any:
    """s = max_k mu_k^2 (h a_k + 1/S_k)."""
    rows = block.tangents
    if not len(rows):
        return arb(0)
    soft = np.array([arb(0) if x.rigid[k] else 1 / x.S[k] for k in rows], dtype=object)
    return max(x.mu[rows] ** 2 * (x.h * x.a[rows] + soft), key=float)


def _reach(pull: Extended, w: Extended, s: Any) -> Extended:
    """l - w / s; for s = 0 (rigid tangents that move nothing) a point far out along -w."""
    if float(s) > 0.0:
        return midpoints(pull - w / s)
    return pull if float(norm(w)) == 0.0 else -w / norm(w) * (1 + norm(pull)) * arb(10) ** 60
