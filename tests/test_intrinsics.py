"""What compiled code does by an instruction, or at an address, is what the plain functions do."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import _intrinsics as plain
from pliant._compile import kernel
from pliant._intrinsics import floats, ints, longs, octets, product_error


@kernel
def compiled_error(a: float, b: float) -> float:
    return product_error(a, b, a * b)


@kernel
def total(kind: int, address: int, count: int) -> float:
    s = 0.0
    if kind == 0:
        for x in floats(address, count):
            s += x
    elif kind == 1:
        for x in ints(address, count):
            s += x
    elif kind == 2:
        for x in longs(address, count):
            s += x
    else:
        for x in octets(address, count):
            s += x
    return s


def test_the_error_of_a_product_is_exact():
    rng = np.random.default_rng(0)
    for a, b in rng.standard_normal((1000, 2)) * 10.0 ** rng.integers(-60, 60, (1000, 2)):
        assert compiled_error(a, b) == plain.product_error(a, b, a * b)
    assert compiled_error(1.0 + 2.0**-52, 1.0 - 2.0**-53) != 0.0


@pytest.mark.parametrize(("kind", "view", "type"), [
    (0, plain.floats, float), (1, plain.ints, np.int32), (2, plain.longs, np.int64), (3, plain.octets, np.uint8),
])  # fmt: skip
def test_views_see_the_memory(kind, view, type):
    array = np.arange(3, 10).astype(type)
    address = array.ctypes.data
    assert total(kind, address, 7) == 42.0 == view(address, 7).sum()
    view(address, 7)[0] = 5
    assert array[0] == 5 and total(kind, address, 1) == 5.0
    assert total(kind, address, 0) == 0.0 == view(address, 0).sum()
