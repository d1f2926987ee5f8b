"""Matrices P = M + h sum_b G_b' H_b G_b in all the shapes that steps have, to be factored."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from pliant.inputs import Array, Ints

PURE_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def sized(n: int, in_python: int) -> int:
    """n, or a smaller number where the kernels run as plain Python."""
    return in_python if PURE_PYTHON else n


class BlockSystem(NamedTuple):
    """M and G in CSR, rows in blocks, H_b by rows."""

    step: float
    mass_ptr: Ints
    mass_idx: Ints
    mass_val: Array
    jac_ptr: Ints
    jac_idx: Ints
    jac_val: Array
    block_ptr: Ints
    weight_ptr: Ints
    weight: Array

    @property
    def structure(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        return self.mass_ptr, self.mass_idx, self.jac_ptr, self.jac_idx, self.block_ptr

    @property
    def size(self) -> int:
        return self.mass_ptr.size - 1

    def matrix(self) -> Any:
        """P as a scipy.sparse array."""
        nv, m = self.size, self.jac_ptr.size - 1
        M = sparse.csr_array((self.mass_val, self.mass_idx, self.mass_ptr), shape=(nv, nv))
        G = sparse.csr_array((self.jac_val, self.jac_idx, self.jac_ptr), shape=(m, nv))
        d = np.diff(self.block_ptr)
        parts = zip(self.weight_ptr[:-1], d, strict=True)
        blocks = [self.weight[lo : lo + k * k].reshape(k, k) for lo, k in parts]
        H = sparse.block_diag(blocks, format="csr") if m else sparse.csr_array((0, 0))
        return sparse.csc_array(M + self.step * (G.T @ H @ G))


def block_system(
    mass: Any, jacobian: Any, block_ptr: Any, rng: np.random.Generator, symmetric: bool = True
) -> BlockSystem:
    """With random H_b: positive definite, plus a skew part unless `symmetric`."""
    M, G = sparse.csr_array(mass), sparse.csr_array(jacobian)
    M.sort_indices()
    G.sort_indices()
    block_ptr = np.asarray(block_ptr, np.int64)
    d = np.diff(block_ptr)
    weight: list[Array] = [np.zeros(0)]
    for k in d:
        A, B = rng.standard_normal((2, k, k))
        weight.append((A @ A.T + (0.0 if symmetric else 1.0) * (B - B.T)).ravel())
    return BlockSystem(
        0.01,
        *(M.indptr.astype(np.int64), M.indices.astype(np.int64), M.data),
        *(G.indptr.astype(np.int64), G.indices.astype(np.int64), G.data),
        block_ptr,
        np.concatenate(([0], np.cumsum(d * d))),
        np.concatenate(weight),
    )


def thinned(shape: tuple[int, int], density: float, rng: np.random.Generator) -> Array:
    """A random matrix with this share of entries that are not zero."""
    return np.where(rng.random(shape) < density, rng.standard_normal(shape), 0.0)


def body_mass(bodies: int, rng: np.random.Generator) -> Any:
    """Diagonal translation, full rotational inertia."""
    A = rng.standard_normal((bodies, 3, 3))
    inertia = A @ A.transpose(0, 2, 1) + np.eye(3)
    return sparse.block_diag([part for k in range(bodies) for part in (2.0 * np.eye(3), inertia[k])], format="csr")


def contacts(pairs: Any, bodies: int, d: int, rng: np.random.Generator, symmetric: bool) -> BlockSystem:
    """A block of d rows for each pair of bodies; -1 is the ground."""
    G = sparse.lil_array((d * len(pairs), 6 * bodies))
    for k, pair in enumerate(pairs):
        for body in pair:
            if body >= 0:
                G[d * k : d * k + d, 6 * body : 6 * body + 6] = rng.standard_normal((d, 6))
    return block_system(body_mass(bodies, rng), G, np.arange(0, d * len(pairs) + 1, d), rng, symmetric)


def foundation(rng: np.random.Generator, symmetric: bool, rows: int = 200) -> BlockSystem:
    return block_system(np.eye(6), rng.standard_normal((rows, 6)), np.arange(rows + 1), rng, symmetric)


def chain(rng: np.random.Generator, symmetric: bool, bodies: int = 40) -> BlockSystem:
    names = np.append(rng.permutation(bodies), -1)
    return contacts([(names[k - 1], names[k]) for k in range(bodies)], bodies, 3, rng, symmetric)


def pile(rng: np.random.Generator, symmetric: bool, bodies: int = 30) -> BlockSystem:
    place = rng.uniform(0.0, bodies ** (1 / 3), (bodies, 3))
    near = [(i, j) for i in range(bodies) for j in range(i) if np.linalg.norm(place[i] - place[j]) < 0.9]
    pairs = [pair for pair in near for _ in range(rng.integers(1, 5))]
    return contacts(pairs, bodies, 3, rng, symmetric)


def tray(rng: np.random.Generator, symmetric: bool, bodies: int = 30) -> BlockSystem:
    """Everything lies on body 0."""
    return contacts([(0, k) for k in range(1, bodies)], bodies, 6, rng, symmetric)


def robot(rng: np.random.Generator, symmetric: bool) -> BlockSystem:
    A = rng.standard_normal((30, 30))
    G = rng.standard_normal((12, 30))
    G[:, 18:] = 0.0
    return block_system(A @ A.T + 30.0 * np.eye(30), G, np.arange(0, 13, 3), rng, symmetric)


def tree(rng: np.random.Generator, symmetric: bool, n: int = 80) -> BlockSystem:
    """Mass matrix of a branching mechanism: two joints couple when one moves the other."""
    M = np.eye(n)
    parent = [int(rng.integers(max(0, k - 4), k)) if k else -1 for k in range(n)]
    for k in range(n):
        row = np.zeros(n)
        while k >= 0:
            row[k] = rng.standard_normal()
            k = parent[k]
        M += np.outer(row, row)
    return block_system(M, thinned((10, n), 0.05, rng), range(11), rng, symmetric)


def arrow(rng: np.random.Generator, symmetric: bool, n: int = 60) -> BlockSystem:
    """A mass matrix whose last velocity meets all others, and no rows."""
    M = 10.0 * np.eye(n)
    M[-1] += 0.1
    M[:, -1] += 0.1
    return block_system(M, sparse.csr_array((0, n)), [0], rng, symmetric)


def scattered(rng: np.random.Generator, symmetric: bool, n: int = 50) -> BlockSystem:
    """No structure at all: a random mass, blocks of 0 to 6 rows with random columns or none."""
    A = thinned((n, n), 0.02, rng)
    d = np.array([1, 3, 1, 0, 2, 4, 6, 1, 1, 3, 0, 1])
    G = thinned((d.sum(), n), 0.06, rng)
    return block_system(A @ A.T + np.eye(n), G, np.append(0, np.cumsum(d)), rng, symmetric)


def one_velocity(rng: np.random.Generator, symmetric: bool) -> BlockSystem:
    return block_system([[2.0]], [[1.0], [3.0]], [0, 1, 2], rng, symmetric)


SHAPES: list[Callable[[np.random.Generator, bool], BlockSystem]] = [
    foundation,
    chain,
    pile,
    tray,
    robot,
    tree,
    arrow,
    scattered,
    one_velocity,
]
