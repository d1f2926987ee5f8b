"""`linearize`: how the answer of a step moves with its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from pliant import _engine
from pliant.constraints import Constraint, Contact
from pliant.errors import InputError, SolveError
from pliant.flat import TANGENT
from pliant.inertia import times
from pliant.inputs import Array, Ints, over_contact_rows, over_rows, over_tangents, vector
from pliant.problem import StepProblem, read_problem
from pliant.solution import Solution

# One entry per constraint, or a dict of those that are not zero, by position (int) or name (str).
PerConstraint = Sequence[Any] | Mapping[Any, Any]

RESULTS: Final = ("velocity", "forces")
ROW_DATA: Final = ("value", "rate_offset", "stiffness", "damping", "friction")  # what a row is made of
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
    One matrix per island is factored by `pliant.linearize`; every product costs a few solves with it.

    Each row stays on the side of its kinks on which the solution lies: on its law or at a bound, open,
    sticking or slipping. At a kink itself the derivatives of the two sides differ, and the one given is that
    of the piece which the natural map of the laws reports. Kinks are: a force of 0 at touch; forces on the
    rim of the cone without sliding; a value of 0 where there is damping; friction 0, or stiffness and
    damping both 0 on a one-sided row, which is taken as it is, without force.

    Rigid tangents (tangent_law=None) may be redundant and share their force in many ways; the change of
    their forces is the smallest of those that move the bodies alike. So it is of redundant rows so stiff that
    h a (h K + B) is beyond 1e15 or so: no digits are left to tell them from rigid ones.
    """

    problem: StepProblem
    solution: Solution
    _derivative: _engine.Derivative

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
        data = np.zeros(2 * self.problem.nv + len(ROW_DATA) * self.problem.rows)
        if velocity is not None:
            data[self._part("velocity")] = self._over_velocities("velocity", velocity)
        if force is not None:
            data[self._part("force")] = self._over_velocities("force", force)
        for name, entries in zip(ROW_DATA, (value, rate_offset, stiffness, damping, friction), strict=True):
            if entries is not None:
                data[self._part(name)] = self._over_rows(name, entries)
        result = self._forward(data)
        return Change(result[: self.problem.nv], self.problem.split(result[self.problem.nv :]))

    def transpose_apply(self, *, velocity: Any = None, forces: PerConstraint | None = None) -> Gradient:
        """The gradient in the data of a function whose gradient in the solution is (velocity, forces).

        velocity (nv,): derivative with respect to v1; forces: with respect to lambda, a list with one entry
        per constraint or a dict, as in `apply`. What is left out is 0.
        """
        result = np.zeros(self.problem.nv + self.problem.rows)
        if velocity is not None:
            result[: self.problem.nv] = self._over_velocities("velocity", velocity)
        if forces is not None:
            result[self.problem.nv :] = self._over_rows("forces", forces)
        data = self._transposed(result)
        *parts, friction = (self.problem.split(data[self._part(name)]) for name in ROW_DATA)
        tangents = (
            part[:, 1:].copy() if isinstance(constraint, Contact) else None
            for constraint, part in zip(self.problem.constraints, friction, strict=True)
        )
        value, rate_offset, stiffness, damping = parts
        velocity, force = data[self._part("velocity")], data[self._part("force")]
        return Gradient(velocity, force, value, rate_offset, stiffness, damping, tuple(tangents))

    def operator(self, of: str = "velocity", wrt: str = "velocity") -> Any:
        """A block of the derivative as a scipy.sparse.linalg.LinearOperator; `rmatvec` is its transpose.

        of   "velocity", (nv,), or "forces", (rows,), those of all constraints one after the other
        wrt  "velocity" or "force", (nv,); "value", "rate_offset", "stiffness" or "damping", (rows,);
             "friction", the tangents of all contacts one after the other
        """
        _check_choice("of", of, RESULTS)
        _check_choice("wrt", wrt, DATA)
        from scipy.sparse.linalg import LinearOperator

        nv, m = self.problem.nv, self.problem.rows
        sizes = nv + m, 2 * nv + len(ROW_DATA) * m
        results = slice(0, nv) if of == "velocity" else slice(nv, nv + m)
        data = self._places(wrt)

        def forward(x: Array) -> Array:
            full = np.zeros((x.shape[1], sizes[1]))
            full[:, data] = x.T
            return self._forward(full).reshape(-1, sizes[0])[:, results].T

        def backward(y: Array) -> Array:
            full = np.zeros((y.shape[1], sizes[0]))
            full[:, results] = y.T
            return self._transposed(full).reshape(-1, sizes[1])[:, data].T

        return LinearOperator(
            (results.stop - results.start, len(data)),
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

    def _forward(self, data: Array) -> Array:
        """Changes of the results, as the engine has them one behind the other; data: one change, or rows of them."""
        return self._derivative.forward(self._with_stiffness(data, "velocity", "force"))

    def _transposed(self, results: Array) -> Array:
        shape = (*results.shape[:-1], 2 * self.problem.nv + len(ROW_DATA) * self.problem.rows)
        return self._with_stiffness(self._derivative.transposed(results).reshape(shape), "force", "velocity")

    def _with_stiffness(self, data: Array, of: str, to: str) -> Array:
        """The engine has f - h K v0 for f: what a change of one of the two does to the other."""
        problem = self.problem
        if problem.stiffness is not None:
            data[..., self._part(to)] -= problem.step * times(problem.stiffness, data[..., self._part(of)].T).T
        return data

    def _part(self, name: str) -> slice:
        """Where the engine has these data among all."""
        nv, m = self.problem.nv, self.problem.rows
        k = DATA.index(name)
        start, size = (k * nv, nv) if k < 2 else (2 * nv + (k - 2) * m, m)
        return slice(start, start + size)

    def _places(self, wrt: str) -> Ints:
        """Where the entries of `operator` lie among all data."""
        part = self._part(wrt)
        places = np.arange(part.start, part.stop)
        return places[self.problem.flat().kind == TANGENT] if wrt == "friction" else places

    def _over_velocities(self, name: str, x: Any) -> Array:
        return vector(name, x, self.problem.nv, f"one per velocity ({self.problem.nv},)")

    def _over_rows(self, name: str, entries: PerConstraint) -> Array:
        return _over_all_rows(name, entries, self.problem.constraints)


def linearize(problem: StepProblem, solution: Solution) -> Linearization:
    """The derivative of v1 and the constraint forces with respect to the data of the step, at a solution.

    The solution may be one of `Coulomb` or of `Convex`: its forces tell which. It must be solved; the
    smaller its residual, the better the derivative.
    """
    read_problem(problem)
    if not isinstance(solution, Solution):
        raise InputError(f"solution must be a pliant.Solution, got {type(solution).__name__}")
    _check_shapes(problem, solution)
    if not solution.status.solved:
        raise InputError(
            f"solution must be solved, got {solution.status.name} with residual {solution.residual:.1e}: "
            "an answer that does not keep the laws has no derivative; raise max_iterations, warm-start, or "
            "take a smaller step"
        )
    force = np.concatenate([np.zeros(0), *(np.ravel(part) for part in solution.forces)])
    derivative = _engine.linearize(problem.record, force, _is_of_cone(problem, solution, force))
    if derivative is None:
        raise SolveError(
            "the linearised laws are singular at this solution: it jams, or others lie beside it; there is "
            "no derivative",
            problem,
            solution,
        )
    return Linearization(problem, solution, derivative)


def _is_of_cone(problem: StepProblem, solution: Solution, force: Array) -> bool:
    """Whether the answer keeps the conditions of the associated cone rather than the laws; one of the two it must."""
    law, momentum = _engine.certify(problem.record, force, solution.velocity)
    _check_residual("momentum_residual", momentum, solution.momentum_residual)
    _check_residual("law_residual", law, solution.law_residual)
    lifted, _ = _engine.certify(problem.record, force, solution.velocity, convex=True)
    kept = min(lifted, law)
    if not kept <= 2.0 * solution.residual + SLACK:
        raise InputError(
            "solution must be one of Coulomb() or Convex(): it keeps neither the laws nor the conditions of "
            f"the cone (residual {kept:.1e})"
        )
    return lifted < law


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


def _check_choice(argument: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise InputError(f"{argument} must be one of {', '.join(known)}, got {given!r}")


def _over_all_rows(name: str, entries: PerConstraint, constraints: Sequence[Constraint]) -> Array:
    """One number per flat row; `name` says what is given, and whether it is friction."""
    parts = [np.zeros(0)]
    for i, entry in enumerate(_in_order(name, entries, constraints)):
        constraint = constraints[i]
        label = f"{name}[{i}] ({constraint.label})"
        parts.append(np.zeros(constraint.rows) if entry is None else _over(label, name, entry, constraint))
    return np.concatenate(parts)


def _in_order(name: str, entries: PerConstraint, constraints: Sequence[Constraint]) -> list[Any]:
    """One entry per constraint, None where there is none."""
    if isinstance(entries, Mapping):
        out: list[Any] = [None] * len(constraints)
        for key, entry in entries.items():
            out[_position(name, key, constraints)] = entry
        return out
    if not isinstance(entries, list | tuple) or len(entries) != len(constraints):
        raise InputError(
            f"{name} must be a list with one entry per constraint ({len(constraints)}, None for no change), "
            f"or a dict from positions or names of constraints to entries, got {entries!r}"
        )
    return list(entries)


def _position(name: str, key: int | str, constraints: Sequence[Constraint]) -> int:
    if isinstance(key, str):
        named = {constraint.name: i for i, constraint in enumerate(constraints) if constraint.name}
        if key in named:
            return named[key]
        known = ", ".join(map(repr, named))
        raise InputError(
            f"{name}: no constraint has the name {key!r}; names are: {known or 'none'}; "
            f"use a position, 0 to {len(constraints) - 1}"
        )
    if not isinstance(key, int | np.integer) or not 0 <= key < len(constraints):
        raise InputError(
            f"{name}: keys must be positions of constraints, 0 to {len(constraints) - 1}, or names, got {key!r}"
        )
    return int(key)


def _over(label: str, name: str, entry: Any, constraint: Constraint) -> Array:
    """Numbers for all rows of a constraint, read as its own arguments are."""
    n, d = constraint.count, constraint.dimension
    if name == "friction":
        if not isinstance(constraint, Contact):
            raise InputError(f"{label} must be None: only a Contact has friction, got {entry!r}")
        return np.concatenate([np.zeros((n, 1)), over_tangents(label, entry, n, d - 1)], axis=1).ravel()
    if isinstance(constraint, Contact):
        return over_contact_rows(label, entry, n, d).ravel()
    return over_rows(label, entry, n)
