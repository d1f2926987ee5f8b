"""Compiled: what a slice on the left would do, without asking of each whether the two overlap."""

from pliant.inputs import Array
from pliant.systems._compile import kernel


@kernel
def copy(source: Array, target: Array) -> None:
    for i in range(source.size):
        target[i] = source[i]


@kernel
def clear(x: Array) -> None:
    for i in range(x.size):
        x[i] = 0.0
