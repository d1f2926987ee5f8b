"""The energies of a step: what moved before and after, what forces and springs had to give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.flat import CLIPPED, NORMAL, UNILATERAL
from pliant.inertia import times
from pliant.inputs import Array
from pliant.problem import StepProblem
from pliant.solution import Solution


@dataclass(frozen=True, slots=True)
class Energy:
    """[J]; where the laws hold, after <= before + applied + stored, but for motors and moving anchors."""

    before: float  # kinetic
    after: float  # kinetic
    applied: float  # work of the force, h f' v1
    stored: float  # in springs at the start
    driven: bool  # whether there are motors or moving anchors

    @property
    def gained(self) -> float:
        """What came from nowhere, of the largest of them all; 0 or less where something drives the step."""
        more = self.after - self.before - self.applied - self.stored
        return 0.0 if self.driven else more / max(self.after, self.before, abs(self.applied), self.stored, 1e-300)


@np.errstate(all="ignore")  # what overflows is infinite
def energy_of(problem: StepProblem, answer: Solution) -> Energy:
    """Of a step and its answer; what a stiffness of the step takes out shows as less motion."""
    flat = problem.flat()
    pushes = np.isin(flat.kind, (UNILATERAL, NORMAL))  # nothing is stored in a gap
    stretch = np.where(pushes, np.maximum(-flat.value, 0.0), np.abs(flat.value))
    K = np.where(np.isfinite(flat.stiffness), flat.stiffness, 0.0)
    return Energy(
        before=_kinetic(problem, problem.velocity),
        after=_kinetic(problem, answer.velocity),
        applied=float(problem.step * (problem.force @ answer.velocity)),
        stored=float(np.sum(K * stretch ** (flat.exponent + 1.0) / (flat.exponent + 1.0))),
        driven=bool(np.any(flat.offset != 0.0) or np.any(flat.kind == CLIPPED)),
    )


def _kinetic(problem: StepProblem, v: Array) -> float:
    return float(0.5 * (v @ times(problem.mass, v)))
