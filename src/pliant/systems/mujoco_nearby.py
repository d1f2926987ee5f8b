"""Of many rows those that a step can close: at speed, contacts far ahead have rows too, and most stay open."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pliant.flat import NORMAL, UNILATERAL, Flat
from pliant.inputs import Array
from pliant.solvers.islands import extract


class Nearby:
    """Which rows of a step take part."""

    def __init__(self, flat: Flat, velocities: Array) -> None:
        """Those that are not open, or could be closed by a motion not unlike one of some: velocities (nv, k)."""
        m, nv = len(flat.kind), len(flat.velocity)
        self._flat, self._heads = flat, flat.block_ptr[:-1]
        self._jacobian = sparse.csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=(m, nv))
        self._one_sided = (flat.kind[self._heads] == UNILATERAL) | (flat.kind[self._heads] == NORMAL)
        far = (flat.value[self._heads] > 0.0) & (self._gaps(velocities, 2.0).min(axis=1) >= 0.0)
        self.rows = self._spread(~(self._one_sided & far))
        if 2 * self.rows.sum() > m:
            self.rows[:] = True  # to solve again would take longer

    def part(self) -> Flat:
        """The step of these rows."""
        if self.rows.all():
            return self._flat
        everything = np.arange(len(self._flat.velocity))
        return extract(self._flat, everything, np.flatnonzero(self.rows), everything.copy())

    def widen(self, velocity: Array) -> bool:
        """Take those that this velocity closes, too; whether there are any."""
        more = self._spread(self._one_sided & (self._gaps(velocity[:, None], 1.0)[:, 0] < 0.0)) & ~self.rows
        self.rows |= more
        return bool(more.any())

    def _gaps(self, velocities: Array, times: float) -> Array:
        """Of the first row of each block, so many steps on, (nb, k)."""
        flat = self._flat
        ends = flat.value[:, None] + times * flat.step * (self._jacobian @ velocities + flat.offset[:, None])
        return np.asarray(ends[self._heads])

    def _spread(self, blocks: np.ndarray) -> np.ndarray:
        return np.repeat(blocks, np.diff(self._flat.block_ptr))
