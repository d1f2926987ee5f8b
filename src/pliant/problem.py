"""One step's data as a value: validated once, printable, saved and replayed as a file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

import pliant.flat as flat_record
from pliant.constraints import Constraint, Contact
from pliant.errors import FileError, InputError
from pliant.flat import Flat
from pliant.inertia import added, read_mass, read_stiffness, times
from pliant.inputs import Array, Matrix, floats, vector
from pliant.laws import spread
from pliant.lowering import lower
from pliant.saving import load_step, save_step


@dataclass(frozen=True, eq=False, init=False, repr=False)
class StepProblem:
    """Find v1 and lambda with `M (v1 - v0) = h (f + G' lambda - h K v1)` and `lambda_i = Law_i(G_i v1 + e_i)`.

    mass         M, symmetric positive definite: (nv, nv) dense or sparse, or (nv,) a diagonal
    velocity     v0, (nv,)
    force        f, all forces but those of the constraints, (nv,)
    step         h [s], > 0
    constraints  Bilateral, Unilateral, Clipped, Contact, in any order and number
    stiffness    K [N/m], symmetric positive semidefinite: (nv, nv) dense or sparse, or (nv,) a diagonal; None: 0
    """

    mass: Matrix
    velocity: Array
    force: Array
    step: float
    constraints: tuple[Constraint, ...]
    stiffness: Matrix | None
    _rows: int = field(repr=False)
    _flat: list[Flat] = field(repr=False)  # empty, or the unpadded record once it was asked for

    def __init__(
        self,
        mass: Any,
        velocity: Any,
        force: Any,
        step: float,
        constraints: Iterable[Constraint] = (),
        *,
        stiffness: Any = None,
    ) -> None:
        M = read_mass(mass)
        nv = M.shape[0]
        fields: dict[str, Any] = {
            "mass": M,
            "velocity": vector("StepProblem: velocity", velocity, nv, f"one per row of the mass ({nv},)"),
            "force": vector("StepProblem: force", force, nv, f"one per row of the mass ({nv},)"),
            "step": _read_step(step),
            "constraints": _read_constraints(constraints, nv),
            "stiffness": None if stiffness is None else read_stiffness(stiffness, nv),
            "_flat": [],
        }
        fields["_rows"] = sum(constraint.rows for constraint in fields["constraints"])
        self.__dict__.update(fields)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.velocity)

    @property
    def rows(self) -> int:
        """Number of constraint rows, those of contacts counted d times."""
        return self._rows

    def flat(
        self,
        *,
        rows: int | None = None,
        velocities: int | None = None,
        blocks: int | None = None,
        entries: int | None = None,
        mass_entries: int | None = None,
    ) -> Flat:
        """The problem as one record of plain arrays, padded to the sizes given (see `pliant.flat`).

        Without padding the record is made once and shared: do not write to its arrays.
        """
        if not self._flat:
            mass, force, h = self.mass, self.force, self.step
            if self.stiffness is not None:  # M + h^2 K and f - h K v0
                mass = added(mass, h * h * self.stiffness)
                force = force - h * times(self.stiffness, self.velocity)
            self._flat.append(lower(mass, self.velocity, force, h, self.constraints))
        if rows is velocities is blocks is entries is mass_entries is None:
            return self._flat[0]
        return flat_record.pad(
            self._flat[0],
            rows=rows,
            velocities=velocities,
            blocks=blocks,
            entries=entries,
            mass_entries=mass_entries,
        )

    def shifted(self, offsets: Any, push: Any = 0.0) -> Self:
        """The same step with other rate offsets, (rows,) [m/s], and `push`, (nv,) [N], added to the force.

        Nothing is checked again: the rest is shared with this problem.
        """
        flat = self.flat()
        changed = object.__new__(type(self))
        constraints = (
            constraint.with_rate_offset(part)
            for constraint, part in zip(self.constraints, self.split(offsets), strict=True)
        )
        fields = {**self.__dict__, "force": self.force + push, "constraints": tuple(constraints)}
        fields["_flat"] = [flat._replace(offset=np.array(offsets, dtype=float), force=flat.force + push)]
        changed.__dict__.update(fields)
        return changed

    def split(self, values: Any) -> tuple[np.ndarray, ...]:
        """Values per flat row, (rows, ...) -> one array per constraint: (n, ...), for Contact (n, d, ...)."""
        values = np.asarray(values)
        if values.ndim == 0 or len(values) < self.rows:
            raise InputError(f"split: values must have {self.rows} rows (more if padded), got shape {values.shape}")
        parts, start = [], 0
        for constraint in self.constraints:
            end = start + constraint.rows
            part = values[start:end].copy()
            if isinstance(constraint, Contact):
                part = part.reshape(constraint.count, constraint.dimension, *values.shape[1:])
            parts.append(part)
            start = end
        return tuple(parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the problem to a file that can be mailed and replayed; an existing file is replaced."""
        save_step(path, self.mass, self.constraints, self.flat())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The problem saved at `path`: the same constraints, the same flat record to the bit."""
        parts, stored = load_step(path)
        try:
            problem = cls(*parts)
        except InputError as error:
            raise FileError(f"{os.fspath(path)}: the record does not make a step problem: {error}") from error
        if not flat_record.same(problem.flat(), stored):
            raise FileError(f"{os.fspath(path)}: the arrays contradict the constraints they are said to make up")
        return problem

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for constraint in self.constraints:
            kind = type(constraint).__name__
            counts[kind] = counts.get(kind, 0) + constraint.rows
        kinds = ", ".join(f"{number} {kind}" for kind, number in counts.items())
        stiffness = self.flat().stiffness
        finite = stiffness[np.isfinite(stiffness)]
        laws = f", stiffness={spread(finite)}" if finite.size else ""
        rows = f"rows={self.rows} ({kinds})" if kinds else "rows=0"
        return f"StepProblem(nv={self.nv}, {rows}, step={self.step:g}{laws})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_flat": []}


def _read_step(step: Any) -> float:
    if type(step) is float and 0.0 < step < math.inf:
        return step
    array = floats("StepProblem: step", step)
    if array.ndim or not array > 0.0:
        raise InputError(f"StepProblem: step must be one number > 0 [s], got {step!r}")
    return float(array)


def _read_constraints(constraints: Any, nv: int) -> tuple[Constraint, ...]:
    if isinstance(constraints, Constraint) or not isinstance(constraints, Iterable):
        got = constraints.label if isinstance(constraints, Constraint) else repr(constraints)
        raise InputError(f"StepProblem: constraints must be a sequence, got {got}; write [constraint]")
    given = tuple(constraints)
    named: dict[str, int] = {}
    for i, constraint in enumerate(given):
        if not isinstance(constraint, Constraint):
            raise InputError(
                f"StepProblem: constraints[{i}] must be a Bilateral, Unilateral, Clipped or Contact, got {constraint!r}"
            )
        if constraint.nv != nv:
            raise InputError(
                f"StepProblem: constraints[{i}] ({constraint.label}): jacobian must have {nv} columns, "
                f"one per velocity of the mass, got {constraint.nv}"
            )
        if constraint.name and named.setdefault(constraint.name, i) != i:
            raise InputError(
                f"StepProblem: constraints[{named[constraint.name]}] and constraints[{i}] are both named "
                f"{constraint.name!r}; warm starts find rows by name: give each its own, or none"
            )
    return given
