import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.inputs import Array, Ints
from pliant.solvers.compensated import (
    add_matvec2,
    add_matvec2_transposed,
    add_product,
    dot2,
    two_product,
    two_sum,
)
from tests.support.block_systems import PURE_PYTHON

numbers = st.floats(-1e140, 1e140).filter(lambda x: x == 0.0 or abs(x) > 1e-140)


@settings(deadline=None)  # the first call compiles
@given(numbers, numbers)
def test_sums_and_products_split_exactly(a, b):
    s, e = two_sum(a, b)
    assert s == a + b
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)
    p, f = two_product(a, b)
    assert p == a * b
    assert Fraction(p) + Fraction(f) == Fraction(a) * Fraction(b)


@pytest.mark.parametrize("a", [1.1e290, -1.3e300, 1.7e308])
def test_products_of_huge_numbers_do_not_overflow(a):
    p, e = two_product(a, 1.0 / 3.0)
    assert Fraction(p) + Fraction(e) == Fraction(a) * Fraction(1.0 / 3.0)


def test_the_low_part_keeps_what_the_sum_loses():
    hi, lo = add_product(1.0, 0.0, 2.0**-40, 2.0**-40)
    assert (hi, lo) == (1.0, 2.0**-80)


def cancelling_rows(rng: np.random.Generator, rows: int, n: int) -> tuple[Array, Array]:
    """Rows whose products with x cancel to about 1e-14 of their size."""
    val = rng.standard_normal((rows, n)) * 10.0 ** rng.uniform(-3, 12, (rows, n))
    x = rng.standard_normal(n)
    val[:, -1] = [-math.fsum(row[:-1] * x[:-1]) / x[-1] for row in val]
    return val, x


def compressed(val: Array) -> tuple[Ints, Ints, Array]:
    rows, n = val.shape
    return np.arange(0, rows * n + 1, n), np.tile(np.arange(n), rows), val.ravel().copy()


def exact_products(val: Array, x: Array) -> list[Fraction]:
    return [sum((Fraction(a) * Fraction(b) for a, b in zip(row, x, strict=True)), Fraction(0)) for row in val]


def within_two_precisions(computed: float, exact: Fraction, size: float) -> bool:
    """The bound of the paper: a rounding of the result, and n^2 roundings of roundings of the terms."""
    return abs(Fraction(computed) - exact) <= Fraction(2.0**-52) * abs(exact) + Fraction(1e-29) * Fraction(size)


def test_row_products_are_those_of_twice_the_precision():
    rng = np.random.default_rng(0)
    val, x = cancelling_rows(rng, 10, 12)
    matrix = compressed(val)
    for row, exact in enumerate(exact_products(val, x)):
        size = float(np.abs(val[row]) @ np.abs(x))
        assert within_two_precisions(dot2(*matrix, row, x, 0.25), exact + Fraction(0.25), size + 0.25)


@pytest.mark.parametrize("step", [1.0, 0.01])
def test_matrix_products_accumulate_exactly_scaled_terms(step):
    rng = np.random.default_rng(1)
    val, x = cancelling_rows(rng, 8, 15)
    hi, lo = rng.standard_normal(8), np.zeros(8)
    exact = [Fraction(a) + Fraction(step) * b for a, b in zip(hi, exact_products(val, x), strict=True)]
    size = np.abs(hi) + step * np.abs(val) @ np.abs(x)
    add_matvec2(*compressed(val), step, x, hi, lo)
    assert all(map(within_two_precisions, hi + lo, exact, size.tolist()))


@pytest.mark.parametrize("step", [1.0, 0.01])
def test_transposed_products_too(step):
    rng = np.random.default_rng(2)
    val, x = cancelling_rows(rng, 8, 15)
    hi, lo = rng.standard_normal(8), np.zeros(8)
    exact = [Fraction(a) + Fraction(step) * b for a, b in zip(hi, exact_products(val, x), strict=True)]
    size = np.abs(hi) + step * np.abs(val) @ np.abs(x)
    add_matvec2_transposed(*compressed(np.ascontiguousarray(val.T)), step, x, hi, lo)
    assert all(map(within_two_precisions, hi + lo, exact, size.tolist()))


@pytest.mark.skipif(PURE_PYTHON, reason="NumPy scalars are slow")
def test_long_sums_agree_with_fsum():
    rng = np.random.default_rng(3)
    n = 10_000
    val = rng.standard_normal(n) * 10.0 ** rng.uniform(-10, 10, n)
    ptr, idx = np.array([0, n]), np.arange(n)
    assert dot2(ptr, idx, val, 0, np.ones(n), -math.fsum(val)) == pytest.approx(
        math.fsum([*val, -math.fsum(val)]), abs=1e-18 * float(np.abs(val).sum())
    )
