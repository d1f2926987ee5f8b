"""A flat record in extended precision: dense matrices, one array of extended numbers per row quantity.

Numbers are the midpoints of flint's balls at BITS bits. The widest spread of a solvable step is about 1e60
(rigid rows, 1e15 N/m, steps of 1e-8 s, mass ratios of 1e6): 120 digits leave more than 50 good ones.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_mat, ctx
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from pliant.flat import BILATERAL, CLIPPED, NORMAL, TANGENT, UNILATERAL, Flat
from tests.support.power import PowerLaw

BITS = 400
Extended = Any  # np.ndarray of dtype object that holds flint.arb, which has no types

to_extended = np.frompyfunc(arb, 1, 1)
midpoints = np.frompyfunc(lambda x: x.mid(), 1, 1)


def column(values: Any) -> Any:
    """An (n, 1) matrix."""
    return arb_mat(len(values), 1, list(values))


def entries(matrix: Any) -> Extended:
    """All entries of a matrix, rounded to midpoints."""
    values = np.empty(matrix.nrows() * matrix.ncols(), dtype=object)
    values[:] = matrix.mid().entries()
    return values


class Block(NamedTuple):
    """A contact: the row of its normal, the tangents that can carry force, and those that cannot."""

    normal: int
    tangents: np.ndarray  # mu > 0 and S > 0
    idle: np.ndarray


class Reference:
    """All of a step that does not depend on the answer; make it once to judge a problem several times."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.nv, self.m = len(flat.velocity), len(flat.kind)
        with ctx.workprec(BITS):
            self._read_rows()
            self._read_matrices()

    def _read_rows(self) -> None:
        flat = self.flat
        self.h = arb(flat.step)
        self.v0, self.f, self.e = (
            to_extended(flat.velocity),
            to_extended(flat.force),
            to_extended(flat.offset),
        )
        self.rigid = np.isinf(flat.stiffness)
        self.power = (flat.exponent != 1.0) | (flat.dissipation != 0.0)
        self.one_sided = (flat.kind == UNILATERAL) | (flat.kind == NORMAL)
        self.linear = ~self.rigid & ~self.power
        self.mu = to_extended(flat.friction)
        # S = h K + B and c, the force at rate 0; of no meaning on rigid and power rows.
        K = to_extended(np.where(self.rigid, 0.0, flat.stiffness))
        B, phi0 = to_extended(flat.damping), to_extended(flat.value)
        self.S = self.h * K + B
        before_touch = to_extended(np.where(self.one_sided, np.maximum(flat.value, 0.0), 0.0))
        self.c = -K * phi0 - B * before_touch / self.h

    def _read_matrices(self) -> None:
        flat, nv, m = self.flat, self.nv, self.m
        nnz, nnz_m = flat.jac_ptr[-1], flat.mass_ptr[-1]
        G = csr_array((flat.jac_val[:nnz], flat.jac_idx[:nnz], flat.jac_ptr), shape=(m, nv)).toarray()
        M = csr_array((flat.mass_val[:nnz_m], flat.mass_idx[:nnz_m], flat.mass_ptr), shape=(nv, nv)).toarray()
        self.G_double, self.M_double = G, M
        self.G_rows = to_extended(G).reshape(m, nv)
        self.G, self.M = arb_mat(m, nv, G.ravel().tolist()), arb_mat(nv, nv, M.ravel().tolist())
        self.Gt = self.G.transpose()
        # inv(M) G' and inv(M) f
        diagonal = np.diagonal(M)
        if np.count_nonzero(M) == nv:
            inverse = (1 / to_extended(diagonal))[:, None]
            self.MG = inverse * self.G_rows.T
            self.Mf = inverse[:, 0] * self.f
        else:
            both = arb_mat(nv, m + 1, np.column_stack([G.T, flat.force]).ravel().tolist())
            solved = entries(self.M.solve(both, algorithm="approx")).reshape(nv, m + 1)
            self.MG, self.Mf = solved[:, :m], solved[:, m]
        self.MG_matrix = arb_mat(nv, m, list(self.MG.ravel()))
        self.a = (self.G_rows.T * self.MG).sum(axis=0) if m else np.zeros(0, dtype=object)

    @cached_property
    def contacts(self) -> list[Block]:
        flat = self.flat
        carries = (flat.friction > 0.0) & (self.rigid | (self.S.astype(float) > 0.0))
        blocks = []
        for normal in np.flatnonzero(flat.kind == NORMAL):
            end = normal + 1
            while end < self.m and flat.kind[end] == TANGENT:
                end += 1
            rows = np.arange(normal + 1, end)
            blocks.append(Block(int(normal), rows[carries[rows]], rows[~carries[rows]]))
        return blocks

    @cached_property
    def _labels(self) -> tuple[np.ndarray, np.ndarray]:
        """The island of each velocity, -1 where no row acts on it, and of each row: the connected components over
        blocks, their velocities and the coupling in M, counted from 0."""
        flat, nv = self.flat, self.nv
        blocks = np.searchsorted(flat.block_ptr, np.arange(self.m), side="right") - 1
        row, col = np.nonzero(self.G_double)
        i, j = np.nonzero(self.M_double)
        size = nv + len(flat.block_ptr)
        heads, tails = np.concatenate([i, nv + blocks[row]]), np.concatenate([j, col])
        graph = coo_array((np.ones(len(heads)), (heads, tails)), shape=(size, size))
        labels: np.ndarray = connected_components(graph, directed=False)[1]
        with_rows = np.unique(labels[nv + blocks])
        number = np.full(size, -1)
        number[with_rows] = np.arange(len(with_rows))
        return number[labels[:nv]], number[labels[nv + blocks]]

    @property
    def velocity_island(self) -> np.ndarray:
        """(nv,) the island of each velocity, -1 where no row acts on it."""
        return self._labels[0]

    @property
    def islands(self) -> np.ndarray:
        """(m,) the island of each row."""
        return self._labels[1]

    @cached_property
    def at_rest(self) -> np.ndarray:
        """(m,) the force of the law at rate 0, as doubles: c, of a power law K d0^p."""
        laws = [self.power_law_double(i) for i in range(self.m)]
        powers = np.array([law.k * law.d0**law.p if law.d0 > 0.0 else 0.0 for law in laws])
        return np.where(self.power & self.one_sided, powers, self.c.astype(float))

    @cached_property
    def kinetic(self) -> list[Any]:
        """v0' M v0 + v*' M v* of every island."""
        free = self.v0 + self.h * self.Mf
        energy = sum(v * entries(self.M * column(v)) for v in (self.v0, free))
        own = [np.flatnonzero(self.velocity_island == k) for k in range(self.islands.max(initial=-1) + 1)]
        return [sum(energy[part], arb(0)).mid() for part in own]

    def energy_norms(self, force: Extended) -> np.ndarray:
        """E of every island, with E^2 = v0' M v0 + v*' M v* + 1e-10 max_i h^2 a_i lambda_i^2."""
        held = self.h**2 * self.a * force**2
        largest = [max(held[self.islands == k], key=float) for k in range(len(self.kinetic))]
        return np.array([float((k + l / arb(10) ** 10).sqrt()) for k, l in zip(self.kinetic, largest, strict=True)])

    def kinds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Masks of rows: bilateral, one-sided, clipped."""
        kind = self.flat.kind
        return kind == BILATERAL, self.one_sided, kind == CLIPPED

    def velocity(self, force: Extended) -> Extended:
        """v1 = v0 + h inv(M) (f + G' lambda)."""
        return midpoints(self.v0 + self.h * (self.Mf + entries(self.MG_matrix * column(force))))

    def rate(self, velocity: Extended) -> Extended:
        """p1 = G v1 + e."""
        return entries(self.G * column(velocity)) + self.e

    def impulse(self, force: Extended) -> Extended:
        """h G' lambda."""
        return self.h * entries(self.Gt * column(force))

    def power_law(self, row: int) -> PowerLaw:
        """The law of a power row, extended."""
        return PowerLaw(*(arb(value) for value in self.power_law_double(row)))

    def power_law_double(self, row: int) -> PowerLaw:
        flat = self.flat
        d0 = max(0.0, -flat.value[row])
        law = flat.stiffness[row], flat.exponent[row], flat.dissipation[row], flat.damping[row], d0, flat.step
        return PowerLaw(*(float(value) for value in law))
