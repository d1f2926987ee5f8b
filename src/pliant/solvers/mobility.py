"""A = G inv(M) G', whole: what a force on one row does to the rate of another.

Indices of inner loops are without sign; those with one could count from the end, which is asked at every access.
"""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import flattened, folded, room
from pliant.inputs import Array, Ints
from pliant.solvers.whiten import Inertia, whiten_rows

FEW, MANY = 64, 256  # velocities; with more, rows are seldom coupled to most of them; rows, on the stack


@kernel
def find_mobility(inertia: Inertia, jac_ptr: Ints, jac_idx: Ints, jac_val: Array, A: Array) -> None:
    """Fill A, (m, m), of rows in CSR."""
    nv, m = inertia.parent.size, jac_ptr.size - 1
    if nv <= FEW and m <= MANY:
        Z = folded(room(nv * m), nv, m)
        _whiten_columns(inertia, jac_ptr, jac_idx, jac_val, Z)
        _of_columns(Z, A)
    else:
        _of_sparse(inertia, jac_ptr, jac_idx, jac_val, A)


@kernel
def _of_sparse(inertia: Inertia, jac_ptr: Ints, jac_idx: Ints, jac_val: Array, A: Array) -> None:
    ptr, idx, val = whiten_rows(inertia, jac_ptr, jac_idx, jac_val)
    _of_rows(np.zeros(inertia.parent.size), ptr, idx, val, A)


@kernel
def _whiten_columns(inertia: Inertia, jac_ptr: Ints, jac_idx: Ints, jac_val: Array, Z: Array) -> None:
    """Z := inv(L) G', (nv, m): all rows at once."""
    nv, m = inertia.parent.size, jac_ptr.size - 1
    for j in range(nv):
        for i in range(m):
            Z[j, i] = 0.0
    for i in range(m):
        for e in range(jac_ptr[i], jac_ptr[i + 1]):
            Z[nv - 1 - jac_idx[e], i] = jac_val[e]
    z, width = flattened(Z), np.uint64(m)
    for j in range(nv):
        scale, here = 1.0 / inertia.val[inertia.ptr[j]], np.uint64(j) * width
        for i in range(width):
            z[here + i] *= scale
        for e in range(inertia.ptr[j] + 1, inertia.ptr[j + 1]):
            below, l = np.uint64(inertia.idx[e]) * width, inertia.val[e]
            for i in range(width):
                z[below + i] -= l * z[here + i]


@kernel
def _of_columns(Z: Array, A: Array) -> None:
    """A := Z' Z."""
    nv, m = np.uint64(Z.shape[0]), np.uint64(Z.shape[1])
    a, z = flattened(A), flattened(Z)
    for i in range(m * m):
        a[i] = 0.0
    for j in range(nv):
        for i in range(m):
            f = z[j * m + i]
            if f != 0.0:  # half of them are not: a row moves what lies between it and the root
                for k in range(i, m):
                    a[i * m + k] += f * z[j * m + k]
    for i in range(m):
        for k in range(i):
            a[i * m + k] = a[k * m + i]


@kernel
def _of_rows(z: Array, ptr: Ints, idx: Ints, val: Array, A: Array) -> None:
    """A := Z Z', Z in CSR. z: (nv,), zeros, to work with."""
    for i in range(ptr.size - 1):
        for e in range(ptr[i], ptr[i + 1]):
            z[idx[e]] = val[e]
        for j in range(i + 1):
            s = 0.0
            for e in range(ptr[j], ptr[j + 1]):
                s += val[e] * z[idx[e]]
            A[i, j] = s
            A[j, i] = s
        for e in range(ptr[i], ptr[i + 1]):
            z[idx[e]] = 0.0


@kernel
def multiply(A: Array, h: float, x: Array, y: Array) -> None:
    """y := h A x, A symmetric."""
    a, n = flattened(A), np.uint64(x.size)
    for i in range(n):
        y[i] = 0.0
    for j in range(n):
        f = h * x[j]
        for i in range(n):
            y[i] += a[j * n + i] * f
