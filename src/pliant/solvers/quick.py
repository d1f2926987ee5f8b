"""The usual step, in one compiled call: one island, and Newton from a velocity near the answer gets there."""

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array
from pliant.solvers.formulation import CANCELLATION
from pliant.solvers.island import FACTORIZATIONS, ITERATIONS, LINEAR, RESIDUAL, cancellation, copy, finish, make_island
from pliant.solvers.islands import is_one
from pliant.solvers.predict import predict
from pliant.solvers.rows import make_rows
from pliant.solvers.stages import newton
from pliant.solvers.symbolic import find_pattern
from pliant.solvers.whiten import factor_inertia, free_gain

STEPS = 10.0  # of Newton; what needs more is left to the other ways


@kernel
def quick(flat: Flat, guess: Array, lift: float, goal: float, force: Array, velocity: Array, tally: Array) -> bool:
    """Fill force, (m,), velocity, (nv,), and tally; False: this is not a usual step, and they hold nothing of use.

    guess: (nv,), where Newton starts. lift: 1 for the associated cone. goal: the residual to get below.
    """
    nv = velocity.size
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    push = free_gain(inertia, flat.step, flat.force)
    for j in range(nv):
        velocity[j] = flat.velocity[j] + push[j]
    if force.size == 0:
        return True
    if not is_one(flat):
        return False
    rows = make_rows(flat, inertia)
    diagonal = np.arange(nv + 1)
    pattern = find_pattern(diagonal, diagonal[:-1].copy(), rows.ptr, rows.idx, rows.block_ptr)
    island = make_island(inertia, rows, pattern, flat.velocity, push, lift, STEPS, goal)
    motion = island.motion
    predict(island, guess, force)
    newton(island, force, STEPS, 1.0, 1.0)
    finish(island, force)
    tally[0], tally[1], tally[2] = motion.tally[RESIDUAL], motion.tally[ITERATIONS], motion.tally[FACTORIZATIONS]
    copy(motion.v, velocity)
    return motion.tally[RESIDUAL] < goal and cancellation(rows, nv, force) < CANCELLATION
