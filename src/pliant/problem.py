"""One step's data as a value: validated once, printable, saved and replayed as a file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pliant import _engine
from pliant import flat as flat_record
from pliant.constraints import Constraint
from pliant.errors import FileError, InputError
from pliant.flat import NORMAL, Flat
from pliant.inertia import added, entries, read_mass, read_stiffness, times
from pliant.inputs import Array, Matrix, floats, vector
from pliant.laws import spread

Layout = tuple[tuple[str, int, int], ...]  # name, count and dimension of every constraint


@dataclass(frozen=True, eq=False, init=False, repr=False)
class StepProblem:
    """Find v1 and lambda with `M (v1 - v0) = h (f + G' lambda - h K v1)` and `lambda_i = Law_i(G_i v1 + e_i)`.

    mass         M, symmetric positive definite: (nv, nv) dense or sparse, or (nv,) a diagonal
    velocity     v0, (nv,)
    force        f, all forces but those of the constraints, (nv,)
    step         h [s], > 0
    constraints  Bilateral, Unilateral, Clipped, Contact, in any order and number
    stiffness    K [N/m], symmetric positive semidefinite: (nv, nv) dense or sparse, or (nv,) a diagonal; None: 0.
                 The stiffness of forces that turn with what they act on, taken at the end of the step. h^2 K is at most
                 1e8 M: what is stiffer is a Bilateral row, beside which the certificate sees the other coordinates
    """

    mass: Matrix
    velocity: Array
    force: Array
    step: float
    constraints: tuple[Constraint, ...]
    stiffness: Matrix | None
    layout: Layout

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
        nv = len(M) if M.ndim == 1 else M.shape[0]
        self.__dict__.update(
            mass=M,
            velocity=vector("StepProblem: velocity", velocity, nv, f"one per row of the mass ({nv},)"),
            force=vector("StepProblem: force", force, nv, f"one per row of the mass ({nv},)"),
            step=_read_step(step),
            constraints=(read := _read_constraints(constraints, nv)),
            layout=tuple([(c.name, len(c.ids), c.dimension) for c in read]),
            stiffness=None if stiffness is None else read_stiffness(stiffness, nv),
        )

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.velocity)

    @property
    def rows(self) -> int:
        """Number of constraint rows, those of contacts counted d times."""
        return sum([n * d for _, n, d in self.layout])

    @property
    def record(self) -> _engine.Record:
        """The arrays of the step as the engine has them, made when they are first asked for."""
        known: _engine.Record | None = self.__dict__.get("_record")
        if known is not None:
            return known
        mass, force, h = self.mass, self.force, self.step
        if self.stiffness is not None:  # M + h^2 K and f - h K v0
            with np.errstate(all="ignore"):  # numbers that overflow have a status
                mass = added(mass, h * h * self.stiffness)
                force = force - h * times(self.stiffness, self.velocity)
        record = _engine.lower(mass, self.velocity, force, h, self.constraints)
        self.__dict__["_record"] = record
        return record

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
        flat: Flat | None = self.__dict__.get("_flat")
        if flat is None:
            flat = self.__dict__["_flat"] = Flat(*self.record.arrays())
        if rows is velocities is blocks is entries is mass_entries is None:
            return flat
        return flat_record.pad(
            flat, rows=rows, velocities=velocities, blocks=blocks, entries=entries, mass_entries=mass_entries
        )

    @classmethod
    def from_flat(cls, record: Any) -> Self:
        """The problem of a flat record, the inverse of `flat`: its `flat()` is the record, to the bit.

        record: a `pliant.flat.Flat`, or a mapping with its fields. Without the fields constraint and ids, rows of one
        kind that follow each other make up one constraint; without curvature there is none. Padding is left out. Names
        of constraints are not in the record: a warm start from a solution of named ones does not find them. `save` and
        `load` keep names.
        """
        from pliant.from_flat import arguments_of

        return cls(*arguments_of(record))

    def shifted(self, offsets: Any, push: Any = 0.0) -> Self:
        """The same step with other rate offsets, (rows,) [m/s], and `push`, (nv,) [N], added to the force.

        Nothing is checked again: the rest is shared with this problem.
        """
        changed = object.__new__(type(self))
        offset = np.array(offsets, dtype=float)
        constraints = (
            constraint.with_rate_offset(part)
            for constraint, part in zip(self.constraints, self.split(offset), strict=True)
        )
        changed.__dict__.update(self.__dict__, force=self.force + push, constraints=tuple(constraints))
        changed.__dict__["_record"] = self.record.shifted(offset, np.zeros(self.nv) + push)
        changed.__dict__.pop("_flat", None)
        return changed

    def split(self, values: Any) -> tuple[np.ndarray, ...]:
        """Values per flat row, (rows, ...) -> one array per constraint: (n, ...), for Contact (n, d, ...)."""
        values = np.array(values)
        if values.ndim == 0 or len(values) < self.rows:
            raise InputError(f"split: values must have {self.rows} rows (more if padded), got shape {values.shape}")
        parts, start = [], 0
        for constraint, (_, n, d) in zip(self.constraints, self.layout, strict=True):
            part = values[start : start + n * d]
            parts.append(part.reshape(n, d, *values.shape[1:]) if constraint.kind == NORMAL else part)
            start += n * d
        return tuple(parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the problem to a file that can be mailed and replayed; an existing file is replaced."""
        from pliant.saving import save_step

        save_step(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The problem saved at `path`: the same constraints, the same flat record to the bit."""
        from pliant.saving import load_step

        parts, stiffness, stored = load_step(path)
        try:
            problem = cls(*parts, stiffness=stiffness)
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
        turning = "" if self.stiffness is None else f", geometric stiffness={spread(entries(self.stiffness))}"
        return f"StepProblem(nv={self.nv}, {rows}, step={self.step:g}{laws}{turning})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if not name.startswith("_")}


def read_problem(problem: Any) -> StepProblem:
    """The problem, which it must be."""
    if not isinstance(problem, StepProblem):
        raise InputError(f"problem must be a pliant.StepProblem, got {type(problem).__name__}")
    return problem


def read_flat(given: Any) -> Flat:
    """The flat record, of a problem too."""
    if isinstance(given, StepProblem):
        return given.flat()
    if not isinstance(given, Flat):
        raise InputError(f"flat must be a pliant.StepProblem, or its flat(), got {type(given).__name__}")
    return given


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
