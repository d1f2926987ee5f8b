"""The solution of a step to 50 digits, on the active sets of a double answer.

With the sets given, every law is a smooth function of the rates, and Newton's method in v solves the momentum
balance: (M + h G' H G) v = M v0 + h f + h G' (k - H e), lambda = k - H (G v + e). In doubles that matrix is
hopeless; at 400 bits it is the smallest there is.

Rigid rows that stick get the stiffness RIGID/(h a), centred at the last forces (augmented Lagrangian): the
rates go to zero, and where redundant rows leave the forces undetermined they stay near the given ones.
Slip is solved for l and s together, w = -s l, |l| = lambda_n, so that it converges however slow the slip is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_mat, ctx

from pliant.flat import Flat
from tests.support.extended import BITS, Block, Extended, Reference, column, entries, midpoints, to_extended
from tests.support.natural import HIGH, INSIDE, LOW, NaturalMap, natural_map, norm, slip_vector, stretch
from tests.support.power import penetration, polished

RIGID = 10**30  # an integer: as a ball made at import it would have 53 bits and blur everything it meets
NEWTON_STEPS = 30
ROUNDS = 8  # of changing the sets, once those of the answer proved wrong
CONVERGED = 1e-45
SATISFIED = 1e-40  # law residual of an exact solution


class Exact(NamedTuple):
    """The reference beside an answer."""

    velocity: Extended  # (nv,)
    forces: Extended  # (m,)
    impulse: Extended  # (nv,)
    sets: np.ndarray  # (m,) LOW, INSIDE, HIGH; one value per contact: open, stick, slip
    same_sets: bool  # the solution on the sets of the answer satisfies all laws
    residual: float  # law residual of the solution: below 1e-40 when it is one, infinite when none was found


@dataclass
class _Iterate:
    velocity: Extended
    force: Extended
    rate: Extended
    rim: dict[int, Extended]  # per slipping contact: l / |l|
    slip: dict[int, Any]  # s of w = -s l
    depth: dict[int, Any]  # per power row: where its law is linearised


def refine(
    flat: Flat,
    velocity: Any,
    forces: Any,
    sets: Any = None,
    *,
    convex: bool = False,
    reference: Reference | None = None,
) -> Exact:
    """Solve to 50 digits, starting from `velocity` (nv,) and `forces` (m,).

    sets: (m,) LOW, INSIDE, HIGH per row to start from; None: those the answer implies.
    """
    with ctx.workprec(BITS):
        x = reference or Reference(flat)
        v, force = (
            to_extended(np.asarray(velocity, dtype=float)),
            to_extended(np.asarray(forces, dtype=float)),
        )
        near = natural_map(x, force, v, convex=convex)
        best = Exact(v, force, x.impulse(force), near.sets, False, np.inf)
        for candidate in _candidates(x, force, near) if sets is None else [np.asarray(sets)]:
            best = _on_sets(x, v, force, near, candidate, convex) or best
            if best.residual < SATISFIED:
                return best._replace(same_sets=True)
        for _ in range(ROUNDS):
            # The sets of the answer are not those of the solution: look for these from here.
            near = natural_map(x, best.forces, convex=convex)
            found = _on_sets(x, best.velocity, best.forces, near, near.sets, convex)
            if found is None or found.residual < SATISFIED:
                return found or best
            best = found
        return best


def _candidates(x: Reference, force: Extended, near: NaturalMap) -> list[np.ndarray]:
    """The sets of an answer: rows exactly at a bound are there; then by the natural map.

    The two differ where the bound is only just reached or left, and for solvers that keep off the bounds.
    """
    _, one_sided, clipped = x.kinds()
    double, flat = force.astype(float), x.flat
    sets = np.where(one_sided & (double <= 0.0), LOW, near.sets)
    sets = np.where(one_sided & (double > 0.0) & (near.sets == LOW), INSIDE, sets)
    sets[clipped] = INSIDE
    sets[clipped & (double >= flat.upper)] = HIGH
    sets[clipped & (double <= flat.lower)] = LOW
    for block in x.contacts:
        if sets[block.normal] == LOW or near.sets[block.normal] == LOW:
            sets[block.tangents] = sets[block.idle] = sets[block.normal]
    return [sets] if np.array_equal(sets, near.sets) else [sets, near.sets]


def _on_sets(
    x: Reference, v: Extended, force: Extended, near: NaturalMap, sets: np.ndarray, convex: bool
) -> Exact | None:
    """The solution on given sets, and its law residual; None where Newton finds none."""
    found = _solve(x, v, force, near, sets, convex)
    if found is None:
        return None
    residual = natural_map(x, found.force, convex=convex).law_residual(x, found.force)
    return Exact(found.velocity, found.force, x.impulse(found.force), sets, False, residual)


def _solve(
    x: Reference, velocity: Extended, force: Extended, near: NaturalMap, sets: np.ndarray, convex: bool
) -> _Iterate | None:
    """Newton on fixed sets; None where it does not converge."""
    it = _start(x, velocity, force, near, sets)
    linear = not it.rim and not it.depth and not np.any(x.rigid & (sets == INSIDE))
    for _ in range(NEWTON_STEPS):
        last = it
        try:
            it = _newton_step(x, last, sets, convex)
        except ZeroDivisionError:
            return None
        change = max(_change(it.velocity, last.velocity), _change(it.force, last.force))
        if linear or change < CONVERGED:
            return it
        if not np.isfinite(change):
            return None
    return None


def _change(new: Extended, old: Extended) -> float:
    """max |new - old| / max |new|."""
    if not len(new):
        return 0.0
    size = np.abs(new.astype(float)).max()
    return float(np.abs((new - old).astype(float)).max() / size) if size else 0.0


def _start(x: Reference, velocity: Extended, force: Extended, near: NaturalMap, sets: np.ndarray) -> _Iterate:
    rate = x.rate(velocity)
    it = _Iterate(velocity, force, rate, {}, {}, {})
    for block in x.contacts:
        n = block.normal
        if sets[n] == HIGH:
            it.rim[n] = u = near.rim[n]
            w = slip_vector(x, block, near.rate, force)
            # An answer that has the contact open gives no radius; the natural map's guess does.
            radius = force[n] if float(force[n]) > 0.0 else force[n] - near.residual[n]
            it.slip[n] = _at_least(-(u @ w) / _radius(radius), x, block)
    for i in np.flatnonzero(x.power & x.one_sided & (sets != LOW)).tolist():
        # The force is the better known of the two on a stiff row; on a soft one Newton needs no good start.
        double = float(force[i])
        law = x.power_law_double(i)
        depth = penetration(law, double) if double > 0.0 else 0.0
        it.depth[i] = polished(x.power_law(i), force[i], arb(depth)) if depth > 0.0 else _depth(x, i, rate[i])
    return it


def _radius(force: Any) -> Any:
    return force if float(force) > 0.0 else arb(1e-300)


def _at_least(s: Any, x: Reference, block: Block) -> Any:
    """s kept from 0, where a contact on the rim of its cone is about to stick and its direction is free."""
    least = stretch(x, block) / RIGID
    return s.mid() if float(s - least) > 0.0 else least


def _depth(x: Reference, i: int, rate: Any) -> Any:
    """Penetration at a rate, kept from 0, where a power law has no slope."""
    d = -(arb(x.flat.value[i]) + x.h * rate)
    return d.mid() if float(d) > 0.0 else arb(1e-30)


def _newton_step(x: Reference, it: _Iterate, sets: np.ndarray, convex: bool) -> _Iterate:
    k, H = _laws(x, it, sets)
    HG, He = H[:, None] * x.G_rows, H * x.e
    blocks = {}
    for block in x.contacts:
        if sets[block.normal] == HIGH:
            rows = np.concatenate([[block.normal], block.tangents])
            const, matrix = _slip_law(x, block, it, k[block.normal], H[block.normal], convex)
            k[rows], HG[rows], He[rows] = const, matrix @ x.G_rows[rows], matrix @ x.e[rows]
            blocks[block.normal] = (rows, const, matrix)
    v = _balance(x, k - He, HG)
    rate = midpoints(x.rate(v))
    force = k - H * rate
    for rows, const, matrix in blocks.values():
        force[rows] = const - matrix @ rate[rows]
    new = _Iterate(v, midpoints(force), rate, {}, {}, {i: _depth(x, i, rate[i]) for i in it.depth})
    for block in x.contacts:
        if block.normal in blocks:
            _turn(x, block, it, new)
    return new


def _balance(x: Reference, k: Extended, HG: Extended) -> Extended:
    """v of M (v - v0) = h (f + G' (k - H G v)); only rows that carry force count."""
    rows = np.flatnonzero([any(not g.is_zero() for g in row) for row in HG])
    hGt = arb_mat(x.nv, len(rows), list((x.h * x.G_rows[rows].T).ravel()))
    matrix = x.M + hGt * arb_mat(len(rows), x.nv, list(HG[rows].ravel()))
    right = x.M * column(x.v0) + column(x.h * x.f + x.impulse(k))
    return entries(matrix.solve(right, algorithm="approx"))


def _laws(x: Reference, it: _Iterate, sets: np.ndarray) -> tuple[Extended, Extended]:
    """k and H of lambda = k - H p, row by row (slipping tangents are overwritten)."""
    bilateral, one_sided, clipped = x.kinds()
    zero = to_extended(np.zeros(x.m))
    free = bilateral | ((one_sided | clipped) & (sets == INSIDE)) | (one_sided & (sets == HIGH))
    k, H = np.where(free, x.c, zero), np.where(free, x.S, zero)
    for i in np.flatnonzero(clipped & (sets != INSIDE)).tolist():
        k[i] = arb(x.flat.lower[i] if sets[i] == LOW else x.flat.upper[i])
    for i, d in it.depth.items():
        law = x.power_law(i)
        H[i] = x.h * law.slope(d)
        k[i] = law.force(d) - H[i] * (d + arb(x.flat.value[i])) / x.h
    for block in x.contacts:
        if sets[block.normal] == INSIDE:
            for j in block.tangents:
                k[j], H[j] = (it.force[j], _stiff(x, block, j)) if x.rigid[j] else (x.c[j], x.S[j])
    return k, H


def _stiff(x: Reference, block: Block, j: int) -> Any:
    ha = x.h * x.a[j]
    return RIGID / ha if float(ha) > 0.0 else arb(0)


def _slip_law(x: Reference, block: Block, it: _Iterate, k_n: Any, H_n: Any, convex: bool) -> tuple[Extended, Extended]:
    """lambda = k - H p of a slipping contact, linearised: (E^-1) l + l ds = -b, u . l = lambda_n.

    b = mu p + shift, E^-1 = s + mu^2/S; so l = -P b + E u / (u' E u) lambda_n, P = E - E u u' E / (u' E u).
    """
    u, mu, shift = it.rim[block.normal], x.mu[block.tangents], _shift(x, block)
    E = 1 / (it.slip[block.normal] + _compliance(x, block))
    Eu = E * u
    t = u @ Eu
    P = np.diag(E) - np.outer(Eu, Eu) / t
    size = len(u) + 1
    k, H = to_extended(np.zeros(size)), to_extended(np.zeros((size, size)))
    k[0], H[0, 0] = k_n, H_n
    if convex:
        # the normal law at p_n - |w|, |w| = s lambda_n + |l| ds, |l| ds = -(u' E b + lambda_n) / (u' E u)
        whole = 1 + H_n * (1 / t - it.slip[block.normal])
        k[0], H[0, 0] = (k_n - H_n * (Eu @ shift) / t) / whole, H_n / whole
        H[0, 1:] = H_n * Eu * mu / t / whole
    k[1:] = mu * (-P @ shift + Eu / t * k[0])
    H[1:, 0] = mu * Eu / t * H[0, 0]
    H[1:, 1:] = mu[:, None] * (P * mu[None, :] + np.outer(Eu / t, H[0, 1:]))
    return midpoints(k), midpoints(H)


def _compliance(x: Reference, block: Block) -> Extended:
    """mu_k^2 / S_k, 0 on rigid rows."""
    rows = block.tangents
    return np.array([arb(0) if x.rigid[k] else x.mu[k] ** 2 / x.S[k] for k in rows], dtype=object)


def _shift(x: Reference, block: Block) -> Extended:
    """mu_k K_k phi_k / S_k, 0 on rigid rows."""
    rows = block.tangents
    return np.array([arb(0) if x.rigid[k] else -x.mu[k] * x.c[k] / x.S[k] for k in rows], dtype=object)


def _turn(x: Reference, block: Block, old: _Iterate, new: _Iterate) -> None:
    """l / |l| and s after a Newton step."""
    n, rows = block.normal, block.tangents
    mu, u, s = x.mu[rows], old.rim[n], old.slip[n]
    pull, b = new.force[rows] / mu, mu * new.rate[rows] + _shift(x, block)
    Eu = u / (s + _compliance(x, block))
    ds = -(Eu @ b + new.force[n]) / ((u @ Eu) * _radius(old.force[n]))
    new.slip[n] = _at_least(s + ds, x, block)
    length = norm(pull)
    new.rim[n] = midpoints(pull / length) if float(length) > 0.0 else u
