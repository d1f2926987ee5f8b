"""The solvers that every test of the shared lists is run with."""

from __future__ import annotations

import pytest

import pliant

SOLVERS = [pliant.Coulomb(), pliant.Convex()]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
