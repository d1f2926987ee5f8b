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


@same
@given(st.floats(-3, 3), stiffness, damping, steps, deflections, entries)
def test_spring_damper_is_an_implicit_euler_step(decades, K, B, h, phi, v):
    """m (v1 - v0) = -h (K phi1 + B v1), phi1 = phi0 + h v1, in fractions."""
    m = 10.0**decades
    velocity, force = spring_damper(m, K, B, h, phi, v)
    m_, K_, B_, h_, phi_, v_ = map(Fraction, (m, K, B, h, phi, v))
    whole = m_ + h_ * B_ + h_**2 * K_
    expected = (m_ * v_ - h_ * K_ * phi_) / whole
    allowed = Fraction(1e-12) * (abs(v_) + h_ * K_ * abs(phi_) / whole)
    assert abs(Fraction(velocity) - expected) <= allowed
    assert abs(Fraction(force) - m_ * (expected - v_) / h_) <= m_ * allowed / h_


def spring_damper(m: float, K: float, B: float, h: float, phi: float, v: float) -> tuple[float, float]:
    """Velocity and force at the end of the step of one mass on one spring with a damper."""
    spring = pliant.Bilateral([[1.0]], [phi], pliant.Law(K, B))
    solution = pliant.solve(pliant.StepProblem([m], [v], [0.0], h, [spring]))
    return float(solution.velocity[0]), float(solution.forces[0][0])


def amplification(m: float, K: float, B: float, h: float) -> float:
    """How much a step may stretch a state (sqrt(K) phi, sqrt(m) v): its norm is the root of twice the energy."""
    columns = []
    for phi, v in ((1.0 / np.sqrt(K), 0.0), (0.0, 1.0 / np.sqrt(m))):
        v1, force = spring_damper(m, K, B, h, phi, v)
        # phi1 from the force: phi0 + h v1 would be all rounding once the spring has nearly gone
        columns.append([-np.sqrt(K) * (force + B * v1) / K, np.sqrt(m) * v1])
    return float(np.linalg.norm(np.array(columns).T, 2))


@pytest.mark.parametrize("damping_ratio", [0.0, 1e-3, 1.0, 30.0])  # h B / m
@pytest.mark.parametrize("h", [1e-6, 1e-2, 1.0])
def test_amplification_vanishes_as_springs_stiffen(h, damping_ratio):
    """1/D [[1 + b, k], [-k, 1]], k^2 = h^2 K / m, b = h B / m, D = 1 + b + k^2: as 1/k."""
    m, b = 2.0, damping_ratio
    found = []
    for k in 10.0 ** np.arange(-2, 8):
        found.append(amplification(m, m * (k / h) ** 2, m * b / h, h))
        step = np.array([[1 + b, k], [-k, 1]]) / (1 + b + k**2)
        assert found[-1] == pytest.approx(np.linalg.norm(step, 2), rel=1e-12)
    assert max(found) <= 1.0 + 1e-12
    assert found[-1] < 1e-6


@same
@given(damping.filter(bool), steps, st.floats(-2, 6).map(lambda x: 10.0**x), entries)
def test_dry_friction_stops_and_never_drives(B, h, limit, v):
    """lambda = clip(-B v1, -limit, limit) on a mass of 1 kg: slides, then creeps at limit / B, never back."""
    friction = pliant.Clipped([[1.0]], [0.0], pliant.Law(0.0, B), -limit, limit)
    solution = pliant.solve(pliant.StepProblem([1.0], [v], [0.0], h, [friction]))
    slides = B * (abs(v) - h * limit) > limit
    expected = abs(v) - h * limit if slides else abs(v) / (1 + h * B)
    v1, force = float(solution.velocity[0]), float(solution.forces[0][0])
    assert v1 == pytest.approx(np.sign(v) * expected, rel=1e-12, abs=1e-15 * abs(v))
    assert force * v1 <= 0.0
    assert abs(force) <= limit


@EVERY_SOLVER
@same
@given(system=systems())
def test_dissipation_is_what_the_forces_did(solver, system):
    """Kinetic energy lost = work done against the forces + 1/2 |v1 - v0|_M^2, the scheme's own share."""
    solution = pliant.solve(system.problem(), solver)
    change = solution.velocity - system.velocity
    work = solution.impulse @ solution.velocity
    lost = system.energies()[0] - system.after(solution).energies()[0]
    assert lost == pytest.approx(change @ system.mass @ change / 2 - work, abs=30 * system.rounding(solution))
