"""A whole step in one compiled call, island by island: few rows on dense factors, many on sparse ones.

Islands apart need fewer steps, each of them a smaller one, and none hides behind the forces of another.
"""

import numpy as np

from pliant._compile import kernel
from pliant.flat import Flat
from pliant.inputs import Array, Ints
from pliant.solvers.islands import extract, find_islands, members
from pliant.solvers.large import large
from pliant.solvers.quick import FEW_ROWS, MOST, quick
from pliant.solvers.whiten import Inertia, factor_inertia


@kernel
def solve_apart(
    flat: Flat, inertia: Inertia, push: Array, guess: Array, lift: float, goal: float, rough: float,
    force: Array, velocity: Array, tally: Array, known: Ints,
) -> bool:  # fmt: skip
    """Fill force, (m,), velocity, (nv,), and tally; False: not all islands are solved. Then they hold the best that was
    found, or nothing of use, if tally counts no iterations. force: all 0, or forces near the answer's.

    push: h inv(M) f, (nv,). guess: (nv,), where Newton starts. lift: 1 for the associated cone. goal: the residual that
    will do. rough: one of many rows, above which they are worth a long search.
    known: see `known`.
    """
    for j in range(velocity.size):
        velocity[j] = flat.velocity[j] + push[j]
    for k in range(3):
        tally[k] = 0.0
    if force.size == 0:
        return True
    if is_one_tree(inertia.parent, flat.jac_ptr, flat.block_ptr):
        return _solve_one(flat, inertia, push, guess, lift, goal, rough, force, velocity, tally, known)
    return _solve_islands(flat, inertia, push, guess, lift, goal, rough, force, velocity, tally, known)


@kernel
def _solve_islands(
    flat: Flat, inertia: Inertia, push: Array, guess: Array, lift: float, goal: float, rough: float,
    force: Array, velocity: Array, tally: Array, known: Ints,
) -> bool:  # fmt: skip
    """`solve_apart`, of several trees. A kernel of its own: it makes arrays, which one tree does not need."""
    velocity_island, row_island, count = find_islands(flat)
    if count == 1 and 2 * _held(velocity_island) > velocity.size:
        return _solve_one(flat, inertia, push, guess, lift, goal, rough, force, velocity, tally, known)
    v_ptr, velocities = members(velocity_island, count)
    r_ptr, rows = members(row_island, count)
    local, some, good = np.empty(velocity.size, np.int64), np.zeros(3), True
    for k in range(count):
        v, r = velocities[v_ptr[k] : v_ptr[k + 1]], rows[r_ptr[k] : r_ptr[k + 1]]
        if v.size == 0:  # rows that move nothing
            tally[1] = 0.0
            return False
        part = extract(flat, v, r, local)
        own = factor_inertia(part.mass_ptr, part.mass_idx, part.mass_val)
        part_force, part_velocity = force[r], np.empty(v.size)
        if not _solve_one(part, own, push[v], guess[v], lift, goal, rough, part_force, part_velocity, some, known):
            if some[1] == 0.0:
                tally[1] = 0.0
                return False
            good = False
        for i in range(r.size):
            force[r[i]] = part_force[i]
        for j in range(v.size):
            velocity[v[j]] = part_velocity[j]
        tally[0] = max(tally[0], some[0])
        tally[1] += some[1]
        tally[2] += some[2]
    return good


@kernel
def _held(island: Ints) -> int:
    """How many velocities have rows."""
    some = 0
    for k in island:
        some += k >= 0
    return some


@kernel(inline=True)
def _solve_one(
    flat: Flat, inertia: Inertia, push: Array, guess: Array, lift: float, goal: float, rough: float,
    force: Array, velocity: Array, tally: Array, known: Ints,
) -> bool:  # fmt: skip
    """`solve_apart`, of one island."""
    iterations = factorizations = 0.0
    if force.size <= MOST and not (force.size > FEW_ROWS and is_loose(inertia.parent, force.size)):
        if quick(flat, inertia, push, guess, lift, goal, force, velocity, tally):
            return True
        if force.size <= FEW_ROWS or tally[0] < goal:
            return False
        iterations, factorizations = tally[1], tally[2]
    good = large(flat, inertia, push, guess, lift, goal, rough, force, velocity, tally, known)
    tally[1] += iterations
    tally[2] += factorizations
    return good


@kernel
def is_loose(parent: Ints, rows: int) -> bool:
    """Whether bodies have few contacts each, as in a column of spheres: M couples five groups of velocities or more to
    three rows."""
    roots = 0
    for up in parent:
        roots += up < 0
    return 3 * roots >= 5 * rows


@kernel
def is_one_tree(parent: Ints, jac_ptr: Ints, block_ptr: Ints) -> bool:
    """Whether M alone couples all velocities, and every block of rows has some. A row may have none, as that across the
    plane in which a planar robot moves."""
    roots = 0
    for up in parent:
        if up < 0:
            roots += 1
    for b in range(block_ptr.size - 1):
        if jac_ptr[block_ptr[b]] == jac_ptr[block_ptr[b + 1]]:
            return False
    return roots == 1
