"""For any h, K and B the energy of a system with frozen configuration never grows, and stiff springs come to rest."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant
from tests.support.frozen import Frozen

settings.register_profile("same", derandomize=True, database=None, deadline=None)
same = settings(settings.get_profile("same"), max_examples=150)
EVERY_SOLVER = pytest.mark.parametrize("solver", [pliant.Coulomb(), pliant.Convex()], ids=["coulomb", "convex"])
STEPS = 15
ROUNDINGS = 30.0  # growth of the energy allowed, in units of what one rounding may do

Draw = Any
entries = st.integers(-8, 8).map(lambda n: n / 4)
stiffness = st.one_of(st.just(0.0), st.floats(0, 15).map(lambda x: 10.0**x))
damping = st.one_of(st.just(0.0), st.floats(-3, 9).map(lambda x: 10.0**x))
steps = st.floats(-8, 0).map(lambda x: 10.0**x)
sizes = st.floats(-12, 0).map(lambda x: 10.0**x)
deflections = st.one_of(st.just(0.0), sizes, sizes.map(lambda x: -x))
limits = st.one_of(st.just(np.inf), st.floats(-2, 6).map(lambda x: 10.0**x))
frictions = st.one_of(st.just(0.0), st.floats(0.01, 1.5))
KINDS = ("bilateral", "unilateral", "power", "clipped", "contact", "power contact", "soft contact")


@st.composite
def laws(draw: Draw, power: bool = False) -> pliant.Law:
    K, B = draw(stiffness), draw(damping)
    if not power:
        return pliant.Law(K, B)
    exponent, dissipation = draw(st.sampled_from([1.0, 1.5, 2.0, 2.7])), draw(st.sampled_from([0.0, 0.3, 20.0]))
    return pliant.Law(K, B, exponent=exponent, dissipation=dissipation)


def rows(draw: Draw, *shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    return np.array(draw(st.lists(entries, min_size=count, max_size=count))).reshape(shape)


@st.composite
def constraints(draw: Draw, nv: int) -> Any:
    kind = draw(st.sampled_from(KINDS))
    law = draw(laws(power=kind.startswith("power")))
    n = draw(st.integers(1, 2))
    value = [draw(deflections) for _ in range(n)]
    if "contact" in kind:
        d = draw(st.sampled_from([2, 3, 4]))
        soft: dict[str, Any] = {}
        if kind == "soft contact":
            soft = {"tangent_law": draw(laws())}
            if soft["tangent_law"].stiffness > 0.0:
                soft["stretch"] = [[draw(deflections)] * (d - 1)] * n
        return pliant.Contact(rows(draw, n, d, nv), value, law, draw(frictions), **soft)
    G = rows(draw, n, nv)
    if kind == "clipped":
        low, high = sorted([-draw(limits), draw(limits)])
        return pliant.Clipped(G, value, law, low, high)
    return (pliant.Bilateral if kind == "bilateral" else pliant.Unilateral)(G, value, law)


@st.composite
def systems(draw: Draw) -> Frozen:
    """1 to 4 velocities, masses up to 1e6 apart, with or without coupling, 1 to 4 constraints of any kind."""
    nv = draw(st.integers(1, 4))
    coupling = rows(draw, nv)
    mass = np.diag([10.0 ** draw(st.floats(-3, 3)) for _ in range(nv)]) + np.outer(coupling, coupling)
    made = draw(st.lists(constraints(nv), min_size=1, max_size=4))
    return Frozen(mass, rows(draw, nv), draw(steps), made)


@EVERY_SOLVER
@same
@given(system=systems())
def test_energy_never_grows(solver, system):
    before = None
    for _ in range(STEPS):
        solution = pliant.solve(system.problem(), solver, warm_start=before)
        after = system.after(solution)
        growth = after.energies().sum() - system.energies().sum()
        assert growth <= ROUNDINGS * system.rounding(solution)
        system, before = after, solution
