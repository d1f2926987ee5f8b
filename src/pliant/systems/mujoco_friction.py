"""Coefficients of friction of pairs of geoms, as MuJoCo mixes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.inputs import Array, Ints


def sliding(model: Any, own: Mapping[int, float]) -> Array:
    """(ngeom,), with those that materials have of their own."""
    friction = np.array(model.geom_friction[:, 0])
    for geom, value in own.items():
        friction[geom] = value
    return friction


class PairFriction:
    """Of sliding; the larger one where the two directions differ."""

    def __init__(self, model: Any, friction: Array) -> None:
        """friction: (ngeom,)."""
        self._geom, self._priority, self._rows = friction, model.geom_priority.copy(), model.geom_condim.copy()
        pairs = zip(model.pair_geom1, model.pair_geom2, model.pair_friction, model.pair_dim, strict=True)
        self._named = {frozenset((int(a), int(b))): float(mu[:2].max()) if dim > 1 else 0.0 for a, b, mu, dim in pairs}

    def of(self, pairs: Ints) -> Array:
        """(n,), of pairs (n, 2) of geoms."""
        distinct, place = np.unique(pairs, axis=0, return_inverse=True)
        return np.array([self._one(int(a), int(b)) for a, b in distinct], dtype=float)[place.ravel()]

    def _one(self, a: int, b: int) -> float:
        named = self._named.get(frozenset((a, b)))
        if named is not None:
            return named
        if self._priority[a] != self._priority[b]:
            chosen = a if self._priority[a] > self._priority[b] else b
            return float(self._geom[chosen]) if self._rows[chosen] > 1 else 0.0
        return float(max(self._geom[a], self._geom[b])) if max(self._rows[a], self._rows[b]) > 1 else 0.0
