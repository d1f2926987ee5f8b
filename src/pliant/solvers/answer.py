"""What is read off the forces: certificates, contact states, the stretch to pass on."""

from __future__ import annotations

import numpy as np

from pliant.constraints import Contact
from pliant.flat import NORMAL, Flat
from pliant.inputs import Array, Ints
from pliant.problem import StepProblem
from pliant.solution import ContactState
from pliant.solvers.certificate import island_residuals, momentum_residual, rates_and_sizes
from pliant.solvers.rows import BIAS, COMPLIANCE, FRICTION, REACH, Rows, make_rows
from pliant.solvers.whiten import Inertia, velocity_gain


def judge(
    flat: Flat, inertia: Inertia, force: Array, velocity: Array, row_island: Ints
) -> tuple[float, float, Array, tuple[Rows, Array]]:
    """(momentum residual, law residual, impulse, (rows, rates)); the velocity is recomputed from the forces."""
    entries = flat.jac_idx[: flat.jac_ptr[-1]]
    impulse = np.asarray(flat.step * np.bincount(entries, _entry_forces(flat, force), len(velocity)), dtype=float)
    gain = velocity_gain(inertia, flat.step * flat.force + impulse, np.zeros(len(impulse)))
    rows = make_rows(flat, inertia)
    p, size = np.zeros(len(force)), np.zeros(len(force))
    rates_and_sizes(rows, flat.velocity, gain, p, size)
    law = island_residuals(rows, force, p, size, row_island, int(row_island.max(initial=-1)) + 1)
    return momentum_residual(flat, velocity, force), float(law.max(initial=0.0)), impulse, (rows, p)


def _entry_forces(flat: Flat, force: Array) -> Array:
    return flat.jac_val[: flat.jac_ptr[-1]] * np.repeat(force, np.diff(flat.jac_ptr))


def _has_contacts(problem: StepProblem) -> bool:
    return any(isinstance(constraint, Contact) for constraint in problem.constraints)


def contact_states(
    problem: StepProblem, flat: Flat, force: Array, rates: tuple[Rows, Array]
) -> tuple[Ints | None, ...]:
    """OPEN without force; SLIP where the natural map leaves the disc; else STICK."""
    if not _has_contacts(problem):
        return (None,) * len(problem.constraints)
    rows, p = rates
    law, mu = rows.law, rows.law[:, FRICTION]
    size = np.diff(flat.block_ptr)
    block = np.repeat(np.arange(len(size)), size)
    t = np.flatnonzero(mu > 0.0)
    slip = mu[t] * (p[t] + law[t, COMPLIANCE] * force[t] + law[t, BIAS])
    z = force[t] / mu[t] - slip / (flat.step * law[flat.block_ptr[block[t]], REACH])
    reach = np.sqrt(np.bincount(block[t], weights=z * z, minlength=len(size)))
    heads = np.flatnonzero(flat.kind == NORMAL)
    rubs = np.bincount(block[t], minlength=len(size))[block[heads]] > 0
    slides = (reach[block[heads]] > force[heads] * (1.0 + 1e-9)) | ~rubs
    state = np.where(slides, ContactState.SLIP, ContactState.STICK)
    state[force[heads] <= 0.0] = ContactState.OPEN
    out: list[Ints | None] = []
    start = 0
    for constraint in problem.constraints:
        if isinstance(constraint, Contact):
            out.append(state[start : start + constraint.count].astype(np.int64))
            start += constraint.count
        else:
            out.append(None)
    return tuple(out)


def next_stretch(problem: StepProblem, flat: Flat, force: Array) -> tuple[Array | None, ...]:
    """phi_t1 from K_t phi_t1 + B_t (phi_t1 - phi_t0) / h = -lambda_t."""
    if not _has_contacts(problem):
        return (None,) * len(problem.constraints)
    rate = flat.damping / flat.step
    K = np.where(np.isfinite(flat.stiffness), flat.stiffness, 0.0)
    total = K + rate
    stretch = np.divide(rate * flat.value - force, total, out=np.zeros(len(force)), where=total > 0.0)
    out: list[Array | None] = []
    for constraint, part in zip(problem.constraints, problem.split(stretch), strict=True):
        law = constraint.tangent_law if isinstance(constraint, Contact) else None
        out.append(part[:, 1:].copy() if law is not None and np.any(np.asarray(law.stiffness) > 0.0) else None)
    return tuple(out)
