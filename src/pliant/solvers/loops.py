"""Inner loops on contiguous vectors, written so that the compiler can use vector registers.

They run over slices from index 0: an index that might be negative would have to be tested each time. Sums
keep their order (no fastmath), so they are spread over four accumulators by hand.
"""

from pliant._compile import kernel
from pliant.inputs import Array


@kernel(inline=True)
def subtract(y: Array, a: float, x: Array) -> None:
    """y -= a x"""
    for j in range(y.size):
        y[j] -= a * x[j]


@kernel(inline=True)
def dot(x: Array, y: Array) -> float:
    """x'y for vectors of the length of x."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    quads = x.size // 4
    for q in range(quads):
        j = 4 * q
        s0 += x[j] * y[j]
        s1 += x[j + 1] * y[j + 1]
        s2 += x[j + 2] * y[j + 2]
        s3 += x[j + 3] * y[j + 3]
    for j in range(4 * quads, x.size):
        s0 += x[j] * y[j]
    return (s0 + s1) + (s2 + s3)
