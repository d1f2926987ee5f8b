"""How a step is solved: one file a formulation, the stages they share, and the linear algebra below."""

from pliant.solvers.convex import Convex
from pliant.solvers.coulomb import Coulomb
from pliant.solvers.printed import Printed

__all__ = ["Convex", "Coulomb", "Printed"]
