"""What compiled code does by an instruction, or at an address, is what the plain functions do."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.inputs import Array, Ints
from pliant.systems import _intrinsics as plain
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import (
    address,
    cubes,
    floats,
    folded,
    ints,
    long_room,
    longs,
    octets,
    room,
)


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


@kernel
def shapes(a: Array, out: Ints) -> float:
    """Sizes of what was made of a, and its entries, weighed by their places."""
    line, plane, solid = floats(address(a), a.size), folded(a, 2, 4), cubes(a)
    out[0], out[1], out[2] = line.size, plane.shape[0], plane.shape[1]
    out[3], out[4], out[5] = solid.shape[0], solid.shape[1], solid.shape[2]
    line[0] = 7.0
    return line[17] + plane[1, 3] + solid[1, 2, 1]


@kernel
def worked(n: int) -> float:
    """Sum of squares, by way of three rooms that must not overlap."""
    a, b, c = room(n), long_room(n), room(8)
    for i in range(n):
        a[i], b[i] = 1.0 * i, i
    for i in range(8):
        c[i] = 2.0
    s = 0.0
    for i in range(n):
        s += a[i] * b[i]
    return s + c[7] - 2.0


def test_views_have_other_shapes():
    for made in (shapes, getattr(shapes, "py_func", shapes)):
        a, out = np.arange(18.0).reshape(3, 6), np.zeros(6, np.int64)
        assert made(a, out) == 17.0 + 7.0 + 16.0
        assert out.tolist() == [18, 2, 4, 2, 3, 3] and a[0, 0] == 7.0


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_rooms_are_apart_and_given_back(n):
    for _ in range(200):  # a megabyte each time, were it kept
        assert worked(n) == sum(i * i for i in range(n))
