"""Small steps for tests of the data path: one with every kind of constraint, one with next to nothing."""

from typing import Any

import numpy as np
import scipy.sparse as sparse

from pliant.constraints import Bilateral, Clipped, Constraint, Contact, Unilateral
from pliant.laws import Law
from pliant.problem import StepProblem


def mixed(seed: int = 0, nv: int = 7, *, sparse_rows: bool = False, mass: str = "dense") -> StepProblem:
    """Every kind, every form of every argument, zeros in the Jacobians."""
    rng = np.random.default_rng(seed)

    def rows(n: int, d: int = 0) -> Any:
        full = rng.normal(size=(n, d, nv) if d else (n, nv)) * (rng.random(nv) < 0.7)
        return sparse.csr_array(full.reshape(-1, nv)) if sparse_rows else full

    constraints: list[Constraint] = [
        Bilateral(rows(3), rng.normal(size=3), Law(1e15, [1.0, 2.0, 3.0]), name="weld", curvature=[1.0, 2.0, 3.0]),
        Contact(rows(4, 3), rng.normal(size=4), Law(1e9, 1.0, exponent=1.5, dissipation=0.3), 0.5, rate_offset=0.1),
        Clipped(rows(2), np.zeros(2), Law(0.0, 1e6), [-np.inf, 1.0], [1.0, 2.0], ids=[7, 9]),
        Unilateral(rows(2), rng.normal(size=2), Law(3.0, exponent=[1.0, 2.0]), rate_offset=[0.1, -0.0]),
        Bilateral(rows(0), [], Law()),
        Contact(
            rows(2, 6),
            [0.0, -1e-3],
            Law([1e5, 1e6]),
            rng.random((2, 5)),
            tangent_law=Law([1e4, 1e3], rng.random((2, 5))),
            stretch=rng.normal(size=(2, 5)),
            rate_offset=rng.normal(size=(2, 6)),
            curvature=rng.normal(size=(2, 6)),
            ids=[-4, 11],
            name="wheels",
        ),
        Contact(rows(1, 2), [0.2], Law(1.0), 0.0, tangent_law=Law()),
    ]
    root = rng.normal(size=(nv, nv))
    M = root @ root.T + np.eye(nv)
    M = 0.5 * (M + M.T)
    forms = {"dense": M, "sparse": sparse.coo_array(M), "diagonal": np.diagonal(M)}
    return StepProblem(forms[mass], rng.normal(size=nv), rng.normal(size=nv), 0.01, constraints)


def one(**change: Any) -> StepProblem:
    """One velocity, no constraints, unless changed."""
    arguments = {"mass": [2.0], "velocity": [0.0], "force": [1.0], "step": 0.1, "constraints": (), **change}
    return StepProblem(**arguments)
