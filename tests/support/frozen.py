"""A system whose configuration stands still while it moves: M and G constant, phi advanced by h G v alone.

That is the setting in which the energy 1/2 v'M v + sum U_i(phi_i) must never grow, whatever the rows; U_i is the
potential of the static law:

    bilateral            K phi^2 / 2
    unilateral, normal   k d^(p+1) / (p+1),  d = max(0, -phi)
    clipped              the integral of -clip(-K phi, lo, hi)
    tangent              K_t phi_t^2 / 2 in the stretch; nothing without tangential stiffness
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import pliant

Array = np.ndarray
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Frozen:
    """Mass (nv, nv), velocity (nv,), step [s], and constraints with dense Jacobians; no forces, no offsets."""

    mass: Array
    velocity: Array
    step: float
    constraints: Sequence[Any]

    def problem(self) -> pliant.StepProblem:
        """The next step."""
        idle = np.zeros(len(self.velocity))
        return pliant.StepProblem(self.mass, self.velocity, idle, self.step, self.constraints)

    def after(self, solution: pliant.Solution) -> Frozen:
        """The system at the end of the step."""
        travel = self.step * solution.velocity
        both = zip(self.constraints, solution.stretch, strict=True)
        return replace(self, velocity=solution.velocity, constraints=[_moved(c, travel, s) for c, s in both])

    def energies(self) -> Array:
        """Kinetic energy, then what each row stores [J]."""
        kinetic = [float(self.velocity @ self.mass @ self.velocity) / 2]
        return np.concatenate([kinetic, *(_stored(constraint) for constraint in self.constraints)])

    def rounding(self, solution: pliant.Solution) -> float:
        """[J] What rounding alone may do to the energy in this step, some eps of it.

        Forces that are rounded move the velocity by dv = eps (h |inv(M)| |G|' |lambda| + |v0| + |v1|) and the rows by
        dphi = h |G| dv; that costs work |lambda| dphi, spring energy dlambda dphi, and kinetic energy. Opposing forces
        of contradictory springs cancel in the answer, but not here.
        """
        flat, h, v0, v1 = self.problem().flat(), self.step, np.abs(self.velocity), np.abs(solution.velocity)
        force = np.concatenate([np.zeros(0), *(np.ravel(part) for part in solution.forces)])
        G = np.concatenate([np.abs(c.jacobian).reshape(-1, len(v0)) for c in self.constraints])
        dv = EPS * (h * np.abs(np.linalg.inv(self.mass)) @ (G.T @ np.abs(force)) + v0 + v1)
        dphi = h * G @ dv
        depth = np.abs(flat.value) + h * G @ v1
        p, K = flat.exponent, np.where(np.isfinite(flat.stiffness), flat.stiffness, 0.0)
        spring = K * p * depth ** (p - 1) * dphi
        stored = np.abs(self.energies()).sum() + np.abs(self.after(solution).energies()).sum()
        return float((np.abs(force) + spring) @ dphi + np.abs(self.mass) @ (v0 + v1) @ dv + EPS * stored)


def _moved(constraint: Any, travel: Array, stretch: Array | None) -> Any:
    """The constraint after `travel` = h v1."""
    G, law = constraint.jacobian, constraint.law
    if isinstance(constraint, pliant.Contact):
        options: dict[str, Any] = {} if stretch is None else {"stretch": stretch}
        gap = constraint.gap + G[:, 0] @ travel
        return pliant.Contact(G, gap, law, constraint.friction, tangent_law=constraint.tangent_law, **options)
    value = constraint.value + G @ travel
    if isinstance(constraint, pliant.Clipped):
        return pliant.Clipped(G, value, law, constraint.lower, constraint.upper)
    return type(constraint)(G, value, law)


def _stored(constraint: Any) -> Array:
    K = constraint.law.stiffness
    if isinstance(constraint, pliant.Bilateral):
        return np.asarray(K * constraint.value**2 / 2)
    if isinstance(constraint, pliant.Clipped):
        return _clipped(constraint, K)
    value = constraint.gap if isinstance(constraint, pliant.Contact) else constraint.value
    p = constraint.law.exponent
    normal = K * np.maximum(0.0, -value) ** (p + 1) / (p + 1)
    if not isinstance(constraint, pliant.Contact) or constraint.tangent_law is None:
        return np.asarray(normal)
    return np.concatenate([normal, (constraint.tangent_law.stiffness * constraint.stretch**2 / 2).ravel()])


def _clipped(constraint: pliant.Clipped, K: Any) -> Array:
    """-c phi - c^2 / (2 K), c = clip(-K phi, lo, hi): its slope is -c; without stiffness c is constant."""
    K = np.broadcast_to(np.asarray(K, dtype=float), constraint.value.shape)
    c = np.clip(-K * constraint.value, constraint.lower, constraint.upper)
    spring = np.divide(c**2, 2 * K, out=np.zeros_like(c), where=K > 0.0)
    return np.asarray(-c * constraint.value - spring)
