"""The usual step of many rows, in one compiled call: Newton on sparse factors in the velocities."""

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solvers.formulation import CANCELLATION
from pliant.solvers.island import (
    FACTORIZATIONS,
    ITERATIONS,
    LINEAR,
    RESIDUAL,
    cancellation,
    copy,
    finish,
    make_island,
)
from pliant.solvers.predict import predict
from pliant.solvers.quick import NEARLY
from pliant.solvers.rows import make_rows
from pliant.solvers.stages import newton
from pliant.solvers.symbolic import find_pattern
from pliant.solvers.whiten import Inertia

STEPS = 15  # of Newton; what needs more is left to the other ways


@kernel
def large(
    flat: Flat, inertia: Inertia, push: Array, guess: Array, lift: float, goal: float,
    force: Array, velocity: Array, tally: Array,
) -> bool:  # fmt: skip
    """As `quick`."""
    rows, diagonal = make_rows(flat, inertia), np.arange(velocity.size + 1)
    pattern = find_pattern(diagonal, diagonal[:-1], rows.ptr, rows.idx, rows.block_ptr)
    island = make_island(inertia, rows, pattern, flat.velocity, push, lift, 1.0 * STEPS, NEARLY)
    if island.motion.tally[LINEAR] != 0.0:
        return False
    predict(island, flat.velocity, guess, force)
    newton(island, force, 1.0 * STEPS, 1.0, 1.0)
    finish(island, force)
    copy(island.motion.v, velocity)
    done = island.motion.tally
    tally[0], tally[1], tally[2] = done[RESIDUAL], done[ITERATIONS], done[FACTORIZATIONS]
    return bool(done[RESIDUAL] < goal) and cancellation(rows, velocity.size, force) < CANCELLATION
