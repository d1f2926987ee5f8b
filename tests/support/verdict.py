"""One answer, judged: how far it is from the exact one at 50 digits, and whether it says so itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import pliant
from tests.support.exact import agreement, certificates, refine, stacked
from tests.support.extended import Reference

MET = 1e-9  # what both certificates must be below where the exact answer is another one
EXACT = 1e-12  # below this an answer is one: of laws that are not convex there may be several


# What rounding may leave of the law residual: forces of 16 digits over the hundred-thousandth that they count.
ROUNDED = 1e-11


class Verdict(NamedTuple):
    """An answer beside the exact one. The certificates are recomputed at 50 digits."""

    status: pliant.Status
    same_sets: bool  # the exact answer has the active sets of this one
    velocity: float  # distance from the exact velocity, as a fraction of what is allowed; NaN: other sets
    impulse: float
    momentum: float  # true certificates
    law: float
    reported_momentum: float
    reported_law: float

    @property
    def agrees(self) -> bool:
        """The same active sets, velocity and impulse within what is allowed."""
        return self.same_sets and max(self.velocity, self.impulse) <= 1.0

    @property
    def certified(self) -> bool:
        """Not (known to be) the exact answer, but one that meets the laws.

        With other sets; or with the same ones but elsewhere, which takes an exact answer of its own.
        """
        return max(self.momentum, self.law) < (EXACT if self.same_sets else MET)

    @property
    def honest(self) -> bool:
        """Reported residuals within a factor 10 of the true ones, or both at rounding."""
        law, momentum = (self.reported_law, self.law), (self.reported_momentum, self.momentum)
        near = ((law, ROUNDED), (momentum, EXACT))
        return all(max(pair) < rounded or max(pair) <= 10.0 * min(pair) for pair, rounded in near)

    def __str__(self) -> str:
        return (
            f"{self.status.name}, {'same' if self.same_sets else 'other'} sets, velocity {self.velocity:.1e} and "
            f"impulse {self.impulse:.1e} of what is allowed, law {self.law:.1e} (reported {self.reported_law:.1e}), "
            f"momentum {self.momentum:.1e} (reported {self.reported_momentum:.1e})"
        )


def judge(
    problem: pliant.StepProblem, solution: pliant.Solution, *, convex: bool = False, compare: bool = True
) -> Verdict:
    """Judge at 50 digits, by Coulomb's law or by the associated cone; compare=False: certificates only."""
    flat = problem.flat()
    x = Reference(flat)
    v, forces = solution.velocity, stacked(flat, solution.forces)
    momentum, law = certificates(flat, v, forces, convex=convex, reference=x)
    same, ratios = False, (np.nan, np.nan)
    if compare and np.isfinite(law):
        exact = refine(flat, v, forces, convex=convex, reference=x)
        same = exact.same_sets
        if same:
            ratios = agreement(flat, v, solution.impulse, exact, reference=x)
    reported = solution.momentum_residual, solution.residual
    return Verdict(solution.status, same, *ratios, momentum, law, *reported)
