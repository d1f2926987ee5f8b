"""`linearize`: how the answer of a step moves with its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from pliant import _engine
from pliant.constraints import Contact
from pliant.errors import InputError, SolveError
from pliant.flat import TANGENT, Flat
from pliant.inputs import Array, Ints, vector
from pliant.problem import StepProblem
from pliant.solution import Solution
from pliant.solvers.directions import PerConstraint, over_all_rows
from pliant.solvers.pieces import ROW_DATA, Pieces, find_pieces
from pliant.solvers.rows import MOBILITY, free_rates, make_rows
from pliant.solvers.saddle import Saddle
from pliant.solvers.whiten import factor_inertia, velocity_gain

RESULTS: Final = ("velocity", "forces")
DATA: Final = ("velocity", "force", *ROW_DATA)
SLACK: Final = 1e-9  # within which the residual of an answer is found again


class Change(NamedTuple):
    """How a solution changes, to first order."""

    velocity: Array  # (nv,) v1
    forces: tuple[Array, ...]  # per constraint, shaped as Solution.forces


class Gradient(NamedTuple):
    """The derivative of a scalar function of the solution with respect to the data of the step.

    Per constraint: (n,), one per row; for a Contact (n, d), the normal first. A parameter that was given once
    for many rows has the sum of their entries.
    """

    velocity: Array  # (nv,) v0
    force: Array  # (nv,) f
    value: tuple[Array, ...]  # phi0; of a Contact gap, then stretch
    rate_offset: tuple[Array, ...]  # e
    stiffness: tuple[Array, ...]  # of a Contact law, then tangent_law
    damping: tuple[Array, ...]
    friction: tuple[Array | None, ...]  # (n, d-1) for a Contact, else None


@dataclass(frozen=True, eq=False, repr=False)
class Linearization:
    """The derivative of (velocity, forces) of a solution with respect to the data of the step.

    The data are velocity v0 and force f, (nv,), and of every row value phi0 (gap and stretch of a Contact),
    rate_offset e, stiffness K, damping B and friction mu, in the units in which they are given to a problem.
    One matrix is factored by `pliant.linearize`; every product costs a solve with it.

    Each row stays on the side of its kinks on which the solution lies: on its law or at a bound, open,
    sticking or slipping. At a kink itself the derivatives of the two sides differ, and the one given is that
    of the piece which the natural map of the laws reports. Kinks are: a force of 0 at touch; forces on the
    rim of the cone without sliding; a value of 0 where there is damping; friction 0, or stiffness and
    damping both 0 on a one-sided row, which is taken as it is, without force.

    Rigid tangents (tangent_law=None) may be redundant and share their force in many ways; the change of
    their forces is the smallest of those that move the bodies alike.
    """

    problem: StepProblem
    solution: Solution
    _pieces: Pieces
    _saddle: Saddle

    def apply(
        self,
        *,
        velocity: Any = None,
        force: Any = None,
        value: PerConstraint | None = None,
        rate_offset: PerConstraint | None = None,
        stiffness: PerConstraint | None = None,
        damping: PerConstraint | None = None,
        friction: PerConstraint | None = None,
    ) -> Change:
        """The change (velocity, forces) of the solution that follows from a change of the data.

        velocity, force  (nv,); what is left out does not change
        the others       a list with one entry per constraint, None for no change, or a dict from positions or
                         names of constraints to entries. An entry is a scalar for all rows, or (n,), one per
                         row. For a Contact a scalar or (n,) is for the normals; (n, d) is for normals and
                         tangents: gap and stretch, law and tangent_law.
        friction         for Contacts: scalar, (n,) or (n, d-1)
        """
        rows = zip(ROW_DATA, (value, rate_offset, stiffness, damping, friction), strict=True)
        data = {name: self._over_rows(name, entries) for name, entries in rows if entries is not None}
        if velocity is not None:
            data["velocity"] = self._over_velocities("velocity", velocity)
        if force is not None:
            data["force"] = self._over_velocities("force", force)
        dv, df = self._forward({name: x[:, None] for name, x in data.items()}, 1)
        return Change(dv[:, 0], self.problem.split(df[:, 0]))

    def transpose_apply(self, *, velocity: Any = None, forces: PerConstraint | None = None) -> Gradient:
        """The gradient in the data of a function whose gradient in the solution is (velocity, forces).

        velocity (nv,): derivative with respect to v1; forces: with respect to lambda, a list with one entry
        per constraint or a dict, as in `apply`. What is left out is 0.
        """
        u, z = np.zeros(self.problem.nv), np.zeros(self.problem.rows)
        if velocity is not None:
            u = self._over_velocities("velocity", velocity)
        if forces is not None:
            z = self._over_rows("forces", forces)
        out = {name: x[:, 0] for name, x in self._backward(u[:, None], z[:, None]).items()}
        *parts, friction = (self.problem.split(out[name]) for name in ROW_DATA)
        tangents = (
            part[:, 1:].copy() if isinstance(constraint, Contact) else None
            for constraint, part in zip(self.problem.constraints, friction, strict=True)
        )
        value, rate_offset, stiffness, damping = parts
        return Gradient(out["velocity"], out["force"], value, rate_offset, stiffness, damping, tuple(tangents))

    def operator(self, of: str = "velocity", wrt: str = "velocity") -> Any:
        """A block of the derivative as a scipy.sparse.linalg.LinearOperator; `rmatvec` is its transpose.

        of   "velocity", (nv,), or "forces", (rows,), those of all constraints one after the other
        wrt  "velocity" or "force", (nv,); "value", "rate_offset", "stiffness" or "damping", (rows,);
             "friction", the tangents of all contacts one after the other
        """
        _check_choice("of", of, RESULTS)
        _check_choice("wrt", wrt, DATA)
        nv, m = self.problem.nv, self.problem.rows
        size, place = self._places(wrt)

        def forward(x: Array) -> Array:
            full = np.zeros((size, x.shape[1]))
            full[place] = x
            return self._forward({wrt: full}, x.shape[1])[RESULTS.index(of)]

        def backward(y: Array) -> Array:
            u, z = np.zeros((nv, y.shape[1])), np.zeros((m, y.shape[1]))
            (u if of == "velocity" else z)[:] = y
            return self._backward(u, z)[wrt][place]

        return LinearOperator(
            (nv if of == "velocity" else m, len(place)),
            matvec=lambda x: forward(x.reshape(-1, 1)),
            rmatvec=lambda y: backward(y.reshape(-1, 1)),
            matmat=forward,
            rmatmat=backward,
            dtype=np.float64,
        )

    def matrix(self, of: str = "velocity", wrt: str = "velocity") -> Array:
        """A block of the derivative as a dense matrix, for small problems; arguments as for `operator`."""
        block = self.operator(of, wrt)
        rows, columns = block.shape
        return np.asarray(block.matmat(np.eye(columns)) if columns <= rows else block.rmatmat(np.eye(rows)).T)

    def __repr__(self) -> str:
        return f"Linearization(nv={self.problem.nv}, rows={self.problem.rows})"

    def _places(self, wrt: str) -> tuple[int, Ints]:
        """Length of the full vector of the data, and where the entries of `operator` lie in it."""
        if wrt in ("velocity", "force"):
            return self.problem.nv, np.arange(self.problem.nv)
        kind = self.problem.flat().kind
        return len(kind), np.flatnonzero(kind == TANGENT) if wrt == "friction" else np.arange(len(kind))

    def _over_velocities(self, name: str, x: Any) -> Array:
        return vector(name, x, self.problem.nv, f"one per velocity ({self.problem.nv},)")

    def _over_rows(self, name: str, entries: PerConstraint) -> Array:
        return over_all_rows(name, entries, self.problem.constraints)

    def _forward(self, data: Mapping[str, Array], columns: int) -> tuple[Array, Array]:
        """(nv, k) and (rows, k) from changes of the data, (nv, k) or (rows, k)."""
        none = np.zeros((self.problem.nv, columns))
        force, rate = np.zeros((2, self.problem.rows, columns))
        for name in ROW_DATA:
            if name in data:
                force += self._pieces.force_shift[name][:, None] * data[name]
                rate += self._pieces.rate_shift[name][:, None] * data[name]
        k = self._pieces.hold @ force - self._pieces.drag @ rate
        return self._saddle.solve(data.get("velocity", none), data.get("force", none), k)

    def _backward(self, velocity: Array, forces: Array) -> dict[str, Array]:
        """Cotangents of all data, (nv, k) or (rows, k)."""
        v0, f, z = self._saddle.solve_transposed(velocity, forces)
        force, rate = self._pieces.hold.T @ z, self._pieces.drag.T @ z
        out = {"velocity": v0, "force": f}
        for name in ROW_DATA:
            out[name] = self._pieces.force_shift[name][:, None] * force
            out[name] -= self._pieces.rate_shift[name][:, None] * rate
        return out


def linearize(problem: StepProblem, solution: Solution) -> Linearization:
    """The derivative of v1 and the constraint forces with respect to the data of the step, at a solution.

    The solution may be one of `Coulomb` or of `Convex`: its forces tell which. It must be solved; the
    smaller its residual, the better the derivative.
    """
    if not isinstance(problem, StepProblem):
        raise InputError(f"problem must be a pliant.StepProblem, got {type(problem).__name__}")
    if not isinstance(solution, Solution):
        raise InputError(f"solution must be a pliant.Solution, got {type(solution).__name__}")
    _check_shapes(problem, solution)
    if not solution.status.solved:
        raise InputError(
            f"solution must be solved, got {solution.status.name} with residual {solution.residual:.1e}: "
            "an answer that does not keep the laws has no derivative; raise max_iterations, warm-start, or "
            "take a smaller step"
        )
    pieces, mobility = _pieces_at(problem, solution)
    try:
        saddle = Saddle(problem.flat(), pieces, mobility)
    except RuntimeError as error:  # SuperLU's word for an exactly singular matrix
        raise SolveError(
            "the linearised laws are singular at this solution: it jams, or others lie beside it; there is "
            "no derivative",
            problem,
            solution,
        ) from error
    return Linearization(problem, solution, pieces, saddle)


def _pieces_at(problem: StepProblem, solution: Solution) -> tuple[Pieces, Array]:
    """The pieces of the laws at the solution, once it is found to be one; and the diagonal of G inv(M) G'."""
    flat = problem.flat()
    force = np.concatenate([np.zeros(0), *(np.ravel(part) for part in solution.forces)])
    inertia = factor_inertia(flat.mass_ptr, flat.mass_idx, flat.mass_val)
    rows, rate = make_rows(flat, inertia), np.zeros(len(force))
    impulse = np.bincount(flat.jac_idx, flat.jac_val * np.repeat(force, np.diff(flat.jac_ptr)), len(flat.velocity))
    gain = velocity_gain(inertia, flat.step * (flat.force + impulse), np.zeros(len(impulse)))
    free_rates(rows, flat.velocity, gain, rate)
    law, momentum = _engine.certify(problem.record, force, solution.velocity)
    _check_residual("momentum_residual", momentum, solution.momentum_residual)
    _check_residual("law_residual", law, solution.law_residual)
    size = _rate_sizes(flat, solution.velocity)
    lifted, _ = _engine.certify(problem.record, force, solution.velocity, convex=True)
    lift, kept = lifted < law, min(lifted, law)
    if not kept <= 2.0 * solution.residual + SLACK:
        raise InputError(
            "solution must be one of Coulomb() or Convex(): it keeps neither the laws nor the conditions of "
            f"the cone (residual {kept:.1e})"
        )
    return find_pieces(flat, rows, force, rate, size, lift=lift), rows.law[:, MOBILITY]


def _check_shapes(problem: StepProblem, solution: Solution) -> None:
    wanted = [part.shape for part in problem.split(np.zeros(problem.rows))]
    shapes = [np.shape(part) for part in solution.forces]
    if np.shape(solution.velocity) != (problem.nv,) or shapes != wanted:
        raise InputError(
            f"solution must be one of this problem: {problem.nv} velocities, forces of shapes {wanted}; "
            f"got {len(solution.velocity)} velocities, forces of shapes {shapes}"
        )


def _check_residual(name: str, found: float, reported: float) -> None:
    if not found <= 2.0 * reported + SLACK:
        raise InputError(
            f"solution must be one of this problem: its {name} is {reported:.1e}, but {found:.1e} in this "
            "one; pass the problem that was solved"
        )


def _rate_sizes(flat: Flat, velocity: Array) -> Array:
    """|G||v1| + |e|."""
    terms = np.abs(flat.jac_val * velocity[flat.jac_idx])
    row = np.repeat(np.arange(len(flat.kind)), np.diff(flat.jac_ptr))
    return np.abs(flat.offset) + np.bincount(row, weights=terms, minlength=len(flat.kind))


def _check_choice(argument: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise InputError(f"{argument} must be one of {', '.join(known)}, got {given!r}")
