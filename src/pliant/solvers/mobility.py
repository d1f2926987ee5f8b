"""A = G inv(M) G', whole: what a force on one row does to the rate of another."""

import numpy as np

from pliant._compile import kernel
from pliant._intrinsics import add_eight, flattened, folded, room, subtract_eight
from pliant.inputs import Array, Ints
from pliant.solvers.whiten import Inertia, whiten_rows

FEW, MANY = 64, 256  # velocities; with more, rows are seldom coupled to most of them; rows, on the stack


@kernel
def find_mobility(inertia: Inertia, jac_ptr: Ints, jac_idx: Ints, jac_val: Array, A: Array) -> None:
    """Fill A, (m, wide(m)), of m rows in CSR. Its other columns become 0, so that inner loops take whole registers."""
    nv, m = inertia.parent.size, jac_ptr.size - 1
    if nv <= FEW and m <= MANY:
        tall = (nv + 3) // 4 * 4
        Z = folded(room(tall * A.shape[1]), tall, A.shape[1])
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
    """Z := inv(L) G', (nv or some more, wide(m)): all rows at once; the rest of it becomes 0."""
    nv, m = inertia.parent.size, jac_ptr.size - 1
    z, width = flattened(Z), Z.shape[1]
    for i in range(z.size):
        z[i] = 0.0
    for i in range(m):
        for e in range(jac_ptr[i], jac_ptr[i + 1]):
            Z[nv - 1 - jac_idx[e], i] = jac_val[e]
    for j in range(nv):
        scale, here = inertia.val[inertia.ptr[j]], j * width
        for i in range(width):
            z[here + i] *= scale
        for e in range(inertia.ptr[j] + 1, inertia.ptr[j + 1]):
            below, l = inertia.idx[e] * width, inertia.val[e]
            for i in range(0, width, 8):
                subtract_eight(z, below + i, here + i, l)


@kernel
def _of_columns(Z: Array, A: Array) -> None:
    """A := Z' Z, four rows of Z at a time."""
    tall, m, w, a, z = Z.shape[0], A.shape[0], Z.shape[1], flattened(A), flattened(Z)
    for i in range(a.size):
        a[i] = 0.0
    for j in range(0, tall, 4):
        for i in range(m):
            at = j * w + i
            f0, f1, f2, f3 = z[at], z[at + w], z[at + 2 * w], z[at + 3 * w]
            if f0 != 0.0 or f1 != 0.0 or f2 != 0.0 or f3 != 0.0:  # a row moves what lies between it and the root
                for k in range(i // 8 * 8, w, 8):
                    add_eight(a, i * w + k, z, j * w + k, w, f0, f1, f2, f3)
    for i in range(m):
        for k in range(i):
            a[i * w + k] = a[k * w + i]


@kernel
def _of_rows(z: Array, ptr: Ints, idx: Ints, val: Array, A: Array) -> None:
    """A := Z Z', Z in CSR. z: (nv,), zeros, to work with."""
    for i in range(ptr.size - 1):
        for j in range(ptr.size - 1, A.shape[1]):
            A[i, j] = 0.0
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
    """y := h A x, A symmetric, (n, wide(n)), by its rows, four at a time."""
    a, n, w, total, j = flattened(A), x.size, A.shape[1], room(A.shape[1]), 0
    for i in range(w):
        total[i] = 0.0
    while j + 3 < n:
        f0, f1, f2, f3 = h * x[j], h * x[j + 1], h * x[j + 2], h * x[j + 3]
        for i in range(0, w, 8):
            add_eight(total, i, a, j * w + i, w, f0, f1, f2, f3)
        j += 4
    while j < n:
        for i in range(0, w, 8):
            add_eight(total, i, a, j * w + i, 0, h * x[j], 0.0, 0.0, 0.0)
        j += 1
    for i in range(n):
        y[i] = total[i]
