"""Contacts that close because others do: an impact that runs through many bodies within a step.

A body that is hit from below hits the next one, and that the next. Newton would find them one after the other, a step
each; here a body takes over what it is hit with at once, as from one far heavier, and what it comes to touch then, too.
"""

from pliant._compile import kernel
from pliant.inputs import Array
from pliant.solvers.island import Island, clear, plain_gain
from pliant.solvers.rows import LOWER, OFFSET, PROX, VALUE, Rows, rate_at

SETTLED = 0.1  # of the largest rate that a contact lacks, up to which what it touches moves as it should
FAINT = 1e-3  # of it, with which nothing is hit
SOME = 0.2  # of the force that would stop it alone, with which a contact begins


@kernel
def pass_on(island: Island, force: Array, p: Array) -> int:
    """Close contacts that will be hit, by (force, p) on their laws; how many. The pieces at (force, p) are in
    island.system; motion.v and x are used to work with."""
    rows, motion, k = island.rows, island.motion, island.system.k
    law, h, w, held, most, count = rows.law, rows.step, motion.v, motion.x, 0.0, 0
    plain_gain(rows, island.inertia, force, motion.x, w)
    for j in range(w.size):
        w[j] += motion.free[j]
    clear(held)
    nb = rows.block_ptr.size - 1
    for i in rows.block_ptr[:nb]:
        if i < force.size:
            most = max(most, law[i, PROX] * k[i])
    for i in rows.block_ptr[:nb]:
        if i < force.size and force[i] > 0.0 and law[i, PROX] * abs(k[i]) <= SETTLED * most:
            for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
                held[rows.jac_idx[e]] = 1.0
    found, up = True, True
    while found:
        found = False
        for n in range(nb):
            i = rows.block_ptr[n if up else nb - 1 - n]
            if i == force.size or law[i, LOWER] != 0.0:
                continue
            rate = law[i, OFFSET] + law[i, VALUE] / h
            for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
                rate += rows.jac_val[e] * w[rows.jac_idx[e]]
            if rate < -FAINT * most and _hit(rows, i, -rate, w, held):
                found = True
                if force[i] <= 0.0 and law[i, PROX] > 0.0:
                    force[i] = -SOME * rate / law[i, PROX]
                    p[i] = rate_at(law, h, i, force[i])[0]
                    count += 1
        up = not up
    return count


@kernel
def _hit(rows: Rows, i: int, rate: float, w: Array, held: Array) -> bool:
    """Give row i so much more of a rate by velocities that are not held; whether there are any. They are then."""
    square = 0.0
    for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
        if held[rows.jac_idx[e]] == 0.0:
            square += rows.jac_val[e] ** 2
    if square == 0.0:
        return False
    for e in range(rows.jac_ptr[i], rows.jac_ptr[i + 1]):
        j = rows.jac_idx[e]
        if held[j] == 0.0:
            w[j] += rows.jac_val[e] * rate / square
            held[j] = 1.0
    return True
