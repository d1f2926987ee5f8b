"""Constraint forces of a multibody system over one time step, implicit in the constraints.

Every public name is here and loads its module on first use, so `import pliant` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant._version import __version__

if TYPE_CHECKING:
    from pliant.constraints import Bilateral, Clipped, Contact, Unilateral
    from pliant.errors import PliantError, SolveError
    from pliant.laws import Law
    from pliant.problem import StepProblem
    from pliant.solution import ContactState, Solution, Status
    from pliant.solvers import Convex, Coulomb
    from pliant.solvers.driver import solve
    from pliant.solvers.linearize import linearize

# name -> module that defines it. No module directly in this package may bear the name of a function given
# here: importing it would bind the module over the function.
_HOME = {
    "Bilateral": "constraints",
    "Clipped": "constraints",
    "Contact": "constraints",
    "ContactState": "solution",
    "Convex": "solvers",
    "Coulomb": "solvers",
    "Law": "laws",
    "PliantError": "errors",
    "Solution": "solution",
    "SolveError": "errors",
    "Status": "solution",
    "StepProblem": "problem",
    "Unilateral": "constraints",
    "linearize": "solvers.linearize",
    "solve": "solvers.driver",
}

__all__ = [
    "Bilateral",
    "Clipped",
    "Contact",
    "ContactState",
    "Convex",
    "Coulomb",
    "Law",
    "PliantError",
    "Solution",
    "SolveError",
    "Status",
    "StepProblem",
    "Unilateral",
    "__version__",
    "linearize",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(f"pliant.{_HOME[name]}"), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
