"""How far forces are from the optimum of the printed program, its bilateral rows and rates kept.

With one multiplier psi per row (beta on tangents, -mu on springs) and kappa = h S psi, the conditions are

    W lambda + psi + A kappa = z,   z in the dual of bounds and cones, at a right angle to lambda
    g_b = 0,   g_t = psi_t,   g_u, g_n >= 0 >= psi_u, psi_n, one of them 0,   kappa_b = -h S_b (A kappa)_b

all in newtons once g, psi and kappa are scaled by their rows. The residual is the largest miss over the largest force.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.flat import BILATERAL, TANGENT
from pliant.inputs import Array
from pliant.printed.optimum import projection
from pliant.printed.program import Terms


def kkt_residual(terms: Terms, force: Array, psi: Array, kappa: Array) -> float:
    """force, psi, kappa: (m,), of all rows; psi of bilateral rows is not read."""
    h, S, a, Z = terms.step, terms.slope, terms.mobility, terms.Z
    stiff = 1.0 + h * S * a
    short = (force + S * (terms.rate + h * (Z @ (Z.T @ force))) - terms.start) / stiff  # g
    flow = Z @ (Z.T @ kappa)
    bilateral, tangent = terms.kind == BILATERAL, terms.kind == TANGENT
    spring = ~(bilateral | tangent)
    miss = np.zeros(len(force))
    miss[bilateral] = short[bilateral]
    miss[tangent] = (short - psi / stiff)[tangent]
    # over zeta the multiplier is a force: what the row gives up for its spring
    miss[spring] = np.minimum(short[spring], -(psi * stiff)[spring] / terms.weight[spring])
    counts = (force != 0.0) | (miss != 0.0)
    called = np.abs(S * terms.rate - terms.start) / stiff  # what a row would carry alone
    size = float(np.maximum(np.abs(force), called).max(initial=0.0, where=counts))
    pull = terms.weight * force + psi + flow
    gross = terms.weight * size + np.abs(psi) + np.abs(Z) @ (np.abs(Z).T @ np.abs(kappa))
    dual = np.where(bilateral, a * (kappa + h * S * flow) / stiff, 0.0)
    parts = np.abs(miss) / size, np.abs(dual) / gross, _cone_misses(terms, force, pull, gross, size)
    worst = max(float(part.max(initial=0.0)) for part in parts) if size > 0.0 else 0.0
    return worst if np.isfinite(worst) else np.inf


def _cone_misses(terms: Terms, force: Array, pull: Array, gross: Array, size: float) -> Array:
    """Per block of rows that is no bilateral one: of W lambda + psi + A kappa = z, and of z at a right angle."""
    row = np.flatnonzero((terms.kind != BILATERAL) & (terms.friction > 0.0))
    blocks = np.split(row, np.flatnonzero(np.diff(terms.block[row])) + 1) if len(row) else []
    return np.array([_cone_miss(terms.friction[b], force[b] / size, pull[b], gross[b]) for b in blocks])


def _cone_miss(mu: Array, force: Array, pull: Array, gross: Array) -> float:
    """With the multiplier that fits best: none, one along the rim, any at the tip."""
    l, whole = force / mu, [np.arange(len(mu))]
    length = math.hypot(*l[1:])
    rim = np.concatenate([np.ones(1), -l[1:] / length if length > 0.0 else np.zeros(len(mu) - 1)])
    along = max(0.0, float(pull * mu @ rim)) / float(rim @ rim) * rim
    largest = float(np.max(mu * gross))
    misses = []
    for z in (np.zeros(len(mu)), along, projection(whole, pull * mu)[0]):
        apart = mu * (l - projection(whole, l - z / largest)[0])
        misses.append(max(float(np.max(np.abs(pull - z / mu) / gross)), float(np.abs(apart).max())))
    return min(misses)
