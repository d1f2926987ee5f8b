"""A saved step once more: its size, how hard its numbers are, what every formulation makes of it, and why."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from pliant.causes import Case, Cause, apart_by, find_causes
from pliant.conditioning import Conditioning, Range, condition, whitened
from pliant.constraints import Contact
from pliant.energy import Energy, energy_of
from pliant.errors import InputError
from pliant.formulation import Convex, Coulomb, Formulation
from pliant.printed import Printed
from pliant.problem import StepProblem
from pliant.solution import Solution, Status
from pliant.solve import solve

FORMULATIONS: Final = (Coulomb, Convex, Printed)
REFUSED: Final = "REFUSED"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one formulation makes of the step. status: the name of a pliant.Status, or REFUSED with its reason."""

    formulation: str
    status: str
    message: str
    residual: float = math.nan
    law_residual: float = math.nan
    momentum_residual: float = math.nan
    iterations: int = 0
    seconds: float = 0.0
    largest_force: float = math.nan  # [N]
    largest_velocity: float = math.nan  # [m/s]
    apart: float = math.nan  # from Coulomb's velocity, relative to the largest speed in the step


@dataclass(frozen=True, slots=True)
class Replay:
    """What `replay` finds; `str()` is the report."""

    step: float  # [s]
    nv: int
    rows: dict[str, int]  # by kind of constraint
    contacts: int
    islands: int
    conditioning: Conditioning
    answers: tuple[Answer, ...]  # Coulomb, Convex, Printed
    energy: Energy
    causes: tuple[Cause, ...]
    solved: bool  # by Coulomb(), the default

    def plain(self) -> dict[str, Any]:
        """For JSON, which has no numbers that are not finite: None in their place."""
        return {"ok": self.solved, **_plain(asdict(self))}

    def __str__(self) -> str:
        kinds = ", ".join(f"{n} {kind}" for kind, n in self.rows.items()) or "no rows"
        c = self.conditioning
        redundant = "not counted, too many rows" if c.rank is None else f"{c.redundant} of {sum(self.rows.values())}"
        lines = [
            f"step         {1e3 * self.step:g} ms, {self.nv} velocities, {kinds}, {self.contacts} contacts, "
            f"{self.islands} islands",
            f"mass         {_spread(c.mass)} kg on the diagonal; mobility of rows {_spread(c.mobility)} 1/kg",
            f"stiffness    {_spread(c.stiffness)} times the inertia (h a S)",
            *([f"turning      stiffness of the step {_spread(c.turning)} N/m"] if c.turning else []),
            f"redundant    {redundant} rows",
            f"friction     {_spread(c.friction)}",
            f"energy       kinetic {self.energy.before:.3g} to {self.energy.after:.3g} J; work of the force "
            f"{self.energy.applied:.3g} J; in springs at the start {self.energy.stored:.3g} J",
            *(_line(answer) for answer in self.answers),
            "",
            self._verdict(),
        ]
        return "\n".join(lines)

    def _verdict(self) -> str:
        if not self.causes:
            return "nothing stands out: the step is well"
        head = "solved; what stands out:" if self.solved else "not solved; likely causes:"
        return "\n".join(
            [head, *(f"{k}. {c.name}: {c.text}. Remedy: {c.remedy}" for k, c in enumerate(self.causes, 1))]
        )


def replay(problem: StepProblem) -> Replay:
    """Solve a step with every formulation, and look for the cause of what is not well."""
    flat = problem.flat()
    Z = whitened(problem)
    first, *rest = FORMULATIONS
    coulomb = solve(problem, first(), throw=False)  # takes every problem
    solutions = [coulomb, *(_solved(problem, kind()) for kind in rest)]
    starts = [s for s in solutions[1:] if isinstance(s, Solution) and s.status.solved]
    others = [solve(problem, Coulomb(), warm_start=s, throw=False) for s in starts]
    counts: dict[str, int] = {}
    for constraint in problem.constraints:
        kind = type(constraint).__name__
        counts[kind] = counts.get(kind, 0) + constraint.rows
    return Replay(
        step=problem.step,
        nv=problem.nv,
        rows={kind: n for kind, n in counts.items() if n},
        contacts=sum(c.count for c in problem.constraints if isinstance(c, Contact)),
        islands=len(coulomb.islands.status),
        conditioning=condition(problem, Z),
        answers=tuple(_answer(problem, k, s, coulomb) for k, s in zip(FORMULATIONS, solutions, strict=True)),
        energy=energy_of(problem, coulomb),
        causes=tuple(find_causes(Case(problem, flat, Z, coulomb, others))),
        solved=coulomb.status is Status.SOLVED,
    )


def replay_file(path: str | os.PathLike[str]) -> Replay:
    """`replay` of what `StepProblem.save` wrote."""
    return replay(StepProblem.load(path))


def _solved(problem: StepProblem, solver: Formulation) -> Solution | InputError:
    try:
        return solve(problem, solver, throw=False)
    except InputError as refusal:  # of a constraint that it has no law for
        return refusal


@np.errstate(all="ignore")
def _answer(problem: StepProblem, kind: type[Formulation], found: Solution | InputError, coulomb: Solution) -> Answer:
    name = kind.__name__
    if isinstance(found, InputError):
        return Answer(name, REFUSED, str(found))
    return Answer(
        name,
        found.status.name,
        kind().explain(found.status),
        found.residual,
        found.law_residual,
        found.momentum_residual,
        found.iterations,
        found.solve_time,
        max((float(np.abs(part).max(initial=0.0)) for part in found.forces), default=0.0),
        float(np.abs(found.velocity).max()),
        apart_by(problem.flat(), found, coulomb),
    )


def _line(answer: Answer) -> str:
    if answer.status == REFUSED:
        return f"{answer.formulation:12s} refused: {answer.message}"
    return (
        f"{answer.formulation:12s} {answer.status}: residual {answer.residual:.1e}, laws {answer.law_residual:.1e}, "
        f"momentum {answer.momentum_residual:.1e}; {answer.iterations} iterations; force up to "
        f"{answer.largest_force:.3g} N, velocity up to {answer.largest_velocity:.3g} m/s"
        + (f", {answer.apart:.1e} of it apart from Coulomb's" if answer.formulation != "Coulomb" else "")
    )


def _spread(values: Range | None) -> str:
    if values is None:
        return "none"
    low, high = values
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
