"""The protocol of a mechanical system."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from pliant.inputs import Array
from pliant.problem import StepProblem


@runtime_checkable
class System(Protocol):
    """A mechanical system with configuration q, (nq,), and velocity v, (nv,); a function of time and state alone.

    Optional methods, found by their names:

    values(time, q)     a list of phi(t, q) of each constraint of `problem`, in its order: (n,), a Contact's gaps, as
                        `problem` has them at the same state; an entry may be None: not known.
                        With it `lookahead` keeps the constraint at the configuration that is reached.
    geometric_stiffness(time, q, forces)
                        K_g = -d(G' lambda)/dq [N/m], symmetric, (nv, nv) dense or sparse or (nv,) a diagonal, of the
                        forces of the step before (`Solution.forces`); None: none. What is negative in it does not
                        count. With it light bodies hold under large tensions far above the step at which they tear
                        without; what falls slack and whips still tears (docs/limits.md).
    energy(time, q, v)  {"kinetic": [J], "gravitational": [J], "spring": [J], ...}, for balances and `plot_energy`;
                        `simulate` does not call it. With it an attribute `driven`: False where nothing else does work
    readout(solution)   contacts of the step asked for last, (n, len(COLUMNS)) as `pliant.readout` has them, for
                        `Trajectory.contacts`; with it an attribute `geoms`, their names
    coordinates         an attribute, {"q": [[name, unit], ...], "v": ...}, one for each, for `plot_states`
    draw()              a `pliant.Drawing`: how viewer and renderer show it; `simulate` keeps it in the run

    All are handed copies and may work in place.
    """

    def problem(self, time: float, q: Array, v: Array, step: float) -> StepProblem:
        """The step from (q, v) at `time` [s]: M, f, and the constraints with their deformation and Jacobian there."""
        ...

    def advance(self, q: Array, v: Array, step: float) -> Any:
        """q (+) h N(q) v, (nq,): where the velocity v leads from q in a step."""
        ...
