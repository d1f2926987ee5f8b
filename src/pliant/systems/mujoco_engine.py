"""The engine's solve for compiled code, called by its address as MuJoCo's functions are.

Beside it the rule that no answer may gain energy.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final, NamedTuple

import llvmlite.binding
import numpy as np
from numba.core import types
from numba.extending import overload

from pliant import _engine
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import address, floats, longs
from pliant.systems.mujoco_arrays import copy
from pliant.systems.mujoco_flat import WORD, Efc, Extra, Mass, Touch, flat_at, flat_room, jacobian_room

# What a solve returns: the places in Status, and one for what has failed altogether.
SOLVED, FALLBACK, LIMIT, NON_FINITE = range(4)
FAILED: Final = -1
RESIDUAL, ITERATIONS, FACTORIZATIONS, STATUS = range(4)  # entries of a tally; STATUS is for those who want to keep it
TALLY: Final = 4

TABLE: Final = 31  # words of a request, see src/engine/bindings/c_entry.cc
GAIN: Final = 1.01  # of all the energy that a step begins with, which no answer should exceed

_NAME: Final = "pliant_solve"
llvmlite.binding.add_symbol(_NAME, _engine.solve_entry())
_solve: Any = types.ExternalFunction(_NAME, types.int64(types.int64))


class Options(NamedTuple):
    convex: bool  # the associated cone in the place of Coulomb's law
    tolerance: float
    max_iterations: int


def ask(request: int) -> int:
    """The status of the request at an address, once it is answered."""
    return int(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_engine.solve_entry())(request))


@overload(ask)  # type: ignore[untyped-decorator]
def _ask(request: Any) -> Any:
    def call(request: Any) -> Any:
        return _solve(request)

    return call


@kernel
def engine_room(nv: int, m: int) -> int:
    """Words of memory that `solve_record` takes."""
    return TABLE + nv + m + TALLY


@kernel
def solve_rows(
    h: float, mass: Mass, v0: Array, f: Array, shift: Array, efc: Efc, touch: Touch, extra: Extra, guess: Array,
    start: Array, options: Options, velocity: Array, force: Array, tally: Array, desk: int,
) -> int:  # fmt: skip
    """`solve_record`, of MuJoCo's rows, and the extra ones. desk: `flat_room` and `engine_room`."""
    flat = flat_at(h, mass, v0, f, shift, efc, touch, extra, desk)
    desk += WORD * flat_room(mass.idx.size, force.size, jacobian_room(v0.size, efc, extra))
    return solve_record(flat, guess, start, options, velocity, force, tally, desk)


@kernel
def solve_record(
    flat: Flat, guess: Array, start: Array, options: Options, velocity: Array, force: Array, tally: Array, desk: int
) -> int:  # fmt: skip
    """Fill velocity, (nv,), force, (m,), and tally; returns the status. guess: a velocity near the answer's, (nv,).
    start: forces near the answer's, (m,), or none. desk: where there is room to work.

    Coulomb's law can have several answers where bodies jam, and some of them throw the bodies with forces out of
    nothing (Painleve). One that ends with more energy than motion and springs held is not taken: the convex program's
    is, unless that gains some as well.
    """
    status = _request(flat, guess, start, options, velocity, force, tally, desk)
    if status == SOLVED and not options.convex and gains(flat, velocity, force):
        nv, m, at = velocity.size, force.size, desk + WORD * TABLE
        v, f, more = floats(at, nv), floats(at + WORD * nv, m), floats(at + WORD * (nv + m), TALLY)
        convex = Options(True, options.tolerance, options.max_iterations)
        found = _request(flat, guess, start, convex, v, f, more, desk)
        tally[ITERATIONS] += more[ITERATIONS]
        tally[FACTORIZATIONS] += more[FACTORIZATIONS]
        if found == SOLVED and not gains(flat, v, f):
            copy(v, velocity)
            copy(f, force)
            tally[RESIDUAL], status = more[RESIDUAL], FALLBACK
    return status


@kernel
def _request(
    flat: Flat, guess: Array, start: Array, options: Options, velocity: Array, force: Array, report: Array, desk: int
) -> int:  # fmt: skip
    """The engine's answer."""
    words, reals = longs(desk, TABLE), floats(desk, 2)
    reals[0], reals[1] = flat.step, options.tolerance
    words[2], words[3] = options.convex, options.max_iterations
    words[4], words[5], words[6] = velocity.size, force.size, flat.block_ptr.size - 1
    words[7], words[8], words[9] = address(flat.mass_ptr), address(flat.mass_idx), address(flat.mass_val)
    words[10], words[11] = address(flat.velocity), address(flat.force)
    words[12], words[13], words[14] = address(flat.jac_ptr), address(flat.jac_idx), address(flat.jac_val)
    words[15], words[16] = address(flat.block_ptr), address(flat.kind)
    words[17], words[18], words[19] = address(flat.value), address(flat.offset), address(flat.stiffness)
    words[20], words[21], words[22] = address(flat.damping), address(flat.exponent), address(flat.dissipation)
    words[23], words[24], words[25] = address(flat.lower), address(flat.upper), address(flat.friction)
    words[26], words[27] = address(guess), address(start) if start.size == force.size else 0
    words[28], words[29], words[30] = address(velocity), address(force), address(report)
    return ask(desk)


@kernel
def gains(flat: Flat, v: Array, force: Array) -> bool:
    """Whether v has more kinetic energy than the step begins with, in motion and springs, and what servos add."""
    h = flat.step
    before = after = 0.0
    for i in range(v.size):
        p0 = p1 = 0.0
        for e in range(flat.mass_ptr[i], flat.mass_ptr[i + 1]):
            j = flat.mass_idx[e]
            p0 += flat.mass_val[e] * flat.velocity[j]
            p1 += flat.mass_val[e] * v[j]
        before += 0.5 * flat.velocity[i] * p0 + h * abs(flat.force[i]) * (abs(v[i]) + h * abs(flat.velocity[i]))
        after += 0.5 * v[i] * p1
    for i in range(force.size):
        if flat.stiffness[i] < np.inf:
            before += 0.5 * flat.stiffness[i] * abs(min(flat.value[i], 0.0)) ** (flat.exponent[i] + 1.0)
            if flat.value[i] > 0.0 and flat.lower[i] < 0.0:
                before += 0.5 * flat.stiffness[i] * flat.value[i] ** 2
        before += h * abs(force[i] * flat.offset[i])
    return after > GAIN * before
