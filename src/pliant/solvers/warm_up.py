"""Compile every kernel ahead of time, in two processes: half of them are needed by no first step."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pliant._compile import cache_folder
from pliant.constraints import Bilateral, Contact, Unilateral
from pliant.inputs import Array
from pliant.laws import Law
from pliant.problem import StepProblem
from pliant.solvers.convex import Convex
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.driver import prepare, solve
from pliant.solvers.interior import (
    advance,
    central_blocks,
    central_goals,
    dual_directions,
    longest_step,
    make_path,
    measure,
    product_after,
    scale_contacts,
    start_path,
)
from pliant.solvers.island import Island
from pliant.solvers.linear import dense_direction, direction, factorize, make_dense, make_system
from pliant.solvers.linearize import linearize
from pliant.solvers.oracle import fall_back
from pliant.solvers.path import interior
from pliant.solvers.rows import LAW_COLUMNS, Rows
from pliant.solvers.stages import exact_newton
from pliant.solvers.symbolic import analyze
from pliant.solvers.whiten import factor_inertia

BODIES = 40  # enough that the sparse ordering has something to order


@contextmanager
def compiling_beside() -> Iterator[None]:
    """Meanwhile, in a process of its own: the usual step, few rows before many."""
    if cache_folder() is None:
        yield
        return
    code = "import pliant.solvers.apart; from pliant._linkage import open_doors; open_doors()"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL):
        yield


def warm_up() -> None:
    """Compile what is not on disk yet."""
    if cache_folder() is None:  # nowhere to meet
        _use(interior_too=True)
        return
    code = f"from {__name__} import help_out; help_out()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as helper:
        solve(_beads(1))
        if helper.stdin and helper.poll() is None:
            helper.stdin.write("\n")  # what both need is there: each goes on with a half of the rest
            helper.stdin.flush()
        _use(interior_too=False)
    _use(interior_too=True)


def help_out() -> None:
    """The second process: what the first one comes to last, or never on a first step."""
    _compile_parts()
    sys.stdin.readline()
    _follow_path()


def _use(*, interior_too: bool) -> None:
    """Both solvers, derivatives, and what only hard steps reach, on beads that slide along the floor."""
    problem = _beads(BODIES)
    island, force = _island()
    exact_newton(island, force, 1, True)
    fall_back(island, force, 1.0, True)
    if interior_too:
        _follow_path()
    solve(_stop())
    for solver in (Coulomb(), Convex()):
        derivative = linearize(problem, solve(problem, solver))
        derivative.apply(force=problem.force)
        derivative.transpose_apply(velocity=problem.velocity)


def _follow_path() -> None:
    island, force = _island()
    interior(island, force, 0.0, 1.0, 1.0)


def _island() -> tuple[Island, Array]:
    flat = _beads(2).flat()
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    return prepare(flat, inertia, Coulomb()), np.zeros(len(flat.kind))


def _compile_parts() -> None:
    """The sparse ordering; the factorizations and the parts of the interior path, on no rows at all."""
    flat = _beads(BODIES).flat()
    analyze(flat.mass_ptr, flat.mass_idx, flat.jac_ptr, flat.jac_idx, flat.block_ptr)
    none, zero, one = np.zeros(0), np.zeros(1, np.int64), np.arange(2)
    rows = Rows(0.01, zero, zero, zero, zero[:0], none, zero, zero[:0], none, np.zeros((0, LAW_COLUMNS)))
    pattern = analyze(one, zero, zero, zero[:0], zero)
    system = make_system(rows, pattern)
    factorize(rows, pattern, system, 0.0)
    direction(rows, pattern, system, np.zeros(1), none)
    path = make_path(rows)
    start_path(rows, path, none, none, 0.0, 0.0)
    measure(rows, path, none, 0.0)
    scale_contacts(rows, path, system.small)
    central_blocks(rows, path, system, 0.0)
    central_goals(rows, path, system, 0.0, 0.0)
    dual_directions(rows, path, system.flow, 0.0, 0.0)
    longest_step(rows, path, system.small[2])
    product_after(rows, path, 0.0)
    advance(rows, path, 0.0)
    dense_direction(rows, system, make_dense(rows, 0), True, none)


def _stop() -> StepProblem:
    """A weight on a spring that pushes."""
    spring = Unilateral([[1.0]], [0.0], Law(1e4))
    return StepProblem([1.0], [0.0], [-10.0], 0.01, [spring])


def _beads(count: int) -> StepProblem:
    """Beads on springs."""
    axes = np.eye(3 * count).reshape(count, 3, -1)
    contact = Contact(axes[:, [2, 0, 1]], np.zeros(count), Law(1e8), np.full(count, 0.5))
    spring = Bilateral(axes[1:, 0] - axes[:-1, 0], np.zeros(count - 1), Law(1e3))
    weight = np.tile([0.0, 0.0, -10.0], count)
    return StepProblem(np.ones(3 * count), np.full(3 * count, 0.1), weight, 0.01, [contact, spring])
