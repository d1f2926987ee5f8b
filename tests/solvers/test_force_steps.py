"""Newton's step in the forces, against NumPy, and friction on the rim of its cone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pliant.flat import TANGENT
from pliant.solvers.dense import wide
from pliant.solvers.force_steps import BEYOND, FAR, LEAST, OVER, direction, onto_rims, share_out
from pliant.solvers.linear import System
from pliant.solvers.mobility import find_mobility
from pliant.solvers.newton import linearise_blocks
from pliant.solvers.rows import FRICTION, LAW_COLUMNS, PROX, Rows, bare, fill_rows
from pliant.solvers.whiten import factor_inertia
from tests.support.mixed_step import mixed


class Made:
    """The rows of a step with every kind of constraint, A = G inv(M) G', and room for the pieces of the laws."""

    def __init__(self, seed: int) -> None:
        flat = mixed(seed).flat()
        self.kind, m = flat.kind, len(flat.kind)
        inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
        self.A, none = np.zeros((m, wide(m))), np.zeros(m + 1, np.int64)
        find_mobility(inertia, flat.jac_ptr, flat.jac_idx, flat.jac_val, self.A)
        self.rows = Rows(
            flat.step, flat.block_ptr, np.zeros(len(flat.block_ptr), np.int64), none, none, np.zeros(1), flat.jac_ptr,
            flat.jac_idx, flat.jac_val, np.zeros((m, LAW_COLUMNS)),
        )  # fmt: skip
        bare(self.rows, self.A)
        fill_rows(flat, self.rows)
        squares = int(self.rows.square_ptr[-1])
        sizes: dict[str, Any] = {"B": squares, "C": squares, "H": 9, "k": m, "push": m, "flow": wide(m), "values": 9}
        room: dict[str, Any] = {name: np.zeros(size) for name, size in sizes.items()}
        room |= {"work": np.zeros(m * wide(m)), "small": np.zeros((1, 3, 3)), "exchange": np.zeros(1, np.int64)}
        self.pieces = System(**room)
        self.rng = np.random.default_rng(seed)
        self.force, self.rate = 10.0 * self.rng.normal(size=m), self.rng.normal(size=m)

    def blocks(self, entries: np.ndarray) -> np.ndarray:
        """(m, m) from the squares of the blocks."""
        whole, ptr, square = np.zeros_like(self.A[:, : len(self.A)]), self.rows.block_ptr, self.rows.square_ptr
        for b, (lo, hi) in enumerate(itertools.pairwise(ptr)):
            whole[lo:hi, lo:hi] = entries[square[b] : square[b + 1]].reshape(hi - lo, hi - lo)
        return whole


@pytest.mark.parametrize("seed", range(20))
def test_the_direction_solves_its_system(seed):
    made = Made(seed)
    m = len(made.force)
    linearise_blocks(made.rows, made.force, made.rate, 0.0, made.pieces)
    missed, df = made.rng.normal(size=m), np.zeros(m)
    B, C, k = made.blocks(made.pieces.B), made.blocks(made.pieces.C), made.pieces.k.copy()
    D = B + C @ (made.rows.step * made.A[:, :m] + np.diag(LEAST * made.rows.law[:, PROX]))
    wanted = np.linalg.solve(D, k - C @ missed)
    direction(made.rows, made.pieces, made.A, missed, LEAST, df)
    np.testing.assert_allclose(D @ df, D @ wanted, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("seed", range(20))
def test_a_load_is_shared_until_the_first_contact_slips(seed):
    """Along the way from the shared step to the torn one; none that was within its cone is far beyond its rim."""
    made = Made(seed)
    law, ptr, rng = made.rows.law, made.rows.block_ptr, made.rng
    heads = [int(lo) for lo, hi in itertools.pairwise(ptr) if hi - lo > 1 and law[lo + 1, FRICTION] > 0.0]
    force, shared = np.zeros(len(made.force)), np.zeros(len(made.force))
    force[heads] = rng.uniform(1.0, 2.0, len(heads))
    torn = 1e3 * rng.normal(size=len(force))
    torn[heads] = 0.0
    df = torn.copy()
    share_out(made.rows, force, shared, df)
    ratio = df[torn != 0.0] / torn[torn != 0.0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    after = force + df
    sizes = [
        np.sqrt(sum((after[i] / law[i, FRICTION]) ** 2 for i in range(lo + 1, hi) if law[i, FRICTION] > 0.0))
        / after[lo]
        for lo, hi in itertools.pairwise(ptr)
        if lo in heads
    ]
    assert max(sizes) == pytest.approx(OVER, rel=1e-9)


def test_what_no_contact_can_take_is_left_out():
    """All of them are beyond their rims with the shared step alone: that is taken."""
    made = Made(0)
    force, shared = np.zeros(len(made.force)), made.rng.normal(size=len(made.force))
    heads = made.rows.block_ptr[:-1]
    shared[heads] = 0.0
    df = 1e6 * shared
    share_out(made.rows, force, shared, df)
    np.testing.assert_array_equal(df, shared)


@pytest.mark.parametrize("seed", range(20))
def test_friction_goes_onto_the_rim(seed):
    """Where it slips, and where it is to stick a little outside; nothing else moves."""
    made = Made(seed)
    linearise_blocks(made.rows, made.force, made.rate, 0.0, made.pieces)
    B, C = made.blocks(made.pieces.B), made.blocks(made.pieces.C)
    after = made.force + made.rng.normal(size=len(made.force))
    before, moved, law = after.copy(), np.zeros(len(after)), made.rows.law
    some = onto_rims(made.rows, made.pieces, after, moved)
    np.testing.assert_array_equal(after, before + moved)
    expected = np.zeros(len(after))
    for lo, hi in itertools.pairwise(made.rows.block_ptr):
        rub = [i for i in range(lo + 1, hi) if law[i, FRICTION] > 0.0]
        size = np.linalg.norm(before[rub] / law[rub, FRICTION])
        if not rub or before[lo] <= 0.0:
            continue
        ratio = size / before[lo]
        if np.any(B[rub, lo]):
            expected[rub] = before[rub] / ratio - before[rub]
        elif C[rub[-1], rub[-1]] and BEYOND < ratio < FAR:
            expected[rub] = before[rub] * BEYOND / ratio - before[rub]
    np.testing.assert_allclose(moved, expected, rtol=1e-9, atol=1e-12)
    assert some == bool(np.any(expected)) and not np.any(moved[made.kind != TANGENT])
