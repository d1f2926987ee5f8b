"""Systems of at most seven unknowns, eliminated with row exchanges, eight columns at a time.

They stand in 3 x 8 x 8 numbers: the matrix, from RIGHT on the right-hand sides, from LEFT on what has been eliminated
with.
"""

from pliant._compile import kernel
from pliant._intrinsics import subtract_eight
from pliant.inputs import Array, Ints

RIGHT, LEFT = 64, 128


@kernel
def solve_small(work: Array, n: int, exchange: Ints) -> None:
    """Right-hand sides := inv(A) times them. A becomes U; L without its diagonal and the exchanges, (n,), are kept."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(work[8 * i + k]) > abs(work[8 * best + k]):
                best = i
        exchange[k] = best
        if best != k:
            for start in (8 * k, RIGHT + 8 * k, LEFT + 8 * k):
                other = start + 8 * (best - k)
                for j in range(8):
                    work[start + j], work[other + j] = work[other + j], work[start + j]
        for i in range(k + 1, n):
            f = work[8 * i + k] / work[9 * k]
            work[LEFT + 8 * i + k] = f
            if f != 0.0:
                subtract_eight(work, 8 * i, 8 * k, f)
                subtract_eight(work, RIGHT + 8 * i, RIGHT + 8 * k, f)
    for k in range(n - 1, -1, -1):
        for j in range(8):
            work[RIGHT + 8 * k + j] /= work[9 * k]
        for i in range(k):
            subtract_eight(work, RIGHT + 8 * i, RIGHT + 8 * k, work[8 * i + k])


@kernel
def apply_small(factors: Array, exchange: Ints, x: Array) -> None:
    """x := inv(A) x. factors: (n * n,), L below the diagonal and U, by rows."""
    n = x.size
    if n == 1:
        x[0] /= factors[0]
        return
    for k in range(n):
        x[k], x[exchange[k]] = x[exchange[k]], x[k]
    for i in range(n):
        for j in range(i):
            x[i] -= factors[i * n + j] * x[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= factors[i * n + j] * x[j]
        x[i] /= factors[i * n + i]
