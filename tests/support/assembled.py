"""The step of a MuJoCo model as the engine assembles it, before it is solved and after."""

from __future__ import annotations

from typing import Any, NamedTuple

import scipy.sparse as sparse

import pliant
from pliant import _engine
from pliant.flat import Flat
from pliant.inputs import Ints, Matrix
from pliant.systems.mujoco_stepper import made_of, stepper_of


class Assembled(NamedTuple):
    """types: of MuJoCo's rows, which come first and are those of data.efc_*. After them come so many of elements, and
    extra ones, of tendons, servos and drag."""

    flat: Flat
    types: Ints
    elements: int
    extra: int

    @property
    def jacobian(self) -> Matrix:
        f = self.flat
        return sparse.csr_array((f.jac_val, f.jac_idx, f.jac_ptr), shape=(len(f.kind), len(f.velocity))).toarray()

    @property
    def inertia(self) -> Matrix:
        f = self.flat
        return sparse.csr_array((f.mass_val, f.mass_idx, f.mass_ptr), shape=2 * (len(f.velocity),)).toarray()


def assembled(model: Any, data: Any, **materials: Any) -> Assembled:
    """The rows stay in data."""
    stepper, made = stepper_of(data), made_of(model, materials or None)
    stepper.begin(model._address, data._address, made.materials, True)
    stepper.end()
    return Assembled(Flat(*stepper.record().arrays()), *stepper.rows())


def answered(model: Any, data: Any, solver: pliant.Coulomb | pliant.Convex) -> tuple[Flat, _engine.Stepper]:
    """The step, solved and not advanced, and its stepper, which has the answer."""
    stepper, made = stepper_of(data), made_of(model, None)
    stepper.begin(model._address, data._address, made.materials, True)
    stepper.solve(solver.convex, solver.tolerance, solver.max_iterations)
    stepper.end()
    return Flat(*stepper.record().arrays()), stepper
