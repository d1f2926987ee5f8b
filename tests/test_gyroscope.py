"""The gyroscopic torque: free bodies keep their momentum and gain no energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from tests.support.mechanisms import SpatialPendulum

INERTIA = np.array([0.1, 0.2, 0.28])


def tumble(step: float, duration: float, *, explicit: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic energies and momenta of a free body stepped with the torque."""
    R, w = np.eye(3), np.array([0.3, 10.0, 0.2])
    energies, momenta = [], []
    for _ in range(round(duration / step)):
        world = R @ np.diag(INERTIA) @ R.T
        torque = -np.cross(w, world @ w) if explicit else pliant.gyroscopic_torque(INERTIA, R, w, step)
        w = w + step * np.linalg.solve(world, torque)
        R = Rotation.from_rotvec(step * w).as_matrix() @ R
        world = R @ np.diag(INERTIA) @ R.T
        energies.append(0.5 * w @ world @ w)
        momenta.append(world @ w)
    return np.array(energies), np.array(momenta)


def test_momentum_stays_and_energy_does_not_grow():
    energies, momenta = tumble(0.005, 10.0)
    assert np.abs(momenta - momenta[0]).max() < 1e-9 * np.abs(momenta[0]).max()
    assert energies.max() <= energies[0] * (1.0 + 1e-9)
    explicit, _ = tumble(0.005, 10.0, explicit=True)
    assert explicit[-1] > 1.1 * energies[0]  # what it is for


def swing(duration: float, *, explicit: bool) -> np.ndarray:
    """Energies of the spatial pendulum at h = 5 ms."""
    system = SpatialPendulum(explicit=explicit)
    run = pliant.simulate(system, *system.start(), duration=duration, step=0.005)
    assert np.abs([system.phi(q) for q in run.q]).max() < 1e-10
    return np.array([sum(system.energy(0.0, q, v).values()) for q, v in zip(run.q, run.v, strict=True)])


@pytest.mark.slow
def test_a_spatial_pendulum_gains_energy_by_the_plain_torque_only():
    ours, explicit = swing(3.0, explicit=False), swing(3.0, explicit=True)
    assert explicit[-1] > 1.1 * explicit[0]
    assert ours.max() < 1.01 * ours[0]
    assert ours[-1] < 0.9 * ours[0]


@pytest.mark.slow
def test_a_spatial_pendulum_for_a_minute():
    ours, explicit = swing(60.0, explicit=False), swing(15.0, explicit=True)  # which does not last a minute
    assert explicit[-1] > 2.0 * explicit[0]
    assert ours.max() < 1.01 * ours[0]


def test_a_ball_needs_none():
    assert np.abs(pliant.gyroscopic_torque([0.2] * 3, np.eye(3), [1.0, 2.0, 3.0], 0.1)).max() < 1e-12


@pytest.mark.parametrize("turn", [3.0, 10.0])
def test_large_turns_stay_finite(turn):
    torque = pliant.gyroscopic_torque(INERTIA, np.eye(3), [1.0, turn / 0.1, 2.0], 0.1)
    assert np.all(np.isfinite(torque))


BAD = [
    (([1.0, -1.0, 1.0], np.eye(3), [0.0] * 3, 0.1), "inertia must be symmetric and positive definite"),
    ((INERTIA, 2.0 * np.eye(3), [0.0] * 3, 0.1), "rotation must be orthogonal"),
    ((INERTIA, np.eye(3), [0.0] * 2, 0.1), r"omega must be finite numbers of shape \(3,\)"),
    ((INERTIA, np.eye(3), [0.0, np.nan, 0.0], 0.1), "gyroscopic_torque: omega must be finite, got nan at index 1"),
    (([1.0, np.nan, 1.0], np.eye(3), [0.0] * 3, 0.1), "gyroscopic_torque: inertia must be finite, got nan at index 1"),
    ((INERTIA, np.eye(3), [0.0] * 3, 0.0), "step must be one number > 0"),
]


@pytest.mark.parametrize(("given", "says"), BAD)
def test_bad_arguments_are_refused(given, says):
    with pytest.raises(pliant.PliantError, match=says):
        pliant.gyroscopic_torque(*given)
