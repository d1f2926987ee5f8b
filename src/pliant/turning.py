"""Forces that turn with what they act on: the geometric stiffness of the forces of the step before, implicitly.

A stiff force keeps its direction of the start of the step. To a light body that turns under it, it is an explicit
spring of stiffness K_g = -d(G' lambda)/dq. With w the squares of the angles by which such a spring turns in a step,
h^2 K_g x = w M x, the step is taken with

    K  = K_g w^2/(1 + w^2), mode by mode: left out where h^2 K_g is well below M
    M^ = M + h^2 K,   f^ = f - h K (DAMPING v0 + u),   u = v1(f) - v1(f - h K v0)

K v0 in place of DAMPING v0 + u is implicit Euler: it holds, but damps the swing of a chain as much as the quivering of
its links. u is the part of v0 that K stops within one step: nearly all of what quivers, and of a swing of frequency W
the share h^2 W^2. No damping at all keeps the energy of small swings, but chains tear that fold and whip.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

from pliant.drift import Start, response
from pliant.inertia import added, times
from pliant.inputs import Array, Matrix
from pliant.problem import StepProblem

DAMPING: Final = 1 / 7  # of implicit Euler's, on all that turns; with a twentieth, chains that whip tear
SLIGHT: Final = 0.05  # w below which turning needs no help: a spring is stable up to 4


def turned(start: Start, stiffness: Matrix) -> Start:
    """The start of a step whose problem has the geometric stiffness in it. stiffness: K_g, symmetric."""
    problem, h, v0 = start.problem, start.problem.step, start.problem.velocity
    K = blended(problem.mass, stiffness, h)
    if K is None:
        return start
    total = K if problem.stiffness is None else added(K, problem.stiffness)
    whole = StepProblem(problem.mass, v0, problem.force, h, problem.constraints, stiffness=total)
    offset, drag = whole.flat().offset, -h * times(K, v0)
    light = start._replace(problem=whole.shifted(offset, (DAMPING - 1.0) * drag))
    free = light.solve(light.problem)
    held = light.solve(light.problem.shifted(offset, drag), free)
    if not (free.status.solved and held.status.solved):
        return start._replace(problem=whole)
    stopped = free.velocity - held.velocity  # u
    return light._replace(problem=light.problem.shifted(offset, -h * times(K, stopped)))


def blended(mass: Matrix, stiffness: Matrix, step: float) -> Matrix | None:
    """K [N/m], (nv,) or sparse, of K_g; None: all of it is left out. What is negative in K_g does not count."""
    if mass.ndim == stiffness.ndim == 1:
        w = step**2 * np.maximum(stiffness, 0.0) / mass
        return _kept(w) * mass / step**2 if w.max() > SLIGHT else None
    M, K = (sparse.diags_array(part, format="csr") if part.ndim == 1 else part for part in (mass, stiffness))
    M, K = sparse.csr_array(M), sparse.csr_array(K)
    if K.nnz == 0:
        return None
    groups, label = connected_components(abs(M) + abs(K), directed=False)
    rows, columns, values, largest = [], [], [], 0.0
    turning = np.unique(label[K.nonzero()[0]])
    order = np.argsort(label, kind="stable")
    bounds = np.searchsorted(label[order], np.arange(groups + 1))
    for group in turning:
        some = order[bounds[group] : bounds[group + 1]]
        dense = M[some][:, some].toarray()
        w, modes = eigh(step**2 * K[some][:, some].toarray(), dense)
        largest = max(largest, float(w[-1]))
        half = dense @ modes * np.sqrt(_kept(np.maximum(w, 0.0)) / step**2)
        rows.append(np.repeat(some, len(some)))
        columns.append(np.tile(some, len(some)))
        values.append((half @ half.T).ravel())
    if largest <= SLIGHT:
        return None
    entries: Any = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_array(entries, shape=M.shape)


def _kept(w: Array) -> Array:
    """w^3/(1 + w^2), without overflow."""
    return w / (1.0 + (1.0 / np.maximum(w, 1e-150)) ** 2)
