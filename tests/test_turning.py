"""Forces that turn with what they act on: chains that hold at any step, and what a system may get wrong about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

import pliant
from pliant.inputs import Array
from pliant.studies.chain import EXACT, LOSS, NO_GAIN, Chain
from pliant.studies.four_bar import FourBar
from pliant.studies.four_bar import start as four_bar_start
from pliant.studies.linkage import Linkage
from pliant.studies.measure import widest
from pliant.studies.pendulum import Pendulum
from pliant.turning import SLIGHT, blended
from tests.support.mechanisms import SpatialChain
from tests.test_simulate import same

SMALL: dict[str, Any] = {"links": 5, "length": 0.05}


def swung(system: Linkage, angle: float, step: float, duration: float, **options: Any) -> tuple[float, float, float]:
    """The widest joint [m]; energy gained on the way and lost at the end, of the swing."""
    assert isinstance(system, Chain)
    q, v = system.hung(angle)
    run = pliant.simulate(system, q, v, duration=duration, step=step, throw=False, **options)
    assert run.complete
    energy = np.array([sum(system.energy(0.0, q, v).values()) for q, v in zip(run.q, run.v, strict=True)])
    above = (energy - energy[0]) / system.swing(q)
    return max(widest(system, q) for q in run.q), float(above.max()), float(-above[-1])


@pytest.mark.parametrize("step", [0.002, 0.005, 0.01, 0.02, 0.05])
def test_the_chain_holds_and_gains_no_energy(step):
    open_by, gained, _ = swung(Chain(), np.radians(30.0), step, min(300 * step, 5.0))
    assert open_by < EXACT and gained < NO_GAIN


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.001, 0.002, 0.005, 0.01, 0.02, 0.05])
def test_the_chain_holds_for_a_minute(step):
    open_by, gained, _ = swung(Chain(), np.radians(30.0), step, 60.0)
    assert open_by < EXACT and gained < NO_GAIN


def test_the_chain_keeps_most_of_its_swing():
    *_, lost = swung(Chain(), np.radians(30.0), 0.01, 10.0)
    assert 0.0 < lost <= LOSS


@pytest.mark.parametrize("step", [0.005, 0.02])
def test_without_it_the_chain_tears(step, caplog):
    system = Chain(turning=False)
    run = pliant.simulate(system, *system.hung(), duration=0.5, step=step, throw=False)
    assert not max(widest(system, q) for q in run.q) < 0.01
    if run.stats["gave_up"].any():
        assert sum("looking ahead was given up" in entry.message for entry in caplog.records) == 1


@pytest.mark.parametrize("seed", range(6))
def test_random_chains_hold(seed):
    """5 to 20 links, a weight of 1 to 1e4 links, joints of 1e6 to 1e12 N/m, from up to 60 degrees; both treatments."""
    rng = np.random.default_rng(seed)
    links, mass = int(rng.integers(5, 21)), float(10 ** rng.uniform(-3, 0))
    end = mass * float(10 ** rng.uniform(0, 4))
    stiffness, angle = float(10 ** rng.uniform(6, 12)), float(rng.uniform(0.1, np.pi / 3))
    system = Chain(links, mass=mass, end=end, law=pliant.Law(stiffness, 1.0))
    step = float(10 ** rng.uniform(-2.5, -1.5))
    sag = 3.0 * 9.81 * (end + links * mass) / stiffness
    for drift, opens in (("lookahead", EXACT), ("tangent", 0.02)):
        open_by, gained, _ = swung(system, angle, step, 150 * step, drift=drift)
        assert open_by < opens + sag and gained < 0.01, drift


@pytest.mark.parametrize(("turning", "step"), [(True, 0.002), (True, 0.01), (False, 0.01)])
def test_a_chain_in_space_holds_as_well(turning, step):
    """It circles at 2 rad/s, half a radian off plumb; its stiffness is sparse, and full on every rotation."""
    system = SpatialChain(turning=turning)
    run = pliant.simulate(system, *system.circling(0.5, 2.0), duration=60 * step, step=step, throw=False)
    opened = max(np.abs(system.values(0.0, q)[0]).max() for q in run.q)
    energy = [sum(system.energy(0.0, q, v).values()) for q, v in zip(run.q, run.v, strict=True)]
    if turning:
        assert opened < EXACT and max(energy) <= energy[0]
    else:
        assert not opened < 0.01


@pytest.mark.parametrize(
    ("system", "q"),
    [
        (Pendulum(), np.array([0.3, -0.9, -1.2])),
        (FourBar(2), four_bar_start()[0]),
        (Chain(**SMALL), Chain(**SMALL).hung(0.4)[0]),
    ],
)
def test_the_stiffness_is_the_derivative_of_the_generalized_force(system, q):
    rng = np.random.default_rng(1)
    q = q + 0.1 * rng.standard_normal(q.size)
    rows = system.problem(0.0, q, 0.0 * q, 0.01).rows
    force, eps = rng.standard_normal(rows), 1e-6

    def generalized(q: Array) -> Any:
        return system.problem(0.0, q, 0.0 * q, 0.01).constraints[0].jacobian.T @ force

    derivative = np.array([(generalized(q + d) - generalized(q - d)) / (2.0 * eps) for d in eps * np.eye(q.size)]).T
    np.testing.assert_allclose(np.diag(system.stiffness(q, force)), -derivative, atol=1e-8)
    found = system.geometric_stiffness(0.0, q, (force,))
    np.testing.assert_allclose(found, np.maximum(-np.diag(derivative), 0.0), atol=1e-8)


def test_steps_are_what_a_simulation_takes():
    system, h = Chain(**SMALL), 0.01
    run = pliant.simulate(system, *system.hung(), duration=0.2, step=h)
    q, v = system.hung()
    last: Any = None
    for k in range(20):
        q, v, last = pliant.step(system, k * h, q, v, h, warm_start=last)
    assert np.array_equal(q, run.q[-1]) and np.array_equal(v, run.v[-1])
    assert all(map(np.array_equal, last.forces, run.forces[-1]))


@pytest.mark.parametrize("every", [1, 3])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path, every):
    system = Chain(**SMALL)
    given: dict[str, Any] = {"step": 0.02, "record_every": every}
    whole = pliant.simulate(system, *system.hung(), duration=0.4, **given)
    pliant.simulate(system, *system.hung(), duration=0.14, checkpoint=tmp_path / "run", **given)
    assert same(whole, pliant.simulate(system, *system.hung(), duration=0.4, checkpoint=tmp_path / "run", **given))


def in_form(form: Any) -> Chain:
    """A chain that gives its K_g in another form."""

    class Other(Chain):
        def geometric_stiffness(self, time, q, forces):
            return form(self.stiffness(q, forces[0]))

    return Other(**SMALL)


@pytest.mark.parametrize("form", [np.asarray, np.diag, lambda K: sparse.diags_array(K, format="csr")])
def test_any_form_will_do_and_what_is_negative_does_not_count(form):
    expected, system = Chain(**SMALL), in_form(form)
    run, other = (pliant.simulate(one, *one.hung(), duration=0.5, step=0.02) for one in (expected, system))
    np.testing.assert_allclose(other.q, run.q, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("solver", [pliant.Convex(), pliant.Printed()])
def test_any_solver_will_do(solver):
    system = Chain(**SMALL)
    run, other = (pliant.simulate(system, *system.hung(), duration=0.2, step=0.02, solver=s) for s in (None, solver))
    np.testing.assert_allclose(other.q, run.q, rtol=0.0, atol=1e-7)


def test_none_is_no_stiffness():
    system, plain = in_form(lambda K: None), Chain(turning=False, **SMALL)
    run, other = (pliant.simulate(one, *one.hung(), duration=0.05, step=0.01) for one in (plain, system))
    assert same(run, other)


def test_what_is_kept_of_it_is_the_same_in_every_basis():
    """w -> w^3/(1 + w^2) of the modes of h^2 K_g against M; nothing where all are slight."""
    rng, h = np.random.default_rng(3), 0.01
    T = rng.standard_normal((6, 6))
    w = np.array([-2.0, 0.0, 0.1, 1.0, 10.0, 1e6])
    M, K = T.T @ T, T.T @ np.diag(w) @ T / h**2
    kept = np.where(w > 0.0, w**3 / (1.0 + w**2), 0.0)
    expected = T.T @ np.diag(kept) @ T / h**2
    for form in (np.asarray, sparse.csr_array):
        found: Any = blended(form(M), form(0.5 * (K + K.T)), h)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    plain: Any = blended(np.ones(6), w / h**2, h)
    np.testing.assert_allclose(plain, kept / h**2)
    assert blended(np.ones(6), np.full(6, 0.9 * SLIGHT) / h**2, h) is None
    assert blended(M, 0.9 * SLIGHT * M / h**2, h) is None and blended(M, 0.0 * M, h) is None


def test_slack_mechanisms_are_left_alone():
    """A pendulum's rod turns slowly beside these steps: the same bits with and without."""
    with_it, without = (
        pliant.simulate(Pendulum(turning=turning), [1.0, 0.0, 0.0], [0.0] * 3, duration=0.5, step=0.002)
        for turning in (True, False)
    )
    assert same(with_it, without)


WRONG = [
    (lambda K: K[1:], r"must return K_g as \(18,\) or \(18, 18\) finite numbers, .* got shape \(17,\)"),
    (lambda K: np.full(18, np.nan), "got one that is not finite"),
    (lambda K: "stiff", "must return K_g as"),
    (lambda K: np.triu(np.ones((18, 18))), "must return a symmetric matrix"),
]


@pytest.mark.parametrize(("form", "says"), WRONG)
def test_what_a_system_gets_wrong_is_named(form, says):
    system = in_form(form)
    with pytest.raises(pliant.InputError, match=r"system.geometric_stiffness at t = 0.01 s") as caught:
        pliant.simulate(system, *system.hung(), duration=0.1, step=0.01)
    assert caught.match(says)


def test_what_a_system_raises_says_where_and_when():
    def fail(K):
        raise KeyError("mine")

    system = in_form(fail)
    with pytest.raises(KeyError, match="mine") as caught:
        pliant.simulate(system, *system.hung(), duration=0.1, step=0.01)
    assert "raised in system.geometric_stiffness at t = 0.01 s" in caught.value.__notes__
