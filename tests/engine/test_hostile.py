"""Whatever stands in a record: it is refused, or answered with a status that is true."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from pliant import _engine, reference
from pliant.flat import INERT, NORMAL, TANGENT, UNILATERAL, Flat
from pliant.solution import STATUSES, Status
from tests.support.exact import certificates
from tests.support.hostile import hostile_flat

TOLERANCE = 1e-8
ROUNDING = 3e-11  # residuals below are those of rounding: the last digit of forces that cancel scores 1e-11
LARGE, SMALL = 1e100, 1e-100  # numbers whose products and quotients overflow
DRAWS = 10_000
BATCH = 500

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")  # NumPy judges the same numbers


def is_lawful(flat: Flat) -> bool:
    """Whether the rows are such as a StepProblem accepts, as far as signs and bounds go."""
    kind, tangent = flat.kind, flat.kind == TANGENT
    one_sided = (kind == UNILATERAL) | (kind == NORMAL)
    lower = np.select([one_sided | (kind == INERT), kind < NORMAL], [0.0, flat.lower], -np.inf)
    held = np.where(kind == 0, -np.inf, lower)
    return bool(
        np.all(flat.stiffness >= 0.0)
        and np.all(np.isfinite(flat.stiffness) | tangent)
        and np.all((flat.damping >= 0.0) & (flat.dissipation >= 0.0) & (flat.friction >= 0.0) & (flat.exponent >= 1.0))
        and np.array_equal(flat.lower, held)
        and np.all(flat.lower <= flat.upper)
        and np.all((flat.upper == np.inf) | (kind == 2) | (kind == INERT))
        and np.all((flat.lower < np.inf) & (flat.upper > -np.inf))
        and np.all(((flat.exponent == 1.0) & (flat.dissipation == 0.0)) | one_sided)
    )


def is_tame(flat: Flat) -> bool:
    """Whether the numbers are finite and their products do not overflow, and the mass is positive definite."""
    for name in ("mass_val", "velocity", "force", "jac_val", "value", "offset", "damping", "friction", "exponent"):
        if not np.all(np.abs(getattr(flat, name)) < LARGE):
            return False
    bounds = np.abs(np.concatenate([flat.lower, flat.upper, flat.stiffness]))
    if np.any((bounds >= LARGE) & np.isfinite(bounds)) or not SMALL < flat.step < LARGE:
        return False
    if np.any((flat.friction > 0.0) & (flat.friction < SMALL)):
        return False
    nv = len(flat.velocity)
    M = csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(nv, nv)).toarray()
    scale = np.sqrt(np.abs(np.diag(M)))
    return bool(np.all(scale > SMALL) and np.linalg.eigvalsh(M / np.outer(scale, scale))[0] > 1e-12)


def is_judged(flat: Flat, convex: bool) -> bool:
    """Whether engine and reference mean the same residual.

    Where no tangent of a contact moves anything the engine takes it for smooth. In the associated cone a row that moves
    nothing may score 0 or 1 by the last digit of a slip.
    """
    moves = np.array([np.any(flat.jac_val[a:b]) for a, b in itertools.pairwise(flat.jac_ptr)], bool)
    rubs = (flat.kind == TANGENT) & (flat.friction > 0.0)
    if convex:
        return bool(np.all(moves | (flat.kind == INERT)))
    return all(not rubs[a:b].any() or (rubs & moves)[a:b].any() for a, b in itertools.pairwise(flat.block_ptr))


def outside(flat: Flat, force: np.ndarray) -> list[int]:
    """Rows whose force is beyond its bounds or cone."""
    bad = [int(i) for i in np.flatnonzero((force < flat.lower) | (force > flat.upper))]
    for first, end in itertools.pairwise(flat.block_ptr):
        mu, along = flat.friction[first + 1 : end], force[first + 1 : end]
        if end > first + 1 and flat.kind[first] == NORMAL:
            length = float(np.linalg.norm(along[mu > 0.0] / mu[mu > 0.0]))
            if np.any(along[mu == 0.0]) or length > force[first] * (1.0 + 1e-12):
                bad.append(int(first))
    return bad


def judge(seed: int) -> str:
    """How it went: "refused", or the name of the status. Fails where that is not true."""
    rng = np.random.default_rng(seed)
    flat = hostile_flat(rng)
    try:
        record = _engine.from_arrays(*flat)
    except ValueError:
        assert not flat.step > 0.0 or not np.isfinite(flat.step), "only the step may be refused"
        return "refused"
    guess = _start(rng, flat.velocity)
    start = _start(rng, np.zeros(len(flat.kind)))
    convex, most = bool(rng.random() < 0.25), int(rng.choice([1, 2, 10, 100, 100]))
    v1, force, impulse, state, report, islands = _engine.solve(record, guess, start, convex, TOLERANCE, most)
    status, residual, law_residual, momentum_residual, _, factorizations = report
    found = STATUSES[status]
    assert v1.shape == impulse.shape == flat.velocity.shape and force.shape == state.shape == flat.kind.shape
    assert set(state.tolist()) <= {0, 1, 2} and factorizations >= 0
    assert [int(s) for s in islands[5]] == [s for s in islands[5].tolist() if s in range(4)]
    assert max([status, *islands[5].tolist()]) == status
    linearize(record, flat, force, convex)
    certified = _engine.certify(record, force, v1, convex)
    if found is Status.NON_FINITE:
        assert not (is_lawful(flat) and is_tame(flat)), "sound numbers"
        return found.name
    assert np.isfinite(v1).all() and np.isfinite(force).all() and np.isfinite(impulse).all()
    assert np.isfinite(flat.velocity).all() and np.isfinite(flat.force).all(), "an unknown velocity or force"
    if found is Status.SOLVED:
        assert residual < TOLERANCE and agree(residual, certified[0])
    if not is_tame(flat):
        return found.name
    assert reference.momentum_residual(flat, v1, force) < 1e-12 and momentum_residual < 1e-12, "momentum"
    if not is_lawful(flat):
        return found.name
    assert not outside(flat, force), "outside"
    if found is Status.SOLVED and is_judged(flat, convex):
        for reported, cone in ((residual, convex), (law_residual, False)):
            true = float(reference.law_residual(flat, force, convex=cone).max(initial=0.0))
            if not agree(reported, true):  # the reference has the digits of a double
                true = certificates(flat, v1, force, convex=cone)[1]
            cautious = cone and true < reported < TOLERANCE  # slip speeds lose digits to rates of normals
            assert agree(reported, true) or cautious, f"{reported} reported, {true} in truth"
    return found.name


def linearize(record: _engine.Record, flat: Flat, force: np.ndarray, convex: bool) -> None:
    """Products of an answer's derivative have their sizes, whatever the numbers."""
    derivative = _engine.linearize(record, force, convex)
    if derivative is not None:
        nv, m = len(flat.velocity), len(flat.kind)
        assert derivative.forward(np.ones(2 * nv + 5 * m)).shape == (nv + m,)
        assert derivative.transposed(np.ones(nv + m)).shape == (2 * nv + 5 * m,)


def agree(reported: float, true: float) -> bool:
    return max(reported, true) < ROUNDING or (reported <= 10.0 * true and true <= 10.0 * reported)


def _start(rng: np.random.Generator, like: np.ndarray) -> Any:
    """Where a solve is told to begin: nowhere, or somewhere, possibly far off."""
    case = rng.random()
    if case < 0.6:
        return None
    size = float(rng.choice([0.0, 1.0, 1e6, 1e20, 1e300, np.nan], p=[0.2, 0.5, 0.1, 0.1, 0.05, 0.05]))
    return like + size * rng.normal(size=len(like))


def judge_all(seeds: range) -> None:
    wrong, seen = [], set()
    for seed in seeds:
        try:
            seen.add(judge(seed))
        except AssertionError as error:
            wrong.append((seed, str(error).splitlines()[0]))
    assert not wrong, wrong
    assert {"SOLVED", "NON_FINITE", "ITERATION_LIMIT"} <= seen


@pytest.mark.parametrize("first", range(0, DRAWS // 10, BATCH))
def test_hostile_records(first):
    judge_all(range(first, first + BATCH))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(DRAWS // 10, DRAWS, BATCH))
def test_many_hostile_records(first):
    judge_all(range(first, first + BATCH))
