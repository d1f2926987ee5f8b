"""Sums of products in twofold working precision: residuals that keep their digits when everything cancels.

T. Ogita, S. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26 (2005), algorithm Dot2. A
sum is an unevaluated pair hi + lo whose error is that of twice the precision. There are only sums and
products in the given order, which the compiler may not rearrange (no fastmath) nor contract, so the bits are
the same everywhere.

Exact as long as products neither overflow nor fall below 1e-290, where their rounding errors underflow.
"""

from pliant._compile import kernel
from pliant._intrinsics import product_error
from pliant.inputs import Array, Ints


@kernel(inline=True)
def two_sum(a: float, b: float) -> tuple[float, float]:
    """(s, e): s = fl(a + b) and s + e = a + b exactly (D. Knuth)."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@kernel
def two_product(a: float, b: float) -> tuple[float, float]:
    """(p, e): p = fl(a b) and p + e = a b exactly."""
    p = a * b
    return p, product_error(a, b, p)


@kernel
def add_product(hi: float, lo: float, a: float, b: float) -> tuple[float, float]:
    """hi + lo + a b, as a pair that is not normalized: lo may grow, so end with two_sum(hi, lo)."""
    p, e = two_product(a, b)
    s, f = two_sum(hi, p)
    return s, lo + (e + f)


@kernel
def dot2(ptr: Ints, idx: Ints, val: Array, row: int, x: Array, start: float) -> float:
    """start + (row of a CSR matrix) x, as if computed in twice the precision and then rounded."""
    hi, lo = start, 0.0
    for e in range(ptr[row], ptr[row + 1]):
        hi, lo = add_product(hi, lo, val[e], x[idx[e]])
    return hi + lo


@kernel
def add_matvec2(ptr: Ints, idx: Ints, val: Array, factor: float, x: Array, hi: Array, lo: Array) -> None:
    """(hi, lo) += factor A x for a CSR matrix A; the value is hi + lo, rounded once.

    For an x that is itself a pair, call it for both parts.
    """
    for row in range(ptr.size - 1):
        s, t = 0.0, 0.0
        for e in range(ptr[row], ptr[row + 1]):
            s, t = add_product(s, t, val[e], x[idx[e]])
        hi[row], lo[row] = add_product(hi[row], lo[row] + factor * t, factor, s)


@kernel
def add_matvec2_transposed(ptr: Ints, idx: Ints, val: Array, factor: float, x: Array, hi: Array, lo: Array) -> None:
    """(hi, lo) += factor A' x, with the same words."""
    for row in range(ptr.size - 1):
        y, z = two_product(factor, x[row])
        for e in range(ptr[row], ptr[row + 1]):
            j = idx[e]
            hi[j], lo[j] = add_product(hi[j], lo[j] + val[e] * z, val[e], y)
